"""The tree that queues make by their parents, for people: who names nobody that is there hangs below the root."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from vsched.model.queue import ROOT, Queue


def tree(queues: Mapping[str, Queue]) -> dict[str, str]:
    """The queue above each, empty for none: what names nobody, or somebody below itself, hangs below the root."""
    above = {name: _parent(queue, queues) for name, queue in queues.items()}
    for name in sorted(above):
        seen = {name}
        parent = above[name]
        while parent and parent not in seen:
            seen.add(parent)
            parent = above[parent]
        if parent:
            # A ring of parents is cut where it is come upon first.
            above[parent] = ROOT if ROOT in queues else ""
    return above


def lineage(name: str, parents: Mapping[str, str]) -> Iterable[str]:
    """The queues above one, the nearest first."""
    above = parents[name]
    while above:
        yield above
        above = parents[above]


def _parent(queue: Queue, queues: Mapping[str, Queue]) -> str:
    if queue.name == ROOT:
        return ""
    return queue.parent if queue.parent in queues else ROOT if ROOT in queues else ""
