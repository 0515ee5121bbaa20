"""Which kinds are followed, and that what the API server says of them reaches the mirror."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator
from typing import Any

import pytest

from tests.support.running import node
from tests.support.waiting import until
from vsched import api
from vsched.apimachinery.meta.kinds import BUILTIN, KindRegistry
from vsched.apimachinery.objects.crds import foreign_definitions, kinds_of, shipped_definitions
from vsched.apimachinery.objects.native_groups import VERSIONS, serve
from vsched.daemon.watches import FOLLOWED, Use, awaited, reflectors
from vsched.kube.auth.connection import Connection
from vsched.kube.client import ApiClient
from vsched.mirror.mirror import Mirror
from vsched.mirror.stores import MirrorSettings
from vsched.sim.cluster import Cluster

Obj = dict[str, Any]
CUSTOM = (kind for definition in (*shipped_definitions(), *foreign_definitions()) for kind in kinds_of(definition))
ON_REQUEST = KindRegistry(())
serve(ON_REQUEST, VERSIONS[:1])
SERVED = {(kind.group, kind.kind): kind for kind in (*BUILTIN, *CUSTOM, *ON_REQUEST)}
"""What the embedded cluster serves, by group and kind."""
NOT_SERVED = {"NodePool"}
"""Kinds of which the embedded cluster has no definition: Karpenter's."""
ARBITRATOR = "kube-arbitrator.incubator.k8s.io/v1"


@pytest.mark.parametrize("kind", sorted(FOLLOWED.keys() - NOT_SERVED))
def test_every_kind_is_followed_where_the_api_server_has_it(kind: str) -> None:
    resource = FOLLOWED[kind].resource
    served = SERVED[resource.group, kind.removesuffix(f".{resource.group}")]

    assert (resource.version, resource.plural, resource.namespaced) == (
        served.version,
        served.plural,
        served.namespaced,
    )
    assert (FOLLOWED[kind].use is Use.ARBITRATION) is (kind in api.ARBITRATED)


@contextlib.asynccontextmanager
async def following(url: str, cache: Mirror) -> AsyncIterator[None]:
    """The mirror follows all that arbitration needs, from the first complete list on."""
    async with ApiClient(Connection(url)) as client:
        found = reflectors(client, cache, {}, lambda _: None, arbitrating=True)
        assert set(found) == set(api.KINDS)
        assert set(reflectors(client, cache, {}, lambda _: None)) == set(api.KINDS) - api.ARBITRATED
        running = [asyncio.create_task(reflector.run()) for reflector in found.values()]
        try:
            await asyncio.gather(*(awaited(kind, reflector).wait() for kind, reflector in found.items()))
            yield
        finally:
            for task in running:
                task.cancel()
            await asyncio.gather(*running, return_exceptions=True)


def arbitrated(kind: str, name: str, namespace: str = "", **spec: Any) -> Obj:
    metadata = {"name": name} | ({"namespace": namespace} if namespace else {})
    return {"apiVersion": ARBITRATOR, "kind": kind, "metadata": metadata, "spec": spec}


def stranger(name: str) -> Obj:
    """A pod of another scheduler."""
    container = {"name": "main", "image": "busybox", "resources": {"requests": {"cpu": "1"}, "limits": {"cpu": "2"}}}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "namespace": "default"},
        "spec": {"containers": [container]},
    }


def volume_claim(name: str) -> Obj:
    return {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "metadata": {"name": name, "namespace": "default"},
        "spec": {
            "accessModes": ["ReadWriteOnce"],
            "storageClassName": "gold",
            "resources": {"requests": {"storage": "1Gi"}},
        },
    }


async def test_all_that_is_divided_reaches_the_mirror() -> None:
    cache = Mirror(MirrorSettings(frozenset({"vsched"}), arbitrating=True))
    async with Cluster([node("n1")]) as cluster:
        cluster.apply([arbitrated("Consumer", "defaults", "default", hard={"requests.cpu": "3"}, parent="area")])
        async with following(cluster.url, cache):
            cluster.apply(
                [
                    arbitrated("Bucket", "area", reserved={"cpu": 1}, weight=2),
                    arbitrated("Allocation", "defaults", "default", deserved={"cpu": "1"}),
                    stranger("s"),
                    volume_claim("v"),
                ]
            )
            await until(lambda: cache.arbitration().buckets != {})
            await until(lambda: len(cache.arbitration().parties["default"].allocations) == 1)
            await until(lambda: len(cache.arbitration().parties["default"].tasks) == 1)
            await until(lambda: cache.arbitration().parties["default"].held != {})
            cache.snapshot(0.0)
            known = cache.arbitration()
            cluster.client.delete(f"{ARBITRATOR.partition('/')[0]}/consumers", "default", "defaults")
            await until(lambda: cache.arbitration().parties["default"].claim is None)

    party = known.parties["default"]
    assert party.claim is not None
    assert (party.claim.name, party.claim.hard, party.claim.parent) == ("defaults", {"cpu": 3000}, "area")
    assert party.claim.uid
    assert party.claim.generation == 1
    assert party.claim.created > 0
    assert party.allocations[0].deserved == {"cpu": "1"}
    assert party.waiting == {"cpu": 1000, "pods": 1, "limits.cpu": 2000}
    assert party.held["requests.storage"] == 1 << 30
    assert (known.buckets["area"].reserved, known.buckets["area"].weight) == ({"cpu": 1000}, 2)
    assert {"kube-system", "default"} <= set(known.parties)
