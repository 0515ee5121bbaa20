"""Measures twice a second how late the event loop is, and reports whether extenders answer."""

from __future__ import annotations

import asyncio
from itertools import count

from vsched.clock import perf_counter
from vsched.daemon.loop.callouts import Caller
from vsched.daemon.observe.telemetry import Telemetry
from vsched.daemon.words import log as words

BEAT_SECONDS = 0.5
COUNTED_BEATS = 10
"""How often the tasks of the loop are counted, in beats: it takes longer than all the rest of a beat."""


class Heartbeat:
    """Beats as long as the event loop turns."""

    def __init__(self, telemetry: Telemetry, caller: Caller) -> None:
        self._telemetry = telemetry
        self._caller = caller
        self._call_problem = ""

    async def run(self) -> None:
        """Beat until cancelled."""
        for beat in count():
            began = perf_counter()
            await asyncio.sleep(BEAT_SECONDS)
            self._telemetry.process.lag(max(0.0, perf_counter() - began - BEAT_SECONDS))
            if beat % COUNTED_BEATS == 0:
                self._telemetry.process.tasks(len(asyncio.all_tasks()))
            self._tell_of_calls()

    def _tell_of_calls(self) -> None:
        """Log once that an extender does not answer, and once that it answers again."""
        problem = self._caller.problem
        if problem and not self._call_problem:
            self._telemetry.worry(words.EXTENDER_SILENT, problem=problem)
        elif self._call_problem and not problem:
            self._telemetry.note(words.EXTENDER_BACK)
        self._call_problem = problem
