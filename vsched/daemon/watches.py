"""Which kinds the mirror follows, as a table, and how a reflector's news reaches the mirror."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from functools import partial
from typing import NamedTuple

from vsched.cluster import wire
from vsched.cluster.cache import Cache
from vsched.controllers.queue_controller import COMMANDS
from vsched.kube.client import ApiClient
from vsched.kube.deltas import BrokenObject, Delta, Sink, Statistics
from vsched.kube.paths import ApiResource
from vsched.kube.reflector import Reflector

BATCH = ("scheduling.volcano.sh", "v1beta1")
APPS = ("apps", "v1")


class Followed(NamedTuple):
    """A kind that the mirror follows."""

    resource: ApiResource
    required: bool = True
    """Whether decisions need it; without the others they are merely less good."""


FOLLOWED: dict[str, Followed] = {
    "Node": Followed(ApiResource("", "v1", "nodes", namespaced=False)),
    "Queue": Followed(ApiResource(*BATCH, "queues", namespaced=False)),
    "PriorityClass": Followed(ApiResource("scheduling.k8s.io", "v1", "priorityclasses", namespaced=False)),
    "Namespace": Followed(ApiResource("", "v1", "namespaces", namespaced=False)),
    "ResourceQuota": Followed(ApiResource("", "v1", "resourcequotas")),
    # What pods others may not be evicted for; without it evictions are tried, and the API server says no.
    "PodDisruptionBudget": Followed(ApiResource("policy", "v1", "poddisruptionbudgets"), required=False),
    # What pods are spread by that say nothing of spread. Many an account of a scheduler may not read these.
    "Service": Followed(ApiResource("", "v1", "services"), required=False),
    "ReplicationController": Followed(ApiResource("", "v1", "replicationcontrollers"), required=False),
    "ReplicaSet": Followed(ApiResource(*APPS, "replicasets"), required=False),
    "StatefulSet": Followed(ApiResource(*APPS, "statefulsets"), required=False),
    "PodGroup": Followed(ApiResource(*BATCH, "podgroups")),
    # How people ask for queues to be opened and closed; the annotation of a queue does it too.
    "Command": Followed(COMMANDS, required=False),
    # All of them: pods of other schedulers take room, and finished pods count for their gang.
    "Pod": Followed(ApiResource("", "v1", "pods")),
}
"""Every kind that is followed, and where it is."""


class MirrorSink:
    """Passes what a reflector tells of one kind to the mirror."""

    def __init__(self, cache: Cache, kind: str) -> None:
        self._cache = cache
        self._kind = kind

    def replace(self, items: list[wire.Object], resource_version: str) -> None:
        self._cache.replace(self._kind, items)

    def apply(self, delta: Delta, item: wire.Object) -> None:
        self._cache.apply(self._kind, delta.value, item)

    def broken(self, raw: bytes, error: BrokenObject) -> None:
        """Not even its metadata could be read, so there is no object to speak of; the reflector counts it."""


class Both:
    """Passes everything on to two sinks."""

    def __init__(self, first: Sink[wire.Object], second: Sink[wire.Object]) -> None:
        self._first = first
        self._second = second

    def replace(self, items: list[wire.Object], resource_version: str) -> None:
        self._first.replace(items, resource_version)
        self._second.replace(items, resource_version)

    def apply(self, delta: Delta, item: wire.Object) -> None:
        self._first.apply(delta, item)
        self._second.apply(delta, item)

    def broken(self, raw: bytes, error: BrokenObject) -> None:
        self._first.broken(raw, error)
        self._second.broken(raw, error)


def reflectors(
    client: ApiClient,
    cache: Cache,
    others: Mapping[str, Sink[wire.Object]],
    on_state: Callable[[Statistics], None],
) -> dict[str, Reflector[wire.Object]]:
    """A reflector for every kind that the mirror or one of the ``others`` wants to know of."""
    found = {}
    for kind, followed in FOLLOWED.items():
        sink = _sink(cache, kind, others.get(kind))
        if sink is not None:
            found[kind] = Reflector(client, followed.resource, partial(wire.read, kind), sink, on_state=on_state)
    return found


def _sink(cache: Cache, kind: str, other: Sink[wire.Object] | None) -> Sink[wire.Object] | None:
    if kind not in wire.KINDS:
        return other
    mirror = MirrorSink(cache, kind)
    return mirror if other is None else Both(mirror, other)


def awaited(kind: str, reflector: Reflector[wire.Object]) -> asyncio.Event:
    """What is to be waited for before the first decision: that the kind is listed, or known not to be had."""
    return reflector.synced if FOLLOWED[kind].required else reflector.settled
