"""How many pods may be away at a time: disruption budgets of pods by their labels, and those of jobs."""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from vsched.model.pods.shape import Selector
from vsched.model.pods.task import Task


class DisruptionBudget(msgspec.Struct, frozen=True):
    """A PodDisruptionBudget that selects pods of its namespace, as its status stands."""

    namespace: str
    name: str
    selector: Selector
    allowed: int
    """How many more pods may be evicted."""
    disrupted: frozenset[str] = frozenset()
    """Names of pods whose eviction was granted, and is counted in ``allowed`` already."""
    spares_unready: bool = False
    """Pods that run and are not ready may go without using it up (``unhealthyPodEvictionPolicy``)."""
    lacking: int = 0
    """How many more pods have to be healthy before any may be evicted; 0 where some may."""

    def changed(self, by: int) -> DisruptionBudget:
        """The budget with so many healthy pods more, or fewer, of as many as it expects."""
        left = self.allowed - self.lacking + by
        return msgspec.structs.replace(self, allowed=max(0, left), lacking=max(0, -left))


def come_and_go(budget: DisruptionBudget, came: Iterable[Task], went: Iterable[Task]) -> DisruptionBudget:
    """The budget once these pods run, and those that ran are gone, where no controller counts anew.

    How many pods it expects stays as its status has it: an evicted pod counts as missing until another one runs.
    """
    by = sum(_is_about(budget, task) for task in came)
    by -= sum(_is_about(budget, task) and task.name not in budget.disrupted for task in went)
    return budget.changed(by) if by else budget


def _is_about(budget: DisruptionBudget, task: Task) -> bool:
    return task.namespace == budget.namespace and budget.selector.matches(dict(task.labels.pairs))


class JobBudget(msgspec.Struct, frozen=True):
    """How many pods of a job have to stay, or may be away (reference 0.4)."""

    number: int
    percent: bool = False
    """``number`` is a percentage of the job's pods, rounded up."""
    unavailable: bool = False
    """``number`` may be away; else so many have to stay."""

    def spare(self, tasks: int, running: int, finished: int) -> int:
        """How many of the running pods may go; ``tasks`` counts all, ``finished`` those that succeeded or failed."""
        bound = -(-self.number * tasks // 100) if self.percent else self.number
        return max(0, bound - (tasks - finished - running) if self.unavailable else running - bound)
