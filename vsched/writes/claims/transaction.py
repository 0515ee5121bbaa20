"""One gang: reserve what it claims, wait until it is there, verify it, or give everything back."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from enum import StrEnum

from vsched.model.claims.devices import POD_GROUPS
from vsched.model.pods.task import Task
from vsched.together import together
from vsched.writes.claims import devices, volumes
from vsched.writes.claims.extended import ExtendedPlan, remove_extended, unmention
from vsched.writes.claims.gang import GangBinding, Obstacle
from vsched.writes.claims.objects import DeviceClaimRead, PodRead, VolumeClaimRead, VolumeRead
from vsched.writes.claims.pods import leaves, without_node
from vsched.writes.claims.reserving import Reservation
from vsched.writes.claims.steps import DONE, Done, Failed, Step
from vsched.writes.claims.waiting import GangWait, WaitSettings
from vsched.writes.claims.wishes import ClaimedDevices, VolumeWish


class TransactionPhase(StrEnum):
    """What a transaction is doing."""

    QUEUED = "queued"
    """Another one writes objects that both need."""
    RESERVING = "reserving"
    WAITING = "waiting"
    """For volumes to be bound and devices to be ready."""
    VERIFYING = "verifying"
    BINDING = "binding"
    UNDOING = "undoing"


class GangTransaction:
    """Puts the phases together. It writes nothing but claims and volumes; the caller binds the pods."""

    def __init__(self, gang: GangBinding, settings: WaitSettings) -> None:
        self.gang = gang
        self.phase = TransactionPhase.QUEUED
        self._reservation = Reservation(gang)
        self._settings = settings
        self._waiting: GangWait | None = None
        self.keys = gang.wish.holds()
        """The objects that it is concerned with."""
        self._holding = False

    def changed(self, key: str) -> None:
        """A watch shows a change of a claim ``namespace/name``."""
        if self._waiting is not None:
            self._waiting.changed(key)

    async def prepare(self, bind_seconds: float) -> Obstacle | None:
        """Reserve, wait and verify; returns why the gang cannot be bound, None where it can.

        The caller calls ``end`` in any case, after ``undo`` where there is an obstacle.
        """
        await self.gang.holds.begin(self.keys)
        self._holding = True
        try:
            self.phase = TransactionPhase.RESERVING
            await self._reservation.reserve()
        finally:
            self.gang.holds.written(self.keys)
        if self.gang.obstacle is None:
            await self._wait(bind_seconds)
        if self.gang.obstacle is None:
            self.phase = TransactionPhase.VERIFYING
            await self._reservation.verify()
        return self.gang.obstacle

    async def _wait(self, bind_seconds: float) -> None:
        self.phase = TransactionPhase.WAITING
        claims = [*self.gang.wish.devices, *(plan.claim for plan in self._reservation.plans)]
        self._waiting = GangWait(self.gang, claims, self._settings)
        await self._waiting.run(bind_seconds)
        self._waiting = None

    async def undo(self) -> list[str]:
        """Give everything back; returns why something could not be."""
        self.phase = TransactionPhase.UNDOING
        return await undo(self.gang, self._reservation.plans)

    def end(self) -> None:
        """Others may have the objects that this transaction was concerned with."""
        if self._holding:
            self._holding = False
            self.gang.holds.end(self.keys)


async def undo(gang: GangBinding, plans: Sequence[ExtendedPlan]) -> list[str]:
    """Give everything back; returns why something could not be. Later sessions see what is left, and release it."""
    leaving = await _without_node(gang)
    steps = await together(
        *(_give_back(gang, each, leaving) for each in gang.wish.devices),
        *(_unchoose(gang, each) for each in gang.wish.volumes),
        *(_remove_extended(gang, plan) for plan in plans if plan.wish.pod.uid in leaving),
    )
    return [step.why for step in steps if isinstance(step, Failed)]


async def _without_node(gang: GangBinding) -> frozenset[str]:
    """The pods that certainly have no node; a leader before this one may have bound some. Only they give back.

    Of a PodGroup that shares claims, pods count that are not in this gang: none of those may have a node, either.
    """
    named = {one.uid for wish in gang.wish.devices for one in wish.consumers}
    named.update(wish.pod.uid for wish in gang.wish.extended)
    groups = {one.uid for wish in gang.wish.devices for one in wish.consumers if one.resource == POD_GROUPS}
    shared = {bind.uid for bind in gang.wish.binds if bind.claims is not None and bind.claims.for_group}
    pods = {bind.uid: f"{bind.namespace}/{bind.name}" for bind in gang.wish.binds if bind.uid in named | shared}
    for task in _tasks(gang) if groups else ():
        if not task.node and task.claims is not None and any(one.group in groups for one in task.claims.devices):
            pods[task.uid] = task.key
    return await without_node(gang.settling, pods)


def _tasks(gang: GangBinding) -> Sequence[Task]:
    return gang.mirror.tasks_of(gang.wish.job) or ()


async def _give_back(gang: GangBinding, wish: ClaimedDevices, leaving: Collection[str]) -> Step:
    def step(found: DeviceClaimRead | None) -> Step:
        # Only a PodGroup needs the pods of the job: a large gang has a claim for each of them.
        for_group = found is not None and any(one.resource == POD_GROUPS for one in found.consumers)
        tasks = _tasks(gang) if for_group else ()
        return devices.give_back(found, wish.uid, lambda consumer: leaves(consumer, wish.key, tasks, leaving))

    return await gang.settling.settle(DeviceClaimRead, wish.key, step)


async def _unchoose(gang: GangBinding, wish: VolumeWish) -> Step:
    if gang.holds.is_shared((volumes.KIND, wish.key)):
        return DONE  # another gang waits for the same claim
    settle = gang.settling.settle
    if wish.volume:
        return await settle(VolumeRead, wish.volume, lambda found: volumes.release_volume(found, wish))
    return await settle(
        VolumeClaimRead, wish.key, lambda found: volumes.unselect_node(found, wish.uid, wish.selected_node)
    )


async def _remove_extended(gang: GangBinding, plan: ExtendedPlan) -> Step:
    settle = gang.settling.settle
    step = await settle(PodRead, plan.wish.pod_key, lambda found: unmention(found, plan.wish.claim_name))
    if not isinstance(step, Done):
        return step
    return await settle(DeviceClaimRead, plan.wish.key, lambda found: remove_extended(found, plan.wish.pod.uid))
