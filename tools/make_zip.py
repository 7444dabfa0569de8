"""Zip the package for `spark-submit --py-files`. usage: make_zip.py DIR"""

from __future__ import annotations

import pathlib
import re
import sys
import zipfile

ROOT = pathlib.Path(__file__).resolve().parent.parent


def make_zip(folder: pathlib.Path) -> pathlib.Path:
    """Write ``ndcg_spark-VERSION.zip`` into the folder; its path."""
    text = (ROOT / "ndcg_spark" / "version.py").read_text()
    version = re.search(r'__version__ = "([^"]+)"', text)[1]
    folder.mkdir(parents=True, exist_ok=True)
    target = folder / f"ndcg_spark-{version}.zip"
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as packed:
        for path in sorted((ROOT / "ndcg_spark").rglob("*")):
            if path.is_file() and "__pycache__" not in path.parts:
                packed.write(path, path.relative_to(ROOT))
    return target


if __name__ == "__main__":
    print(make_zip(pathlib.Path(sys.argv[1])))
