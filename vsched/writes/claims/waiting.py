"""Waits until the volumes of a gang are bound and its devices are ready.

The mirror says which claims have changed. Those of which it does not show that they still wait are read. A gang that
waits holds no worker: it sleeps.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable

import msgspec

from vsched.together import together
from vsched.writes.claims import devices, volumes
from vsched.writes.claims.gang import Attempt, GangBinding
from vsched.writes.claims.objects import DeviceClaimRead, VolumeClaimRead
from vsched.writes.claims.steps import Failed, Wait
from vsched.writes.claims.wishes import ClaimedDevices, HoldKey, VolumeWish


class WaitSettings(msgspec.Struct, frozen=True):
    """How often a gang that waits looks after things itself."""

    pods_seconds: float = 2.0
    """Whether its pods are still to be bound; this costs no request."""
    objects_seconds: float = 60.0
    """How all objects are that it waits for, in case a watch has missed something."""


class GangWait:
    """What one gang waits for. ``run`` leaves the first obstacle that it meets in the gang."""

    def __init__(self, gang: GangBinding, claims: Iterable[ClaimedDevices], settings: WaitSettings) -> None:
        """``claims`` are the ResourceClaims of the gang, those made for extended resources included."""
        self._gang = gang
        self._settings = settings
        self._left: dict[HoldKey, Attempt] = {
            **{(volumes.KIND, each.key): self._of_volume(each) for each in gang.wish.volumes},
            **{(devices.KIND, each.key): self._of_devices(each) for each in claims if _has_conditions(each)},
        }
        self._volumes = {(volumes.KIND, each.key): each for each in gang.wish.volumes}
        self._changed: set[str] = set()
        self._heard: set[str] = set()
        """What has changed since the last look."""
        self._wake = asyncio.Event()

    def changed(self, key: str) -> None:
        """A watch shows a change of a claim ``namespace/name``."""
        self._changed.add(key)
        self._wake.set()

    async def run(self, bind_seconds: float) -> None:
        """Wait for everything; what is not there after ``bind_seconds`` is an obstacle."""
        clock = self._gang.clock.monotonic
        end, next_whole = clock() + bind_seconds, clock() + self._settings.objects_seconds
        asked = list(self._left)
        self._gang.waited = bool(asked)
        while self._left and self._gang.obstacle is None:
            due = clock() >= min(next_whole, end)
            if due:
                next_whole = clock() + self._settings.objects_seconds
            missing = await self._look(list(self._left)) if due else await self._glance(asked)
            self._gang.look_at_pods()
            if self._gang.obstacle is not None or not self._left:
                return
            if clock() >= end:
                (kind, key), why = next(iter(missing.items()))
                self._gang.meet(f"{why} within {bind_seconds:g} s", kind, key)
                return
            await self._sleep(min(self._settings.pods_seconds, end - clock()))
            asked = self._to_look_at()

    async def _sleep(self, seconds: float) -> None:
        try:
            async with asyncio.timeout(seconds):
                await self._wake.wait()
        except TimeoutError:
            return
        self._wake.clear()

    def _to_look_at(self) -> list[HoldKey]:
        """What has changed of the things that are waited for."""
        self._heard = changed = self._changed
        self._changed = set()
        kinds = (volumes.KIND, devices.KIND)
        return [(kind, key) for key in sorted(changed) for kind in kinds if (kind, key) in self._left]

    async def _glance(self, asked: list[HoldKey]) -> dict[HoldKey, str]:
        """The same as ``_look``, without those of which the mirror shows that they still wait."""
        waits = {each: self._seen(each) for each in asked}
        asked = [each for each in asked if each in self._left]
        missing = {each: wait.why for each, wait in waits.items() if wait is not None}
        return missing | await self._look([each for each in asked if each not in missing])

    def _seen(self, hold: HoldKey) -> Wait | None:
        """What the mirror shows. A claim that has just been bound is not waited for any longer."""
        wish = self._volumes.get(hold)
        if wish is None:
            return None
        watched = self._gang.mirror.claims.watched_volume_claim(wish.key)
        if wish.key in self._heard and volumes.shown_volume(watched, wish):
            self._gang.shown_bound[wish.key] = self._gang.clock.monotonic()
            del self._left[hold]
        return volumes.unchanged(watched, wish)

    async def _look(self, asked: list[HoldKey]) -> dict[HoldKey, str]:
        """Look at these; returns what is missing of each that is not as it has to be yet."""
        steps = await together(*(self._left[each]() for each in asked))
        missing = {}
        for each, step in zip(asked, steps, strict=True):
            if isinstance(step, Wait):
                missing[each] = step.why
                continue
            del self._left[each]
            if isinstance(step, Failed):
                self._gang.meet(step.why, *each)
        return missing

    def _of_volume(self, wish: VolumeWish) -> Attempt:
        return lambda: self._gang.settle(VolumeClaimRead, wish.key, lambda found: volumes.bound(found, wish))

    def _of_devices(self, wish: ClaimedDevices) -> Attempt:
        return lambda: self._gang.settle(DeviceClaimRead, wish.key, lambda found: devices.ready(found, wish))


def _has_conditions(wish: ClaimedDevices) -> bool:
    return wish.allocation is not None and any(each.binding_conditions for each in wish.allocation.devices)
