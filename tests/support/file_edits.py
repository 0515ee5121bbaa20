"""Files that are edited as editors and the kubelet do it."""

from __future__ import annotations

import os
from pathlib import Path

TURNS = 10
"""Of the event loop, by when the directory is watched: the watch has no word for it, and takes one."""


def write(path: Path, text: str) -> None:
    path.write_text(text, encoding="utf-8")


def rename_over(path: Path, text: str) -> None:
    beside = path.with_suffix(".new")
    beside.write_text(text, encoding="utf-8")
    beside.rename(path)


def swap_link(path: Path, text: str) -> None:
    """As the kubelet does: a new directory, then the ``..data`` link moved over the old one."""
    directory = path.parent
    version = directory / f"..{len(list(directory.iterdir()))}"
    version.mkdir()
    (version / path.name).write_text(text, encoding="utf-8")
    link = directory / "..data_tmp"
    link.symlink_to(version.name)
    link.rename(directory / "..data")
    if not path.is_symlink():
        path.unlink(missing_ok=True)
        path.symlink_to(os.path.join("..data", path.name))
