"""The catalogue of claims that snapshots show, as the watch tells of volumes, devices and pods."""

from __future__ import annotations

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from tests.support import builders as make
from tests.support import devices, volumes
from tests.support.examples import examples
from tests.support.mirrors import World
from vsched.mirror.state import words
from vsched.mirror.state.claims.staged import StagedGroups, Staging
from vsched.model.claims.catalogue import NO_CLAIMS, DeviceCatalogue, VolumeCatalogue
from vsched.model.claims.volumes import VolumeClaim

Fields = make.Fields


def user(name: str = "p", node: str = "n1", *claims: str, phase: str = "Running") -> Fields:
    spec = {"volumes": volumes.claim_volumes(*(claims or ("data",)))}
    return make.pod(name, node=node, spec=spec, status={"phase": phase if node else "Pending"})


def holder(name: str = "p", node: str = "n1", claim: str = "gpus") -> Fields:
    return make.pod(name, node=node, spec={"resourceClaims": devices.pod_claims(gpu=claim)})


def shown(world: World) -> VolumeCatalogue:
    return world.snapshot().claims.volumes


def seen(world: World) -> DeviceCatalogue:
    return world.snapshot().claims.devices


def claim(world: World, key: str = "ns/data") -> VolumeClaim:
    return shown(world).claims[key]


def test_a_cluster_without_claims_has_the_empty_catalogue() -> None:
    world = World(make.node("n1"), make.pod("p", node="n1"))
    assert world.snapshot().claims is NO_CLAIMS


def test_a_claim_made_for_a_pod_shares_the_uid_of_the_pod() -> None:
    world = World(holder())
    owner = {"kind": "Pod", "name": "p", "uid": "uid-p", "controller": True}
    world.add(devices.resource_claim(metadata={"ownerReferences": [owner]}))
    [task] = seen(world).users["ns/gpus"].values()
    assert seen(world).claims["ns/gpus"].owner is task.uid, "one string, because there are many of them"


def test_every_kind_is_in_the_catalogue_until_it_is_gone() -> None:
    objects = [
        volumes.claim(),
        volumes.volume(),
        volumes.storage_class(),
        volumes.csi_driver(),
        volumes.csi_node(),
        volumes.storage_capacity(),
        volumes.attachment(),
        devices.resource_claim(),
        devices.device_class(),
        devices.resource_slice(),
    ]
    world = World()
    assert all(world.wakes_for(found) for found in objects), "each is a reason to decide"
    assert not any(world.wakes_for(found) for found in objects), "none is as long as nothing changes"
    found = world.snapshot().claims
    volume, device = found.volumes, found.devices
    assert set(volume.claims) == {"ns/data"}
    assert set(volume.volumes) == {"pv"}
    assert [each.name for each in volume.available["standard"]] == ["pv"]
    assert set(volume.classes) == {"standard"}
    assert set(volume.drivers) == {volumes.DRIVER}
    assert volume.limits == {"n1": {volumes.DRIVER: 3}}
    assert [each.key for each in volume.capacities["standard"]] == ["kube-system/capacity"]
    assert [each.volume for each in volume.attachments["n1"]] == ["pv"]
    assert set(device.claims) == {"ns/gpus"}
    assert set(device.classes) == {devices.DRIVER}
    assert [(pool.driver, pool.name, len(pool.devices)) for pool in device.pools] == [(devices.DRIVER, "n1", 1)]
    world.delete(*objects)
    found = world.snapshot().claims
    assert [each for each in (found.volumes.claims, found.volumes.available, found.volumes.attachments) if each] == []
    assert (found.volumes.limits, found.volumes.capacities, found.devices.pools) == ({}, {}, ())


def test_what_did_not_change_is_the_same_object() -> None:
    world = World(volumes.claim(), volumes.storage_class(), devices.resource_slice(), devices.resource_claim())
    first = world.snapshot().claims
    assert world.snapshot().claims is first
    world.add(devices.resource_claim("other"))
    second = world.snapshot().claims
    assert second.volumes is first.volumes
    assert second.devices.pools is first.devices.pools
    world.add(volumes.claim(selected_node="n1"))
    third = world.snapshot().claims
    assert third.devices is second.devices
    assert third.volumes.classes is first.volumes.classes


@pytest.mark.parametrize(
    ("event", "expected"),
    [
        pytest.param(user("q", "n2", "other"), {"n2"}, id="a pod comes"),
        pytest.param(user(node="n2"), {"n1", "n2"}, id="a pod is on another node"),
        pytest.param(user(phase="Succeeded"), {"n1"}, id="a pod ends"),
        pytest.param(volumes.claim(volume="pv"), {"n1"}, id="the claim of a pod is bound"),
        pytest.param(volumes.attachment(node="n3"), {"n3"}, id="a volume is attached"),
        pytest.param(volumes.claim("unused"), set(), id="a claim comes that no pod uses"),
        pytest.param(volumes.volume("unused"), set(), id="a volume comes"),
    ],
)
def test_the_catalogue_says_on_which_nodes_volumes_changed(event: Fields, expected: set[str]) -> None:
    world = World(volumes.claim(), user(), user("waits", "", "data"))
    before = shown(world).changes
    world.add(event)
    after = shown(world).changes
    assert after is not None
    assert after.since(before) == frozenset(expected)


def test_events_change_the_catalogue_of_the_next_snapshot_only() -> None:
    world = World(volumes.claim(), devices.allocated(devices.resource_claim(), "n1", "gpu-0"), user(), holder("h"))
    before = world.snapshot().claims
    world.delete(volumes.claim(), devices.resource_claim(), user(), holder("h"))
    assert set(before.volumes.claims) == {"ns/data"}
    assert set(before.devices.allocated) == {"ns/gpus"}
    assert set(before.volumes.users["ns/data"]) == set(before.volumes.by_node["n1"]) == {"uid-p"}
    assert set(before.devices.users["ns/gpus"]) == {"uid-h"}


def test_volumes_that_claims_may_get_are_in_the_order_of_their_size() -> None:
    sizes = {"c": "1Gi", "a": "2Gi", "d": "1Gi", "b": "500Mi"}
    world = World(*(volumes.volume(name, size) for name, size in sizes.items()))
    world.add(volumes.volume("other", storage_class="gold"), volumes.volume("taken", claim="x"))
    assert [each.name for each in shown(world).available["standard"]] == ["b", "c", "d", "a"]
    world.add(
        volumes.volume("a", "100Mi"), volumes.volume("d", claim="data"), volumes.volume("b", storage_class="gold")
    )
    assert [each.name for each in shown(world).available["standard"]] == ["a", "c"]
    assert [each.name for each in shown(world).available["gold"]] == ["b", "other"]


@pytest.mark.parametrize("first", ["claim", "volume"])
def test_a_claim_shows_the_volume_that_is_reserved_for_it(first: str) -> None:
    reserved = volumes.volume(claim="data", status={"phase": "Available"})
    objects = [volumes.claim(), reserved] if first == "claim" else [reserved, volumes.claim()]
    world = World(*objects)
    assert (claim(world).volume, claim(world).bound) == ("pv", False)
    world.add(volumes.volume(spec={"claimRef": None}))
    assert claim(world).volume == ""


def test_a_claim_that_is_deleted_and_made_again_gets_the_volume_reserved_for_its_name() -> None:
    world = World(volumes.volume(spec={"claimRef": {"namespace": "ns", "name": "data"}}), volumes.claim())
    world.delete(volumes.claim())
    world.add(volumes.claim(metadata={"uid": "another"}))
    assert claim(world).volume == "pv"


@pytest.mark.parametrize(
    "fields",
    [
        pytest.param({"spec": {"claimRef": {"uid": "uid-of-another"}}}, id="for an earlier claim of that name"),
        pytest.param({"status": {"phase": "Released"}}, id="whose data belongs to an earlier claim"),
    ],
)
def test_a_volume_that_is_not_for_this_claim(fields: Fields) -> None:
    world = World(volumes.claim(), volumes.volume(claim="data", **fields))
    assert claim(world).volume == ""


def test_a_claim_that_comes_again_under_its_name_gets_the_volume_reserved_for_that_name() -> None:
    world = World(volumes.claim(volume="pv"), volumes.volume(spec={"claimRef": {"namespace": "ns", "name": "data"}}))
    world.add(volumes.claim(metadata={"uid": "another"}))
    assert claim(world).volume == "pv"


def test_users_of_claims_follow_their_pods() -> None:
    world = World(user("a", "n1", "data", "more"), user("b", "n2"), user("waits", ""), holder("h"))
    catalogue = world.snapshot().claims
    assert {key: set(found) for key, found in catalogue.volumes.users.items()} == {
        "ns/data": {"uid-a", "uid-b"},
        "ns/more": {"uid-a"},
    }
    assert {node: set(found) for node, found in catalogue.volumes.by_node.items()} == {"n1": {"uid-a"}, "n2": {"uid-b"}}
    assert set(catalogue.devices.users["ns/gpus"]) == {"uid-h"}
    world.add(user("a", "n1", "data", "more", phase="Succeeded"))
    leaving = make.merged(user("b", "n2"), {"metadata": {"deletionTimestamp": "2026-08-01T10:00:00Z"}})
    world.add(leaving)
    users = shown(world).users
    assert set(users) == {"ns/data"}
    assert users["ns/data"]["uid-b"].status.name == "RELEASING"
    world.bind(user("waits", ""), "n3")
    assert set(shown(world).users["ns/data"]) == {"uid-b", "uid-waits"}
    assert set(shown(world).by_node) == {"n2", "n3"}


def test_a_pod_that_cannot_be_read_uses_its_claims_all_the_same() -> None:
    broken = make.merged(user("p"), {"spec": {"tolerations": [{"operator": "Never"}]}})
    world = World(broken)
    assert set(world.cache.broken) == {("Pod", "uid-p")}
    assert set(shown(world).users["ns/data"]) == {"uid-p"}


@pytest.mark.parametrize(
    ("slices", "expected"),
    [
        pytest.param([devices.resource_slice(count=1)], (1, True, ""), id="one slice"),
        pytest.param([devices.resource_slice(count=2)], (1, False, ""), id="a slice is missing"),
        pytest.param(
            [
                devices.resource_slice(name="a", count=2),
                devices.resource_slice("n1", [devices.device("x")], name="b", count=2),
            ],
            (2, True, ""),
            id="two slices",
        ),
        pytest.param(
            [devices.resource_slice(name="a", generation=1), devices.resource_slice("n1", 3, name="b", generation=2)],
            (3, True, ""),
            id="the newest generation alone",
        ),
        pytest.param(
            [devices.resource_slice(name="a", count=2), devices.resource_slice(name="b", count=2)],
            (2, True, words.there_more_than_once("device", "gpu-0")),
            id="a name twice",
        ),
    ],
)
def test_a_pool_is_put_together_from_its_slices(slices: list[Fields], expected: tuple[int, bool, str]) -> None:
    [pool] = seen(World(*slices)).pools
    assert (len(pool.devices), pool.complete, pool.problem) == expected


def test_devices_are_in_the_order_of_their_slices_and_pools_in_that_of_their_names() -> None:
    world = World(
        devices.resource_slice("n2"),
        devices.resource_slice("n1", [devices.device("y"), devices.device("x")], name="s2", count=2),
        devices.resource_slice("n1", [devices.device("z")], name="s1", count=2),
    )
    pools = seen(world).pools
    assert [pool.name for pool in pools] == ["n1", "n2"]
    assert [device.id.device for device in pools[0].devices] == ["z", "y", "x"]
    before = pools[1]
    world.delete(devices.resource_slice("n1", [], name="s1"))
    assert seen(world).pools[1] is before


def test_a_slice_that_makes_no_sense_leaves_its_pool_incomplete() -> None:
    world = World(devices.resource_slice(name="a", count=2), devices.resource_slice(name="b", count=2))
    world.add(devices.resource_slice("n1", [devices.device("x", capacity={"memory": "much"})], name="b", count=2))
    [pool] = seen(world).pools
    assert (len(pool.devices), pool.complete, pool.problem) == (1, False, "")
    assert set(world.cache.broken) == {("ResourceSlice", "b")}


def test_whoever_asks_hears_of_claims() -> None:
    world, heard = World(), list[str]()
    world.cache.events.on_claim.add(heard.append)
    world.add(volumes.claim(), volumes.volume(), devices.resource_claim("gpus"))
    world.delete(volumes.claim())
    assert heard == ["ns/data", "ns/gpus", "ns/data"]
    assert world.cache.stores.claims.volumes.claims.get("ns/data") is None
    assert world.cache.stores.claims.devices.claims.get("ns/gpus") is not None


def test_a_kind_that_cannot_be_read_is_named_until_it_can() -> None:
    world = World()
    world.cache.intake.set_unread("ResourceClaim", "the API server does not serve it")
    assert world.wakes == 1
    assert world.snapshot().claims.unread == {"ResourceClaim": "the API server does not serve it"}
    world.cache.intake.set_unread("ResourceClaim", "the API server does not serve it")
    world.cache.intake.set_unread("Service", "forbidden")
    assert world.wakes == 1
    world.cache.intake.set_unread("ResourceClaim", "")
    assert world.snapshot().claims.unread == {}


NAMES = st.sampled_from(["a", "b"])
NODES = st.sampled_from(["", "n1", "n2"])
OBJECTS = st.one_of(
    st.builds(
        lambda name, volume, uid: volumes.claim(name, volume=volume, metadata={"uid": uid}),
        NAMES,
        st.sampled_from(["", "a"]),
        st.sampled_from(["uid-a", "uid-b"]),
    ),
    st.builds(
        lambda name, size, claim, phase, kind: volumes.volume(
            name, size, claim=claim, storage_class=kind, status={"phase": phase}
        ),
        NAMES,
        st.sampled_from(["1Gi", "2Gi"]),
        st.sampled_from(["", "a", "b"]),
        st.sampled_from(["Available", "Bound", "Released"]),
        st.sampled_from(["standard", "gold"]),
    ),
    st.builds(user, NAMES, NODES, NAMES, phase=st.sampled_from(["Running", "Failed"])),
    st.builds(
        lambda name, devices_, node: (
            devices.allocated(devices.resource_claim(name), node, *devices_)
            if devices_
            else devices.resource_claim(name)
        ),
        NAMES,
        st.sampled_from([(), ("gpu-0",)]),
        st.sampled_from(["n1", "n2"]),
    ),
    st.builds(
        lambda name, node, generation: devices.resource_slice(node, name=name, generation=generation),
        NAMES,
        st.sampled_from(["n1", "n2"]),
        st.integers(1, 2),
    ),
    st.builds(lambda volume, node: volumes.attachment(volume, node), NAMES, st.sampled_from(["n1", "n2"])),
    st.builds(lambda name, kind: volumes.storage_capacity(name, storage_class=kind), NAMES, NAMES),
)


MADE_AGAIN = [
    ("MODIFIED", volumes.claim("a", volume="a", metadata={"uid": "uid-a"}), True),
    ("MODIFIED", volumes.volume("b", "1Gi", claim="a", storage_class="gold", status={"phase": "Available"}), False),
    ("DELETED", volumes.claim("a"), False),
    ("MODIFIED", volumes.claim("a", metadata={"uid": "uid-a"}), False),
]
"""A volume is reserved for the name of a bound claim, and then the claim is made again."""


@settings(max_examples=examples(100), deadline=None)
@example(MADE_AGAIN)
@given(st.lists(st.tuples(st.sampled_from(["MODIFIED", "MODIFIED", "DELETED"]), OBJECTS, st.booleans()), max_size=25))
def test_whatever_comes_and_goes_the_catalogue_is_that_of_what_is_there(
    events: list[tuple[str, Fields, bool]],
) -> None:
    world, there = World(), dict[tuple[str, str], Fields]()
    for type, fields, publishes in events:
        if fields["kind"] == "VolumeAttachment" or type == "DELETED":
            world.delete(there.pop((fields["kind"], fields["metadata"]["name"]), fields))
        if type != "DELETED":
            world.add(fields)
            there[fields["kind"], fields["metadata"]["name"]] = fields
        if publishes:
            world.snapshot()
    found, fresh = world.snapshot().claims, World(*there.values()).snapshot().claims
    assert told(found.volumes) == told(fresh.volumes)
    assert (found.devices.claims, found.devices.allocated, found.devices.pools) == (
        fresh.devices.claims,
        fresh.devices.allocated,
        fresh.devices.pools,
    )


def told(found: VolumeCatalogue) -> tuple[object, ...]:
    users = {key: sorted(each) for key, each in found.users.items()}
    by_node = {key: sorted(each) for key, each in found.by_node.items()}
    return found.claims, found.volumes, found.available, found.capacities, found.attachments, users, by_node


@settings(max_examples=examples(100), deadline=None)
@given(
    st.lists(
        st.tuples(st.sampled_from("ab"), st.sampled_from("xyz"), st.one_of(st.none(), st.integers()), st.booleans()),
        max_size=20,
    )
)
def test_groups_show_what_was_put_and_never_change_what_was_shown(
    steps: list[tuple[str, str, int | None, bool]],
) -> None:
    groups: StagedGroups[tuple[str, int]] = StagedGroups(lambda item: item[0], Staging())
    expected: dict[str, dict[str, tuple[str, int]]] = {"a": {}, "b": {}}
    seen: list[tuple[object, dict[str, tuple[str, int]]]] = []
    for group, name, number, publishes in steps:
        item = None if number is None else (name, number)
        groups.put(group, name, item)
        if item is None:
            expected[group].pop(name, None)
        else:
            expected[group][name] = item
        if publishes:
            groups.publish()
            assert groups.published == {group: items for group, items in expected.items() if items}
            seen += [(items, dict(items)) for items in groups.published.values()]
    assert all(items == as_it_was for items, as_it_was in seen)
