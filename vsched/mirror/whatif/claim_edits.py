"""Edits of claims, volumes and devices on paper; each returns what undoes it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from msgspec.structs import replace

from vsched.errors import BadInput
from vsched.mirror.whatif import words
from vsched.mirror.whatif.claim_records import (
    capacity_on,
    copies,
    emptied,
    is_for_node,
    name_for,
    pool_on,
    static_volume_for,
    unbound,
)
from vsched.mirror.whatif.claims import PaperClaims
from vsched.model.claims.devices import DeviceId
from vsched.model.claims.volumes import Volume, VolumeClaim
from vsched.model.pods.claims import PodClaims
from vsched.model.pods.shape import Toleration
from vsched.model.pods.task import Task


class ClaimEdits:
    """Edits of the claims on paper that follow those of nodes and pods."""

    def __init__(self, claims: PaperClaims) -> None:
        self._claims = claims
        self._volumes, self._devices = claims.volumes, claims.devices

    def undo_of(self, tasks: Iterable[Task | None]) -> Callable[[], None]:
        """What sets the claims of these pods to what they are now."""
        named = [task for task in tasks if task is not None and task.claims is not None]
        volumes = {f"{task.namespace}/{one.claim}" for task in named if task.claims for one in task.claims.volumes}
        kept = {key: self._volumes.watched(key) for key in volumes}
        disks = {
            claim.volume: self._volumes.watched_volume(claim.volume) for claim in kept.values() if claim is not None
        }
        devices = {key: self._devices.watched(key) for task in named for key in self._claims.keys_of(task)}

        def undo() -> None:
            for key, claim in kept.items():
                self._volumes.put_claim(key, claim)
            for name, volume in disks.items():
                if volume is not None:
                    self._volumes.put_volume(name, volume)
            for key, device_claim in devices.items():
                self._devices.put_claim(key, device_claim)

        return undo

    # Nodes

    def copy_node(self, like: str, names: Sequence[str]) -> Callable[[], None]:
        """New nodes have the devices, attach limits and local storage of one like them; returns what undoes it."""
        store = self._volumes
        limits = store.limits.items.get(like)
        local = [pool for pool in self._devices.pools.all() if any(device.node == like for device in pool.devices)]
        capacities_now = self._claims.publish().volumes.capacities
        free = [one for some in capacities_now.values() for one in some if is_for_node(one.nodes, like)]
        pools = [pool_on(pool, like, name) for name in names for pool in local]
        capacities = [capacity_on(one, like, name) for name in names for one in free]
        for pool in pools:
            self._devices.pools.put_pool((pool.driver, pool.name), pool)
        for one in capacities:
            store.put_capacity(one.key, one)
        for name in names if limits is not None else ():
            store.limits.put(name, limits)

        def undo() -> None:
            for pool in pools:
                self._devices.pools.put_pool((pool.driver, pool.name), None)
            for one in capacities:
                store.put_capacity(one.key, None)
            for name in names:
                store.limits.put(name, None)

        return undo

    def add_devices(self, node: str, like: DeviceId, count: int) -> Callable[[], None]:
        """Add devices like one to a node, to its own pool of their driver; returns what undoes it."""
        origin = self._devices.pools.pool((like.driver, like.pool))
        found = next((one for one in origin.devices if one.id == like), None) if origin is not None else None
        if origin is None or found is None:
            raise BadInput(words.no_device(like.path))
        mine = (pool for pool in self._devices.pools.all() if pool.driver == like.driver)
        before = next((pool for pool in mine if any(one.node == node for one in pool.devices)), None)
        name = (like.driver, before.name if before is not None else f"{node}-new")
        pool = before or replace(origin, name=name[1], devices=(), counters=())
        self._devices.pools.put_pool(name, replace(pool, devices=(*pool.devices, *copies(found, name[1], node, count))))

        def undo() -> None:
            self._devices.pools.put_pool(name, before)

        return undo

    def tolerate_devices(self, tasks: Iterable[Task], toleration: Toleration) -> Callable[[], None]:
        """Let the claims of these pods that have no devices yet get devices with a taint; returns what undoes it."""
        keys = dict.fromkeys(key for task in tasks if task.claims is not None for key in self._claims.keys_of(task))
        found = (self._devices.watched(key) for key in keys)
        before = [claim for claim in found if claim is not None and claim.allocation is None]
        for claim in before:
            requests = tuple(
                tuple(replace(one, tolerations=(*one.tolerations, toleration)) for one in alternatives)
                for alternatives in claim.spec.requests
            )
            self._devices.put_claim(claim.key, replace(claim, spec=replace(claim.spec, requests=requests)))

        def undo() -> None:
            for claim in before:
                self._devices.put_claim(claim.key, claim)

        return undo

    def add_volumes(self, claim: str, count: int) -> Callable[[], None]:
        """Add static volumes that a claim may get; returns what undoes it."""
        like = self._volumes.watched(claim)
        if like is None:
            raise BadInput(words.no_volume_claim(claim))
        volumes = [static_volume_for(like, number) for number in range(count)]
        for volume in volumes:
            self._volumes.put_volume(volume.name, volume)

        def undo() -> None:
            for volume in volumes:
                self._volumes.put_volume(volume.name, None)

        return undo

    def create_volume_claims(self, keys: Sequence[str]) -> Callable[[], None]:
        """Create claims, bound to volumes that every node reaches; returns what undoes it."""
        for key in keys:
            if self._volumes.watched(key) is not None:
                raise BadInput(words.volume_claim_exists(key))
        for key in keys:
            self._claims.bind(VolumeClaim(key, f"uid-{key}"), Volume(f"{key.replace('/', '-')}-new"))

        def undo() -> None:
            for key in keys:
                self._volumes.put_claim(key, None)
                self._volumes.put_volume(f"{key.replace('/', '-')}-new", None)

        return undo

    def set_storage(self, key: str, amount: int) -> Callable[[], None]:
        """Set the free storage that a CSIStorageCapacity states; returns what undoes it."""
        before = self._volumes.capacity(key)
        if before is None:
            raise BadInput(words.no_storage_capacity(key))
        largest = None if before.largest is None else max(before.largest, amount)
        self._volumes.put_capacity(key, replace(before, capacity=amount, largest=largest))

        def undo() -> None:
            self._volumes.put_capacity(key, before)

        return undo

    def copy_claims(self, task: Task, like: Task) -> tuple[PodClaims | None, Callable[[], None]]:
        """Make claims for a new pod like those that another has of its own; returns their names, and what undoes it."""
        if like.claims is None:
            return None, lambda: None
        volumes, devices = [], []
        made_volumes: list[str] = []
        made_devices: list[str] = []
        for volume in like.claims.volumes:
            name = name_for(volume, task, like)
            volumes.append(replace(volume, claim=name))
            claim = self._volumes.watched(f"{task.namespace}/{volume.claim}")
            if name != volume.claim and claim is not None:
                fresh = unbound(claim, f"{task.namespace}/{name}", task.uid)
                self._volumes.put_claim(fresh.key, fresh if volume.ephemeral else replace(fresh, owner=""))
                made_volumes.append(fresh.key)
        self._claims.bind_volumes(made_volumes)
        for entry in like.claims.devices:
            asked = self._devices.watched(entry.claim) if entry.template else None
            if asked is None:
                devices.append(entry)
                continue
            name = f"{task.name}-{entry.name}"
            key = f"{task.namespace}/{name}"
            self._devices.put_claim(key, replace(emptied(asked, f"{asked.uid}/{name}", task.uid), key=key))
            made_devices.append(key)
            devices.append(replace(entry, claim=key))

        def undo() -> None:
            for key in made_volumes:
                self._volumes.put_claim(key, None)
            for key in made_devices:
                self._devices.put_claim(key, None)

        return PodClaims(tuple(volumes), tuple(devices)), undo

    def lose_node(self, name: str) -> None:
        """A node is gone, with its devices and what was attached to it."""
        for pool in self._devices.pools.all():
            others = tuple(device for device in pool.devices if device.node != name)
            if len(others) != len(pool.devices):
                kept = replace(pool, devices=others) if others else None
                self._devices.pools.put_pool((pool.driver, pool.name), kept)
        self._volumes.limits.put(name, None)
        for some in self._claims.publish().volumes.capacities.values():
            for one in some:
                if is_for_node(one.nodes, name):
                    self._volumes.put_capacity(one.key, None)
        for attachment in self._volumes.attachments.get(name) or ():
            self._volumes.put_attachment(attachment.name, None)
