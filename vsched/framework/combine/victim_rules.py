"""What holds for victims whatever the plugins vote: pods that may not be evicted yet, and until when."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import inf

from vsched.framework.points.victims import Purpose, VictimProtection
from vsched.model.pods.task import Task

Protected = Callable[[Task], bool]


class VictimRules:
    """The rules about victims that no tier can overrule, as the plugins of one session give them."""

    def __init__(self, protections: Sequence[VictimProtection]) -> None:
        self._protections = protections
        self._now = 0.0
        self.due = inf
        """When the first protection ends that the session has met, seconds since the epoch; infinite for none."""

    def open(self, now: float) -> None:
        """Begin a session at this time."""
        self._now = now

    def protected(self, purpose: Purpose | None) -> Protected | None:
        """A function that says whether a task may not be evicted yet; None where nothing is protected.

        ``purpose`` is None for an eviction that makes room for no other task.
        """
        if not self._protections:
            return None

        def is_protected(task: Task) -> bool:
            until = self.protected_until(task, purpose)
            if until <= self._now:
                return False
            self.due = min(self.due, until)
            return True

        return is_protected

    def protected_until(self, task: Task, purpose: Purpose | None) -> float:
        """Until when a task may not be evicted; the time of the session or earlier where it may be."""
        return max((one.protected_until(task, purpose) for one in self._protections), default=0.0)

    def words(self, task: Task, purpose: Purpose | None) -> str:
        """Why a task may not be evicted yet, for messages."""
        return max(self._protections, key=lambda one: one.protected_until(task, purpose)).protects_because
