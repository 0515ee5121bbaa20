"""Checks a share of the sessions against the rules (``vsched.proof``), in a thread, in what time sessions leave.

Sessions go first: a check pauses while one is under way, and all checks together use a small part of one processor. So
where sessions are many or long, fewer are checked than the share says. A check that takes too long is given up.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from vsched.clock import thread_time
from vsched.daemon.observe.recordings import Recorder
from vsched.daemon.observe.settings import VerifierSettings
from vsched.daemon.observe.snapshots import SnapshotService
from vsched.daemon.observe.telemetry import Telemetry
from vsched.daemon.words import log as words
from vsched.errors import Unavailable
from vsched.proof.verify import RuleFinding, verify
from vsched.settings.proving import facts_of
from vsched.web.snapshots import FrozenSnapshot


class TookLong(Exception):
    """A check is given up."""


class Verifier:
    """Checks sessions one at a time."""

    def __init__(
        self,
        share: float,
        snapshots: SnapshotService,
        recorder: Recorder,
        telemetry: Telemetry,
        settings: VerifierSettings,
    ) -> None:
        self._every = max(1, round(1 / share))
        self._snapshots = snapshots
        self._recorder = recorder
        self._telemetry = telemetry
        self._settings = settings
        self._next = self._every
        """The number of the session that is to be checked next."""
        self._ended = False

    async def run(self) -> None:
        """Check until cancelled; errors are logged and end nothing else."""
        settings, self._ended, pause_seconds = self._settings, False, 0.0
        try:
            while True:
                await asyncio.sleep(pause_seconds)
                pause_seconds = settings.look_seconds
                if self._snapshots.number + 1 < self._next:
                    continue
                try:
                    pause_seconds = await self._check_one() * (1.0 / settings.part - 1.0)
                except Unavailable:
                    continue
                except Exception as error:  # scheduling goes on unchecked
                    self._telemetry.worry(words.CHECK_FAILED, problem=f"{type(error).__name__}: {error}")
                    pause_seconds = settings.pause_seconds
        finally:
            self._ended = True  # a check in its thread stops after the next decision

    async def _check_one(self) -> float:
        """Check the next session; the processor time it took."""
        frozen = await self._snapshots.look(urgent=False)
        self._next = frozen.number + self._every
        findings, seconds = await asyncio.to_thread(self._findings, frozen)
        self._telemetry.verified(frozen.number, findings)
        broken = [f"{one.rule}: {text}" for one in findings or () for text in one.violations]
        if broken:
            self._recorder.violated(frozen, broken[0])
        return seconds

    def _findings(self, frozen: FrozenSnapshot) -> tuple[Sequence[RuleFinding] | None, float]:
        """What the rules say of a session, None where that takes too long, and the processor time. In a thread."""
        began, settings, at_rest = thread_time(), self._settings, self._snapshots.at_rest

        def between() -> None:
            if not at_rest.is_set():
                at_rest.wait(settings.rest_seconds)
            if self._ended or thread_time() > began + settings.seconds_max:
                raise TookLong

        try:
            found = verify(frozen.snapshot, facts_of(frozen.policy), frozen.report, between)
        except TookLong:
            return None, thread_time() - began
        return found, thread_time() - began
