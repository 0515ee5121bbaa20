"""How native PodGroups form trees below CompositePodGroups."""

from __future__ import annotations

from collections.abc import Iterator

from vsched.mirror.ingest.native import NativeRecord
from vsched.mirror.state import words
from vsched.model.jobs.native import native_key

DEPTH_MAX = 4
"""The most levels of a tree, the PodGroups among them."""


class GroupTrees:
    """PodGroups and CompositePodGroups by ``namespace/name``, and who belongs to whom."""

    def __init__(self) -> None:
        self.groups: dict[str, NativeRecord] = {}
        self.composites: dict[str, NativeRecord] = {}
        self._below: dict[str, set[tuple[bool, str]]] = {}
        """By CompositePodGroup, whether it is there or not: those that name it as their parent, as (composite, key)."""

    def put(self, key: str, record: NativeRecord | None, *, composite: bool) -> set[str]:
        """Take in a group, None where it is gone; returns the PodGroups whose tree may have changed."""
        nodes = self.composites if composite else self.groups
        leaves = self._leaves(key, composite)
        before = nodes.pop(key, None)
        if before is not None and before.parent:
            above = self._below[_beside(key, before.parent)]
            above.discard((composite, key))
            if not above:
                del self._below[_beside(key, before.parent)]
        if record is not None:
            nodes[key] = record
            if record.parent:
                self._below.setdefault(_beside(key, record.parent), set()).add((composite, key))
        return leaves

    def root(self, key: str, *, composite: bool) -> str:
        """The key of the job that a group belongs to: its own, or that of the topmost CompositePodGroup.

        Groups that name each other in a circle have the first of their names as their root.
        """
        record = (self.composites if composite else self.groups).get(key)
        top = key if composite else ""
        seen = {key: None} if composite else dict[str, None]()
        while record is not None and record.parent:
            above = _beside(key, record.parent)
            if above in seen:
                circle = list(seen)
                top = min(circle[circle.index(above) :])
                break
            if above not in self.composites:
                break
            seen[above] = None
            top, record = above, self.composites[above]
        return native_key(*(top or key).split("/", 1), composite=bool(top))

    def nodes(self, root: str) -> Iterator[tuple[str, NativeRecord, int]]:
        """Everything below a CompositePodGroup: key, record and level (1 right below), by age; each comes once."""
        seen = {(True, root)}
        waiting = [(root, 0)]
        while waiting:
            above, level = waiting.pop()
            found = [
                (record.spec.created, key, composite, record)
                for composite, key in self._below.get(above, ())
                if (composite, key) not in seen
                and (record := (self.composites if composite else self.groups).get(key)) is not None
            ]
            for _, key, composite, record in sorted(found, key=lambda each: each[:3]):
                seen.add((composite, key))
                yield key, record, level + 1
                if composite:
                    waiting.append((key, level + 1))

    def invalid(self, root: str) -> str:
        """What is wrong with the tree below a CompositePodGroup; empty where nothing is."""
        record = self.composites[root]
        if record.parent and _beside(root, record.parent) in self.composites:
            return words.group_in_a_cycle(record.parent)
        nodes = list(self.nodes(root))
        if nodes and max(level for _, _, level in nodes) + 1 > DEPTH_MAX:
            return words.too_many_levels(DEPTH_MAX)
        workloads = sorted({each.workload for each in (record, *(found for _, found, _ in nodes)) if each.workload})
        if len(workloads) > 1:
            return words.groups_of_several_workloads(", ".join(workloads[:3]))
        return ""

    def lost_parent(self, key: str, record: NativeRecord) -> str:
        """The CompositePodGroup that a group names and that is not there; empty where there is none such."""
        return record.parent if record.parent and _beside(key, record.parent) not in self.composites else ""

    def _leaves(self, key: str, composite: bool) -> set[str]:
        if not composite:
            return {key}
        return {found for found, record, _ in self.nodes(key) if not record.native.composite}


def _beside(key: str, name: str) -> str:
    """The key of an object in the same namespace."""
    return f"{key.partition('/')[0]}/{name}"
