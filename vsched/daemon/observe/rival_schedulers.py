"""Somebody else who binds pods of ours: two schedulers of one name place more on a node than it has.

That happens where two daemons run without an election, or Volcano's scheduler serves the same name. One that takes over
from another finds what that one bound last: this is not counted.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from vsched.clock import Clock
from vsched.daemon.observe.telemetry import Telemetry
from vsched.model.task import Task
from vsched.writes.bodies import pod_reference
from vsched.writes.events import WARNING, EventRecorder

AGAIN_SECONDS = 60.0
"""Between two lines of the log."""
FRESH_SECONDS = 300.0
"""So long after the last of them it is still said where people look."""
TAKEOVER_SECONDS = 30.0
"""So long after a leader took the lead, bindings may be those of the one before."""


class Rivals:
    """Counts bindings of pods of ours that are not ours, and says so."""

    def __init__(
        self,
        names: tuple[str, ...],
        clock: Clock,
        leads: Callable[[], bool],
        events: EventRecorder,
        telemetry: Telemetry,
        *,
        elected: bool,
    ) -> None:
        self._names = " or ".join(names)
        self._clock = clock
        self._leads = leads
        self._events = events
        self._telemetry = telemetry
        self._elected = elected
        self._led_since: float | None = None
        self.bindings = 0
        """So far."""
        self._last = 0.0
        self._said = -AGAIN_SECONDS
        self._latest = ""

    def bound(self, task: Task) -> None:
        """The watch shows a pod of ours on a node that we did not put it on."""
        now = self._clock.monotonic()
        if not self._leads():
            self._led_since = None
            return
        if self._led_since is None:
            self._led_since = now
        if self._elected and now - self._led_since < TAKEOVER_SECONDS:
            return
        self.bindings += 1
        self._telemetry.history.foreign = self.bindings
        self._last, self._latest = now, f"{task.namespace}/{task.name} to {task.node}"
        about = pod_reference(task.namespace, task.name, task.uid)
        self._events.record(about, WARNING, "BoundByAnother", f"bound to {task.node}, and not by this scheduler")
        if now - self._said >= AGAIN_SECONDS:
            self._said = now
            self._telemetry.worry("another scheduler binds pods of ours", problem=self.problem, bindings=self.bindings)

    @property
    def problem(self) -> str:
        """What is to be said where people look, empty where nothing is."""
        if not self.bindings or self._clock.monotonic() - self._last > FRESH_SECONDS:
            return ""
        return (
            f"another scheduler binds pods of {self._names}: {self.bindings} so far, the last {self._latest}; "
            "nodes are given more than they have (expected one daemon for a name, or --leader-elect for all of them)"
        )

    def to_dict(self) -> Mapping[str, object]:
        """For ``/readyz``; nothing where all is well."""
        return {"bindings": self.bindings, "problem": self.problem} if self.problem else {}
