"""Records the cluster's work in a folder: sees each snapshot, and writes what it says every few seconds.

A disk that is full or gone loses lines, never a session: what could not be written is said once, and once the folder
can be written again a new segment says all that is there, and since when nothing is known.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

from vsched.clock import Clock
from vsched.daemon.observe.disk import DiskThread
from vsched.daemon.options import Options
from vsched.daemon.words import log as words
from vsched.errors import BadInput
from vsched.model.snapshot import Snapshot
from vsched.randomness import secret
from vsched.record.folder import WorkFolder, last_seen
from vsched.record.lines import AnyLine, Ended
from vsched.record.names import HiddenNames, TraceNames
from vsched.record.observer import WorkObserver

FLUSH_SECONDS = 5.0
"""Lines are written this often; whoever is killed loses those that came since."""
WAITING_MAX = 1_000_000
"""While the disk hangs, so many lines wait; then they are dropped, as if it had refused them."""
KEY_FILE, KEY_BYTES = "names.key", 32
"""The key of made-up names, in the folder. Whoever has it can find out by trying whose names they are."""


class WorkTrace:
    """What was seen and is not written yet, and the folder that it goes to."""

    def __init__(self, folder: WorkFolder, observer: WorkObserver, clock: Clock, worry: Callable[..., Any]) -> None:
        self._folder, self._observer, self._clock, self._worry = folder, observer, clock, worry
        self._waiting: list[AnyLine] = []
        self._written_at = observer.seen
        """When the cluster was seen last that the folder knows of."""
        self._failed = False
        """Whether lines were lost that the next segment has to make up for."""
        self._disk = DiskThread()
        self.written, self.lost = 0, 0
        """Lines."""

    def seeing(self, snapshot: Snapshot) -> Iterator[None]:
        """Take in what a snapshot shows, in steps; costs what has changed since the last one."""
        for line in self._observer.looking(snapshot):
            self._waiting.append(line)
            yield
        if len(self._waiting) > WAITING_MAX:
            self._lose(words.TOO_MANY_LINES)

    async def run(self) -> None:
        """Write every few seconds, until cancelled."""
        while True:
            await asyncio.sleep(FLUSH_SECONDS)
            await self.flush()

    async def flush(self) -> None:
        """Write what waits, in a thread."""
        lines, self._waiting = self._waiting, []
        if not lines and not self._failed:
            return
        now, waited, seen = self._clock.now(), len(lines), self._observer.seen
        begins: Iterable[AnyLine] | None = None
        if self._failed:
            begins, lines = self._observer.again(self._written_at), []
        elif self._folder.is_over(now):
            begins, lines = (self._observer.again(), lines) if self._folder.is_open else (lines, [])
        try:
            await self._disk.do(partial(self._write, now, begins, lines))
        except OSError as error:
            self._lose(error.strerror or str(error), waited)
        else:
            self._failed, self._written_at = False, seen

    async def end(self) -> None:
        """Write what waits, and that the recording ended in order."""
        await self.flush()
        if not self._folder.is_open:
            return
        try:
            await self._disk.do(self._end)
        except OSError as error:
            self._worry(words.WORK_TRACE_LOST, problem=error.strerror or str(error), lines=1)

    def close(self) -> None:
        """Leave the folder as it is, as whoever is killed does."""
        with contextlib.suppress(OSError):
            self._folder.close()

    def _end(self) -> None:
        self._folder.write([Ended(at=self._observer.seen)])
        self._folder.close()

    def _write(self, now: float, begins: Iterable[AnyLine] | None, lines: list[AnyLine]) -> None:
        if begins is None or (self._folder.is_open and lines):  # what came before a new segment is in the old one
            self.written += self._folder.write(lines)
        if begins is not None:
            self.written += self._folder.begin(now, begins)

    def _lose(self, problem: str, more: int = 0) -> None:
        lost = len(self._waiting) + more
        self._waiting = []
        self.lost += lost
        if not self._failed:
            self._failed = True
            self._worry(words.WORK_TRACE_LOST, problem=problem, lines=lost)

    def numbers(self) -> dict[str, dict[str, float]]:
        """For metrics."""
        return {"vsched_work_trace_lines_total": {"written": float(self.written), "lost": float(self.lost)}}


def work_of(options: Options, clock: Clock, worry: Callable[..., Any]) -> WorkTrace | None:
    """The trace that a daemon writes by its options, None for none; raises BadInput."""
    if options.record_work is None:
        return None
    names, size = options.scheduler_names, options.record_work_bytes
    return work_trace(options.record_work, size, names, clock, worry, anonymous=options.record_anonymous)


def work_trace(
    path: Path,
    most_bytes: int,
    schedulers: tuple[str, ...],
    clock: Clock,
    worry: Callable[..., Any],
    *,
    anonymous: bool = False,
    scheduler_of: Callable[[str], str] = lambda uid: "",
) -> WorkTrace:
    """The trace in a folder, which is made where there is none; raises BadInput where it cannot be used."""
    try:
        path.mkdir(parents=True, exist_ok=True)
        names = HiddenNames(_key(path / KEY_FILE)) if anonymous else TraceNames()
        after = last_seen(path)
    except OSError as error:
        raise BadInput(words.no_work_folder(path, error.strerror or error)) from None
    return WorkTrace(WorkFolder(path, most_bytes), WorkObserver(names, schedulers, scheduler_of, after), clock, worry)


def _private(name: str, flags: int) -> int:
    return os.open(name, flags, 0o600)


def _key(path: Path) -> bytes:
    """The key that is there, or a new one; raises OSError, and BadInput where the file has none."""
    try:
        with open(path, "xb", opener=_private) as file:
            file.write(secret(KEY_BYTES))
    except FileExistsError:
        pass
    found = path.read_bytes()
    if len(found) != KEY_BYTES:
        raise BadInput(words.no_key(path, KEY_BYTES))
    return found
