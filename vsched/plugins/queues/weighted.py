"""What queues deserve by weight, kept from session to session: what has not changed is not worked out again."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from vsched.framework.points.extension import stated_weights
from vsched.kernels.differing import differing
from vsched.kernels.fairness import Demand, water_fill
from vsched.model.amounts.resources import PODS
from vsched.model.nodes.table import Floats, Ints
from vsched.model.queues.queue import Queue
from vsched.model.snapshot import QueueUsage, Snapshot

Weigh = Callable[[Sequence[Queue]], Floats]
"""float64[queues]: how much queues weigh in a division."""
AmountsOf = Mapping[str, Mapping[int, int]]
"""Amounts by queue, then by column."""


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
    floor: Ints
    limit: Ints
    """int64[queue, resource]: the most that queues may hold."""
    wanted: Ints
    """int64[queue, resource]: what queues hold and ask for, as far as their limits allow."""
    divisions: Ints
    """int64[queue, resource]: what they deserve."""
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
    wanted = [_wanted(before.divided[row], books[row], before.limit[row]) for row in changed]
    weights = before.weights if weigh is stated_weights else weigh(before.divided)
    found = before._replace(state=snapshot.state, books=books)
    if wanted == before.wanted[changed].tolist() and np.array_equal(weights, before.weights):
        return found
    wants = before.wanted.copy()
    for row, amounts in zip(changed, wanted, strict=True):
        wants[row] = amounts
    return _divided(found._replace(weights=weights, wanted=wants))


def _anew(snapshot: Snapshot, weigh: Weigh) -> Shares:
    width = len(snapshot.total)
    asking = (queue for name, queue in snapshot.queues.items() if name in snapshot.books or queue.asked)
    divided = tuple(sorted(asking, key=lambda queue: (queue.created, queue.name)))  # of equals, the older goes first
    books = [snapshot.books.get(queue.name) for queue in divided]
    limit, floor, wanted = real_capabilities(snapshot, divided), *np.zeros((2, len(divided), width), dtype=np.int64)
    for row, queue in enumerate(divided):
        for column, amount in queue.guarantee:
            floor[row, column] = min(amount, limit[row, column])  # not past its own capability
        wanted[row] = _wanted(queue, books[row], limit[row])
    limits = {queue.name: _but_pods(queue, row) for queue, row in zip(divided, limit, strict=True)}
    made = Shares(
        snapshot.state,
        snapshot.queues,
        snapshot.total,
        divided,
        [queue.name for queue in divided],
        books,
        weigh(divided),
        stated_weights(divided),
        floor,
        limit,
        wanted,
        np.full_like(floor, -1),
        {},
        limits,
        {},
    )
    return _divided(made)


def _divided(made: Shares) -> Shares:
    """The same with what queues deserve now."""
    # Weights with memory may be 0; what nobody else asks for is divided by the stated ones all the same.
    divisions = water_fill(made.total, Demand(made.weights, made.floor, made.wanted, made.stated))
    differ = (divisions != made.divisions).any(axis=1)
    deserved, bounds = _told(made, divisions, np.flatnonzero(differ).tolist())
    return made._replace(divisions=divisions, deserved=deserved, bounds=bounds)


def _told(made: Shares, divisions: Ints, rows: Iterable[int]) -> tuple[AmountsOf, AmountsOf]:
    """What queues deserve and what bounds them; amounts of queues of other rows are those that were told before."""
    deserved: dict[str, Mapping[int, int]] = dict(made.deserved)
    bounds: dict[str, Mapping[int, int]] = dict(made.bounds)
    for row in rows:
        queue = made.divided[row]
        found = {column: amount for column, amount in enumerate(divisions[row].tolist()) if amount}
        deserved[queue.name] = found
        bound = {column: amount for column, amount in found.items() if column != PODS}
        if (pods := made.limits[queue.name].get(PODS)) is not None:
            bound[PODS] = pods
        bounds[queue.name] = bound
    return deserved, bounds


def real_capabilities(snapshot: Snapshot, queues: Sequence[Queue]) -> Ints:
    """The most each queue may hold: the cluster minus the guarantees of others, bounded by its own capability.

    ``int64[queue, resource]``. A capability does not limit resources that it does not name.
    """
    free = list(snapshot.total)
    for queue in snapshot.queues.values():
        for column, amount in queue.guarantee:
            free[column] -= amount
    limits = np.tile(np.array([max(amount, 0) for amount in free], dtype=np.int64), (len(queues), 1))
    for row, queue in enumerate(queues):
        for column, amount in queue.guarantee:
            limits[row, column] += amount
        for column, amount in queue.capability:
            limits[row, column] = min(limits[row, column], amount)
    return limits


def _wanted(queue: Queue, books: QueueUsage | None, limit: Ints) -> list[int]:
    """What a queue holds and asks for, up to its limit, by resource."""
    found = [0] * len(limit)
    counted = () if books is None else (books.allocated.items(), books.pending.items())
    for amounts in (queue.asked,) if queue.asked else counted:
        for column, value in amounts:
            found[column] += value
    return [*map(min, found, limit.tolist())]


def _but_pods(queue: Queue, limit: Ints) -> dict[int, int]:
    """The limits, with one for pods only where the capability names pods."""
    named = any(column == PODS for column, _ in queue.capability)
    return {column: amount for column, amount in enumerate(limit.tolist()) if column != PODS or named}
