"""The pods of native PodGroups, of any scheduler: what their groups have to know of them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping
from heapq import heappop, heappush
from typing import Any

import msgspec

from vsched import api
from vsched.mirror.ingest.metadata import created_of
from vsched.mirror.ingest.native import NO_QUEUE, QueueNames, queue_names_of
from vsched.mirror.state import words
from vsched.model.names import shared

OVER = ("Succeeded", "Failed")
DEFAULT_SCHEDULER = "default-scheduler"
"""Whose pods those are that name no scheduler."""
NAMED_MAX = 3
LONGEST = 63


class NativePod(msgspec.Struct, frozen=True):
    """A pod that names a native PodGroup."""

    scheduler: str
    priority: int | None
    created: float
    over: bool
    """Whether it has ended; then nothing of it counts but its queue."""
    queue: QueueNames
    preempts: bool
    """False for ``preemptionPolicy: Never`` of the pod itself."""


class GroupPods:
    """The pods of one group, with sums over them that are maintained, never recomputed."""

    __slots__ = ("_named", "members", "ours", "priorities", "schedulers")

    def __init__(self) -> None:
        self.members: dict[str, NativePod] = {}
        self.ours = 0
        """Pods of our schedulers."""
        self.schedulers: Counter[str] = Counter()
        """Of pods that have not ended, like the priorities."""
        self.priorities: Counter[int] = Counter()
        self._named: list[tuple[float, str, QueueNames]] = []
        """A heap of pods that name a queue, by age; it may have pods that are gone or name another one now."""

    def count(self, member: NativePod, *, ours: bool, by: int) -> None:
        """Count a pod once more, or once less."""
        self.ours += by * ours
        if member.over:
            return
        self.schedulers[member.scheduler] += by
        if not self.schedulers[member.scheduler]:
            del self.schedulers[member.scheduler]
        if member.priority is not None:
            self.priorities[member.priority] += by
            if not self.priorities[member.priority]:
                del self.priorities[member.priority]

    def note(self, uid: str, member: NativePod) -> None:
        """Keep in mind which queue a pod names."""
        if member.queue is not NO_QUEUE:
            heappush(self._named, (member.created, uid, member.queue))

    def oldest(self) -> tuple[float, str, QueueNames] | None:
        """The oldest pod that names a queue, with the queue."""
        while self._named:
            created, uid, queue = self._named[0]
            member = self.members.get(uid)
            if member is not None and (member.created, member.queue) == (created, queue):
                return self._named[0]
            heappop(self._named)
        return None

    def summary(self) -> tuple[object, ...]:
        """All that a job follows from: as long as it stays the same, the job does."""
        oldest = self.oldest()
        return self.ours > 0, _distinct(self.schedulers), _distinct(self.priorities), oldest and oldest[2]


class GroupMembers:
    """The pods of each native PodGroup, by its ``namespace/name`` and by uid."""

    def __init__(self, served: Collection[str]) -> None:
        self._served = frozenset(name or DEFAULT_SCHEDULER for name in served)
        self._of: dict[str, GroupPods] = {}
        self._groups: dict[str, str] = {}
        """The group of each pod."""

    def put(self, uid: str, group: str, pod: api.Pod) -> set[str]:
        """Take in a pod; returns the groups whose jobs this may change."""
        metadata, spec = pod.metadata, pod.spec
        member = NativePod(
            shared((spec.scheduler_name or DEFAULT_SCHEDULER)[:LONGEST]),
            spec.priority,
            created_of(metadata),
            pod.status.phase in OVER,
            queue_names_of(metadata),
            spec.preemption_policy != "Never",
        )
        before = self._groups.get(uid)
        if before == group and self._of[group].members[uid] == member:
            return set()
        changed = self.drop(uid) if before is not None and before != group else set()
        found = self._of.setdefault(group, GroupPods())
        summary = found.summary()
        known = found.members.get(uid)
        if known is not None:
            found.count(known, ours=known.scheduler in self._served, by=-1)
        self._groups[uid] = group
        found.members[uid] = member
        found.count(member, ours=member.scheduler in self._served, by=1)
        found.note(uid, member)
        return changed if found.summary() == summary else changed | {group}

    def drop(self, uid: str) -> set[str]:
        """A pod is gone, or names no group any more; returns the groups whose jobs this may change."""
        group = self._groups.pop(uid, None)
        if group is None:
            return set()
        found = self._of[group]
        summary = found.summary()
        member = found.members.pop(uid)
        found.count(member, ours=member.scheduler in self._served, by=-1)
        if not found.members:
            del self._of[group]
        return set() if found.summary() == summary else {group}

    def uids(self, group: str) -> Collection[str]:
        """The pods of a group."""
        found = self._of.get(group)
        return () if found is None else found.members.keys()

    def preempts(self, uid: str, group: str) -> bool:
        """Whether the pod itself may preempt."""
        found = self._of.get(group)
        member = None if found is None else found.members.get(uid)
        return member is None or member.preempts

    def has_ours(self, group: str) -> bool:
        """Whether any pod of the group names one of our schedulers."""
        found = self._of.get(group)
        return found is not None and found.ours > 0

    def queue(self, groups: Collection[str]) -> QueueNames:
        """The queue that the oldest pod names that names one."""
        named = (found.oldest() for group in groups if (found := self._of.get(group)) is not None)
        oldest = min((one for one in named if one is not None), default=None)
        return NO_QUEUE if oldest is None else oldest[2]

    def objection(self, groups: Collection[str], priority: int | None) -> str:
        """Why none of the pods of these groups is placed; empty where nothing speaks against it.

        ``priority`` is what all of them have to have, None where that does not matter.
        """
        schedulers: Counter[str] = Counter()
        priorities: Counter[int] = Counter()
        for group in groups:
            found = self._of.get(group)
            if found is not None:
                schedulers.update(found.schedulers)
                priorities.update(found.priorities)
        if len(schedulers) > 1:
            return f"{words.SAME_SCHEDULER} ({_counted(schedulers)})"
        if priority is None:
            return ""
        others = {str(other): count for other, count in priorities.items() if other != priority}
        if others:
            return words.priority_of_pods_differs(priority, _counted(others))
        return ""

    def __len__(self) -> int:
        return len(self._groups)


def _distinct(counts: Mapping[Any, int]) -> tuple[object, ...]:
    """The values, with their numbers where there are several: then somebody is told of the numbers."""
    return tuple(counts) if len(counts) < 2 else tuple(sorted(counts.items()))


def _counted(counts: Mapping[str, int]) -> str:
    ordered = sorted(counts, key=lambda name: (-counts[name], name))
    parts = [f"{counts[name]} have {name}" for name in ordered[:NAMED_MAX]]
    return ", ".join([*parts, "…"] if len(ordered) > NAMED_MAX else parts)
