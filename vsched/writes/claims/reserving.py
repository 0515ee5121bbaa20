"""Reserves what a gang claims, and verifies later that it is still as it was written."""

from __future__ import annotations

from collections.abc import Awaitable
from functools import partial

from vsched.together import together
from vsched.writes.claims import devices, volumes, words
from vsched.writes.claims.allocation import ClassConfigs
from vsched.writes.claims.extended import ExtendedPlan, mention, plan_extended, reserve_extended
from vsched.writes.claims.gang import Attempt, GangBinding
from vsched.writes.claims.objects import DeviceClaimRead, PodRead, VolumeClaimRead, VolumeRead
from vsched.writes.claims.steps import DONE, Done, Failed, Send, Step, Wait
from vsched.writes.claims.wishes import ClaimedDevices, VolumeWish


class Reservation:
    """The claims of one gang. ``reserve`` and ``verify`` leave the first obstacle that they meet in the gang."""

    def __init__(self, gang: GangBinding) -> None:
        self.plans: tuple[ExtendedPlan, ...] = ()
        """The claims that are made for extended resources; known once ``reserve`` has begun."""
        self._gang = gang
        self._configs: ClassConfigs = {}

    async def reserve(self) -> None:
        """Write everything, all objects at the same time. An obstacle ends it, after what is under way."""
        gang, wish = self._gang, self._gang.wish
        gang.look_at_pods()
        await self._read_pods()
        await self._read_classes()
        await together(
            *(gang.attempt(devices.KIND, each.key, self._devices(each)) for each in wish.devices),
            *(gang.attempt(volumes.KIND, each.key, self._choose(each)) for each in wish.volumes if each.choose),
            *(gang.attempt("Pod", plan.wish.pod_key, self._extended(plan)) for plan in self.plans),
        )

    async def verify(self) -> None:
        """Look at everything again: whatever was changed in the meantime is an obstacle."""
        gang, wish = self._gang, self._gang.wish
        gang.look_at_pods()
        await together(
            *(gang.attempt(devices.KIND, each.key, self._still_reserved(each)) for each in wish.devices),
            *(gang.attempt(volumes.KIND, each.key, self._still_bound(each)) for each in wish.volumes),
            *(gang.attempt("Pod", plan.wish.pod_key, self._still_reserved(plan.claim)) for plan in self.plans),
        )
        gang.look_at_pods()

    async def _read_pods(self) -> None:
        """The containers of pods with extended resources decide on the requests of their claims."""
        wishes = self._gang.wish.extended if self._gang.obstacle is None else ()
        pods = await together(*(self._gang.settling.fetch(PodRead, wish.pod_key) for wish in wishes))
        plans = []
        for wish, found in zip(wishes, pods, strict=True):
            plan = found if isinstance(found, Failed) else plan_extended(found, wish)
            if isinstance(plan, Failed):
                self._gang.meet(plan.why, "Pod", wish.pod_key)
                return
            plans.append(plan)
        self.plans = tuple(plans)

    async def _read_classes(self) -> None:
        """The configuration of the DeviceClasses of all claims that get devices."""
        claims = [*(each for each in self._gang.wish.devices if each.allocate), *(plan.claim for plan in self.plans)]
        names = dict.fromkeys(name for claim in claims for name in claim.classes)
        configs = {}
        for name in names if self._gang.obstacle is None else ():
            found = await self._gang.classes.fetch(name)
            if found is None or isinstance(found, Failed):
                self._gang.meet(words.no_class_any_more(name) if found is None else found.why)
                return
            configs[name] = found.spec.config or []
        self._configs = configs

    def _devices_step(self, found: DeviceClaimRead | None, wish: ClaimedDevices) -> Step:
        return devices.reserve(found, wish, self._configs, self._gang.clock.now())

    def _devices(self, wish: ClaimedDevices) -> Attempt:
        def attempt() -> Awaitable[Step]:
            opening = devices.protect(self._gang.mirror.claims.watched_claim(wish.key), wish)
            decide = partial(self._devices_step, wish=wish)
            return self._gang.settle(DeviceClaimRead, wish.key, decide, opening)

        return attempt

    def _choose(self, wish: VolumeWish) -> Attempt:
        settle = self._gang.settle
        if wish.volume:
            return lambda: settle(VolumeRead, wish.volume, lambda found: volumes.reserve_volume(found, wish))

        def attempt() -> Awaitable[Step]:
            opening = volumes.select_unread(self._gang.mirror.claims.watched_volume_claim(wish.key), wish)
            return settle(VolumeClaimRead, wish.key, lambda found: volumes.select_node(found, wish), opening)

        return attempt

    def _extended(self, plan: ExtendedPlan) -> Attempt:
        settle, now = self._gang.settle, self._gang.clock.now

        async def attempt() -> Step:
            step = await settle(
                DeviceClaimRead, plan.wish.key, lambda found: reserve_extended(found, plan, self._configs, now())
            )
            if not isinstance(step, Done):
                return step
            return await settle(PodRead, plan.wish.pod_key, lambda found: mention(found, plan))

        return attempt

    def _still_reserved(self, wish: ClaimedDevices) -> Attempt:
        def unchanged(found: DeviceClaimRead | None) -> Step:
            step = self._devices_step(found, wish)
            changed = words.changed_before_binding(devices.KIND, wish.key)
            return Failed(changed) if isinstance(step, Send) else step

        return lambda: self._gang.look(DeviceClaimRead, wish.key, unchanged)

    def _still_bound(self, wish: VolumeWish) -> Attempt:
        async def attempt() -> Step:
            mirror = self._gang.mirror
            labels = self._gang.wish.labels.get(wish.node)
            if self._gang.was_just_bound(wish.key):
                name = volumes.shown_volume(mirror.claims.watched_volume_claim(wish.key), wish)
                if name and labels is not None and volumes.reaches(mirror.claims.watched_volume(name), wish, labels):
                    return DONE
            name = ""

            def still(found: VolumeClaimRead | None) -> Step:
                nonlocal name
                name = "" if found is None else found.volume
                return volumes.bound(found, wish)

            step = await self._gang.look(VolumeClaimRead, wish.key, still)
            if isinstance(step, Wait):
                return Failed(words.not_bound_any_more(volumes.KIND, wish.key))
            if not isinstance(step, Done):
                return step
            if labels is None:  # the cycle did not know the node, or it is gone: the API server refuses the binding
                return DONE
            return await self._gang.look(
                VolumeRead, name, lambda volume: volumes.usable(volume, name, wish.node, labels)
            )

        return attempt
