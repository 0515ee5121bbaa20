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
from vsched.model.snapshot import Snapshot

Unit = tuple[tuple[str, int], ...]
"""What a pod, or a gang as a whole, asks for by counted name."""


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
    asking = Asking(snapshot)
    for row in np.flatnonzero((deserved < sheet.requested).any(axis=1)):
        award = Award(dict(zip(sheet.columns, deserved[row].tolist(), strict=True)), {})
        units = _units(sheet.parties[row], award, snapshot, asking)
        if units is not None:
            room = dict(zip(sheet.columns, (deserved[row] - sheet.kept[row]).tolist(), strict=True))
            taken = _taken(units, room, sheet)
            usable[row] = np.minimum(usable[row], sheet.kept[row] + [taken.get(name, 0) for name in sheet.columns])
    return np.maximum(sheet.kept, usable)


def _units(party: Party, award: Award, snapshot: Snapshot, asking: Asking) -> Counter[Unit] | None:
    """What waits and is of use, with how many there are of each; None where only amounts are known of what waits."""
    waiting = Counter((task.shape, task.job) for task in party.pending.values())
    if not waiting:
        return None
    gangs = {job for _, job in waiting if _is_gang(snapshot, job)}
    units: Counter[Unit] = Counter()
    for (shape, job), count in waiting.items():
        if job not in gangs and asking.is_possible(shape):
            units[_unit(asking.amounts(shape))] += count
    if gangs:
        of_gangs = {uid: task for uid, task in party.pending.items() if task.job in gangs}
        wants = wants_of(msgspec.structs.replace(party, pending=of_gangs), party.kept, award, snapshot, asking)
        units.update(_unit(want.amounts) for want in wants)
    return units


def _is_gang(snapshot: Snapshot, key: str) -> bool:
    job = snapshot.jobs.get(key)
    return job is not None and (job.spec.min_member > 1 or bool(job.spec.min_task_member))


def _unit(amounts: Counted) -> Unit:
    return tuple(sorted((name, amount) for name, amount in amounts.items() if amount))


def _taken(units: Counter[Unit], room: dict[str, int], sheet: Sheet) -> dict[str, int]:
    """What of the units fits into the room, the largest first; what nobody else has an account of needs none."""
    taken: dict[str, int] = {}
    totals = {name: total for name, total in zip(sheet.columns, sheet.total.tolist(), strict=True) if total}
    sizes = {
        unit: max((amount / totals[name] for name, amount in unit if name in totals), default=0.0) for unit in units
    }
    for unit in sorted(units, key=lambda unit: (-sizes[unit], unit)):
        count = min((room[name] // amount for name, amount in unit if name in room), default=0)
        for name, amount in unit:
            if name in room:
                part = amount * max(0, min(count, units[unit]))
                room[name] -= part
                taken[name] = taken.get(name, 0) + part
    return taken
