"""Gives back everything that a gang has reserved, and only what none of its pods uses by now."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from vsched.model.claims.devices import POD_GROUPS
from vsched.model.pods.task import Task
from vsched.together import together
from vsched.writes.claims import devices, volumes
from vsched.writes.claims.extended import ExtendedPlan, remove_extended, unmention
from vsched.writes.claims.gang import GangBinding
from vsched.writes.claims.objects import DeviceClaimRead, PodRead, VolumeClaimRead, VolumeRead
from vsched.writes.claims.pods import leaves, without_node
from vsched.writes.claims.steps import DONE, Done, Failed, Step
from vsched.writes.claims.wishes import ClaimedDevices, VolumeWish


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
