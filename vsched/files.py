"""Files as others leave them: read whole, up to a bound, and only where they are files; and files to be written."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Sequence
from contextvars import ContextVar
from io import FileIO
from pathlib import Path

from vsched import words
from vsched.errors import BadInput

INPUT_BYTES = 1 << 30
"""More than the manifests of any cluster have."""
CREDENTIAL_BYTES = 1 << 20
"""More than any certificate, key, token or kubeconfig has."""

DISK: ContextVar[Callable[[Path | int, str], FileIO]] = ContextVar("disk", default=FileIO)
"""What opens the files that this context writes, by path or descriptor and mode."""


def written(file: Path | int, mode: str) -> FileIO:
    """A file to be written for long, without a buffer; raises OSError."""
    return DISK.get()(file, mode)


def content(
    path: str | Path, *, most_bytes: int = CREDENTIAL_BYTES, below: Sequence[str | Path] | None = None
) -> bytes:
    """All of a regular file; raises BadInput, also where it is longer than ``most_bytes``.

    With ``below`` it has to be in one of these directories, links resolved.
    """
    if below is not None and not _is_below(path, below):
        raise BadInput(words.is_not_in(path, " or ".join(map(str, below)) or words.AN_ALLOWED_DIRECTORY))
    # A pipe that nobody writes to would be waited for.
    longest = f"{most_bytes >> 10} KiB"
    return _read(path, os.O_NONBLOCK, most_bytes, longest, lambda file: stat.S_ISREG(os.fstat(file).st_mode))


def text(path: str | Path, *, most_bytes: int = INPUT_BYTES) -> str:
    """The text of a file or a pipe that a person named; raises BadInput, also for devices and for what never ends."""
    found = _read(path, 0, most_bytes, f"{most_bytes >> 20} MiB", lambda file: _may_be_named(file, path))
    try:
        return found.decode("utf-8")
    except UnicodeDecodeError as error:
        raise BadInput(words.no_text(path, error.start)) from None


def _read(path: str | Path, flags: int, most_bytes: int, longest: str, may_be_read: Callable[[int], bool]) -> bytes:
    try:
        with open(os.open(path, os.O_RDONLY | os.O_CLOEXEC | flags), "rb") as file:
            if not may_be_read(file.fileno()):
                raise BadInput(words.no_regular_file(path))
            found = file.read(most_bytes + 1)
    except (OSError, ValueError) as error:  # ValueError: a NUL byte in the name
        raise BadInput(words.cannot_be_read(path, getattr(error, "strerror", None) or error)) from error
    if len(found) > most_bytes:
        raise BadInput(words.is_longer(path, longest))
    return found


def _may_be_named(file: int, path: str | Path) -> bool:
    """Whether it has an end: a file, a pipe, what somebody types, or the file that is always empty."""
    mode = os.fstat(file).st_mode
    nothing = stat.S_ISCHR(mode) and os.path.realpath(path) == os.devnull
    return stat.S_ISREG(mode) or stat.S_ISFIFO(mode) or os.isatty(file) or nothing


def _is_below(path: str | Path, directories: Sequence[str | Path]) -> bool:
    resolved = Path(os.path.realpath(path))
    return any(resolved.is_relative_to(os.path.realpath(directory)) for directory in directories)
