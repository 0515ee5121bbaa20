"""What is said of work traces."""

from __future__ import annotations

from vsched import words


def no_segments(path: object, ending: str) -> str:
    return f"{path}: no work trace in this folder (expected files work-*{ending})"


def no_line(path: object, number: int, error: object) -> str:
    return f"{path}: line {number}: {error} (expected a line of a work trace)"


def no_beginning(path: object) -> str:
    return f"{path}: line 1 does not say that a recording began (expected a work trace)"


def newer_format(path: object, found: int, known: int) -> str:
    return f"{path}: format {found} of work traces is newer than this vsched (which reads up to {known})"


def nothing_in_it(path: object) -> str:
    return f"{path}: nothing in it (expected a work trace)"


def line_too_long(path: object, most: int) -> str:
    return f"{path}: a line has more than {most:,} bytes (expected a work trace)"


def not_unpacked(path: object, error: object) -> str:
    return f"{path}: cannot be unpacked: {error}"


def not_read(path: object, error: object) -> str:
    return words.cannot_be_read(path, error)


def not_written(path: object, error: object) -> str:
    return f"{path}: not written: {error}"
