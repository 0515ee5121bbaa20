"""How many pods of a vcjob are in which phase."""

from __future__ import annotations

from collections import Counter
from collections.abc import Container, Iterable, Mapping
from typing import NamedTuple

from vsched.controllers.vcjobs.view import VcjobPod

PENDING, RUNNING, SUCCEEDED, FAILED = "Pending", "Running", "Succeeded", "Failed"
"""Phases of pods; any other counts as unknown."""
ENDED = frozenset({SUCCEEDED, FAILED})
"""The phases of pods that a kill leaves alone, so that their logs can be read."""


class PodsByPhase(NamedTuple):
    """Pods by phase; those that are being deleted are terminating, unless they had ended before."""

    pending: int = 0
    running: int = 0
    succeeded: int = 0
    failed: int = 0
    terminating: int = 0
    unknown: int = 0
    bound: int = 0
    """Those with a node that have not ended, terminating ones included."""
    tasks: Mapping[str, Mapping[str, int]] = {}
    """By task and phase, without those that are terminating."""

    @property
    def alive(self) -> bool:
        """Whether any pod still holds resources, or is about to."""
        return self.terminating + self.pending + self.running > 0

    def of(self, task: str, phase: str) -> int:
        return self.tasks.get(task, {}).get(phase, 0)


def count(pods: Iterable[VcjobPod], leaving: Container[str] = ()) -> PodsByPhase:
    """The counts of these pods; ``leaving`` are the names of pods that are about to be deleted."""
    tasks: dict[str, Counter[str]] = {}
    terminating = bound = 0
    for pod in pods:
        bound += pod.bound and pod.phase not in ENDED
        if pod.name in leaving or (pod.deleting and not pod.ended):
            terminating += not pod.gone
        else:
            tasks.setdefault(pod.task, Counter())[pod.phase] += 1
    total = sum(tasks.values(), Counter[str]())
    return PodsByPhase(
        pending=total.pop(PENDING, 0),
        running=total.pop(RUNNING, 0),
        succeeded=total.pop(SUCCEEDED, 0),
        failed=total.pop(FAILED, 0),
        terminating=terminating,
        unknown=total.total(),
        bound=bound,
        tasks=tasks,
    )
