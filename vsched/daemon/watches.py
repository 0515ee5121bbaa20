"""Which kinds the mirror follows, as a table, and how a reflector's news reaches the mirror."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from functools import partial
from typing import NamedTuple

from vsched.cluster import wire
from vsched.cluster.cache import Cache
from vsched.kube.client import ApiClient
from vsched.kube.deltas import BrokenObject, Delta, Statistics
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
    # What pods are spread by that say nothing of spread. Many an account of a scheduler may not read these.
    "Service": Followed(ApiResource("", "v1", "services"), required=False),
    "ReplicationController": Followed(ApiResource("", "v1", "replicationcontrollers"), required=False),
    "ReplicaSet": Followed(ApiResource(*APPS, "replicasets"), required=False),
    "StatefulSet": Followed(ApiResource(*APPS, "statefulsets"), required=False),
    "PodGroup": Followed(ApiResource(*BATCH, "podgroups")),
    # All of them: pods of other schedulers take room, and finished pods count for their gang.
    "Pod": Followed(ApiResource("", "v1", "pods")),
}
"""Every kind the mirror follows, and where it is."""


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


def reflectors(
    client: ApiClient, cache: Cache, on_state: Callable[[Statistics], None]
) -> dict[str, Reflector[wire.Object]]:
    """A reflector for every kind, into the mirror."""
    return {
        kind: Reflector(client, followed.resource, partial(wire.read, kind), MirrorSink(cache, kind), on_state=on_state)
        for kind, followed in FOLLOWED.items()
    }


def awaited(kind: str, reflector: Reflector[wire.Object]) -> asyncio.Event:
    """What is to be waited for before the first decision: that the kind is listed, or known not to be had."""
    return reflector.synced if FOLLOWED[kind].required else reflector.settled
