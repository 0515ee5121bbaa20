"""The disks that the logs of a bottle's daemons go to: they may be full for a while."""

from __future__ import annotations

import io
import logging
from collections.abc import Iterator
from contextlib import contextmanager
from errno import ENOSPC
from os import strerror

from vsched.log import LogOutput
from vsched.words import lines_lost


class Disk(io.StringIO):
    """A file that takes text unless it is full."""

    def __init__(self) -> None:
        super().__init__()
        self.is_full = False
        self.taken: list[str] = []
        """What was written since somebody emptied it."""

    def write(self, text: str, /) -> int:
        if self.is_full:
            raise OSError(ENOSPC, strerror(ENOSPC))
        self.taken.append(text)
        return len(text)


class DaemonLog:
    """The log of a daemon: lines come to its disk as those of any daemon come to a file."""

    def __init__(self) -> None:
        self._disk = Disk()
        self._output = LogOutput(self._disk)
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
        self._disk.taken.clear()
        self._output.handle(logging.makeLogRecord({"msg": text}))
        return self._disk.taken == [f"{line}\n" for line in (*expected, text)]

    @contextmanager
    def full(self) -> Iterator[None]:
        """Meanwhile there is no room."""
        self._disk.is_full = True
        try:
            yield
        finally:
            self._disk.is_full = False
