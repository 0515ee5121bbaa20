"""Claims for devices: as watched, and over that what was decided and the watch does not show yet."""

from __future__ import annotations

from collections.abc import Container

import msgspec

from vsched.mirror.ingest.devices import DatedClass
from vsched.mirror.state.claims.changes import ChangeLog
from vsched.mirror.state.claims.pools import PoolStore
from vsched.mirror.state.claims.shown import ShownClaims
from vsched.mirror.state.claims.staged import SmallMap, StagedMap, Staging
from vsched.model.claims.devices import AllocationResult, ClaimConsumer, DeviceClaim, DeviceClass
from vsched.model.claims.plan import ClaimPlan
from vsched.model.groups import NameGroups
from vsched.model.pods.task import Task


class _Assumed(msgspec.Struct):
    """What was decided about a claim."""

    uid: str
    """That of the claim."""
    consumers: tuple[ClaimConsumer, ...] = ()
    """Pods that it is being reserved for."""
    members: tuple[tuple[str, ClaimConsumer], ...] = ()
    """Pods (by uid) that it is being reserved for by way of their PodGroup."""
    allocation: AllocationResult | None = None
    over_plain: bool = False
    """Whether the claim is shown with this, and the watch shows it without devices, consumers and conditions."""


_AS_SHOWN = _Assumed("", over_plain=True)
"""Stands for what was decided about a claim that the watch shows without devices, consumers and conditions. Most are
like that: what was watched and what was decided follow from what is shown, so neither is stored."""


class DeviceStore(ShownClaims[DeviceClaim]):
    """Claims for devices, classes and pools."""

    def __init__(self, stage: Staging) -> None:
        super().__init__(stage)
        self.allocated: StagedMap[DeviceClaim] = StagedMap(stage)
        """The claims that have devices. A claim whose release is only assumed still has its own here."""
        self.made: StagedMap[str] = StagedMap(stage)
        """By uid of a pod: the claim that was made for its extended resources."""
        self.classes: SmallMap[DeviceClass] = SmallMap(stage)
        self.pools = PoolStore(stage)
        self.changes = ChangeLog()
        self.dated: dict[str, DatedClass] = {}
        """Classes with the times of their creation."""
        self._assumed: dict[str, _Assumed] = {}
        self._assumed_for: NameGroups[str] = NameGroups()
        """Claims by the pod that something was decided for."""
        self._planned: dict[str, str] = {}
        """By uid of a pod: the name that devices for it are reserved under until there is a claim."""

    @property
    def assumed(self) -> int:
        """The number of claims of which more was decided than the watch shows."""
        return len(self._assumed) + len(self._released) + len(self._planned)

    # What the watch says

    def watched(self, key: str) -> DeviceClaim | None:
        """A claim as watched, None where there is none."""
        assumed, shown = self._assumed.get(key), self.claims.get(key)
        return (
            _plain(shown) if shown is not None and assumed is not None and assumed.over_plain else super().watched(key)
        )

    def put_claim(self, key: str, claim: DeviceClaim | None) -> bool:
        """Set a claim as watched, None where it is gone; True where sessions may decide differently from now on."""
        before = self.watched(key)
        if before == claim:
            return False
        self._released.discard(key)
        for known in (before, claim):
            if known is not None and known.extended:
                self._see_made(known, gone=known is not claim)
        shown = self._show(key, claim)
        if before is not None and claim is not None:  # the finalizer alone concerns writes, not sessions
            before = msgspec.structs.replace(before, protected=claim.protected)
        return shown and before != claim

    def put_class(self, name: str, found: DatedClass | None) -> bool:
        """Set a class, None where it is gone; True where it has changed."""
        if found is None:
            self.dated.pop(name, None)
        else:
            self.dated[name] = found
        return self.classes.put(name, None if found is None else found.device_class)

    # What is decided

    def assume(self, task: Task, plan: ClaimPlan) -> None:
        """Claims get devices with a pod, and are reserved for it."""
        for choice in plan.devices:
            if not choice.claim:
                self._plan_extended(task, choice.allocation)
            elif (assumed := self._assumption(task, choice.claim, choice.uid)) is not None:
                assumed.allocation = choice.allocation
        for key in plan.reserve:
            watched = self.watched(key)
            if watched is not None and (assumed := self._assumption(task, key, watched.uid)) is not None:
                _leave(assumed, task.uid)
                consumer = plan.consumer(key, task.uid, task.name)
                if consumer.uid == task.uid:
                    assumed.consumers = (*assumed.consumers, consumer)
                else:
                    assumed.members = (*assumed.members, (task.uid, consumer))
        for key in tuple(self._assumed_for.of(task.uid)):
            self._show(key, self.watched(key))

    def forget(self, pod: str) -> bool:
        """What was decided for a pod failed, or the pod is gone; True where snapshots show something differently."""
        changed = False
        planned = self._planned.pop(pod, None)
        if planned is not None:
            self.allocated.put(planned, None)
            changed = True
        for key in self._assumed_for.pop(pod):
            watched = self.watched(key)
            self._end(key, pod)
            changed |= self._show(key, watched)
        return changed

    def publish(self, used: Container[str]) -> bool:
        """Show all changes; True where there were any. ``used`` has the claims that pods with a node use."""
        for key in self.claims.changed:
            self._show_allocated(key)
        allocated, claims = self.allocated.publish(), self.claims.publish()
        self.changes.add(allocated)
        self.changes.add(key for key in claims if key in used)
        changed = [each.publish() for each in (self.made, self.classes)]
        return bool(self.pools.publish() or allocated or claims or any(changed))

    # One claim

    def _show(self, key: str, watched: DeviceClaim | None) -> bool:
        before, shown = self.claims.get(key), None if watched is None else self._overlaid(watched)
        if watched is None:
            self._drop(key)
        assumed = self._assumed.get(key)
        over_plain = assumed is not None and watched is not None and _is_plain(watched)
        if assumed is not None:
            assumed.over_plain = over_plain
        if watched is None or shown is watched or over_plain:
            self._watched.pop(key, None)
        else:
            self._watched[key] = watched
        if before != shown:
            self.claims.put(key, shown)
        if before == shown or shown is None:
            self._show_allocated(key)  # otherwise the publication does it, which may not hear of a claim that is gone
        if over_plain and assumed is not None and not assumed.members:
            self._assumed[key] = _AS_SHOWN
        return before != shown

    def _show_allocated(self, key: str) -> None:
        """Show which devices a claim has: also those that it is to give back."""
        claim = self.claims.get(key)
        watched = self.watched(key) if key in self._released else None
        if watched is not None:
            claim = _together(watched, claim)
        self.allocated.put(key, claim if claim is not None and claim.allocation is not None else None)

    def _decided(self, key: str) -> _Assumed | None:
        """What was decided about a claim, to be changed before it is shown again; None where nothing was."""
        assumed = self._assumed.get(key)
        if assumed is _AS_SHOWN:
            shown = self.claims.get(key)
            assert shown is not None, f"{key}: a claim that is not there has assumptions"
            assumed = _Assumed(shown.uid, shown.consumers, allocation=shown.allocation, over_plain=True)
            self._assumed[key] = assumed
        return assumed

    def _overlaid(self, watched: DeviceClaim) -> DeviceClaim:
        key, shown = watched.key, watched
        if key in self._released:
            shown = _plain(watched)
        assumed = self._decided(key)
        if assumed is None:
            return shown
        if assumed.uid != watched.uid:
            self._drop(key)
            return shown
        seen = {consumer.uid for consumer in shown.consumers}
        members = [pod for pod, group in assumed.members if group.uid in seen]
        for pod in (*members, *[one.uid for one in assumed.consumers if one.uid in seen]):
            self._discard(pod, key)
            self._end(key, pod)
        if key not in self._assumed:
            return shown
        if shown.allocation is not None:
            assumed.allocation = None
        consumers = shown.consumers + assumed.consumers
        if assumed.members:
            consumers += tuple(dict.fromkeys(group for _, group in assumed.members))
        if assumed.allocation is None:
            return msgspec.structs.replace(shown, consumers=consumers)
        ready = not any(device.binding_conditions for device in assumed.allocation.devices)
        return msgspec.structs.replace(shown, allocation=assumed.allocation, consumers=consumers, ready=ready)

    def _assumption(self, task: Task, key: str, uid: str) -> _Assumed | None:
        """What is assumed of a claim from now on; None where the claim is not the one that was decided about."""
        watched = self.watched(key)
        if watched is None or watched.uid != uid:
            return None
        self._assumed_for.add(task.uid, watched.key)
        return self._decided(key) or self._assumed.setdefault(key, _Assumed(uid))

    def _end(self, key: str, pod: str) -> None:
        """Nothing is assumed of a claim for a pod any more."""
        assumed = self._decided(key)
        if assumed is not None:
            _leave(assumed, pod)
            if not assumed.consumers and not assumed.members:
                del self._assumed[key]

    def _drop(self, key: str) -> None:
        """A claim is gone, with all assumptions about it."""
        assumed = self._decided(key)
        self._assumed.pop(key, None)
        self._released.discard(key)
        for pod in _pods_of(assumed) if assumed is not None else ():
            self._discard(pod, key)

    def _discard(self, pod: str, key: str) -> None:
        """Nothing was decided about a claim for a pod."""
        self._assumed_for.discard(pod, key)

    # Extended resources

    def _plan_extended(self, task: Task, allocation: AllocationResult) -> None:
        """A claim for the extended resources of a pod is to be made: hold its devices under a name of our own."""
        key = self._planned[task.uid] = f"{task.key}-extended-resources"
        consumer = ClaimConsumer(task.uid, task.name)
        claim = DeviceClaim(key, "", allocation=allocation, consumers=(consumer,), owner=task.uid, extended=True)
        self.allocated.put(key, claim)

    def _see_made(self, claim: DeviceClaim, *, gone: bool) -> None:
        """A claim for the extended resources of a pod is there, or is gone."""
        if not gone:
            self.made.put(claim.owner, claim.key)
        elif self.made.get(claim.owner) == claim.key:
            self.made.put(claim.owner, None)
        planned = self._planned.get(claim.owner)
        if planned is not None and not gone and claim.allocation is not None:
            del self._planned[claim.owner]
            self.allocated.put(planned, None)


def _plain(claim: DeviceClaim) -> DeviceClaim:
    """The claim without devices, consumers and conditions."""
    return msgspec.structs.replace(claim, allocation=None, consumers=(), failed="", ready=True)


def _is_plain(claim: DeviceClaim) -> bool:
    return claim.allocation is None and not claim.consumers and not claim.failed and claim.ready


def _leave(assumed: _Assumed, pod: str) -> None:
    """The claim is not being reserved for the pod any more."""
    assumed.consumers = tuple(one for one in assumed.consumers if one.uid != pod)
    assumed.members = tuple(one for one in assumed.members if one[0] != pod)


def _pods_of(assumed: _Assumed) -> list[str]:
    return [*(one.uid for one in assumed.consumers), *(pod for pod, _ in assumed.members)]


def _together(watched: DeviceClaim, shown: DeviceClaim | None) -> DeviceClaim:
    """A claim with the devices that it is to give back and those that it is to get."""
    more = None if shown is None else shown.allocation
    if more is None or watched.allocation is None:
        return watched if more is None else shown or watched
    devices = (*watched.allocation.devices, *more.devices)
    return msgspec.structs.replace(watched, allocation=msgspec.structs.replace(more, devices=devices))
