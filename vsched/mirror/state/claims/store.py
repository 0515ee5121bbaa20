"""All that pods can claim: takes in objects and decisions, and publishes the catalogue of a snapshot."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from vsched import api
from vsched.api.resources import SELDOM_SERVED
from vsched.mirror.ingest.annotations import Remarks
from vsched.mirror.ingest.device_claims import device_claim_of
from vsched.mirror.ingest.device_taints import taint_rule_of
from vsched.mirror.ingest.devices import device_class_of, slice_of
from vsched.mirror.ingest.selectors import remarks_on_claim, remarks_on_class
from vsched.mirror.ingest.volumes import (
    attach_limits_of,
    attachment_of,
    capacity_of,
    claim_key_of,
    driver_of,
    storage_class_of,
    volume_claim_of,
    volume_of,
)
from vsched.mirror.state.claims.devices import DeviceStore
from vsched.mirror.state.claims.extended import ExtendedResources
from vsched.mirror.state.claims.staged import Staging
from vsched.mirror.state.claims.users import ClaimUsers
from vsched.mirror.state.claims.volumes import VolumeStore
from vsched.mirror.state.nodes import NodeStore
from vsched.model.claims.catalogue import NO_CLAIMS, ClaimCatalogue, DeviceCatalogue, VolumeCatalogue
from vsched.model.claims.plan import ClaimPlan, ClaimRelease
from vsched.model.nodes.table import NodeStatics
from vsched.model.pods.task import Task

CLAIMS = ("PersistentVolumeClaim", "ResourceClaim")


class ClaimStore:
    """Volumes, devices, the claims for them, and the pods that use these."""

    def __init__(self, on_claim: Callable[[str], None], tasks: Mapping[str, Task]) -> None:
        """``on_claim`` is called with ``namespace/name`` of a claim that has changed or is gone; ``tasks`` are all
        pods by uid."""
        self._stage = Staging()
        self.volumes = VolumeStore(self._stage)
        self.devices = DeviceStore(self._stage)
        self.users = ClaimUsers(self.devices.claims, self._stage)
        self.extended = ExtendedResources()
        self._on_claim = on_claim
        volumes, devices = self.volumes, self.devices
        self._keep: Mapping[str, Callable[[str, Any], bool]] = {
            "PersistentVolumeClaim": volumes.put_claim,
            "PersistentVolume": volumes.put_volume,
            "StorageClass": volumes.classes.put,
            "CSIDriver": volumes.drivers.put,
            "CSINode": volumes.limits.put,
            "CSIStorageCapacity": volumes.put_capacity,
            "VolumeAttachment": volumes.put_attachment,
            "ResourceClaim": devices.put_claim,
            "ResourceSlice": devices.pools.put,
            "DeviceClass": devices.put_class,
            "DeviceTaintRule": devices.pools.put_rule,
        }
        """Where what was read of an object of each kind is kept; None is kept of an object that is gone."""
        self._tasks = tasks
        self.unread = NO_CLAIMS.unread
        """By kind of object that cannot be read: why."""
        self._published = NO_CLAIMS
        self._devices_changed = False
        """Whether devices were published since the last catalogue."""

    # What the watch says

    def put(self, key: str, found: api.Object, remarks: Remarks) -> bool:
        """Take in an object; True where that can matter to scheduling. Raises BadObject."""
        volumes, devices = self.volumes, self.devices
        match found:
            case api.PersistentVolumeClaim():
                known = volumes.watched(key)
                claim = volume_claim_of(found, key if known is None else known.key)
                return self._reported(key, volumes.put_claim(key, claim))
            case api.PersistentVolume():
                return volumes.put_volume(key, volume_of(found, volumes.watched(claim_key_of(found))))
            case api.StorageClass():
                return volumes.classes.put(key, storage_class_of(found))
            case api.CSIDriver():
                return volumes.drivers.put(key, driver_of(found))
            case api.CSINode():
                return volumes.limits.put(key, attach_limits_of(found))
            case api.CSIStorageCapacity():
                return volumes.put_capacity(key, capacity_of(found, key))
            case api.VolumeAttachment():
                return volumes.put_attachment(key, attachment_of(found))
            case api.ResourceClaim():
                before = devices.watched(key)
                device_claim = device_claim_of(found, key if before is None else before.key, self._known_uid)
                remarks += remarks_on_claim(device_claim.spec)
                return self._reported(key, devices.put_claim(key, device_claim))
            case api.ResourceSlice():
                return devices.pools.put(key, slice_of(found))
            case api.DeviceClass():
                dated = device_class_of(found)
                remarks += remarks_on_class(dated.device_class.selectors)
                return devices.put_class(key, dated)
            case api.DeviceTaintRule():
                return devices.pools.put_rule(key, taint_rule_of(found))
        return False

    @property
    def kinds(self) -> Iterable[str]:
        """The kinds of objects that are stored here."""
        return self._keep

    def drop(self, kind: str, key: str) -> bool:
        """An object is gone; True where it was known."""
        known = self._keep[kind](key, None)
        return self._reported(key, known) if kind in CLAIMS else known

    def _reported(self, key: str, matters: bool) -> bool:
        self._on_claim(key)
        return matters

    def set_unread(self, kind: str, why: str) -> bool:
        """Say why a kind of object cannot be read, empty where it can; True where that has changed."""
        needed = kind in self._keep and kind not in SELDOM_SERVED  # else nothing is missing without it
        if not needed or self.unread.get(kind, "") == why:
            return False
        unread = {**self.unread, kind: why}
        self.unread = {kind: why for kind, why in sorted(unread.items()) if why}
        return True

    def move(self, before: Task | None, after: Task | None) -> None:
        """A pod has changed, has come (``before`` is None) or is gone."""
        if (before is not None and before.claims is not None) or (after is not None and after.claims is not None):
            self.users.move(before, after)

    def _known_uid(self, uid: str) -> str:
        """The string that the pod of this uid has: a claim made for the pod shares it."""
        task = self._tasks.get(uid)
        return uid if task is None else task.uid

    # What is decided

    def assume(self, task: Task, plan: ClaimPlan) -> None:
        """Assume what a cycle decided about the claims of a pod."""
        for choice in plan.volumes:
            self.volumes.assume(task.uid, task.node, choice)
        self.devices.assume(task, plan)

    def forget(self, pod: str) -> bool:
        """What was decided for a pod failed, or the pod is gone; True where snapshots show something differently."""
        volumes, devices = self.volumes.forget(pod), self.devices.forget(pod)
        return volumes or devices

    def release(self, release: ClaimRelease) -> None:
        """Assume that a claim is given back."""
        (self.devices if release.device else self.volumes).release(release.claim, release.uid)

    def release_failed(self, key: str) -> bool:
        """A claim of this key could not be given back; True where that was assumed."""
        volumes, devices = self.volumes.release_failed(key), self.devices.release_failed(key)
        return volumes or devices

    # Views

    def serve(self, nodes: NodeStore, statics: NodeStatics) -> None:
        """Set the extended resources that devices serve in ``nodes``; ``statics`` are the published ones."""
        changed = self._stage.changed and self.devices.publish(self.users.of_devices.published)
        self._devices_changed |= self.extended.refresh(self.devices, nodes, statics) or changed

    def publish(self) -> ClaimCatalogue:
        """What snapshots show; the same object while nothing changes."""
        before = self._published
        if not self._stage.changed and not self._devices_changed and self.unread is before.unread:
            return before
        volumes, devices = before.volumes, before.devices
        used, nodes = self.users.of_volumes.publish(), self.users.by_node.publish()
        self.volumes.changes.add(nodes)
        if self.volumes.publish(self.users.nodes_of) or used or nodes:
            volumes = self._volumes()
        used = self.users.of_devices.publish()
        self.devices.changes.add(used)
        if self.devices.publish(self.users.of_devices.published) or self._devices_changed or used:
            devices = self._devices()
        self._devices_changed = self._stage.changed = False
        if volumes is not before.volumes or devices is not before.devices or self.unread is not before.unread:
            self._published = ClaimCatalogue(volumes, devices, self.unread)
        return self._published

    def _volumes(self) -> VolumeCatalogue:
        store, users = self.volumes, self.users
        return VolumeCatalogue(
            store.claims.published,
            store.volumes.published,
            store.available,
            store.classes.published,
            store.drivers.published,
            store.limits.published,
            store.capacities,
            store.attachments.published,
            users.of_volumes.published,
            users.by_node.published,
            store.changes.publish(),
        )

    def _devices(self) -> DeviceCatalogue:
        store = self.devices
        return DeviceCatalogue(
            store.claims.published,
            store.classes.published,
            store.pools.published,
            store.allocated.published,
            self.users.of_devices.published,
            self.extended.columns,
            store.made.published,
            self.extended.plugins,
            store.changes.publish(),
        )

    def describe(self) -> Mapping[str, int]:
        """Sizes, for metrics."""
        return {
            "claims": len(self.volumes.claims.published) + len(self.devices.claims.published),
            "volumes": len(self.volumes.volumes.published),
            "slices": len(self.devices.pools),
            "assumed_claims": self.volumes.assumed + self.devices.assumed,
        }
