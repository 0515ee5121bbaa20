"""The devices in use are those of the snapshot at hand, though the mirror updates its maps in place."""

from __future__ import annotations

from tests.support.builders import Fields, node, pod
from tests.support.devices import allocated, device_class, resource_claim, resource_slice
from tests.support.plans import NOW, mirror
from vsched.framework.claims.devices.uses import base_of
from vsched.kernels.devices.inventory import inventory_of
from vsched.mirror.cache import Cache
from vsched.mirror.wire.manifests import Origin, decode_manifests


def told(cache: Cache, event: str, found: Fields) -> None:
    """An event of a watch."""
    [read] = decode_manifests([(Origin("text", ""), found)]).objects[found["kind"]]
    cache.apply(found["kind"], event, read)


def in_use(cache: Cache) -> list[int]:
    """How often each device is in use."""
    snapshot = cache.snapshot(NOW)
    found = snapshot.claims.devices
    held: list[int] = base_of(found, inventory_of(found.pools, snapshot.nodes.statics)).books.held.tolist()
    return held


def test_a_claim_that_gets_or_loses_devices_between_two_snapshots() -> None:
    user = pod("p", node="n1")
    cache = mirror([node("n1"), resource_slice("n1", 2), device_class(), resource_claim("c"), user])
    assert in_use(cache) == [0, 0]
    told(cache, "MODIFIED", allocated(resource_claim("c"), "n1", "gpu-1", pods=[user]))
    assert in_use(cache) == [0, 1]
    assert in_use(cache) == [0, 1]
    told(cache, "MODIFIED", allocated(resource_claim("c"), "n1", "gpu-0", pods=[user]))
    assert in_use(cache) == [1, 0]
    told(cache, "MODIFIED", resource_claim("c"))
    assert in_use(cache) == [0, 0]
