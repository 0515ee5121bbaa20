"""What a shadow says of the log of its findings."""

from __future__ import annotations

from pathlib import Path

LOG_WITHOUT_SHADOW = "--shadow-log: has no effect without --shadow"
NOT_LOGGED = "shadow findings not written to the log"
LOGGED_AGAIN = "shadow findings are written to the log again"


def no_folder(folder: Path, why: str) -> str:
    return f"--shadow-log: {folder}: {why}"


def in_use(folder: Path) -> str:
    return f"--shadow-log: {folder} is in use by another process"


def no_log(folder: Path) -> str:
    return f"{folder}: no log of a shadow (expected files named shadow-YYYY-MM-DD.jsonl)"
