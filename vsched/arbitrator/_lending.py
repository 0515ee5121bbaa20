"""How much namespaces may hold for now: what they deserve, and what nobody else claims."""

from __future__ import annotations

from collections import Counter
from typing import NamedTuple

import msgspec
import numpy as np

from vsched.arbitrator._sheet import Sheet
from vsched.arbitrator.wants import Asking, wants_of
from vsched.kernels.dominant import LARGEST, column_sums
from vsched.model.arbitration import Award, Party
from vsched.model.counted import Counted
from vsched.model.nodes import Ints
from vsched.model.shape import Shape
from vsched.model.snapshot import Snapshot

Unit = tuple[tuple[str, int], ...]
"""What a pod, or a gang as a whole, asks for by counted name."""
Piece = tuple[float, Unit, int]
"""The largest part of the cluster that one takes, negated; what it asks for; how many."""


class Most(NamedTuple):
    """``int64[namespace or bucket, resource]``; ``LARGEST`` or more where there is no limit."""

    namespaces: Ints
    buckets: Ints


def most_for_now(sheet: Sheet, snapshot: Snapshot, deserved: Ints, parts: Ints) -> Most:
    """Ceilings of namespaces by what they deserve, and of buckets by what these do (``parts``).

    What is spare is offered to all at once. It is below zero where more is held and claimed than there is: then whoever
    holds more than it deserves gets nothing new, and what it gives back goes to whom it belongs.
    """
    claims = _claims(sheet, snapshot, deserved)
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


def _claims(sheet: Sheet, snapshot: Snapshot, deserved: Ints) -> Ints:
    """What is not to be lent: what namespaces keep, and what else of what they deserve they can use.

    Pods are whole, and so are gangs that have not begun: who deserves room for two and a half pods claims two, and the
    half is spare. Or it would lie idle for ever, since nobody can be short of it.
    """
    usable = np.minimum(deserved, sheet.requested)
    waiting = _Waiting(sheet, snapshot)
    for row in np.flatnonzero((deserved < sheet.requested).any(axis=1)):
        award = Award(dict(zip(sheet.columns, deserved[row].tolist(), strict=True)), {})
        pieces = waiting.pieces(sheet.parties[row], award)
        if pieces is not None:
            room = dict(zip(sheet.columns, (deserved[row] - sheet.kept[row]).tolist(), strict=True))
            taken = _taken(pieces, room)
            usable[row] = np.minimum(usable[row], sheet.kept[row] + [taken.get(name, 0) for name in sheet.columns])
    return np.maximum(sheet.kept, usable)


class _Waiting:
    """What waits and is of use, in pieces; what follows from a shape alone is worked out once."""

    def __init__(self, sheet: Sheet, snapshot: Snapshot) -> None:
        self._snapshot = snapshot
        self._asking = Asking(snapshot)
        totals = zip(sheet.columns, sheet.total.tolist(), strict=True)
        self._totals = {name: total for name, total in totals if total}
        self._of_shapes: dict[Shape, tuple[float, Unit] | None] = {}

    def pieces(self, party: Party, award: Award) -> list[Piece] | None:
        """Those of a namespace, in no order; None where only amounts are known of what waits."""
        pending = party.pending
        if not pending:
            return None
        gangs = {job for job in {task.job for task in pending.values()} if _is_gang(self._snapshot, job)}
        found: list[Piece] = []
        for shape, count in Counter(task.shape for task in pending.values() if task.job not in gangs).items():
            single = self._single(shape)
            if single is not None:
                found.append((*single, count))
        if gangs:
            of_gangs = {uid: task for uid, task in pending.items() if task.job in gangs}
            alone = msgspec.structs.replace(party, pending=of_gangs)
            wants = wants_of(alone, party.kept, award, self._snapshot, self._asking)
            found += [(*self._sized(want.amounts), 1) for want in wants]
        return found

    def _single(self, shape: Shape) -> tuple[float, Unit] | None:
        """A pod of this shape by itself; None where no node could hold it."""
        if shape not in self._of_shapes:
            asking = self._asking
            self._of_shapes[shape] = self._sized(asking.amounts(shape)) if asking.is_possible(shape) else None
        return self._of_shapes[shape]

    def _sized(self, amounts: Counted) -> tuple[float, Unit]:
        """What nobody else has an account of makes a piece no larger."""
        unit = tuple(sorted((name, amount) for name, amount in amounts.items() if amount))
        totals = self._totals
        return -max((amount / totals[name] for name, amount in unit if name in totals), default=0.0), unit


def _is_gang(snapshot: Snapshot, key: str) -> bool:
    job = snapshot.jobs.get(key)
    return job is not None and (job.spec.min_member > 1 or bool(job.spec.min_task_member))


def _taken(pieces: list[Piece], room: dict[str, int]) -> dict[str, int]:
    """What of the pieces fits into the room, the largest first; what nobody else has an account of needs none."""
    taken: dict[str, int] = {}
    for _, unit, count in sorted(pieces):
        for name, amount in unit:
            if name in room and amount * count > room[name]:
                count = room[name] // amount
                if count <= 0:
                    break
        if count > 0:
            for name, amount in unit:
                if name in room:
                    room[name] -= amount * count
                    taken[name] = taken.get(name, 0) + amount * count
    return taken
