"""Shares of the cluster that queues hold, deserve and wait for, as of one session.

There may be thousands of queues, and the event loop does it: sums go through arrays, and what was placed is added up in
steps.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from vsched.mirror.accounts.history import is_counted
from vsched.model.amounts.quantity import UNLIMITED
from vsched.model.nodes.table import Floats
from vsched.model.plan import Bind, CycleReport, QueueOutcome
from vsched.model.pods.shape import Shape
from vsched.model.queues.queue import ROOT
from vsched.model.queues.tree import lineage, tree
from vsched.model.snapshot import Snapshot
from vsched.web.overview.queues import is_flat

WHOLE = ""
"""The name of the whole cluster, beside those of queues."""
_BINDS = 256
"""So many pods that were placed are counted in a step."""
PodCounts = Counter[tuple[str, Shape]]
"""Numbers of pods, by queue and shape."""


class QueueShares(NamedTuple):
    """Dominant shares of a queue with the queues below it: the largest part of what the cluster has of any resource."""

    held: float
    deserved: float | None
    """None where nothing says what it deserves."""
    waiting: float
    """What its waiting pods ask for; it may exceed 1."""


def counting(snapshot: Snapshot, binds: Sequence[Bind], counts: PodCounts) -> Iterator[None]:
    """Count the pods of each queue and shape that a cycle has placed, in steps."""
    for first in range(0, len(binds), _BINDS):
        for bind in binds[first : first + _BINDS]:
            job = snapshot.jobs.get(bind.job)
            task = job.tasks.get(bind.uid) if job is not None else None
            if job is not None and task is not None:
                counts[job.spec.queue, task.shape] += 1
        yield


def queue_shares(snapshot: Snapshot, report: CycleReport, placed_pods: PodCounts) -> dict[str, QueueShares]:
    """The shares of every queue after a cycle, and under ``WHOLE`` those of all pods on all nodes.

    ``placed_pods`` is what ``counting`` has found.
    """
    names, total = snapshot.axis.names, snapshot.total
    columns = [column for column in range(len(total)) if total[column] > 0 and is_counted(names[column])]
    whole = np.array([total[column] for column in columns], dtype=np.float64)
    queues = list(snapshot.queues)
    rows = {name: row for row, name in enumerate(queues)}
    placed = _placed(placed_pods, rows, columns)

    outcomes = {name: report.queues.get(name) or QueueOutcome(name, 1) for name in queues}
    named = [names[column] for column in columns]
    held = _table(([found.allocated.get(name, 0) for name in named] for found in outcomes.values()), len(columns))
    deserved = _table((_deserved(found, named) for found in outcomes.values()), len(columns))
    if ROOT in rows:
        deserved[rows[ROOT]] = np.nan  # all of the cluster is its own
    waiting = _pending(snapshot, rows, columns)
    waiting[:-1] = np.maximum(waiting[:-1] - placed[:-1], 0.0)

    above, below = _pairs(snapshot, rows)
    parts = [_with_those_below(held, above, below), deserved, _with_those_below(waiting[:-1], above, below)]
    if is_flat(outcomes):
        parts[1] = np.where(np.isnan(deserved), np.nan, _with_those_below(np.nan_to_num(deserved), above, below))
    shares = [_dominant(part, whole).tolist() for part in parts]
    found = {
        name: QueueShares(mine, None if due != due else due, more)
        for name, mine, due, more in zip(queues, *shares, strict=True)
    }
    used = np.array([[snapshot.used[column] for column in columns]], dtype=np.float64) + placed.sum(axis=0)
    asked = waiting.sum(axis=0, keepdims=True)
    found[WHOLE] = QueueShares(float(_dominant(used, whole)[0]), None, float(_dominant(asked, whole)[0]))
    return found


def _table(rows: Iterable[Sequence[float]], width: int) -> Floats:
    """Rows as an array, which has its two dimensions even without rows, or, in a cluster without nodes, columns."""
    found = list(rows)
    return np.array(found, dtype=np.float64).reshape(len(found), width)


def _deserved(outcome: QueueOutcome, names: Sequence[str]) -> list[float]:
    """Deserved amounts; NaN where unknown, or without a limit."""
    amounts = [outcome.deserved.get(name) for name in names]
    return [np.nan if amount is None or amount >= UNLIMITED else amount for amount in amounts]


def _pending(snapshot: Snapshot, rows: Mapping[str, int], columns: Sequence[int]) -> Floats:
    """What waits by queue as the cycle began; the last row is that of queues that do not exist."""
    asked = [[0] * len(columns)] * (len(rows) + 1)
    strays: list[list[int]] = []
    for name, usage in snapshot.books.items():
        amounts = [usage.pending.get(column, 0) for column in columns]
        if name in rows:
            asked[rows[name]] = amounts
        else:
            strays.append(amounts)
    found = _table(asked, len(columns))
    found[-1] += _table(strays, len(columns)).sum(axis=0)
    return found


def _placed(counts: PodCounts, rows: Mapping[str, int], columns: Sequence[int]) -> Floats:
    """What the cycle has placed by queue: the snapshot has it among what waits, and not among what is used."""
    found = np.zeros((len(rows) + 1, len(columns)))
    places = {column: place for place, column in enumerate(columns)}
    for (queue, shape), count in counts.items():
        row = rows.get(queue, -1)
        for column, amount in shape.request:
            if column in places:
                found[row, places[column]] += count * amount
    return found


def _pairs(snapshot: Snapshot, rows: Mapping[str, int]) -> tuple[list[int], list[int]]:
    """Rows of queues, and of each that is below them."""
    parents = tree(snapshot.queues)
    above, below = list[int](), list[int]()
    for name, row in rows.items():
        for other in lineage(name, parents):
            above.append(rows[other])
            below.append(row)
    return above, below


def _with_those_below(amounts: Floats, above: list[int], below: list[int]) -> Floats:
    result = amounts.copy()
    np.add.at(result, above, amounts[below])
    return result


def _dominant(amounts: Floats, whole: Floats) -> Floats:
    """By row: the largest part of the whole; NaN where nothing is known."""
    if not len(whole):
        return np.zeros(len(amounts))
    parts = amounts / whole
    return np.where(np.isnan(parts).all(axis=1), np.nan, np.nan_to_num(parts).max(axis=1))
