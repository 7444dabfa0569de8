"""Packages whose names are found when they are asked for.

An engine's worker threads import our modules at once. If a package's `__init__` imported its own
modules, one thread in the package and another in a module would each wait for the other; Python
breaks such a knot by handing out modules that are not complete. So no `__init__` imports any.
"""

from __future__ import annotations

import importlib
import importlib.util
from collections.abc import Callable
from typing import Any


def finder(package: str) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """`__getattr__` and `__dir__` of a package: its modules, and the public names of its `face`."""

    def find(name: str) -> Any:
        if name.startswith("__") and name not in ("__all__", "__version__"):
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        if importlib.util.find_spec(f"{package}.{name}") is not None:
            return importlib.import_module(f"{package}.{name}")
        face = importlib.import_module(f"{package}.face")
        try:
            return getattr(face, name)
        except AttributeError:
            raise AttributeError(f"module {package!r} has no attribute {name!r}") from None

    def names() -> list[str]:
        return sorted(find("__all__"))

    return find, names
