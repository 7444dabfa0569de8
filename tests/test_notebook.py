"""docs/example.ipynb runs in a kernel of its own: tables and figures come out."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

DOCS = Path(__file__).resolve().parents[1] / "docs"
PROGRAM = """
import sys
import nbclient, nbformat
book = nbformat.read(sys.argv[1], 4)
nbformat.validate(book)
assert not any(cell.get("outputs") for cell in book.cells)  # kept without its output
nbclient.NotebookClient(book, timeout=120, kernel_name="python3").execute()
for cell in book.cells:
    if cell.cell_type == "code":
        kinds = {kind for out in cell.outputs for kind in out.get("data", {})}
        print("image" if "image/png" in kinds else "table" if "text/html" in kinds else "-")
"""


@pytest.mark.spark
def test_the_notebook(tmp_path):
    pytest.importorskip("nbclient")
    pytest.importorskip("ipykernel")
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, str(DOCS / "example.ipynb")],
        cwd=tmp_path, capture_output=True, text=True, timeout=240, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-2000:]
    assert done.stdout.split() == ["table", "table", "image", "image", "image", "image"]
