"""How much namespaces may hold for now: what they deserve, and what nobody else claims."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from math import gcd
from typing import NamedTuple

import msgspec
import numpy as np

from vsched.arbitrator.division.sheet import Sheet
from vsched.arbitrator.wants import Asking, wants_of
from vsched.kernels.dominant import LARGEST, column_sums
from vsched.model.amounts.counted import Counted
from vsched.model.arbitration.records import Award, NamespaceAccount
from vsched.model.nodes.table import Ints
from vsched.model.pods.shape import Shape
from vsched.model.pods.task import Task
from vsched.model.snapshot import Snapshot

Unit = tuple[tuple[str, int], ...]
"""What a pod, or a gang as a whole, asks for by counted name."""
Piece = tuple[Unit, int]
"""What one asks for, and how many there are."""
STEPS_MAX = 4096
"""Up to so many steps sums of amounts are tried out one by one."""


class Most(NamedTuple):
    """``int64[namespace or bucket, resource]``; ``LARGEST`` or more where there is no limit."""

    namespaces: Ints
    """If nobody else is lent anything."""
    buckets: Ints
    own: Ints
    """What of namespaces is not to be lent."""
    of_buckets: Ints
    """How much may be lent in each bucket."""
    spare: Ints
    """int64[resource]: how much may be lent in all; where there is no total, as much as there is limit."""


def most_for_now(sheet: Sheet, snapshot: Snapshot, deserved: Ints, parts: Ints) -> Most:
    """Ceilings of namespaces by what they deserve, and of buckets by what these do (``parts``).

    What is spare is lent once, to whoever takes it first. It is below zero where more is held and claimed than there
    is: then whoever holds more than it deserves gets nothing new, and what it gives back goes to whom it belongs.
    """
    claims = _claims(sheet, snapshot, deserved)
    spare = np.where(sheet.known, sheet.total - column_sums(claims), LARGEST)
    room = np.broadcast_to(spare, deserved.shape).copy()
    of_buckets, buckets = np.empty_like(parts), np.empty_like(parts)
    for number, group in enumerate(sheet.groups):
        left = np.where(group.hard < LARGEST, group.hard - column_sums(claims[group.below]), LARGEST)
        of_buckets[number] = left
        room[group.below] = np.minimum(room[group.below], left)
        kept = np.minimum(column_sums(sheet.kept[group.below]), LARGEST)
        least = np.minimum(spare, of_buckets[group.path].min(axis=0))
        buckets[number] = _ceiling(parts[number], kept, group.hard, least)
    return Most(_ceiling(deserved, sheet.kept, sheet.limit, room), buckets, claims, of_buckets, spare)


def _ceiling(deserved: Ints, kept: Ints, limit: Ints, room: Ints) -> Ints:
    ceiling: Ints = np.maximum(deserved, np.minimum(limit, np.maximum(deserved, kept) + room))
    return ceiling


def _claims(sheet: Sheet, snapshot: Snapshot, deserved: Ints) -> Ints:
    """What is not to be lent: what namespaces keep, and what else of what they deserve they could use.

    Pods are whole, and so are gangs that have not begun: who deserves room for two and a half pods of a size claims
    two, and the half is spare. Or it would lie idle for ever, since nobody can be short of it. Where sizes differ, the
    most that any choice of them comes to is claimed, for nobody knows which are placed first.
    """
    usable = np.minimum(deserved, sheet.requested)
    waiting = _Waiting(sheet, snapshot)
    for row in np.flatnonzero((deserved < sheet.requested).any(axis=1)):
        award = Award(dict(zip(sheet.columns, deserved[row].tolist(), strict=True)), {})
        pieces = waiting.pieces(sheet.parties[row], award)
        if pieces is not None:
            room = dict(zip(sheet.columns, (deserved[row] - sheet.kept[row]).tolist(), strict=True))
            most = _most_of(pieces, room)
            usable[row] = np.minimum(usable[row], sheet.kept[row] + [most.get(name, 0) for name in sheet.columns])
    return np.maximum(sheet.kept, usable)


class _Waiting:
    """What waits and is of use, in pieces; what follows from a shape alone is worked out once."""

    def __init__(self, sheet: Sheet, snapshot: Snapshot) -> None:
        self._snapshot = snapshot
        self._asking = Asking(snapshot)
        self._of_shapes: dict[Shape, Unit | None] = {}

    def pieces(self, party: NamespaceAccount, award: Award) -> list[Piece] | None:
        """Those of a namespace, in no order; None where only amounts are known of what waits."""
        pending = party.pending
        if not pending:
            return None
        gangs = {job for job in {task.job for task in pending.values()} if _is_gang(self._snapshot, job)}
        found = self._singles(task for task in pending.values() if task.job not in gangs)
        if gangs:
            of_gangs = {uid: task for uid, task in pending.items() if task.job in gangs}
            alone = msgspec.structs.replace(party, pending=of_gangs)
            wants = list(wants_of(alone, party.kept, award, self._snapshot, self._asking))
            found += [(_unit(want.amounts), 1) for want in wants]
            # Once a gang has begun, any more of its pods is of use, and it may begin and go on in one session.
            begin = {task.job for want in wants for task in want.tasks}
            wanted = {task.uid for want in wants for task in want.tasks}
            found += self._singles(task for task in of_gangs.values() if task.job in begin and task.uid not in wanted)
        return found

    def _singles(self, tasks: Iterable[Task]) -> list[Piece]:
        counts = Counter(task.shape for task in tasks)
        return [(unit, count) for shape, count in counts.items() if (unit := self._single(shape)) is not None]

    def _single(self, shape: Shape) -> Unit | None:
        """A pod of this shape by itself; None where no node could hold it."""
        if shape not in self._of_shapes:
            asking = self._asking
            self._of_shapes[shape] = _unit(asking.amounts(shape)) if asking.is_possible(shape) else None
        return self._of_shapes[shape]


def _unit(amounts: Counted) -> Unit:
    return tuple((name, amount) for name, amount in amounts.items() if amount)


def _is_gang(snapshot: Snapshot, key: str) -> bool:
    job = snapshot.jobs.get(key)
    return job is not None and (job.spec.min_member > 1 or bool(job.spec.min_task_member))


def _most_of(pieces: list[Piece], room: dict[str, int]) -> dict[str, int]:
    """The most of each resource that pieces together can take of the room: resource by resource, so at most too much.

    What nobody else has an account of needs no room.
    """
    wanted: dict[str, list[tuple[int, int]]] = {}
    for unit, count in pieces:
        counted = [(name, amount) for name, amount in unit if name in room]
        times = min([count, *(room[name] // amount for name, amount in counted)])
        if times > 0:
            for name, amount in counted:
                wanted.setdefault(name, []).append((amount, times))
    return {name: _largest_sum(amounts, room[name]) for name, amounts in wanted.items()}


def _largest_sum(amounts: list[tuple[int, int]], most: int) -> int:
    """The largest sum up to ``most`` of amounts, each to be had so many times; where that is too long to be worked out,
    the largest multiple of what divides them all."""
    everything = sum(amount * times for amount, times in amounts)
    if everything <= most:
        return everything
    step = gcd(*(amount for amount, _ in amounts))
    top = most // step
    if len(amounts) == 1 or top > STEPS_MAX:
        return top * step
    within = (1 << (top + 1)) - 1
    sums = 1  # one bit for every sum that can be made, counted in steps
    for amount, times in amounts:
        part = 1
        while times:
            part = min(part, times)
            sums |= (sums << (amount // step * part)) & within
            times, part = times - part, part * 2
    return (sums.bit_length() - 1) * step
