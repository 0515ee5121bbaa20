"""The disks that the logs and records of a bottle's daemons go to: they may be full for a while."""

from __future__ import annotations

import io
import logging
from collections.abc import Iterator
from contextlib import contextmanager
from errno import EBADF, ENOSPC
from io import FileIO
from os import strerror
from pathlib import Path
from typing import Any

from vsched.lab.soak.bottle.processes import current
from vsched.log import LogOutput
from vsched.words import lines_lost


class Disk:
    """What a daemon's files are on."""

    def __init__(self) -> None:
        self.is_full = False
        self.after_losses: list[Path] = []
        """The files that were begun after something could not be written to the one before."""
        self.has_lost = False
        """Whether something could not be written to the last file."""

    def check(self) -> None:
        """Raise OSError where there is no room."""
        if self.is_full:
            raise OSError(ENOSPC, strerror(ENOSPC))

    def open(self, file: Path | int, mode: str) -> FileIO:
        """A file on it, as ``vsched.files`` opens them."""
        if isinstance(file, Path) and self.has_lost:
            self.has_lost = False
            self.after_losses.append(file)
        return _FileOnDisk(self, file, mode)

    @contextmanager
    def full(self) -> Iterator[None]:
        """Meanwhile there is no room."""
        self.is_full = True
        try:
            yield
        finally:
            self.is_full = False


class _FileOnDisk(FileIO):
    def __init__(self, disk: Disk, file: Path | int, mode: str) -> None:
        process = current()
        self._disk, self._ends = disk, {} if process is None else process.ends
        super().__init__(file, mode)
        self._ends[self.close] = None

    def close(self) -> None:
        self._ends.pop(self.close, None)
        super().close()

    def write(self, data: Any, /) -> int:
        if self.closed:  # whoever has it was killed
            raise OSError(EBADF, strerror(EBADF))
        try:
            self._disk.check()
        except OSError:
            self._disk.has_lost = True
            raise
        return super().write(data)


class _Text(io.StringIO):
    def __init__(self, disk: Disk) -> None:
        super().__init__()
        self._disk = disk
        self.taken: list[str] = []
        """What was written since somebody emptied it."""

    def write(self, text: str, /) -> int:
        self._disk.check()
        self.taken.append(text)
        return len(text)


class DaemonLog:
    """The log of a daemon: lines come to its disk as those of any daemon come to a file."""

    def __init__(self, disk: Disk) -> None:
        self._disk, self._text = disk, _Text(disk)
        self._output = LogOutput(self._text)
        self._lost = 0
        """Lines that nobody was told of so far."""

    def say(self, text: str) -> bool:
        """Log a line; whether all is on the disk that should be: the line, and before it how many were lost."""
        if self._disk.is_full:
            self._lost += 1
            self._output.handle(logging.makeLogRecord({"msg": text}))
            return True
        expected = [lines_lost(self._lost, strerror(ENOSPC))] if self._lost else []
        self._lost = 0
        self._text.taken.clear()
        self._output.handle(logging.makeLogRecord({"msg": text}))
        return self._text.taken == [f"{line}\n" for line in (*expected, text)]
