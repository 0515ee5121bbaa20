"""The pretended provisioners of all storage classes: they make the volumes of claims, and give back deleted ones."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from decimal import Decimal
from typing import ClassVar

from vsched.apimachinery.meta.kinds import Obj
from vsched.apimachinery.meta.objects import is_deleting, split_key
from vsched.apimachinery.workloads.actions import Action, After, Create, Tell, Update
from vsched.clock import monotonic
from vsched.sim.client import LocalClient
from vsched.sim.controllers.controller import Controller
from vsched.sim.controllers.pod_index import PodIndex
from vsched.sim.controllers.volumes.objects import (
    CAPACITIES,
    CLAIMS,
    CLASSES,
    CSI_DRIVERS,
    CSI_NODES,
    SELECTED_NODE,
    STORAGE_PROVISIONER,
    VOLUMES,
    WAITS,
    annotation,
    asked_size,
    class_name,
    with_annotations,
)
from vsched.sim.controllers.volumes.provisioning import (
    ZONE,
    ProvisioningRefused,
    Segment,
    capacity_for,
    check_fails,
    choose_segment,
    delay_of,
    free_of,
    is_allowed,
    segment_of,
    taken_from,
    topology_keys,
    volume_for,
    volume_name,
    with_free,
)
from vsched.sim.store.store import key_of

RETRY_SECONDS, RETRY_LIMIT_SECONDS = 1.0, 60.0
"""Between attempts for a claim without a selected node; doubled each time."""


class Provisioner(Controller):
    """Makes a volume for each claim whose storage class has a provisioner."""

    name: ClassVar[str] = "provisioner"
    primary: ClassVar[str] = CLAIMS
    watches: ClassVar[tuple[str, ...]] = (CLAIMS, "nodes", CAPACITIES)

    def __init__(self, client: LocalClient, pod_index: PodIndex, delay_seconds: float) -> None:
        super().__init__(client, pod_index)
        self._delay = delay_seconds
        self._began: dict[str, tuple[str, float]] = {}
        """The selected node of a claim, and since when its volume is being made; by uid."""
        self._failures: Counter[str] = Counter()
        self._capacities = CapacityIndex()
        self._zone_of: dict[str, str] = {}
        self._zones: Counter[str] = Counter()
        """How many nodes there are in each zone."""

    def affected(self, resource: str, obj: Obj, old: Obj | None, *, gone: bool) -> Iterable[str]:
        if resource == CLAIMS:
            if gone or obj["spec"].get("volumeName"):
                self._forget(obj)
                return ()
            return (key_of(obj),) if annotation(obj, STORAGE_PROVISIONER) else ()
        if resource == CAPACITIES:
            self._capacities.note(obj, gone=gone)
            return ()
        name = obj["metadata"]["name"]
        if name in self._zone_of:
            self._zones[self._zone_of.pop(name)] -= 1
        zone = (obj["metadata"].get("labels") or {}).get(ZONE)
        if zone and not gone:
            self._zone_of[name] = zone
            self._zones[zone] += 1
        return ()

    def reconcile(self, key: str) -> Sequence[Action]:
        claim = self.find(key)
        if claim is None or claim["spec"].get("volumeName") or is_deleting(claim):
            return ()
        storage_class = self.client.get(CLASSES, "", class_name(claim))
        node = annotation(claim, SELECTED_NODE)
        if storage_class is None or annotation(claim, STORAGE_PROVISIONER) != storage_class["provisioner"]:
            return ()
        if storage_class.get("volumeBindingMode") == WAITS and not node:
            self._forget(claim)
            return ()
        if self.client.get(VOLUMES, "", volume_name(claim)) is not None:
            return ()
        try:
            return self._provision(claim, storage_class, node)
        except ProvisioningRefused as refusal:
            return self._refuse(claim, storage_class, node, refusal.message)

    def _provision(self, claim: Obj, storage_class: Obj, node: str) -> list[Action]:
        uid, provisioner = claim["metadata"]["uid"], storage_class["provisioner"]
        told: list[Action] = []
        if uid not in self._began or self._began[uid][0] != node:
            self._began[uid] = node, monotonic()
            why = f'External provisioner is provisioning volume for claim "{key_of(claim)}"'
            told = [Tell(CLAIMS, claim, "Provisioning", why, component=provisioner)]
        left = delay_of(storage_class, self._delay) - (monotonic() - self._began[uid][1])
        if left > 0:
            return [*told, After(left)]
        check_fails(storage_class, node)
        segment, capacity = self._place(claim, storage_class, node)
        volume = volume_for(claim, storage_class, segment, capacity)
        taken: list[Action] = []
        if capacity is not None:
            taken = [Update(CAPACITIES, with_free(capacity, free_of(capacity) - asked_size(claim)))]
        self._forget(claim)
        why = f"Successfully provisioned volume {volume['metadata']['name']}"
        done = Tell(CLAIMS, claim, "ProvisioningSucceeded", why, component=provisioner)
        return [*told, *taken, Create(VOLUMES, volume), done]

    def _refuse(self, claim: Obj, storage_class: Obj, node: str, why: str) -> list[Action]:
        """Tells what failed. With a selected node a scheduler chooses again; without one it is tried again later."""
        uid = claim["metadata"]["uid"]
        self._began.pop(uid, None)
        message = f'failed to provision volume with StorageClass "{storage_class["metadata"]["name"]}": {why}'
        told = Tell(CLAIMS, claim, "ProvisioningFailed", message, warning=True, component=storage_class["provisioner"])
        if node:
            return [told, Update(CLAIMS, with_annotations(claim, {SELECTED_NODE: None}))]
        pause = min(RETRY_LIMIT_SECONDS, RETRY_SECONDS * 2.0 ** self._failures[uid])
        self._failures[uid] += 1
        return [told, After(pause)]

    def _place(self, claim: Obj, storage_class: Obj, name: str) -> tuple[Segment, Obj | None]:
        """Where the volume can be used, and what it is taken from."""
        if not name:
            segment = choose_segment(storage_class, claim, self._segments(topology_keys(storage_class, None)))
            return segment, self._capacity(claim, storage_class, dict(segment))
        node = self.client.get("nodes", "", name)
        if node is None:
            raise ProvisioningRefused(f'error getting selected node: node "{name}" not found')
        labels = node["metadata"].get("labels") or {}
        if not is_allowed(storage_class, labels):
            raise ProvisioningRefused(f'selected node "{name}" is not in the allowed topologies of the class')
        capacity = self._capacity(claim, storage_class, labels)
        keys = topology_keys(storage_class, self.client.get(CSI_NODES, "", name), capacity)
        return segment_of(node, keys), capacity

    def _segments(self, keys: Sequence[str]) -> set[Segment]:
        """The places there are; zones are counted, others are looked for in all nodes."""
        if tuple(keys) == (ZONE,):
            return {((ZONE, zone),) for zone, count in self._zones.items() if count > 0}
        return {segment for node in self.client.list("nodes") if (segment := segment_of(node, keys))}

    def _capacity(self, claim: Obj, storage_class: Obj, labels: Mapping[str, str]) -> Obj | None:
        """What a volume for such nodes is taken from; None for a driver whose capacity is not counted."""
        driver = self.client.get(CSI_DRIVERS, "", storage_class["provisioner"])
        if driver is None or not driver["spec"].get("storageCapacity"):
            return None
        keys = self._capacities.keys(storage_class["metadata"]["name"], labels)
        found = (self.client.get(CAPACITIES, *split_key(key)) for key in keys)
        return capacity_for(claim, labels, (each for each in found if each is not None))

    def _forget(self, claim: Obj) -> None:
        self._began.pop(claim["metadata"]["uid"], None)
        self._failures.pop(claim["metadata"]["uid"], None)


class ReturnedCapacity(Controller):
    """Gives the storage of deleted volumes back to the CSIStorageCapacities that they were taken from."""

    name: ClassVar[str] = "returned capacity"
    primary: ClassVar[str] = CAPACITIES
    watches: ClassVar[tuple[str, ...]] = (VOLUMES,)

    def __init__(self, client: LocalClient, pod_index: PodIndex) -> None:
        super().__init__(client, pod_index)
        self._returned: dict[str, Decimal] = {}

    def affected(self, resource: str, obj: Obj, old: Obj | None, *, gone: bool) -> Iterable[str]:
        key, size = taken_from(obj)
        if not gone or not key:
            return ()
        self._returned[key] = self._returned.get(key, Decimal(0)) + size
        return (key,)

    def reconcile(self, key: str) -> Sequence[Action]:
        capacity, size = self.find(key), self._returned.pop(key, None)
        if capacity is None or size is None:
            return ()
        return [Update(CAPACITIES, with_free(capacity, free_of(capacity) + size))]


_Labels = frozenset[tuple[str, str]] | None
"""The labels of the nodes; None for a topology that is more than labels."""


class CapacityIndex:
    """The keys (``namespace/name``) of the CSIStorageCapacities by class and topology."""

    def __init__(self) -> None:
        self._keys: dict[tuple[str, _Labels], dict[str, None]] = {}
        self._places: dict[str, tuple[str, _Labels]] = {}
        self._names: dict[str, Counter[tuple[str, ...]]] = defaultdict(Counter)
        """The names of the labels that the capacities of a class go by: few, however many places there are."""

    def note(self, capacity: Obj, *, gone: bool) -> None:
        key = key_of(capacity)
        before = self._places.pop(key, None)
        if before is not None:
            del self._keys[before][key]
            if not self._keys[before]:
                del self._keys[before]
            self._count(before, -1)
        if not gone:
            place = self._places[key] = _place_of(capacity)
            self._keys.setdefault(place, {})[key] = None
            self._count(place, 1)

    def _count(self, place: tuple[str, _Labels], change: int) -> None:
        class_, labels = place
        if labels is not None:
            self._names[class_][tuple(sorted(key for key, _ in labels))] += change

    def keys(self, class_: str, labels: Mapping[str, str]) -> Iterator[str]:
        """Those that may be for a node with these labels."""
        yield from self._keys.get((class_, None), ())
        for names, count in self._names.get(class_, Counter()).items():
            if count and all(name in labels for name in names):
                yield from self._keys.get((class_, frozenset((name, labels[name]) for name in names)), ())


def _place_of(capacity: Obj) -> tuple[str, _Labels]:
    topology = capacity.get("nodeTopology")
    if topology is None or topology.get("matchExpressions"):
        return capacity["storageClassName"], None
    return capacity["storageClassName"], frozenset((topology.get("matchLabels") or {}).items())
