"""Claims in a cluster on paper: what controllers and provisioners would do is done at once.

Volumes are bound and made as decided, claims made for a pod go with it, and devices that nobody uses are free.
"""

from __future__ import annotations

from collections.abc import Iterable

from msgspec.structs import replace

from vsched.mirror.ingest.devices import DatedClass
from vsched.mirror.state.claims.store import ClaimStore
from vsched.mirror.state.claims.users import named_resource_claims
from vsched.mirror.whatif.claim_records import (
    Labels,
    emptied,
    fits,
    left,
    place_of,
    reserved,
    unbound,
    volume_for,
)
from vsched.mirror.whatif.storage import StorageByLabel
from vsched.model.claims.catalogue import ClaimCatalogue
from vsched.model.claims.devices import ClaimConsumer, DeviceClaim
from vsched.model.claims.plan import ClaimPlan, ClaimRelease, VolumeChoice
from vsched.model.claims.volumes import Volume, VolumeClaim
from vsched.model.pods.status import Status
from vsched.model.pods.task import Task

ENDED = (Status.SUCCEEDED, Status.FAILED)
OwnedClaims = tuple[list[VolumeClaim], list[DeviceClaim]]
"""Claims that were made for one pod."""


class PaperClaims(ClaimStore):
    """Volumes, devices and claims that no watch tells of."""

    def adopt(self, found: ClaimCatalogue) -> None:
        """Take over what a snapshot shows, as if the watch had told it."""
        self._adopt_volumes(found)
        devices = found.devices
        for kind in devices.classes.values():
            # Of classes with one extended resource the newest serves it.
            age = 1.0 if kind.name in devices.extended.values() else 0.0
            self.devices.put_class(kind.name, DatedClass(kind, age))
        self.devices.pools.adopt(devices.pools)
        for key, claim in {**devices.allocated, **devices.claims}.items():
            self.devices.put_claim(key, claim)
        for kind_unread, why in found.unread.items():
            self.set_unread(kind_unread, why)
        users: dict[str, Task] = {}
        for by_name in (found.volumes.users, found.volumes.by_node, devices.users):
            for pods in by_name.values():
                users.update(pods)
        for task in users.values():
            self.move(None, task)

    def _adopt_volumes(self, found: ClaimCatalogue) -> None:
        volumes, store = found.volumes, self.volumes
        for key, claim in volumes.claims.items():
            store.put_claim(key, claim)
        for name, volume in volumes.volumes.items():
            store.put_volume(name, volume)
        for name, kind in volumes.classes.items():
            store.classes.put(name, kind)
        for name, driver in volumes.drivers.items():
            store.drivers.put(name, driver)
        for node, limits in volumes.limits.items():
            store.limits.put(node, limits)
        for some in volumes.capacities.values():
            for capacity in some:
                store.put_capacity(capacity.key, capacity)
        for attached in volumes.attachments.values():
            for one in attached:
                store.put_attachment(one.name, one)

    def has(self, kind: str, key: str) -> bool:
        """Whether there is an object of this kind and key; False for kinds that are not kept here."""
        volumes, devices = self.volumes, self.devices
        match kind:
            case "PersistentVolumeClaim":
                return volumes.watched(key) is not None
            case "PersistentVolume":
                return volumes.watched_volume(key) is not None
            case "StorageClass":
                return key in volumes.classes.items
            case "CSIDriver":
                return key in volumes.drivers.items
            case "CSINode":
                return key in volumes.limits.items
            case "ResourceClaim":
                return devices.watched(key) is not None
            case "DeviceClass":
                return key in devices.classes.items
        return False

    # Pods

    def move(self, before: Task | None, after: Task | None) -> None:
        """A pod has changed, has come or is gone; one that has ended or is gone gives its claims back."""
        super().move(before, after)
        if before is not None and before.claims is not None and (after is None or after.status in ENDED):
            self._leave(before)

    def _leave(self, task: Task) -> None:
        volumes, devices = self.volumes, self.devices
        for volume in task.claims.volumes if task.claims is not None else ():
            key = f"{task.namespace}/{volume.claim}"
            claim = volumes.watched(key)
            if volume.ephemeral and claim is not None and claim.owner == task.uid:
                volumes.put_claim(key, None)
                volumes.put_volume(claim.volume, None)
        for key in self.keys_of(task):
            claim_for = devices.watched(key)
            if claim_for is not None:
                devices.put_claim(key, left(claim_for, task.uid, self._deserted(task, key)))

    def _deserted(self, task: Task, key: str) -> str:
        """The PodGroup whose pods share a claim, where this was the last of them that had a node; else empty.

        Its other pods place the claim anew, or give it back.
        """
        devices = task.claims.devices if task.claims is not None else ()
        group = next((one.group for one in devices if one.group and one.claim == key), "")
        return "" if self.users.of_devices.now(key) else group

    def keys_of(self, task: Task) -> set[str]:
        """The resource claims of a pod, with the one made for its extended resources."""
        made = self.devices.made.get(task.uid)
        return {*named_resource_claims(task), *([made] if made is not None else [])}

    def owned(self, task: Task) -> OwnedClaims:
        """The claims that were made for a pod."""
        if task.claims is None:
            return [], []
        named = (self.volumes.watched(f"{task.namespace}/{one.claim}") for one in task.claims.volumes)
        asked = (self.devices.watched(key) for key in named_resource_claims(task))
        return (
            [one for one in named if one is not None and one.owner == task.uid],
            [one for one in asked if one is not None and one.owner == task.uid],
        )

    def make_anew(self, task: Task, owned: OwnedClaims) -> None:
        """Make the claims of a pod for its successor, of the same names."""
        volumes, devices = owned
        for one in volumes:
            self.volumes.put_claim(one.key, unbound(one, one.key, task.uid))
            self.bind_volumes([one.key])
        for each in devices:
            self.devices.put_claim(each.key, emptied(each, f"{each.uid}+", task.uid))

    # What is decided

    def settle(self, task: Task, plan: ClaimPlan, labels: Labels, storage: StorageByLabel) -> None:
        """Make true what a cycle decided for a pod; ``labels`` are those of its node, ``storage`` is that of all."""
        for volume in plan.volumes:
            self._bind_chosen(volume, labels, storage)
        for choice in plan.devices:
            key = choice.claim or f"{task.key}-extended-resources"
            claim = self.devices.watched(choice.claim) if choice.claim else None
            if claim is None and not choice.claim:
                claim = DeviceClaim(key, f"{task.uid}-extended", owner=task.uid, extended=True)
            if claim is not None:
                claim = replace(claim, allocation=choice.allocation)
                self.devices.put_claim(
                    key, claim if choice.claim else reserved(claim, ClaimConsumer(task.uid, task.name))
                )
        for key in plan.reserve:
            claim = self.devices.watched(key)
            if claim is not None:
                self.devices.put_claim(key, reserved(claim, plan.consumer(key, task.uid, task.name)))

    def settle_release(self, release: ClaimRelease) -> None:
        """A claim is given back."""
        if release.device:
            claim = self.devices.watched(release.claim)
            if claim is not None and claim.uid == release.uid:
                self.devices.put_claim(release.claim, emptied(claim, claim.uid, claim.owner))
        else:
            volume = self.volumes.watched(release.claim)
            if volume is not None and volume.uid == release.uid:
                self.volumes.put_claim(release.claim, replace(volume, selected_node=""))

    def _bind_chosen(self, choice: VolumeChoice, labels: Labels, storage: StorageByLabel) -> None:
        claim = self.volumes.watched(choice.claim)
        if claim is None or claim.uid != choice.uid or claim.bound:
            return
        if choice.volume:
            volume = self.volumes.watched_volume(choice.volume)
        else:
            kind = self.volumes.classes.items.get(claim.storage_class)
            volume = volume_for(claim, kind, place_of(kind, labels))
            self._take_capacity(claim, labels, storage)
        if volume is not None:
            self.bind(claim, volume)

    def bind(self, claim: VolumeClaim, volume: Volume) -> None:
        """A claim is bound to this volume."""
        owned = replace(volume, available=False, claim=claim.key, claim_uid=claim.uid)
        self.volumes.put_volume(volume.name, owned)
        self.volumes.put_claim(claim.key, replace(claim, volume=volume.name, bound=True))

    def _take_capacity(self, claim: VolumeClaim, labels: Labels, storage: StorageByLabel) -> None:
        """A volume is made: the first storage capacity of the node that has room has less."""
        for one in storage.of(claim.storage_class, labels):
            has = one.capacity
            if has is not None and has >= claim.request:
                self.volumes.put_capacity(one.key, replace(one, capacity=has - claim.request))
                return

    # The volume controller

    def bind_volumes(self, keys: Iterable[str]) -> None:
        """Bind those of the claims that are not to wait for a pod: to a static volume that fits, else to a new one.

        A new volume is usable wherever its class allows volumes.
        """
        for key in keys:
            claim = self.volumes.claims.get(key)
            if claim is None or claim.bound or claim.selected_node:
                continue
            volume = self._volume_of(claim)
            if volume is not None:
                self.bind(claim, volume)

    def _volume_of(self, claim: VolumeClaim) -> Volume | None:
        if claim.volume:
            named = self.volumes.watched_volume(claim.volume)
            return named if named is not None and named.claim in ("", claim.key) else None
        kind = self.volumes.classes.items.get(claim.storage_class)
        if kind is not None and kind.waits:
            return None
        free = self.publish().volumes.available.get(claim.storage_class, ())
        static = next((volume for volume in free if fits(volume, claim)), None)
        if static is None and kind is not None and kind.provisions:
            return volume_for(claim, kind, kind.topologies or None)
        return static
