"""Detects other schedulers that bind pods of this one. Two schedulers of one name overcommit nodes.

That happens where two daemons run without an election, or Volcano's scheduler has the same name. A daemon that has
just taken the lead sees the last bindings of the leader before it; these are not counted.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from vsched.clock import Clock
from vsched.daemon.observe.telemetry import Telemetry
from vsched.daemon.words import log as words
from vsched.daemon.words import states as states_words
from vsched.model.pods.task import Task
from vsched.writes.bodies import pod_reference
from vsched.writes.events import WARNING, EventRecorder

AGAIN_SECONDS = 60.0
"""The least time between two log lines."""
FRESH_SECONDS = 300.0
"""``/readyz`` shows the problem for so long after the last such binding."""
TAKEOVER_SECONDS = 30.0
"""For so long after taking the lead, bindings may be those of the leader before."""


class RivalSchedulers:
    """Counts and reports bindings of our pods that we did not make."""

    def __init__(
        self,
        names: tuple[str, ...],
        clock: Clock,
        leads: Callable[[], bool],
        events: EventRecorder,
        telemetry: Telemetry,
        ours: Callable[[Task], bool],
        *,
        elected: bool,
    ) -> None:
        """``ours`` says whether this daemon decides on a pod; those of other shards are bound by other daemons."""
        self._names = " or ".join(names)
        self._clock = clock
        self._leads = leads
        self._events = events
        self._telemetry = telemetry
        self._elected = elected
        self._led_since: float | None = None
        self._ours = ours
        self.bindings = 0
        """So far."""
        self._last = 0.0
        self._said = -AGAIN_SECONDS
        self._latest = ""

    def took_over(self) -> None:
        """Jobs of another daemon are ours from now on: its last bindings may still come."""
        self._led_since = None

    def bound(self, task: Task) -> None:
        """The watch shows one of our pods on a node that we did not choose."""
        now = self._clock.monotonic()
        if not self._leads():
            self._led_since = None
            return
        if not self._ours(task):
            return
        if self._led_since is None:
            self._led_since = now
        if self._elected and now - self._led_since < TAKEOVER_SECONDS:
            return
        self.bindings += 1
        self._telemetry.history.bound_by_others()
        self._last, self._latest = now, f"{task.namespace}/{task.name} to {task.node}"
        about = pod_reference(task.namespace, task.name, task.uid)
        self._events.record(about, WARNING, "BoundByAnother", states_words.bound_by_another(task.node))
        if now - self._said >= AGAIN_SECONDS:
            self._said = now
            self._telemetry.worry(words.RIVAL, problem=self.problem, bindings=self.bindings)

    @property
    def problem(self) -> str:
        """The problem as a sentence; empty if there is none."""
        if not self.bindings or self._clock.monotonic() - self._last > FRESH_SECONDS:
            return ""
        return states_words.rival(self._names, self.bindings, self._latest)

    def to_dict(self) -> Mapping[str, object]:
        """For ``/readyz``; empty if there is no problem."""
        return {"bindings": self.bindings, "problem": self.problem} if self.problem else {}
