"""Levers of the quotas of devices in the capabilities of queues."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from functools import partial

from vsched.explain.candidates.levers import Lever, LeverLevel, MissingMinimum, Rank
from vsched.explain.edits.queues import SetQueueAmount
from vsched.model.claims.catalogue import DeviceCatalogue
from vsched.model.claims.quota import DeviceAmount, demand_of, device_amount
from vsched.model.pods.task import Task
from vsched.model.queues.queue import Queue
from vsched.model.queues.tree import below
from vsched.model.snapshot import Snapshot

_GRAIN = 1000
"""One device, or one unit of a device's capacity."""


def device_quota_levers(wants: MissingMinimum, queue: Queue) -> Iterator[Lever]:
    """A higher capability of the queue for each amount of devices that the job's claims ask for."""
    snapshot = wants.situation.snapshot
    limits = {
        amount: (snapshot.axis.names[column], value)
        for column, value in queue.capability
        if (amount := device_amount(snapshot.axis.names[column])) is not None
    }
    devices = snapshot.claims.devices
    asked = _demand(_claims_of(wants.waiting[: max(1, wants.missing)]), devices) if limits else Counter()
    if not asked:
        return
    held = _demand(_in_use(snapshot, {queue.name, *below(queue.name, snapshot.queues)}), devices)
    for amount, (name, has) in sorted(limits.items()):
        if asked[amount]:
            level = LeverLevel(has, held[amount], asked[amount])
            yield _raising(level, partial(SetQueueAmount, queue.name, "capability", name))


def _raising(level: LeverLevel, edit: partial[SetQueueAmount]) -> Lever:
    most = max(1, -(-(max(level.has, level.held) + level.wanted - level.has) // _GRAIN))
    return Lever(
        Rank.LIMITS,
        lambda step: edit(level.has + step * _GRAIN),
        most,
        whole=max(1, level.has // _GRAIN),
        kind="capability",
    )


def _demand(claims: Iterable[str], devices: DeviceCatalogue) -> Counter[DeviceAmount]:
    """What these claims count in a queue."""
    found: Counter[DeviceAmount] = Counter()
    for key in claims:
        claim = devices.claims.get(key)
        for amount, value in () if claim is None else demand_of(claim.spec):
            found[amount] += value
    return found


def _claims_of(tasks: Iterable[Task]) -> set[str]:
    return {one.claim for task in tasks if task.claims is not None for one in task.claims.devices if one.claim}


def _in_use(snapshot: Snapshot, queues: set[str]) -> Iterator[str]:
    """The claims that pods of these queues use."""
    for key, users in snapshot.claims.devices.users.items():
        jobs = (snapshot.jobs.get(task.job) for task in users.values())
        if any(job is not None and job.spec.queue in queues for job in jobs):
            yield key
