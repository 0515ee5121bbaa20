"""Whatever is decided about claims and whatever the watch shows: in the end the mirror is what a list makes it."""

from __future__ import annotations

from typing import Any

from hypothesis import example, given, settings
from hypothesis import strategies as st

from tests.support import builders as make
from tests.support import devices, volumes
from tests.support.examples import examples
from tests.support.mirrors import World
from vsched.model.claims.catalogue import ClaimCatalogue
from vsched.model.claims.devices import AllocatedDevice, AllocationResult, DeviceId
from vsched.model.claims.plan import ClaimPlan, ClaimRelease, DeviceChoice, VolumeChoice
from vsched.model.plan import Bind, CycleReport

Fields = make.Fields
NAMES = ["a", "b"]
names = st.sampled_from(NAMES)
uids = st.sampled_from(["uid-1", "uid-1", "uid-1", "uid-2"])


def device_claim(name: str, uid: str, device: str, reserved: list[str]) -> Fields:
    claim = devices.resource_claim(name, metadata={"uid": uid})
    return devices.allocated(claim, "n1", device, pods=[make.pod(each) for each in reserved]) if device else claim


objects = st.one_of(
    st.builds(make.pod, names, node=st.sampled_from(["", "", "n1"])),
    st.builds(
        lambda name, uid, volume, node: volumes.claim(name, volume=volume, selected_node=node, metadata={"uid": uid}),
        names,
        uids,
        st.sampled_from(["", "", "a"]),
        st.sampled_from(["", "n1"]),
    ),
    st.builds(
        lambda name, claim, phase: volumes.volume(name, claim=claim, status={"phase": phase}),
        names,
        st.sampled_from(["", "", "a", "b"]),
        st.sampled_from(["Available", "Bound", "Released"]),
    ),
    st.builds(device_claim, names, uids, st.sampled_from(["", "gpu-0"]), st.lists(names, max_size=2, unique=True)),
)
plans = st.builds(
    lambda claim, uid, volume, device, extended, shared: ClaimPlan(
        volumes=(VolumeChoice(f"ns/{claim}", uid, volume),),
        devices=(
            *((DeviceChoice(f"ns/{claim}", uid, given_devices(device)),) if device else ()),
            *((DeviceChoice("", "", given_devices("gpu-9")),) if extended else ()),
        ),
        reserve=tuple(f"ns/{each}" for each in {claim, shared}),
    ),
    names,
    uids,
    st.sampled_from(["", *NAMES]),
    st.sampled_from(["", "gpu-1"]),
    st.booleans(),
    names,
)
steps = st.one_of(
    st.tuples(st.just("MODIFIED"), objects),
    st.tuples(st.just("DELETED"), objects),
    st.tuples(st.just("bind"), st.tuples(names, plans)),
    st.tuples(st.just("bind"), st.tuples(names, plans)),
    st.tuples(st.just("release"), st.tuples(names, uids, st.booleans())),
    st.tuples(st.just("forget"), names),
    st.tuples(st.just("snapshot"), st.none()),
)


def given_devices(device: str) -> AllocationResult:
    return AllocationResult((AllocatedDevice("gpu", DeviceId(devices.DRIVER, "n1", device)),))


def run(world: World, there: dict[tuple[str, str], Fields], step: tuple[str, Any]) -> None:
    match step:
        case ("bind", (name, plan)):
            world.cache.assumptions.assume(CycleReport(binds=(Bind(f"uid-{name}", "ns", name, "n1", "ns/pg", plan),)))
        case ("release", (name, uid, device)):
            world.cache.assumptions.assume(CycleReport(released=(ClaimRelease(f"ns/{name}", uid, device, "ns/pg"),)))
        case ("forget", name):
            world.cache.assumptions.forget(f"uid-{name}")
        case ("snapshot", _):
            world.snapshot()
        case (type, fields):
            identity = fields["kind"], fields["metadata"]["name"]
            there.pop(identity, None)
            if type == "MODIFIED":
                there[identity] = fields
            world.add(fields, type=type)


@settings(max_examples=examples(150), deadline=None)
@example(
    [
        ("MODIFIED", device_claim("b", "uid-1", "gpu-0", ["a"])),
        ("bind", ("a", ClaimPlan(reserve=("ns/b",)))),
        ("DELETED", device_claim("b", "uid-1", "", [])),
    ]
)
@given(st.lists(steps, max_size=25))
def test_what_is_taken_back_leaves_what_the_watch_shows(taken: list[tuple[str, Any]]) -> None:
    world, there = World(), dict[tuple[str, str], Fields]()
    for name in NAMES:
        first = (make.pod(name), volumes.claim(name, metadata={"uid": "uid-1"}), volumes.volume(name))
        for fields in (*first, devices.resource_claim(name, metadata={"uid": "uid-1"})):
            run(world, there, ("MODIFIED", fields))
    for step in taken:
        run(world, there, step)
    for name in NAMES:
        world.cache.assumptions.forget(f"uid-{name}")
        world.cache.assumptions.claim_release_failed(f"ns/{name}")
    assert told(world.snapshot().claims) == told(World(*there.values()).snapshot().claims)
    assert world.cache.describe()["assumed_claims"] == 0


def told(found: ClaimCatalogue) -> tuple[object, ...]:
    store, pools = found.volumes, found.devices
    return store.claims, store.volumes, store.available, pools.claims, pools.allocated, pools.made
