"""Writes down, in what is built from a checkout, which commit it was."""

from __future__ import annotations

import subprocess
import tempfile
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

DESCRIBE = ("git", "--no-optional-locks", "describe", "--always", "--dirty", "--abbrev=12", "--exclude=*")
"""The commit alone, whatever the tags, with ``-dirty`` after it where there are changes besides."""


class CommitHook(BuildHookInterface[Any]):
    """Puts ``vsched/commit.txt`` into wheels and source archives."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        # An editable package asks git as it runs; a source archive that is built has the file already.
        if version == "editable" or not (Path(self.root) / ".git").exists():
            return
        try:
            told = subprocess.run(DESCRIBE, cwd=self.root, capture_output=True, text=True, timeout=30, check=True)
        except (OSError, subprocess.SubprocessError):
            return
        self._scratch = tempfile.TemporaryDirectory(prefix="vsched-")
        written = Path(self._scratch.name) / "commit.txt"
        written.write_text(told.stdout, encoding="utf-8")
        build_data["force_include"][str(written)] = "vsched/commit.txt"

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:
        if hasattr(self, "_scratch"):
            self._scratch.cleanup()
