"""What queues deserve by weight, kept from session to session: what has not changed is not worked out again."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from vsched.framework.points.extension import stated_weights
from vsched.kernels.differing import differing
from vsched.kernels.fairness import EPSILON, Demand, satisfied_at_once, satisfied_row, water_fill
from vsched.kernels.quota import dense, limit_of
from vsched.model.amounts.resources import PODS
from vsched.model.nodes.table import Floats
from vsched.model.queues.queue import Queue
from vsched.model.snapshot import QueueUsage, Snapshot

Weigh = Callable[[Sequence[Queue]], Floats]
"""float64[queues]: how much queues weigh in a division."""
AmountsOf = Mapping[str, Mapping[int, float]]
"""Amounts by queue, then by column."""

ROWS_ONE_BY_ONE = 16
"""Of so many queues it is asked one by one what they deserve, where that is known of all others."""


class Rows(NamedTuple):
    """The same as in ``Shares``, to look at one queue: numbers of a list cost a part of those of an array."""

    parts: Sequence[float]
    """Of the sum of all weights; empty where no queue is looked at by itself."""
    floor: Sequence[Sequence[float]]
    most: Sequence[Sequence[float]]


class Shares(NamedTuple):
    """The division, and what it was worked out from. Never changes."""

    state: object | None
    queues: Mapping[str, Queue]
    """All of them; ``divided`` has those with jobs."""
    total: Sequence[int]
    divided: tuple[Queue, ...]
    """By row."""
    names: Sequence[str]
    """Of these queues."""
    books: Sequence[QueueUsage | None]
    """By row."""
    weights: Floats
    stated: Floats
    """float64[queue]: the weights that queues state."""
    request: Floats
    """float64[queue, resource]: what queues hold and ask for."""
    floor: Floats
    most: Floats
    """float64[queue, resource]: the most that queues may hold."""
    rows: Rows
    divisions: Floats
    """float64[queue, resource]: what they deserve."""
    at_once: bool
    """Whether no queue gets of what another one leaves, so that what one asks for decides about that one alone."""
    deserved: AmountsOf
    limits: AmountsOf
    """The most that queues may hold."""
    bounds: AmountsOf
    """What a queue may hold: the deserved amounts; of pods, which are not divided, the capability."""


def shares_of(snapshot: Snapshot, weigh: Weigh, before: Shares | None) -> Shares:
    """What each queue with jobs deserves; ``before`` is what was found last."""
    queues, total = snapshot.queues, snapshot.total
    if before is None or before.queues is not queues or before.total != total:
        return _anew(snapshot, weigh)
    if snapshot.state is not None and snapshot.state is before.state and weigh is stated_weights:
        return before
    books = [*map(snapshot.books.get, before.names)]
    changed = differing(books, before.books)
    if len(books) != len(snapshot.books) or None in [books[row] for row in changed]:
        return _anew(snapshot, weigh)
    weights = before.weights if weigh is stated_weights else weigh(before.divided)
    request = before.request
    moved: dict[int, list[float]] = {}
    for row in changed:
        found = _requested(books[row], len(total))
        if found != request[row].tolist():
            request = request.copy() if request is before.request else request
            request[row] = found
            moved[row] = found
    same_weights = weights is before.weights or np.array_equal(weights, before.weights)
    if not moved and same_weights:
        return before._replace(state=snapshot.state, books=books)
    if before.at_once and same_weights and len(moved) <= ROWS_ONE_BY_ONE:
        parts, floor, most = before.rows
        satisfied = {
            row: satisfied_row(total, parts[row], asked, most[row], floor[row]) for row, asked in moved.items()
        }
        if None not in satisfied.values():
            divisions = before.divisions.copy()
            for row, amounts in satisfied.items():
                divisions[row] = amounts
            deserved, bounds = _told(before, divisions, moved)
            return before._replace(
                state=snapshot.state,
                books=books,
                weights=weights,
                request=request,
                divisions=divisions,
                deserved=deserved,
                bounds=bounds,
            )
    return _divided(before._replace(state=snapshot.state, books=books, weights=weights, request=request))


def _anew(snapshot: Snapshot, weigh: Weigh) -> Shares:
    width = len(snapshot.total)
    divided = tuple(snapshot.queues[name] for name in sorted(snapshot.books) if name in snapshot.queues)
    books = [snapshot.books[queue.name] for queue in divided]
    most = real_capabilities(snapshot, divided)
    request, floor = np.zeros((len(divided), width)), np.zeros((len(divided), width))
    for row, queue in enumerate(divided):
        request[row] = _requested(books[row], width)
        floor[row] = np.minimum(dense(queue.guarantee, width), most[row])  # not past its own capability
    limits = {
        queue.name: _but_pods(queue, dict(enumerate(row.tolist()))) for queue, row in zip(divided, most, strict=True)
    }
    nothing = np.full((len(divided), width), np.nan)
    made = Shares(
        snapshot.state,
        snapshot.queues,
        snapshot.total,
        divided,
        [queue.name for queue in divided],
        books,
        weigh(divided),
        stated_weights(divided),
        request,
        floor,
        most,
        Rows((), floor.tolist(), most.tolist()),
        nothing,
        False,
        {},
        limits,
        {},
    )
    return _divided(made)


def _demand(made: Shares) -> Demand:
    # Weights with memory may be 0; what nobody else asks for is divided by the stated ones all the same.
    return Demand(made.weights, made.request, made.most, made.floor, made.stated)


def _divided(made: Shares) -> Shares:
    """The same with what queues deserve now."""
    total, demand = np.array(made.total, dtype=np.float64), _demand(made)
    found = satisfied_at_once(total, demand)
    divisions = water_fill(total, demand) if found is None else found
    differ = (divisions != made.divisions).any(axis=1)
    parts = () if found is None else (made.weights / made.weights.sum()).tolist()
    deserved, bounds = _told(made, divisions, np.flatnonzero(differ).tolist())
    return made._replace(
        rows=made.rows._replace(parts=parts),
        divisions=divisions,
        at_once=found is not None,
        deserved=deserved,
        bounds=bounds,
    )


def _told(made: Shares, divisions: Floats, rows: Iterable[int]) -> tuple[AmountsOf, AmountsOf]:
    """What queues deserve and what bounds them; amounts of queues of other rows are those that were told before."""
    deserved, bounds = dict(made.deserved), dict(made.bounds)
    for row in rows:
        queue = made.divided[row]
        amounts = deserved[queue.name] = _nonzero(divisions[row])
        bounds[queue.name] = _but_pods(queue, amounts, made.limits[queue.name].get(PODS, 0.0))
    return deserved, bounds


def real_capabilities(snapshot: Snapshot, queues: Sequence[Queue]) -> Floats:
    """The most each queue may hold: the cluster minus the guarantees of others, bounded by its own capability.

    ``float64[queue, resource]``. A capability does not limit resources that it does not name.
    """
    width = len(snapshot.total)
    guaranteed = np.zeros(width)
    for queue in snapshot.queues.values():
        guaranteed += dense(queue.guarantee, width)
    free = np.maximum(np.array(snapshot.total, dtype=np.float64) - guaranteed, 0.0)
    limits = np.empty((len(queues), width))
    for row, queue in enumerate(queues):
        limits[row] = np.minimum(free + dense(queue.guarantee, width), limit_of(queue.capability, width))
    return limits


def _requested(books: QueueUsage | None, width: int) -> list[float]:
    """What a queue holds and asks for, by resource."""
    found = [0.0] * width
    for amounts in () if books is None else (books.allocated, books.pending):
        for column, value in amounts.items():
            found[column] += value
    return found


def _but_pods(queue: Queue, limits: Mapping[int, float], pods: float | None = None) -> dict[int, float]:
    """The limits, with one for pods only where the capability names pods: then ``pods`` if given, else the limit."""
    found = {column: limit for column, limit in limits.items() if column != PODS}
    if queue.capability and any(column == PODS for column, _ in queue.capability):
        found[PODS] = limits[PODS] if pods is None else pods
    return found


def _nonzero(row: Floats) -> dict[int, float]:
    return {column: value for column, value in enumerate(row.tolist()) if value >= EPSILON}
