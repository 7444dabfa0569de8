"""Zip the package for `spark-submit --py-files`, with the jobs and their settings to unzip from it.

usage: make_zip.py DIR
"""

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
        packed.write(ROOT / "LICENSE", "LICENSE")
        for folder_name in ("ndcg_spark", "jobs", "conf"):
            for path in sorted((ROOT / folder_name).rglob("*")):
                if path.is_file() and "__pycache__" not in path.parts:
                    packed.write(path, path.relative_to(ROOT))
    return target


if __name__ == "__main__":
    print(make_zip(pathlib.Path(sys.argv[1])))
