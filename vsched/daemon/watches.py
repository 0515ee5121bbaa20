"""Which kinds the mirror follows, as a table, and how a reflector's news reaches the mirror."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from vsched.cluster import wire
from vsched.cluster.cache import Cache
from vsched.kube.client import ApiClient
from vsched.kube.deltas import BrokenObject, Delta, Statistics
from vsched.kube.paths import ApiResource
from vsched.kube.reflector import Reflector

BATCH = ("scheduling.volcano.sh", "v1beta1")

FOLLOWED: dict[str, ApiResource] = {
    "Node": ApiResource("", "v1", "nodes", namespaced=False),
    "Queue": ApiResource(*BATCH, "queues", namespaced=False),
    "PriorityClass": ApiResource("scheduling.k8s.io", "v1", "priorityclasses", namespaced=False),
    "Namespace": ApiResource("", "v1", "namespaces", namespaced=False),
    "ResourceQuota": ApiResource("", "v1", "resourcequotas"),
    "PodGroup": ApiResource(*BATCH, "podgroups"),
    # All of them: pods of other schedulers take room, and finished pods count for their gang.
    "Pod": ApiResource("", "v1", "pods"),
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
        kind: Reflector(client, resource, partial(wire.read, kind), MirrorSink(cache, kind), on_state=on_state)
        for kind, resource in FOLLOWED.items()
    }
