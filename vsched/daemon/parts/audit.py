"""Writes the audit log: each decision and what became of it, as lines of JSON in files of bounded size.

A disk that is full or a path that cannot be written loses lines, never a session: it is said once, and in the audit log
itself once it can be written again.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from functools import partial
from socket import gethostname
from typing import Any

import msgspec

from vsched.clock import Clock
from vsched.daemon.observe.disk import DiskThread
from vsched.daemon.observe.telemetry import Timing
from vsched.daemon.parts.base import Base
from vsched.daemon.words import log as words
from vsched.model.plan import CycleReport
from vsched.model.snapshot import Snapshot
from vsched.record.audit import AuditLine, AuditTrail
from vsched.record.rotated import RotatedFile
from vsched.writes.bindings import Outcome
from vsched.writes.evictions import EvictionOutcome

FLUSH_SECONDS = 1.0
"""Lines are written this often; whoever is killed loses those that came since."""
WAITING_MAX = 200_000
"""While the disk hangs, so many lines wait; then they are dropped, as if it had refused them."""
POLICY_DIGITS = 16


class AuditLog:
    """Lines that are not written yet, and the file that they go to."""

    def __init__(
        self, file: RotatedFile, by: str, policy: Callable[[], str], clock: Clock, worry: Callable[..., Any]
    ) -> None:
        """``by`` names this daemon; ``policy`` is the digest of the policy in force."""
        self._file, self._policy, self._clock, self._worry = file, policy, clock, worry
        self._trail = AuditTrail(by)
        self._encode = msgspec.json.Encoder().encode
        self._waiting: list[bytes] = []
        self._session, self._digest = 0, ""
        self._unsaid, self._why = 0, ""
        """Lines that were lost, which the log does not say yet, and why."""
        self._disk = DiskThread()
        self._is_open = False
        """Whether the file could be written the last time."""
        self.written, self.lost = 0, 0
        """Lines."""

    def begin(self, session: int, seconds: float) -> None:
        """A session begins, under the policy that is in force now."""
        self._session, self._digest = session, self._policy()[:POLICY_DIGITS]

    def deciding(self, snapshot: Snapshot, report: CycleReport) -> Iterator[None]:
        """Take in what the session has decided, a line a step."""
        for line in self._trail.decisions(snapshot, report, self._session, self._digest):
            self._add(line)
            yield

    def ended(self, report: CycleReport, timing: Timing) -> None:
        """Nothing more is decided."""

    def bound(self, outcome: Outcome) -> None:
        """A binding has ended, well or not."""
        self._add(self._trail.outcome(self._clock.now(), outcome.bind, outcome.verdict.value, outcome.message))

    def evicted(self, outcome: EvictionOutcome) -> None:
        """An eviction has ended, well or not."""
        self._add(self._trail.outcome(self._clock.now(), outcome.eviction, outcome.verdict.value, outcome.message))

    async def run(self) -> None:
        """Write now, to find out whether it can be, and then every second until cancelled."""
        while True:
            await self.flush()
            await asyncio.sleep(FLUSH_SECONDS)

    async def flush(self) -> None:
        """Write what waits, in a thread."""
        lines, self._waiting = self._waiting, []
        unsaid, count = self._unsaid, len(lines)
        if self._is_open and not lines and not unsaid:
            return
        if unsaid:
            lines.insert(0, self._encode(self._trail.lost(self._clock.now(), unsaid, self._why)))
        try:
            await self._disk.do(partial(self._file.write, lines))
        except OSError as error:
            self._is_open = False
            self._lose(count, error.strerror or str(error))
        else:
            self.written += count
            self._is_open = True
            if unsaid:
                self._unsaid -= unsaid
                self._worry(words.AUDIT_GOES_ON, lines_lost=unsaid)
                self._why = ""

    async def end(self) -> None:
        """Write what waits, and close the file."""
        await self.flush()
        await self._disk.do(self._file.close)

    def _add(self, line: AuditLine) -> None:
        self._waiting.append(self._encode(line))
        if len(self._waiting) > WAITING_MAX:
            waiting, self._waiting = self._waiting, []
            self._lose(len(waiting), words.TOO_MANY_LINES)

    def _lose(self, lines: int, why: str) -> None:
        self.lost += lines
        self._unsaid += lines
        if why != self._why:
            self._why = why
            self._worry(words.AUDIT_LOST, problem=why, lines=lines)

    def numbers(self) -> dict[str, dict[str, float]]:
        """For metrics."""
        return {"vsched_audit_lines_total": {"written": float(self.written), "lost": float(self.lost)}}


def audit_log(base: Base) -> AuditLog | None:
    """The audit log that a daemon writes by its options; None for none."""
    options, telemetry = base.options, base.telemetry
    if options.audit_log is None:
        return None
    file = RotatedFile(options.audit_log, options.audit_log_bytes, options.audit_log_files)
    log = AuditLog(file, gethostname(), lambda: base.policy.settings.sha256, base.clock, telemetry.worry)
    telemetry.on_outcome.add(log.bound)
    telemetry.on_eviction.add(log.evicted)
    return log
