"""The devices in use are those of the snapshot at hand, though the mirror updates its maps in place."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.builders import Fields, merged, node, pod
from tests.support.devices import allocated, device_class, pod_claims, resource_claim, resource_slice
from tests.support.examples import examples
from tests.support.plans import NOW, mirror
from vsched.api.manifests import Origin, decode_manifests
from vsched.framework.claims.devices.base import BaseUses, base_of
from vsched.kernels.devices.inventory import inventory_of
from vsched.mirror.mirror import Mirror
from vsched.model.frozen import freeze
from vsched.model.snapshot import Snapshot


def told(cache: Mirror, event: str, found: Fields) -> None:
    """An event of a watch."""
    [read] = decode_manifests([(Origin("text", ""), found)]).objects[found["kind"]]
    cache.intake.apply(found["kind"], event, read)


def base_at(cache: Mirror) -> BaseUses:
    """What a session of now begins with."""
    snapshot = cache.snapshot(NOW)
    found = snapshot.claims.devices
    return base_of(found, inventory_of(found.pools, snapshot.nodes.statics))


def in_use(cache: Mirror) -> list[int]:
    """How often each device is in use."""
    held: list[int] = base_at(cache).books.held.tolist()
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


def test_a_claim_whose_user_leaves_between_two_snapshots() -> None:
    user = pod("p", node="n1", spec={"resourceClaims": pod_claims(gpu="c")})
    held = allocated(resource_claim("c"), "n1", "gpu-1", pods=[user])
    cache = mirror([node("n1"), resource_slice("n1", 2), device_class(), held, user])
    leaves = merged(user, {"metadata": {"deletionTimestamp": "2026-01-01T00:00:00Z"}})
    assert base_at(cache).leaving == frozenset()
    for event, found, leaving in (("MODIFIED", leaves, {"ns/c"}), ("DELETED", user, frozenset[str]())):
        told(cache, event, found)
        assert base_at(cache).leaving == leaving


STEPS = st.lists(
    st.tuples(
        st.sampled_from(["claim", "free", "delete", "pod", "leave", "gone", "slice", "look", "frozen"]),
        st.integers(0, 2),
    ),
    max_size=25,
)


@settings(max_examples=examples(100), deadline=None)
@given(STEPS)
def test_what_the_mirror_records_is_all_that_changed(steps: list[tuple[str, int]]) -> None:
    cache = mirror([node("n1"), resource_slice("n1", 3), device_class(), resource_claim("c0")])
    frozen = None
    for kind, number in steps:
        name = f"c{number}"
        user = pod(f"p{number}", node="n1", spec={"resourceClaims": pod_claims(gpu=name)})
        has_devices = allocated(resource_claim(name), "n1", f"gpu-{number}", pods=[user])
        match kind:
            case "claim":
                told(cache, "MODIFIED", has_devices)
            case "free" | "delete":
                told(cache, "MODIFIED" if kind == "free" else "DELETED", resource_claim(name))
            case "pod" | "gone":
                told(cache, "MODIFIED" if kind == "pod" else "DELETED", user)
            case "leave":
                told(cache, "MODIFIED", merged(user, {"metadata": {"deletionTimestamp": "2026-01-01T00:00:00Z"}}))
            case "slice":
                told(cache, "MODIFIED", resource_slice("n1", number + 1))
            case "look":
                assert_as_fresh(cache.snapshot(NOW))
            case "frozen":
                frozen = frozen or freeze(cache.snapshot(NOW))
                assert_as_fresh(frozen)
    assert_as_fresh(cache.snapshot(NOW))


def assert_as_fresh(snapshot: Snapshot) -> None:
    """What follows from the record is what a look at all claims finds."""
    found = snapshot.claims.devices
    inventory = inventory_of(found.pools, snapshot.nodes.statics)
    followed = base_of(found, inventory)
    alone = base_of(replace(found, changes=None), inventory)
    assert followed.books.held.tolist() == alone.books.held.tolist()
    assert (followed.leaving, followed.partial) == (alone.leaving, alone.partial)
    base_of(found, inventory)  # the next one follows from the record again
