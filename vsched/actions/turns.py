"""Decides which job has the next turn: by queue, then namespace, user and job. After its turn each gets a new key.

The order is kept in heaps of keys, and a key is computed when an entry is added. A turn changes the keys of its queue,
namespace, user and job only, and these are not in their heaps during the turn, so no key becomes stale. After a turn
that decided nothing, as are most turns of a long backlog, the keys stay, and the queue stays the first one. With a
hierarchy of queues a turn may change the keys of other queues too (``actions.waiting_queues``).

Jobs wait in segments of one class each. Once the result of a segment's turns is known, the segment is set aside until
something is decided. Then the jobs whose turns would have come before get that result, and the others go on.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from vsched.actions.ordering import QueueOrdering, by_queue
from vsched.actions.segment_heaps import AnyHeap, GroupedHeap, SegmentHeap
from vsched.actions.waiting_queues import waiting_queues
from vsched.framework.classes import Rank, Segment
from vsched.framework.jobs import JobView
from vsched.framework.session import Session
from vsched.model.queues.queue import Queue


class QueueTurns:
    """The turns of the jobs of one queue."""

    def __init__(self, segments: Iterable[Segment], heap: AnyHeap) -> None:
        self.closed = False
        """Set by the caller to skip the queue for the rest of the action."""
        self.idle = False
        """Whether the last turn decided nothing."""
        self._heap = heap
        self._aside: list[tuple[tuple[Any, ...], Segment, object]] = []
        """Segments whose results are known, with the keys of the turn that gave them."""
        for segment in segments:
            heap.add(segment)
        heap.order()

    def pop(self) -> Segment | None:
        """The segment with the next job, None where there is none. The caller takes the job, and ends its turn."""
        if not self._heap:
            self._go_on(None)
            return None
        self._keys, self._segment = self._heap.pop()
        self._at = self._segment.at
        return self._segment

    def end_turn(
        self, again: Segment | None = None, *, idle: bool = False, changes: bool = True, known: object = None
    ) -> None:
        """End a turn. A job that waits for another one is put back as a segment.

        ``idle``: nothing was placed, admitted, reserved or evicted in the turn, so that all sort keys are the same.
        ``changes``: the known results may not hold any more, and segments that are set aside go on after this turn.
        ``known``: the result for the other jobs of the segment, which is set aside.
        """
        self.idle = idle
        if again is not None:
            self._heap.put(again)
        if known is None and self._segment:
            self._heap.put(self._segment)
        self._heap.end_turn(idle=idle)
        if changes and self._aside:
            self._go_on((self._keys, self._segment.rank_at(self._at)))
            self._heap.order()
        if known is not None:
            self._aside.append((self._keys, self._segment, known))

    def _go_on(self, since: tuple[tuple[Any, ...], Rank] | None) -> None:
        for keys, segment, known in self._aside:
            if since is None or keys < since[0]:
                segment.pass_over(known)
            elif keys == since[0]:
                segment.pass_over(known, segment.until(since[1]))
            if segment:
                self._heap.add(segment)
        self._aside.clear()

    def segments(self) -> Iterator[Segment]:
        """The segments that wait for turns, in no particular order."""
        return self._heap.segments()

    def __bool__(self) -> bool:
        """Whether any job waits for a turn."""
        return bool(self._heap)


class JobTurns:
    """Iterates over jobs in turn until none is left, one wave of the ordering after the other."""

    def __init__(self, ordering: QueueOrdering, queues: Mapping[str, Queue], segments: Iterable[Segment]) -> None:
        self._ordering = ordering
        self._queues = queues
        self._segments = segments

    def __iter__(self) -> Iterator[tuple[Queue, Segment, QueueTurns]]:
        """Yield (queue, segment, turns): the segment's next job has a turn, which the caller ends with ``end_turn``."""
        for wave in self._ordering.waves(self._segments):
            yield from self._play(wave)

    def _play(self, segments: Iterable[Segment]) -> Iterator[tuple[Queue, Segment, QueueTurns]]:
        turns_of = {name: QueueTurns(own, self._heap(name, own)) for name, own in by_queue(segments).items()}
        order = waiting_queues(self._ordering, (self._queues[name] for name in turns_of))
        while (queue := order.take()) is not None:
            turns = turns_of[queue.name]
            while (segment := turns.pop()) is not None:
                yield queue, segment, turns
                if turns.closed or not turns.idle:
                    break  # after a turn that decided nothing, the queue is still the first one
            if turns.closed or not turns:
                order.moved((queue,))
            else:
                order.put(queue)

    def _heap(self, queue: str, segments: Sequence[Segment]) -> AnyHeap:
        """A heap for these segments, in groups where there is more than one."""
        if len(segments) == 1:
            return SegmentHeap()
        plugins, ordering = self._ordering.plugins, self._ordering
        namespaces = {one.job_class.namespace for one in segments} if plugins.orders_namespaces else {""}
        users = {one.job_class.user for one in segments} if plugins.orders_users else {""}

        def of_namespace(namespace: str) -> AnyHeap:
            if len(users) == 1:
                return SegmentHeap()
            return GroupedHeap(
                lambda segment: segment.job_class.user,
                lambda user: plugins.user_key(queue, namespace, user),
                _heap_of_jobs,
            )

        if len(namespaces) == 1:
            return of_namespace(*namespaces)
        return GroupedHeap(
            lambda segment: segment.job_class.namespace, lambda name: ordering.namespace_key(queue, name), of_namespace
        )


def _heap_of_jobs(user: str) -> AnyHeap:
    return SegmentHeap()


def next_of(session: Session, segment: Segment) -> JobView:
    """The next job of a segment, for its turn; it leaves its span."""
    key = segment.first
    if segment.is_shared:
        session.waiting.split(segment.waiting, (key,))
    segment.at += 1
    return session.jobs[key]
