"""Disruption budgets: how many pods may be unavailable at a time, by pod labels or by job."""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from vsched.model.pods.shape import Selector
from vsched.model.pods.task import Task


class DisruptionBudget(msgspec.Struct, frozen=True):
    """A PodDisruptionBudget with a selector, as its status says."""

    namespace: str
    name: str
    selector: Selector
    allowed: int
    """How many more pods may be evicted."""
    disrupted: frozenset[str] = frozenset()
    """Names of pods whose eviction was granted; ``allowed`` already counts them."""
    spares_unready: bool = False
    """Whether pods that run and are not ready may be evicted without using it up (``unhealthyPodEvictionPolicy``)."""
    lacking: int = 0
    """How many more pods have to become healthy before any pod may be evicted; 0 where one may be."""

    def changed(self, by: int) -> DisruptionBudget:
        """The budget after ``by`` more healthy pods (fewer if negative); the expected number of pods stays the same."""
        left = self.allowed - self.lacking + by
        return msgspec.structs.replace(self, allowed=max(0, left), lacking=max(0, -left))


def come_and_go(budget: DisruptionBudget, came: Iterable[Task], went: Iterable[Task]) -> DisruptionBudget:
    """The budget after the pods in ``came`` run and the pods in ``went`` are gone, where no controller updates it.

    The expected number of pods stays as in its status: an evicted pod counts as missing until another one runs.
    """
    by = sum(_is_about(budget, task) for task in came)
    by -= sum(_is_about(budget, task) and task.name not in budget.disrupted for task in went)
    return budget.changed(by) if by else budget


def _is_about(budget: DisruptionBudget, task: Task) -> bool:
    return task.namespace == budget.namespace and budget.selector.matches(dict(task.labels.pairs))


class JobBudget(msgspec.Struct, frozen=True):
    """How many pods of a job have to be available, or may be unavailable."""

    number: int
    percent: bool = False
    """Whether ``number`` is a percentage of the job's pods, rounded up."""
    unavailable: bool = False
    """True: ``number`` pods may be unavailable. False: ``number`` pods have to be available."""

    def spare(self, tasks: int, running: int, finished: int) -> int:
        """How many running pods may be evicted; ``tasks`` counts all pods, ``finished`` succeeded and failed ones."""
        bound = -(-self.number * tasks // 100) if self.percent else self.number
        return max(0, bound - (tasks - finished - running) if self.unavailable else running - bound)
