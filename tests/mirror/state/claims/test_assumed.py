"""Decisions about claims in the mirror, from the cycle that made them until the watch shows them."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from tests.support import builders as make
from tests.support import devices, volumes
from tests.support.mirrors import World
from vsched.model.claims.devices import AllocatedDevice, AllocationResult, ClaimConsumer, DeviceClaim, DeviceId
from vsched.model.claims.plan import ClaimPlan, ClaimRelease, DeviceChoice, VolumeChoice
from vsched.model.claims.volumes import Volume, VolumeClaim
from vsched.model.plan import Bind, CycleReport

Fields = make.Fields
GPU = AllocationResult((AllocatedDevice("gpu", DeviceId(devices.DRIVER, "n1", "gpu-0")),))
OTHER = AllocationResult((AllocatedDevice("gpu", DeviceId(devices.DRIVER, "n1", "gpu-1")),))
POD = make.pod("p")
GROUP = ClaimConsumer("uid-g", "g", "podgroups", "scheduling.k8s.io")
CLAIM = devices.resource_claim()
HELD = devices.allocated(CLAIM, "n1", "gpu-0", pods=[POD])
ME, YOU = ClaimConsumer("uid-p", "p"), ClaimConsumer("uid-q", "q")
MADE = VolumeChoice("ns/data", "uid-data")
CHOSEN = VolumeChoice("ns/data", "uid-data", "pv")
USES = ClaimPlan(devices=(DeviceChoice("ns/gpus", "uid-gpus", GPU),), reserve=("ns/gpus",))

SHARES = ClaimPlan(reserve=("ns/gpus",), group=GROUP, for_group=("ns/gpus",))
GIVES = msgspec.structs.replace(SHARES, devices=USES.devices)


def bind(world: World, plan: ClaimPlan, name: str = "p", node: str = "n1") -> None:
    world.cache.assumptions.assume(CycleReport(binds=(Bind(f"uid-{name}", "ns", name, node, "ns/pg", plan),)))


def release(world: World, *, device: bool, uid: str = "") -> None:
    key, uid = ("ns/gpus", uid or "uid-gpus") if device else ("ns/data", uid or "uid-data")
    world.cache.assumptions.assume(CycleReport(released=(ClaimRelease(key, uid, device, "ns/pg"),)))


def list_without_node(world: World) -> None:
    """The binding was accepted; then a list of all pods shows that it did not last."""
    world.cache.assumptions.accepted("uid-p")
    world.cache.intake.restart("Pod")
    world.cache.intake.include("Pod", make.read(POD))
    for _ in world.cache.intake.finish("Pod"):
        pass


def held(world: World) -> tuple[str, str]:
    """The volume and the node of the claim."""
    found = claim_in(world)
    return found.volume, found.selected_node


def claim_in(world: World) -> VolumeClaim:
    found = world.snapshot().claims.volumes.claims["ns/data"]
    assert world.cache.stores.claims.volumes.claims.get("ns/data") == found
    return found


def volume_in(world: World) -> Volume:
    return world.snapshot().claims.volumes.volumes["pv"]


def device_claim(world: World) -> DeviceClaim:
    found = world.snapshot().claims.devices.claims["ns/gpus"]
    assert world.cache.stores.claims.devices.claims.get("ns/gpus") == found
    return found


def allocated(world: World) -> dict[str, list[str]]:
    """The devices of each claim."""
    found = world.snapshot().claims.devices.allocated
    return {
        key: [each.device.device for each in claim.allocation.devices]
        for key, claim in found.items()
        if claim.allocation
    }


# -- volumes


def test_a_volume_is_made_on_the_node_of_the_pod() -> None:
    world = World(volumes.claim(), POD)
    bind(world, ClaimPlan(volumes=(MADE,), wait=("ns/data",)))
    assert held(world) == ("", "n1")
    assert world.cache.describe()["assumed_claims"] == 1
    wakes = world.wakes
    world.add(volumes.claim(selected_node="n1"))
    assert world.wakes == wakes, "the watch shows what was expected"
    assert world.cache.describe()["assumed_claims"] == 0
    world.add(volumes.claim())
    assert held(world) == ("", ""), "the provisioner takes the node back"
    assert world.wakes == wakes + 1


def test_a_static_volume_is_chosen_for_a_claim() -> None:
    world = World(volumes.claim(), volumes.volume(), POD)
    bind(world, ClaimPlan(volumes=(CHOSEN,), wait=("ns/data",)))
    assert held(world) == ("pv", "")
    assert (volume_in(world).claim, volume_in(world).claim_uid) == ("ns/data", "uid-data")
    [offered] = world.snapshot().claims.volumes.available["standard"]
    assert offered is volume_in(world)
    wakes = world.wakes
    world.add(volumes.volume(claim="data", status={"phase": "Available"}))
    assert world.wakes == wakes, "the watch shows what was expected"
    assert held(world) == ("pv", "")
    world.add(volumes.volume(claim="data"), volumes.claim(volume="pv"))
    assert claim_in(world).bound
    assert world.cache.describe()["assumed_claims"] == 0
    assert "standard" not in world.snapshot().claims.volumes.available


@pytest.mark.parametrize("choice", [MADE, CHOSEN], ids=["a volume to be made", "a static volume"])
@pytest.mark.parametrize(
    "ends",
    [
        pytest.param(lambda world: world.cache.assumptions.forget("uid-p"), id="the writes failed"),
        pytest.param(lambda world: world.delete(POD), id="the pod is gone"),
        pytest.param(lambda world: world.add(volumes.claim(metadata={"uid": "new"})), id="the claim was made again"),
        pytest.param(lambda world: world.add(make.pod("p", status={"phase": "Failed"})), id="the pod has ended"),
        pytest.param(list_without_node, id="a list shows that the pod was not bound"),
    ],
)
def test_what_was_chosen_for_a_volume_claim_ends(choice: VolumeChoice, ends: Any) -> None:
    world = World(volumes.claim(), volumes.volume(), POD)
    bind(world, ClaimPlan(volumes=(choice,), wait=("ns/data",)))
    wakes = world.wakes
    ends(world)
    assert held(world) == ("", "")
    assert volume_in(world).claim == ""
    assert world.wakes > wakes
    assert world.cache.describe()["assumed_claims"] == 0


def test_what_was_chosen_ends_with_the_claim() -> None:
    world = World(volumes.claim(), volumes.volume(), POD)
    bind(world, ClaimPlan(volumes=(CHOSEN,)))
    world.delete(volumes.claim())
    assert world.cache.stores.claims.volumes.claims.get("ns/data") is None
    assert volume_in(world).claim == ""
    assert world.cache.describe()["assumed_claims"] == 0


def test_nothing_is_assumed_of_a_claim_that_is_another_one_by_now() -> None:
    world = World(volumes.claim(metadata={"uid": "new"}), devices.resource_claim(metadata={"uid": "new"}), POD)
    bind(world, ClaimPlan((MADE,), (DeviceChoice("ns/gpus", "uid-gpus", GPU),)))
    assert held(world) == ("", "")
    assert device_claim(world).allocation is None
    assert world.cache.describe()["assumed_claims"] == 0


def test_nothing_is_assumed_of_the_claims_of_a_pod_that_is_gone() -> None:
    world = World(volumes.claim(), CLAIM)
    bind(world, ClaimPlan((MADE,), USES.devices, USES.reserve))
    assert held(world) == ("", "")
    assert device_claim(world).consumers == ()


def test_a_node_is_taken_back_from_a_claim() -> None:
    world = World(volumes.claim(selected_node="n1"))
    release(world, device=False)
    assert held(world) == ("", "")
    wakes = world.wakes
    world.add(volumes.claim())
    assert (held(world), world.wakes) == (("", ""), wakes)
    world.add(volumes.claim(selected_node="n2"))
    assert held(world) == ("", "n2")


def test_a_volume_is_taken_back_from_a_claim() -> None:
    world = World(volumes.claim(), volumes.volume(claim="data", status={"phase": "Available"}))
    assert held(world) == ("pv", "")
    release(world, device=False)
    assert held(world) == ("", "")
    assert volume_in(world).claim == "ns/data", "nobody else can have it before it is free"
    world.add(volumes.volume(spec={"claimRef": None}))
    assert held(world) == ("", "")
    assert world.cache.describe()["assumed_claims"] == 0


# -- devices


def test_a_claim_gets_devices_and_is_reserved() -> None:
    world = World(CLAIM, POD)
    bind(world, USES)
    assert (device_claim(world).allocation, device_claim(world).consumers) == (GPU, (ME,))
    assert allocated(world) == {"ns/gpus": ["gpu-0"]}
    wakes = world.wakes
    world.add(devices.resource_claim(metadata={"finalizers": [devices.FINALIZER]}))
    assert device_claim(world).allocation == GPU, "the first write was not this one yet"
    world.add(HELD)
    assert device_claim(world).consumers == (ME,)
    assert world.cache.describe()["assumed_claims"] == 0
    assert world.wakes == wakes + 1, "the nodes on which it can be used are new"
    world.add(CLAIM)
    assert allocated(world) == {}


def test_a_claim_that_pods_share_is_reserved_for_each() -> None:
    world = World(CLAIM, POD, make.pod("q"))
    bind(world, USES)
    bind(world, ClaimPlan(reserve=("ns/gpus",)), "q")
    assert device_claim(world).consumers == (ME, YOU)
    world.cache.assumptions.forget("uid-p")
    assert (device_claim(world).allocation, device_claim(world).consumers) == (GPU, (YOU,))
    world.add(devices.allocated(CLAIM, "n1", "gpu-0", pods=[make.pod("q")]))
    assert device_claim(world).consumers == (YOU,)
    assert world.cache.describe()["assumed_claims"] == 0


def test_devices_of_a_claim_are_not_ready_before_their_conditions_are() -> None:
    world = World(CLAIM, POD)
    waits = AllocationResult((AllocatedDevice("gpu", GPU.devices[0].device, binding_conditions=("Ready",)),))
    bind(world, ClaimPlan(devices=(DeviceChoice("ns/gpus", "uid-gpus", waits),), reserve=("ns/gpus",)))
    assert not device_claim(world).ready


@pytest.mark.parametrize(
    "ends",
    [
        pytest.param(lambda world: world.cache.assumptions.forget("uid-p"), id="the writes failed"),
        pytest.param(lambda world: world.delete(POD), id="the pod is gone"),
        pytest.param(
            lambda world: world.add(devices.resource_claim(metadata={"uid": "new"})), id="the claim was made again"
        ),
        pytest.param(list_without_node, id="a list shows that the pod was not bound"),
    ],
)
def test_what_was_chosen_for_a_device_claim_ends(ends: Any) -> None:
    world = World(CLAIM, POD)
    bind(world, USES)
    wakes = world.wakes
    ends(world)
    assert (device_claim(world).allocation, device_claim(world).consumers) == (None, ())
    assert allocated(world) == {}
    assert world.wakes > wakes
    assert world.cache.describe()["assumed_claims"] == 0


def test_a_claim_that_is_gone_takes_its_assumptions_along() -> None:
    world = World(CLAIM, POD)
    bind(world, USES)
    world.delete(CLAIM)
    assert allocated(world) == {}
    world.add(CLAIM)
    assert device_claim(world).consumers == ()
    assert world.cache.describe()["assumed_claims"] == 0


def test_devices_that_are_given_back_stay_taken_until_the_watch_shows_them_free() -> None:
    world = World(HELD, POD)
    release(world, device=True)
    assert (device_claim(world).allocation, device_claim(world).consumers) == (None, ())
    assert allocated(world) == {"ns/gpus": ["gpu-0"]}, "the write may still fail"
    plan = ClaimPlan(devices=(DeviceChoice("ns/gpus", "uid-gpus", OTHER),), reserve=("ns/gpus",))
    bind(world, plan)
    assert device_claim(world).allocation == OTHER
    assert allocated(world) == {"ns/gpus": ["gpu-0", "gpu-1"]}
    world.add(CLAIM)
    assert allocated(world) == {"ns/gpus": ["gpu-1"]}
    world.cache.assumptions.forget("uid-p")
    assert allocated(world) == {}


@pytest.mark.parametrize("device", [True, False], ids=["devices", "a node"])
def test_a_claim_that_cannot_be_given_back_is_as_it_was(device: bool) -> None:
    world = World(HELD, volumes.claim(selected_node="n1"))
    before = device_claim(world), claim_in(world)
    release(world, device=device)
    assert (device_claim(world), claim_in(world)) != before
    wakes = world.wakes
    world.cache.assumptions.claim_release_failed("ns/gpus" if device else "ns/data")
    assert (device_claim(world), claim_in(world)) == before
    assert world.wakes == wakes + 1
    world.cache.assumptions.claim_release_failed("ns/gpus")
    assert world.wakes == wakes + 1


def test_another_claim_of_that_name_is_not_given_back() -> None:
    world = World(HELD, volumes.claim(selected_node="n1"))
    release(world, device=True, uid="other")
    release(world, device=False, uid="other")
    assert device_claim(world).allocation is not None
    assert held(world) == ("", "n1")


# -- extended resources


EXTENDED = ClaimPlan(devices=(DeviceChoice("", "", GPU),))
OWNED = devices.from_template(CLAIM, POD)
FOR_EXTENDED = make.merged(
    OWNED, {"metadata": {"annotations": {"resource.kubernetes.io/extended-resource-claim": "true"}}}
)


def test_devices_for_extended_resources_are_taken_until_there_is_a_claim_that_has_them() -> None:
    world = World(POD)
    bind(world, EXTENDED)
    assert list(allocated(world).values()) == [["gpu-0"]]
    world.add(FOR_EXTENDED)
    assert world.snapshot().claims.devices.made == {"uid-p": "ns/gpus"}
    assert list(allocated(world).values()) == [["gpu-0"]]
    world.add(make.merged(FOR_EXTENDED, {"status": HELD["status"]}))
    assert allocated(world) == {"ns/gpus": ["gpu-0"]}
    assert world.cache.describe()["assumed_claims"] == 0
    world.delete(FOR_EXTENDED)
    assert world.snapshot().claims.devices.made == {}


@pytest.mark.parametrize(
    "ends",
    [
        pytest.param(lambda world: world.cache.assumptions.forget("uid-p"), id="the writes failed"),
        pytest.param(list_without_node, id="a list shows that the pod was not bound"),
    ],
)
def test_devices_for_extended_resources_are_free_again(ends: Any) -> None:
    world = World(POD)
    bind(world, EXTENDED)
    ends(world)
    assert allocated(world) == {}


# -- what the API server answers


def test_an_answer_to_a_write_is_as_good_as_the_watch() -> None:
    world = World(volumes.claim())
    written = make.merged(volumes.claim(selected_node="n1"), {"metadata": {"resourceVersion": "7"}})
    world.cache.intake.written("PersistentVolumeClaim", make.read(written))
    assert held(world) == ("", "n1")
    world.add(volumes.claim())
    assert held(world) == ("", "n1"), "an event from before the write comes late"
    world.version = 7
    world.add(volumes.claim())
    assert held(world) == ("", "")


def test_while_a_list_is_under_way_the_list_counts() -> None:
    world = World(volumes.claim())
    world.cache.intake.restart("PersistentVolumeClaim")
    written = make.merged(volumes.claim(selected_node="n1"), {"metadata": {"resourceVersion": "7"}})
    world.cache.intake.written("PersistentVolumeClaim", make.read(written))
    assert held(world) == ("", "")


# -- claims that the pods of a PodGroup share


def shared_world() -> World:
    """Two pods of a group for which a claim gets its devices."""
    world = World(CLAIM, POD, make.pod("q"))
    bind(world, GIVES)
    bind(world, SHARES, "q")
    return world


def test_a_claim_is_reserved_once_for_the_group_of_many_pods() -> None:
    found = device_claim(shared_world())
    assert (found.consumers, found.allocation) == ((GROUP,), GPU)


def test_a_claim_stays_reserved_for_a_group_until_the_last_of_its_pods_failed() -> None:
    world = shared_world()
    world.cache.assumptions.forget("uid-p")
    assert (device_claim(world).consumers, device_claim(world).allocation) == ((GROUP,), GPU)
    world.cache.assumptions.forget("uid-q")
    assert (device_claim(world).consumers, device_claim(world).allocation) == ((), None)
    assert world.cache.describe()["assumed_claims"] == 0


def test_what_the_watch_shows_of_a_group_takes_the_place_of_what_was_decided_for_all_its_pods() -> None:
    world = shared_world()
    held_by_group = devices.allocated(CLAIM, "n1", "gpu-0")
    said = {"resource": "podgroups", "apiGroup": "scheduling.k8s.io", "name": "g", "uid": "uid-g"}
    world.add(make.merged(held_by_group, {"status": {"reservedFor": [said]}}))
    assert device_claim(world).consumers == (GROUP,)
    assert world.cache.describe()["assumed_claims"] == 0
    world.cache.assumptions.forget("uid-p")
    assert device_claim(world).consumers == (GROUP,)
