"""Decides which job has the next turn: by queue, then namespace, user and job. After its turn each gets a new key.

The order is kept in heaps of keys, and a key is computed when an entry is added. A turn changes the keys of its queue,
namespace, user and job only, and these are not in their heaps during the turn, so no key becomes stale. Where a turn
decided nothing, which is what most turns of a long backlog come to, they keep their keys, and the queue stays the first
one. With a hierarchy of queues a turn may change the keys of other queues too (``actions.waiting_queues``).

Jobs wait in rows of one class each. Once it is known what the turns of a row come to, the row is set aside, until
something is decided: then those of its jobs get that whose turns would have been before, and the others go on.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from vsched.actions.ordering import QueueOrdering
from vsched.actions.row_heaps import AnyLine, GroupedLine, Line
from vsched.actions.waiting_queues import standings
from vsched.framework.classes import Rank, Row
from vsched.framework.jobs import JobView
from vsched.framework.session import Session
from vsched.model.queues.queue import Queue


class Lane:
    """The turns of the jobs of one queue."""

    def __init__(self, rows: Iterable[Row], line: AnyLine) -> None:
        self.closed = False
        """Set by the caller to skip the queue for the rest of the action."""
        self.idle = False
        """Whether the last turn decided nothing."""
        self._line = line
        self._aside: list[tuple[tuple[Any, ...], Row, object]] = []
        for row in rows:
            line.add(row)
        line.order()

    def pop(self) -> Row | None:
        """The row with the next job, which has a turn: the caller takes it, and ends the turn. None for no further."""
        if not self._line:
            self._go_on(None)
            return None
        self._keys, self._row = self._line.pop()
        self._bound = self._row.rank
        return self._row

    def end_turn(
        self, again: Row | None = None, *, idle: bool = False, changes: bool = True, known: object = None
    ) -> None:
        """End a turn. A job that waits for another one is put back as a row.

        ``idle``: nothing was placed, admitted, reserved or evicted in the turn, so that all sort keys are the same.
        ``changes``: rows that are set aside may get something else now, and go on after this turn.
        ``known``: what the other jobs of the row get from now on; it is set aside.
        """
        self.idle = idle
        if again is not None:
            self._line.put(again)
        if known is None and self._row:
            self._line.put(self._row)
        self._line.end_turn(idle=idle)
        if changes and self._aside:
            self._go_on((self._keys, self._bound))
            self._line.order()
        if known is not None:
            self._aside.append((self._keys, self._row, known))

    def _go_on(self, since: tuple[tuple[Any, ...], Rank] | None) -> None:
        for keys, row, known in self._aside:
            if since is None or keys < since[0]:
                row.pass_over(known)
            elif keys == since[0]:
                row.pass_over(known, row.until(since[1]))
            if row:
                self._line.add(row)
        self._aside.clear()

    def rows(self) -> Iterator[Row]:
        """The rows that wait for turns, in no particular order."""
        return self._line.rows()

    def __bool__(self) -> bool:
        """Whether any job waits for a turn."""
        return bool(self._line)


class JobTurns:
    """Iterates over jobs in turn until none is left, one wave of the ordering after the other."""

    def __init__(self, ordering: QueueOrdering, queues: Mapping[str, Queue], rows: Iterable[Row]) -> None:
        self._ordering = ordering
        self._queues = queues
        self._rows = rows

    def __iter__(self) -> Iterator[tuple[Queue, Row, Lane]]:
        """Yield (queue, row, lane): the next job of the row has a turn, which the caller ends with ``end_turn``."""
        for wave in self._ordering.waves(self._rows):
            yield from self._play(wave)

    def _play(self, rows: Iterable[Row]) -> Iterator[tuple[Queue, Row, Lane]]:
        by_queue: dict[str, list[Row]] = {}
        for row in rows:
            by_queue.setdefault(row.queue, []).append(row)
        lanes = {name: Lane(own, self._line(name)) for name, own in by_queue.items()}
        order = standings(self._ordering, (self._queues[name] for name in lanes))
        while (queue := order.take()) is not None:
            lane = lanes[queue.name]
            while (turn := lane.pop()) is not None:
                yield queue, turn, lane
                if lane.closed or not lane.idle:
                    break  # after a turn that decided nothing, the queue is still the first one
            if lane.closed or not lane:
                order.moved((queue,))
            else:
                order.put(queue)

    def _line(self, queue: str) -> AnyLine:
        plugins, ordering = self._ordering.plugins, self._ordering

        def of_namespace(namespace: str) -> AnyLine:
            if not plugins.orders_users:
                return Line()
            return GroupedLine(
                lambda row: row.job_class.user, lambda user: plugins.user_key(queue, namespace, user), _line
            )

        if not plugins.orders_namespaces:
            return of_namespace("")
        return GroupedLine(
            lambda row: row.job_class.namespace, lambda name: ordering.namespace_key(queue, name), of_namespace
        )


def _line(name: str) -> AnyLine:
    return Line()


def next_of(session: Session, row: Row) -> JobView:
    """The next job of a row, for its turn: from now on it stands alone."""
    key = row.first
    if row.is_shared:
        session.waiting.open(row.waiting, (key,))
    row.at += 1
    return session.jobs[key]
