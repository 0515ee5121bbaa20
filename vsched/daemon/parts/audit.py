"""Writes the audit log: each decision and what became of it, as lines in files of bounded size, or to a collector.

A disk that is full, a path that cannot be written or a collector that does not answer loses lines, never a session: it
is said once, and in the audit log itself once it can be written again.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from socket import gethostname
from typing import Any, Protocol

import msgspec

from vsched.clock import Clock
from vsched.daemon.observe.collected_lines import CollectedLines
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
FILE, COLLECTOR = "audit-log", "audit-log-otlp"
"""Where lines go, as the tasks are called that write them."""
COUNTED = {FILE: ("written", "lost"), COLLECTOR: ("sent", "not_sent")}
"""What became of lines, as metrics say it."""


class LineTarget(Protocol):
    """Takes lines; called in a thread."""

    def write(self, lines: Sequence[AuditLine]) -> None:
        """Raises OSError where they are lost."""

    def close(self) -> None: ...


class AuditFile:
    """Lines of JSON in a file."""

    def __init__(self, file: RotatedFile) -> None:
        self._file = file
        self._encode = msgspec.json.Encoder().encode

    def write(self, lines: Sequence[AuditLine]) -> None:
        """Append them; raises OSError."""
        self._file.write(self._encode(line) for line in lines)

    def close(self) -> None:
        """Leave the file as it is."""
        self._file.close()


class Outlet:
    """Lines that are not written yet, and where they go."""

    def __init__(
        self, target: LineTarget, name: str, lost: Callable[[int, str], AuditLine], worry: Callable[..., Any]
    ) -> None:
        """``lost`` makes the line that says how many are missing before it, and why."""
        self.name, self._target, self._line_of_lost, self._worry = name, target, lost, worry
        self._waiting: list[AuditLine] = []
        self._unsaid, self._why = 0, ""
        """Lines that were lost, which the log does not say yet, and why."""
        self._thread = DiskThread()
        self._is_open = False
        """Whether it could be written the last time."""
        self.written, self.lost = 0, 0
        """Lines."""

    def add(self, line: AuditLine) -> None:
        """Have it written soon."""
        self._waiting.append(line)
        if len(self._waiting) > WAITING_MAX:
            waiting, self._waiting = self._waiting, []
            self._lose(len(waiting), words.TOO_MANY_LINES)

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
            lines.insert(0, self._line_of_lost(unsaid, self._why))
        try:
            await self._thread.do(partial(self._target.write, lines))
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
        """Write what waits, and close."""
        await self.flush()
        await self._thread.do(self._target.close)

    def _lose(self, lines: int, why: str) -> None:
        self.lost += lines
        self._unsaid += lines
        if why != self._why:
            self._why = why
            self._worry(words.AUDIT_LOST, problem=why, lines=lines)


class AuditLog:
    """Makes the lines of sessions, and of what became of their decisions."""

    def __init__(
        self,
        targets: Mapping[str, LineTarget],
        by: str,
        policy: Callable[[], str],
        clock: Clock,
        worry: Callable[..., Any],
    ) -> None:
        """``targets``: where lines go, by name. ``by`` names this daemon; ``policy``: the digest of that in force."""
        self._policy, self._clock = policy, clock
        self._trail = AuditTrail(by)
        self.outlets = tuple(Outlet(target, name, self._lost, worry) for name, target in targets.items())
        self._session, self._digest = 0, ""

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

    async def end(self) -> None:
        """Write what waits, and close."""
        for outlet in self.outlets:
            await outlet.end()

    def _add(self, line: AuditLine) -> None:
        for outlet in self.outlets:
            outlet.add(line)

    def _lost(self, lines: int, why: str) -> AuditLine:
        return self._trail.lost(self._clock.now(), lines, why)

    def numbers(self) -> dict[str, dict[str, float]]:
        """For metrics."""
        counts: dict[str, float] = {}
        for outlet in self.outlets:
            written, lost = COUNTED[outlet.name]
            counts |= {written: float(outlet.written), lost: float(outlet.lost)}
        return {"vsched_audit_lines_total": counts}


def audit_log(base: Base) -> AuditLog | None:
    """The audit log that a daemon writes by its options, None for none; raises BadInput."""
    options, telemetry = base.options, base.telemetry
    targets: dict[str, LineTarget] = {}
    if options.audit_log is not None:
        file = RotatedFile(options.audit_log, options.audit_log_bytes, options.audit_log_files)
        targets[FILE] = AuditFile(file)
    if options.audit_log_otlp:
        targets[COLLECTOR] = CollectedLines(options.otlp_endpoint)
    if not targets:
        return None
    log = AuditLog(targets, gethostname(), lambda: base.policy.settings.sha256, base.clock, telemetry.worry)
    telemetry.on_outcome.add(log.bound)
    telemetry.on_eviction.add(log.evicted)
    return log
