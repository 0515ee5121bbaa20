"""What the mirror takes for granted before the watch confirms it: placements, evictions, and phases of PodGroups.

An assumption ends when the watch shows it, shows that it cannot come true, or the hands report a failure.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

import msgspec

from vsched.model.job import JobSpec
from vsched.model.status import Status
from vsched.model.task import Task

_PLACED = (Status.BOUND, Status.RUNNING)


class AssumedTasks:
    """Pods on their way to or from a node, with what the watch last said of them."""

    def __init__(self) -> None:
        self._watched: dict[str, Task] = {}

    def __len__(self) -> int:
        return len(self._watched)

    def __contains__(self, uid: str) -> bool:
        return uid in self._watched

    def begin(self, watched: Task, status: Status, node: str) -> Task:
        """Take a change for granted; returns the task as it is to be seen."""
        self._watched.setdefault(watched.uid, watched)
        return watched.moved(status, node)

    def end(self, uid: str) -> Task | None:
        """Take nothing for granted any more; returns what the watch last said, None where nothing was assumed."""
        return self._watched.pop(uid, None)

    def reprice(self, uids: Iterable[str], priced: Callable[[Task], Task]) -> None:
        """Priority classes changed: bring what the watch last said of these pods up to date."""
        for uid in uids:
            if uid in self._watched:
                self._watched[uid] = priced(self._watched[uid])

    def overlay(self, watched: Task, seen: Task | None) -> Task:
        """How a task is to be seen now that the watch says ``watched`` and it was seen as ``seen``."""
        if watched.uid not in self._watched:
            return watched
        expected = None if seen is None else _still_expected(watched, seen)
        if expected is None:
            del self._watched[watched.uid]
            return watched
        self._watched[watched.uid] = watched
        return expected


def _still_expected(watched: Task, seen: Task) -> Task | None:
    """The task as assumed, None where the watch has settled the matter."""
    if watched.status is Status.PENDING:
        return watched.moved(seen.status, seen.node)
    if watched.status is Status.RELEASING and not watched.node:
        # The binding may still arrive before the deletion, so the node stays taken.
        return watched.moved(Status.RELEASING, seen.node)
    if seen.status is Status.RELEASING and watched.status in _PLACED:
        return watched.moved(Status.RELEASING, watched.node)
    return None


class _AssumedPhase(msgspec.Struct):
    phase: str
    confirmed_from: int | None = None
    """The resource version from which on the watch shows what was written; None until it was."""


class AssumedPhases:
    """Phases of PodGroups that were decided but that the watch does not show yet."""

    def __init__(self) -> None:
        self._phases: dict[str, _AssumedPhase] = {}

    def __len__(self) -> int:
        return len(self._phases)

    def begin(self, key: str, phase: str) -> None:
        """Take a phase for granted, in place of an earlier one."""
        self._phases[key] = _AssumedPhase(phase)

    def end(self, key: str) -> bool:
        """Back to what the watch says; True where something was assumed."""
        return self._phases.pop(key, None) is not None

    def written(self, key: str, version: int) -> None:
        """The phase was written: objects of this resource version or later show it, or what came after it."""
        assumed = self._phases.get(key)
        if assumed is not None:
            assumed.confirmed_from = version

    def overlay(self, key: str, watched: JobSpec, version: int) -> JobSpec:
        """How a PodGroup is to be seen now that the watch says ``watched`` in this resource version."""
        assumed = self._phases.get(key)
        if assumed is None:
            return watched
        confirmed = assumed.confirmed_from is not None and version >= assumed.confirmed_from
        if confirmed or watched.phase == assumed.phase:
            del self._phases[key]
            return watched
        return msgspec.structs.replace(watched, phase=assumed.phase, written_phase=watched.phase)
