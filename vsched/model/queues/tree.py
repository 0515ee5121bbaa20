"""The tree of queues by their parents: the queues above a queue, the queues below it, and the whole tree for display.

Parents may be missing and may form a ring; all functions here still terminate.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Protocol, TypeVar

from vsched.model.queues.queue import ROOT, Queue


class HasParent(Protocol):
    """An object with a name and the name of its parent."""

    @property
    def name(self) -> str: ...

    @property
    def parent(self) -> str: ...


ChildT = TypeVar("ChildT", bound=HasParent)


def above(queue: ChildT, find: Callable[[str], ChildT | None], *, rooted: bool = False) -> Iterator[ChildT]:
    """The queues above a queue by their stated parents, nearest first, until one is missing or comes again.

    ``rooted``: a queue without a parent is below the root.
    """
    seen = {queue.name}
    at = find(_stated(queue, rooted))
    while at is not None and at.name not in seen:
        yield at
        seen.add(at.name)
        at = find(_stated(at, rooted))


def below(name: str, queues: Mapping[str, Queue]) -> list[str]:
    """A queue and all queues below it by stated parents, each once; a queue without a parent is below the root."""
    found = {name: None}
    children: dict[str, list[str]] = {}
    for queue in queues.values():
        children.setdefault(_stated(queue, rooted=True), []).append(queue.name)
    waiting = [name]
    while waiting:
        for child in children.get(waiting.pop(), ()):
            if child not in found:
                found[child] = None
                waiting.append(child)
    return list(found)


def _stated(queue: HasParent, rooted: bool) -> str:
    return queue.parent or (ROOT if rooted else "")


def tree(queues: Mapping[str, Queue]) -> dict[str, str]:
    """The parent of each queue, empty for none. A queue whose parent is missing or below itself is below the root."""
    parents = {name: _parent(queue, queues) for name, queue in queues.items()}
    for name in sorted(parents):
        seen = {name}
        parent = parents[name]
        while parent and parent not in seen:
            seen.add(parent)
            parent = parents[parent]
        if parent:
            # Cut the ring of parents where the walk finds it.
            parents[parent] = ROOT if ROOT in queues else ""
    return parents


def lineage(name: str, parents: Mapping[str, str]) -> Iterable[str]:
    """The queues above a queue, nearest first."""
    at = parents[name]
    while at:
        yield at
        at = parents[at]


def _parent(queue: Queue, queues: Mapping[str, Queue]) -> str:
    if queue.name == ROOT:
        return ""
    return queue.parent if queue.parent in queues else ROOT if ROOT in queues else ""
