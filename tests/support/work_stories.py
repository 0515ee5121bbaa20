"""Random stories of a cluster's work, as a recorder tells them: lines in the order in which things happened."""

from __future__ import annotations

from collections.abc import Iterator
from random import Random

from vsched.record.book import WorkBook
from vsched.record.lines import (
    DELETED,
    FAILED,
    SUCCEEDED,
    AnyLine,
    Began,
    Complete,
    JobGone,
    JobThere,
    NodeGone,
    NodeThere,
    PodBound,
    PodEnded,
    PodStarted,
    PodThere,
    QueueThere,
)

BEGIN = 1_000.0


class Story:
    """A cluster to which things happen, one after the other."""

    def __init__(self, random: Random) -> None:
        self._random = random
        self._book = WorkBook()
        self._names = 0

    def changes(self, count: int) -> Iterator[AnyLine]:
        """So many things that happen, seconds apart."""
        at = BEGIN
        for _ in range(count):
            at += self._random.randint(1, 20)
            for line in self._change(at):
                self._book.take(line)
                yield line

    def _new(self, kind: str) -> str:
        self._names += 1
        return f"{kind}{self._names}"

    def _change(self, at: float) -> list[AnyLine]:
        random, book = self._random, self._book
        waiting = [pod for pod in book.pods.values() if pod.bound is None]
        running = [pod for pod in book.pods.values() if pod.bound is not None]
        match random.choice(("node", "node gone", "queue", "job", "job", "bind", "bind", "bind", "end", "end", "gone")):
            case "node":
                return [NodeThere(at=at, name=f"n{random.randint(1, 6)}", has={"cpu": 1000 * random.randint(1, 8)})]
            case "node gone" if book.nodes:
                return [NodeGone(at=at, name=random.choice(sorted(book.nodes)))]
            case "queue":
                return [QueueThere(at=at, name=f"q{random.randint(1, 3)}", weight=random.randint(1, 5))]
            case "job":
                return self._job(at)
            case "bind" if waiting:
                pod = random.choice(waiting).seen.id
                return [PodBound(at=at, id=pod, node=f"n{random.randint(1, 6)}"), PodStarted(at=at, id=pod)]
            case "end" if running:
                how = random.choice((SUCCEEDED, FAILED, DELETED))
                return [PodEnded(at=at, id=random.choice(running).seen.id, how=how)]
            case "gone" if book.jobs:
                job = random.choice(sorted(book.jobs))
                left = [pod for pod in sorted(book.pods_of.get(job, ())) if pod in book.pods]
                return [*(PodEnded(at=at, id=pod, how=DELETED) for pod in left), JobGone(at=at, id=job)]
        return []

    def _job(self, at: float) -> list[AnyLine]:
        random, job = self._random, self._new("job")
        pods = random.randint(1, 4)
        least = random.choice((0, 1, pods))
        name, queue = f"j{random.randint(1, 3)}", f"q{random.randint(1, 3)}"
        return [
            JobThere(at=at, id=job, namespace="ns", name=name, queue=queue, created=at, min_member=least),
            *(PodThere(at=at, id=self._new("pod"), job=job, created=at, asks={"cpu": 500}) for _ in range(pods)),
        ]


def recorded(changes: list[AnyLine], restarts: list[int]) -> list[AnyLine]:
    """What a recorder writes of these changes that begins a segment before each of these places."""
    book, lines = WorkBook(), list[AnyLine]()
    for place, line in enumerate(changes):
        if place == 0 or place in restarts:
            at = changes[max(0, place - 1)].at if place else BEGIN
            lines += [Began(at=at), *book.lines(), Complete(at=at)]
        book.take(line)
        lines.append(line)
    return lines
