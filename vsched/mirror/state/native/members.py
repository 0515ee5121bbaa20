"""The pods of native PodGroups, of any scheduler: what their groups have to know of them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping

import msgspec

from vsched.mirror import wire
from vsched.mirror.ingest.metadata import created_of
from vsched.mirror.ingest.native import NO_QUEUE, QueueNames, queue_names_of

OVER = ("Succeeded", "Failed")
SAME_SCHEDULER = "all pods in a single pod group should have the same .spec.schedulerName set"
"""The words of kube-scheduler."""
NAMED_MAX = 3
LONGEST = 63


class Member(msgspec.Struct, frozen=True, gc=False):
    """A pod that names a native PodGroup."""

    scheduler: str
    priority: int | None
    created: float
    over: bool
    """Whether it has ended; then nothing of it counts but its queue."""
    queue: QueueNames
    preempts: bool
    """False for ``preemptionPolicy: Never`` of the pod itself."""


class GroupMembers:
    """The pods of each native PodGroup, by its ``namespace/name`` and by uid."""

    def __init__(self, served: Collection[str]) -> None:
        self._served = served
        self._of: dict[str, dict[str, Member]] = {}
        self._groups: dict[str, str] = {}
        """The group of each pod."""

    def put(self, uid: str, group: str, pod: wire.Pod) -> set[str]:
        """Take in a pod; returns the groups that this changes."""
        metadata, spec = pod.metadata, pod.spec
        member = Member(
            (spec.scheduler_name or "default-scheduler")[:LONGEST],
            spec.priority,
            created_of(metadata),
            pod.status.phase in OVER,
            queue_names_of(metadata),
            spec.preemption_policy != "Never",
        )
        before = self._groups.get(uid)
        if before == group and self._of[group][uid] == member:
            return set()
        changed = self.drop(uid) | {group}
        self._groups[uid] = group
        self._of.setdefault(group, {})[uid] = member
        return changed

    def drop(self, uid: str) -> set[str]:
        """A pod is gone, or names no group any more; returns the groups that this changes."""
        group = self._groups.pop(uid, None)
        if group is None:
            return set()
        members = self._of[group]
        del members[uid]
        if not members:
            del self._of[group]
        return {group}

    def uids(self, group: str) -> Collection[str]:
        """The pods of a group."""
        return self._of.get(group, {}).keys()

    def preempts(self, uid: str, group: str) -> bool:
        """Whether the pod itself may preempt."""
        member = self._of.get(group, {}).get(uid)
        return member is None or member.preempts

    def has_ours(self, group: str) -> bool:
        """Whether any pod of the group names one of our schedulers."""
        return any(member.scheduler in self._served for member in self._of.get(group, {}).values())

    def queue(self, groups: Collection[str]) -> QueueNames:
        """The queue that the oldest pod names that names one."""
        named = [
            (member.created, uid, member.queue)
            for group in groups
            for uid, member in self._of.get(group, {}).items()
            if member.queue is not NO_QUEUE
        ]
        return min(named)[2] if named else NO_QUEUE

    def objection(self, groups: Collection[str], priority: int | None) -> str:
        """Why none of the pods of these groups is placed; empty where nothing speaks against it.

        ``priority`` is what all of them have to have, None where that does not matter.
        """
        waiting = [member for group in groups for member in self._of.get(group, {}).values() if not member.over]
        schedulers = Counter(member.scheduler for member in waiting)
        if len(schedulers) > 1:
            return f"{SAME_SCHEDULER} ({_counted(schedulers)})"
        if priority is None:
            return ""
        others = Counter(str(member.priority) for member in waiting if member.priority not in (None, priority))
        if others:
            return f"spec.priority is {priority}, and pods have another one ({_counted(others)}): all have to be equal"
        return ""

    def __len__(self) -> int:
        return len(self._groups)


def _counted(counts: Mapping[str, int]) -> str:
    ordered = sorted(counts, key=lambda name: (-counts[name], name))
    parts = [f"{counts[name]} have {name}" for name in ordered[:NAMED_MAX]]
    return ", ".join([*parts, "…"] if len(ordered) > NAMED_MAX else parts)
