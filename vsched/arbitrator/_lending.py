"""How much namespaces may hold for now: what they deserve, and what nobody else claims."""

from __future__ import annotations

from collections import Counter
from typing import NamedTuple

import numpy as np

from vsched.arbitrator._sheet import Sheet
from vsched.kernels.dominant import LARGEST, column_sums
from vsched.model.arbitration import Party
from vsched.model.nodes import Ints
from vsched.model.resources import ResourceAxis
from vsched.model.shape import Shape
from vsched.model.status import Status


class Most(NamedTuple):
    """``int64[namespace or bucket, resource]``; ``LARGEST`` or more where there is no limit."""

    namespaces: Ints
    buckets: Ints


def most_for_now(sheet: Sheet, axis: ResourceAxis, deserved: Ints, parts: Ints) -> Most:
    """Ceilings of namespaces, and of the buckets that deserve ``parts``.

    What is spare is offered to all at once. It is below zero where more is held or claimed than there is: then whoever
    holds more than it deserves gets nothing new, and what it gives back goes to whom it belongs.
    """
    claims = _claims(sheet, axis, deserved)
    spare = np.where(sheet.known, sheet.total - column_sums(claims), LARGEST)
    room = np.broadcast_to(spare, deserved.shape).copy()
    buckets = np.empty_like(parts)
    for number, group in enumerate(sheet.groups):
        own = np.where(group.hard < LARGEST, group.hard - column_sums(claims[group.rows]), LARGEST)
        room[group.rows] = np.minimum(spare, own)
        kept = np.minimum(column_sums(sheet.kept[group.rows]), LARGEST)
        buckets[number] = _ceiling(parts[number], kept, group.hard, spare)
    return Most(_ceiling(deserved, sheet.kept, sheet.limit, room), buckets)


def _ceiling(deserved: Ints, kept: Ints, limit: Ints, room: Ints) -> Ints:
    ceiling: Ints = np.maximum(deserved, np.minimum(limit, np.maximum(deserved, kept) + room))
    return ceiling


def _claims(sheet: Sheet, axis: ResourceAxis, deserved: Ints) -> Ints:
    """What is not to be lent: what namespaces keep, and what else of what they deserve they can use.

    Pods are whole: who deserves two and a half of what its pods ask for claims two, and the half is spare.
    """
    usable = np.minimum(deserved, sheet.requested)
    columns = [sheet.columns.get(name) for name in axis.names]
    for row in np.flatnonzero((deserved < sheet.requested).any(axis=1)):
        waiting = _waiting(sheet.parties[row])
        if waiting:
            taken = _whole_pods(waiting, (deserved[row] - sheet.kept[row]).tolist(), sheet, columns)
            usable[row] = np.minimum(usable[row], sheet.kept[row] + taken)
    return np.maximum(sheet.kept, usable)


def _waiting(party: Party) -> Counter[Shape]:
    """How many pods of each shape wait; none where nothing is known of them but amounts."""
    return Counter(task.shape for task in party.tasks.values() if task.status is Status.PENDING and not task.gated)


def _whole_pods(waiting: Counter[Shape], room: list[int], sheet: Sheet, columns: list[int | None]) -> Ints:
    """What of the pods fits into ``room`` (by column of the sheet), the largest first; ``int64[resource]``."""
    taken = [0] * len(room)
    asked = {shape: _asked(shape, sheet, columns) for shape in waiting}
    for shape in sorted(waiting, key=lambda shape: _size(asked[shape], sheet.total), reverse=True):
        count = min((room[column] // amount for column, amount in asked[shape]), default=0)
        for column, amount in asked[shape]:
            part = amount * max(0, min(count, waiting[shape]))
            room[column] -= part
            taken[column] += part
    return np.array(taken, dtype=np.int64)


def _asked(shape: Shape, sheet: Sheet, columns: list[int | None]) -> list[tuple[int, int]]:
    """What one pod takes, by column of the sheet; without what nobody has any account of."""
    placed = [(columns[column], amount) for column, amount in shape.request]
    limits = [(sheet.columns.get(name), amount) for name, amount in shape.limits]
    return [(column, amount) for column, amount in (*placed, *limits) if column is not None and amount > 0]


def _size(asked: list[tuple[int, int]], total: Ints) -> tuple[float, list[tuple[int, int]]]:
    return max((amount / max(1, int(total[column])) for column, amount in asked), default=0.0), asked
