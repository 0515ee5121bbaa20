"""Which kinds the mirror follows, as a table, and how a reflector's news reaches the mirror."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Mapping
from enum import Enum
from functools import partial
from typing import NamedTuple

from vsched.controllers.queue_controller import COMMANDS
from vsched.kube.client import ApiClient
from vsched.kube.deltas import BrokenObject, Delta, PartsSink, Statistics
from vsched.kube.paths import ApiResource
from vsched.kube.reflector import Reflector
from vsched.mirror import wire
from vsched.mirror.cache import Cache
from vsched.model.arbitration import ARBITRATOR_GROUP

BATCH = ("scheduling.volcano.sh", "v1beta1")
APPS = ("apps", "v1")
ARBITRATOR = (ARBITRATOR_GROUP, "v1")
STORAGE = ("storage.k8s.io", "v1")

ObjectSink = PartsSink[wire.Object]


class Use(Enum):
    """What a kind is followed for."""

    BOTH = "both"
    SCHEDULING = "scheduling"
    ARBITRATION = "arbitration"


class Followed(NamedTuple):
    """A kind that the mirror follows."""

    resource: ApiResource
    required: bool = True
    """Whether decisions need it; without the others they are merely less good."""
    use: Use = Use.BOTH


FOLLOWED: dict[str, Followed] = {
    "Node": Followed(ApiResource("", "v1", "nodes", namespaced=False)),
    "Queue": Followed(ApiResource(*BATCH, "queues", namespaced=False), use=Use.SCHEDULING),
    "PriorityClass": Followed(ApiResource("scheduling.k8s.io", "v1", "priorityclasses", namespaced=False)),
    "Namespace": Followed(ApiResource("", "v1", "namespaces", namespaced=False)),
    "ResourceQuota": Followed(ApiResource("", "v1", "resourcequotas")),
    # What pods others may not be evicted for; without it evictions are tried, and the API server says no.
    "PodDisruptionBudget": Followed(ApiResource("policy", "v1", "poddisruptionbudgets"), required=False),
    # What pods are spread by that say nothing of spread. Many an account of a scheduler may not read these.
    "Service": Followed(ApiResource("", "v1", "services"), False, Use.SCHEDULING),
    "ReplicationController": Followed(ApiResource("", "v1", "replicationcontrollers"), False, Use.SCHEDULING),
    "ReplicaSet": Followed(ApiResource(*APPS, "replicasets"), False, Use.SCHEDULING),
    "StatefulSet": Followed(ApiResource(*APPS, "statefulsets"), False, Use.SCHEDULING),
    # With some of those above: what says how many of its pods are to start together, and in which queue.
    "DaemonSet": Followed(ApiResource(*APPS, "daemonsets"), False, Use.SCHEDULING),
    "Job": Followed(ApiResource("batch", "v1", "jobs"), False, Use.SCHEDULING),
    "PodGroup": Followed(ApiResource(*BATCH, "podgroups"), use=Use.SCHEDULING),
    # How people ask for queues to be opened and closed; the annotation of a queue does it too.
    "Command": Followed(COMMANDS, False, Use.SCHEDULING),
    "Consumer": Followed(ApiResource(*ARBITRATOR, "consumers"), use=Use.ARBITRATION),
    "Allocation": Followed(ApiResource(*ARBITRATOR, "allocations"), use=Use.ARBITRATION),
    "Bucket": Followed(ApiResource(*ARBITRATOR, "buckets", namespaced=False), use=Use.ARBITRATION),
    # How much storage is asked for and there is. What is not known of it is not divided.
    "PersistentVolumeClaim": Followed(ApiResource("", "v1", "persistentvolumeclaims"), False, Use.ARBITRATION),
    "PersistentVolume": Followed(ApiResource("", "v1", "persistentvolumes", namespaced=False), False, Use.ARBITRATION),
    "StorageClass": Followed(ApiResource(*STORAGE, "storageclasses", namespaced=False), False, Use.ARBITRATION),
    "CSIStorageCapacity": Followed(ApiResource(*STORAGE, "csistoragecapacities"), False, Use.ARBITRATION),
    # All of them: pods of other schedulers take room, and finished pods count for their gang.
    "Pod": Followed(ApiResource("", "v1", "pods")),
}
"""Every kind that is followed, and where it is."""


class MirrorSink:
    """Passes what a reflector tells of one kind to the mirror."""

    def __init__(self, cache: Cache, kind: str) -> None:
        self._cache = cache
        self._kind = kind

    def restart(self) -> None:
        self._cache.restart(self._kind)

    def include(self, item: wire.Object) -> None:
        self._cache.include(self._kind, item)

    def finish(self, resource_version: str) -> Iterator[None]:
        return self._cache.finish(self._kind)

    def apply(self, delta: Delta, item: wire.Object) -> None:
        self._cache.apply(self._kind, delta.value, item)

    def broken(self, raw: bytes, error: BrokenObject) -> None:
        """Not even its metadata could be read, so there is no object to speak of; the reflector counts it."""


class Both:
    """Passes everything on to two sinks."""

    def __init__(self, first: ObjectSink, second: ObjectSink) -> None:
        self._first = first
        self._second = second

    def restart(self) -> None:
        self._first.restart()
        self._second.restart()

    def include(self, item: wire.Object) -> None:
        self._first.include(item)
        self._second.include(item)

    def finish(self, resource_version: str) -> Iterator[None]:
        yield from self._first.finish(resource_version)
        yield from self._second.finish(resource_version)

    def apply(self, delta: Delta, item: wire.Object) -> None:
        self._first.apply(delta, item)
        self._second.apply(delta, item)

    def broken(self, raw: bytes, error: BrokenObject) -> None:
        self._first.broken(raw, error)
        self._second.broken(raw, error)


def reflectors(
    client: ApiClient,
    cache: Cache,
    others: Mapping[str, ObjectSink],
    on_state: Callable[[Statistics], None],
    *,
    scheduling: bool = True,
    arbitrating: bool = False,
) -> dict[str, Reflector[wire.Object]]:
    """A reflector for every kind that the mirror or one of the ``others`` wants to know of."""
    unused = {use for use, on in ((Use.SCHEDULING, scheduling), (Use.ARBITRATION, arbitrating)) if not on}
    found = {}
    for kind, followed in FOLLOWED.items():
        if followed.use in unused:
            continue
        sink = _sink(cache, kind, others.get(kind))
        if sink is not None:
            found[kind] = Reflector(client, followed.resource, partial(wire.read, kind), sink, on_state=on_state)
    return found


def _sink(cache: Cache, kind: str, other: ObjectSink | None) -> ObjectSink | None:
    if kind not in wire.KINDS:
        return other
    mirror = MirrorSink(cache, kind)
    return mirror if other is None else Both(mirror, other)


def awaited(kind: str, reflector: Reflector[wire.Object]) -> asyncio.Event:
    """What is to be waited for before the first decision: that the kind is listed, or known not to be had."""
    return reflector.synced if FOLLOWED[kind].required else reflector.settled
