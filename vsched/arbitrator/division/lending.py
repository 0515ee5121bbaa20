"""How much namespaces may hold for now: what they deserve, plus what no other namespace claims (lending)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from math import gcd
from typing import NamedTuple

import msgspec
import numpy as np

from vsched.arbitrator.division.sheet import Sheet
from vsched.arbitrator.wants import PodDemands, wants_of
from vsched.kernels.dominant import LARGEST, column_sums
from vsched.model.amounts.counted import Counted
from vsched.model.arbitration.records import Award, NamespaceAccount
from vsched.model.nodes.table import Ints
from vsched.model.pods.shape import Shape
from vsched.model.pods.task import Task
from vsched.model.snapshot import Snapshot

Unit = tuple[tuple[str, int], ...]
"""What a pod, or a gang as a whole, requests: amounts by counted name."""
Piece = tuple[Unit, int]
"""What one pod or gang requests, and how many like it there are."""
STEPS_MAX = 4096
"""Up to this number of steps ``_largest_sum`` computes the exact sum; above it, an upper bound."""


class DivisionCeilings(NamedTuple):
    """Ceilings: ``int64[namespace or bucket, resource]``; ``LARGEST`` or more where there is no limit."""

    namespaces: Ints
    """The ceiling of each namespace, provided that nothing is lent to others."""
    buckets: Ints
    own: Ints
    """What of each namespace must not be lent to others."""
    of_buckets: Ints
    """How much may be lent inside each bucket."""
    spare: Ints
    """int64[resource]: how much may be lent in all; ``LARGEST`` where the total is not known."""


def most_for_now(sheet: Sheet, snapshot: Snapshot, deserved: Ints, parts: Ints) -> DivisionCeilings:
    """Ceilings of namespaces from what they deserve, and of buckets from what they deserve (``parts``).

    What is spare is lent once, to the namespace that takes it first. The spare amount is negative where more is held
    and claimed than exists. Then a namespace above what it deserves gets nothing new, and what it gives back goes to
    the namespaces that deserve it.
    """
    claims = _claims(sheet, snapshot, deserved)
    spare = np.where(sheet.known, sheet.total - column_sums(claims), LARGEST)
    room = np.broadcast_to(spare, deserved.shape).copy()
    of_buckets, buckets = np.empty_like(parts), np.empty_like(parts)
    for number, group in enumerate(sheet.groups):
        left = np.where(group.hard < LARGEST, group.hard - column_sums(claims[group.below]), LARGEST)
        of_buckets[number] = left
        room[group.below] = np.minimum(room[group.below], left)
        kept = np.minimum(column_sums(sheet.used[group.below]), LARGEST)
        least = np.minimum(spare, of_buckets[group.path].min(axis=0))
        buckets[number] = _ceiling(parts[number], kept, group.hard, least)
    return DivisionCeilings(_ceiling(deserved, sheet.used, sheet.limit, room), buckets, claims, of_buckets, spare)


def _ceiling(deserved: Ints, kept: Ints, limit: Ints, room: Ints) -> Ints:
    ceiling: Ints = np.maximum(deserved, np.minimum(limit, np.maximum(deserved, kept) + room))
    return ceiling


def _claims(sheet: Sheet, snapshot: Snapshot, deserved: Ints) -> Ints:
    """What must not be lent: what namespaces keep, and what else of their deserved part they could use.

    Pods are indivisible, and so are gangs that have not begun. A namespace that deserves room for two and a half of its
    pods claims two; the half is spare. Otherwise it would stay idle for ever, because no pod of the namespace fits into
    it. Where sizes differ, the claim is the largest sum that any choice of pods reaches, since it is not known which of
    them are placed first.
    """
    usable = np.minimum(deserved, sheet.requested)
    waiting = _Waiting(sheet, snapshot)
    for row in np.flatnonzero((deserved < sheet.requested).any(axis=1)):
        award = Award(dict(zip(sheet.columns, deserved[row].tolist(), strict=True)), {})
        pieces = waiting.pieces(sheet.accounts[row], award)
        if pieces is not None:
            room = dict(zip(sheet.columns, (deserved[row] - sheet.used[row]).tolist(), strict=True))
            most = _most_of(pieces, room)
            usable[row] = np.minimum(usable[row], sheet.used[row] + [most.get(name, 0) for name in sheet.columns])
    return np.maximum(sheet.used, usable)


class _Waiting:
    """The pending pods and gangs of namespaces as pieces; what depends on the shape alone is computed once."""

    def __init__(self, sheet: Sheet, snapshot: Snapshot) -> None:
        self._snapshot = snapshot
        self._asking = PodDemands(snapshot)
        self._of_shapes: dict[Shape, Unit | None] = {}

    def pieces(self, account: NamespaceAccount, award: Award) -> list[Piece] | None:
        """The pieces of a namespace, in no order; None if only the amounts that wait are known, not the pods."""
        pending = account.pending
        if not pending:
            return None
        gangs = {job for job in {task.job for task in pending.values()} if _is_gang(self._snapshot, job)}
        found = self._singles(task for task in pending.values() if task.job not in gangs)
        if gangs:
            of_gangs = {uid: task for uid, task in pending.items() if task.job in gangs}
            alone = msgspec.structs.replace(account, pending=of_gangs)
            wants = list(wants_of(alone, account.kept, award, self._snapshot, self._asking))
            found += [(_unit(want.amounts), 1) for want in wants]
            # Once a gang has begun, each further pod of it can be used. It may begin and grow in the same session.
            begin = {task.job for want in wants for task in want.tasks}
            wanted = {task.uid for want in wants for task in want.tasks}
            found += self._singles(task for task in of_gangs.values() if task.job in begin and task.uid not in wanted)
        return found

    def _singles(self, tasks: Iterable[Task]) -> list[Piece]:
        counts = Counter(task.shape for task in tasks)
        return [(unit, count) for shape, count in counts.items() if (unit := self._single(shape)) is not None]

    def _single(self, shape: Shape) -> Unit | None:
        """What one pod of this shape requests; None if no node could hold it."""
        if shape not in self._of_shapes:
            asking = self._asking
            self._of_shapes[shape] = _unit(asking.amounts(shape)) if asking.is_possible(shape) else None
        return self._of_shapes[shape]


def _unit(amounts: Counted) -> Unit:
    return tuple((name, amount) for name, amount in amounts.items() if amount)


def _is_gang(snapshot: Snapshot, key: str) -> bool:
    job = snapshot.jobs.get(key)
    if job is None:
        return False
    return job.spec.min_member > 1 or bool(job.spec.min_task_member) or bool(job.spec.sub_groups)


def _most_of(pieces: list[Piece], room: dict[str, int]) -> dict[str, int]:
    """The most of each resource that the pieces can take of the room.

    Each resource is judged alone, so the result is an upper bound. Resources that ``room`` does not name need no room.
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
    """The largest sum up to ``most`` of ``(amount, times)`` pairs, each amount used up to so many times.

    Where the exact sum would take too many steps, it is the largest multiple of their greatest common divisor.
    """
    everything = sum(amount * times for amount, times in amounts)
    if everything <= most:
        return everything
    step = gcd(*(amount for amount, _ in amounts))
    top = most // step
    if len(amounts) == 1 or top > STEPS_MAX:
        return top * step
    within = (1 << (top + 1)) - 1
    sums = 1  # bit n is set if a sum of n steps can be reached
    for amount, times in amounts:
        part = 1
        while times:
            part = min(part, times)
            sums |= (sums << (amount // step * part)) & within
            times, part = times - part, part * 2
    return (sums.bit_length() - 1) * step
