"""``make docs``: the pages of the repository, and what they link to, in a folder that MkDocs can build."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

from helm.release.links import led

TOP = Path(__file__).resolve().parents[2]


def tracked() -> list[str]:
    """All pages, by their paths from the top."""
    told = subprocess.run(["git", "ls-files", "*.md"], cwd=TOP, capture_output=True, text=True, check=True)
    return told.stdout.split()


def staged(page: str, out: Path) -> None:
    """Copy a page, and the files that it links to; links to folders lead to their page, where there is one."""
    folder = (TOP / page).parent

    def to(target: str, image: bool) -> str | None:
        path, mark, anchor = target.partition("#")
        there = (folder / path).resolve() if path else TOP / page
        if there.is_dir():
            there = there / "README.md"
            if not there.exists():
                return None
        elif there.suffix != ".md":
            _copied(there, out)
        return os.path.relpath(there, folder) + mark + anchor if path else target

    made = out / page
    made.parent.mkdir(parents=True, exist_ok=True)
    made.write_text(led((TOP / page).read_text(encoding="utf-8"), to), encoding="utf-8")


def _copied(path: Path, out: Path) -> None:
    made = out / path.relative_to(TOP)
    made.parent.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(path, made)


def main(folder: Path) -> None:
    """All pages below ``docs`` of a folder, and the settings of MkDocs beside them."""
    shutil.rmtree(folder, ignore_errors=True)
    for page in tracked():
        staged(page, folder / "docs")
    shutil.copyfile(TOP / "helm/release/mkdocs.yml", folder / "mkdocs.yml")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
