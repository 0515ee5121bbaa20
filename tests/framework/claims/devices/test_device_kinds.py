"""Devices that are shared, far away, slow to be ready, or offered as extended resources; claims of PodGroups."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from tests.support.devicesets import GPU, DeviceWorld, amounts, device, gpus, has, only, pool, request, spec
from vsched.framework.claims.devices.words import TIMED_OUT
from vsched.framework.claims.part import ClaimRules
from vsched.model.claims.devices import (
    AllocatedDevice,
    CapacityPolicy,
    ClaimConsumer,
    Device,
    DeviceClass,
    DeviceConstraint,
    DeviceId,
    DeviceSelector,
)
from vsched.model.pods.shape import NodeTerm, Requirement, Toleration
from vsched.model.pods.status import Status

N1, N2 = 0, 1
RESOURCE = "example.com/gpu"
IN_A = NodeTerm(expressions=(Requirement("zone", "In", ("n",)),))
FAST = NodeTerm(expressions=(Requirement("fast", "Exists"),))


# -- devices that several claims use --------------------------------------------------------------------------------


def test_a_device_is_shared_until_its_capacity_is_used_up() -> None:
    policy = CapacityPolicy(default=10_000, least=10_000, step=10_000)
    one = device("g", capacity=amounts(memory=40), shareable=True, policies=(("gpu/memory", policy),))
    world = DeviceWorld(pool(one), nodes=["n1"])
    runs = world.pod("run", "held", status=Status.RUNNING, node="n1")
    used = AllocatedDevice("r", one.id, share="s", consumed=amounts(memory=10))
    world.claim("held", allocation=has(used), users=[runs])
    pods = [world.own(name, request(capacity=amounts(memory=15))) for name in ("p", "q")]
    part = world.part()
    assert part.is_exact(pods[0])
    assert part.limits(pods[0])[0].most.tolist() == [1]
    part.take(pods[0], N1, later=False)
    plan = part.plan(pods[0])
    assert plan is not None
    [result] = plan.devices[0].allocation.devices
    assert result.consumed == amounts(memory=20)
    assert len(result.share) == 36
    assert part.serving(pods[1]) == []
    part.evict(runs, N1)
    assert (part.serving(pods[1]), part.serving(pods[1], later=True)) == ([], ["n1"])


def test_a_shared_device_may_serve_a_request_several_times_unless_a_constraint_forbids_it() -> None:
    world = DeviceWorld(
        pool(
            device("a", capacity=amounts(memory=4), shareable=True, attributes={"id": "a"}),
            device("b", capacity=amounts(memory=4), shareable=True, attributes={"id": "b"}),
        ),
        nodes=["n1"],
    )
    asked = request("r", 3, capacity=amounts(memory=2))
    several, apart = (
        world.own("p", asked),
        world.own(
            "q",
            spec(request("r", 2, capacity=amounts(memory=2)), constraints=[DeviceConstraint("gpu/id", distinct=True)]),
        ),
    )
    part = world.part()
    part.take(several, N1, later=False)
    assert part.got(several) == ["r=a", "r=a", "r=b"]
    shares = [one.share for one in (part.plan(several) or pytest.fail("no plan")).devices[0].allocation.devices]
    assert len(set(shares)) == 3
    part.give_back(several, N1)
    part.take(apart, N1, later=False)
    assert part.got(apart) == ["r=a", "r=b"]


def test_administrative_access_sees_devices_in_use() -> None:
    world = DeviceWorld(gpus("n1", 1), nodes=["n1"])
    runs = world.pod("run", "held", status=Status.RUNNING, node="n1")
    world.claim("held", allocation=has("gpu-0"), users=[runs])
    watcher, other = world.own("p", request(admin=True)), world.own("q", request(admin=True))
    part = world.part()
    part.take(watcher, N1, later=False)
    assert part.got(watcher) == ["r=gpu-0"]
    assert part.serving(other) == ["n1"]
    plan = part.plan(watcher)
    assert plan is not None
    assert plan.devices[0].allocation.devices[0].admin


# -- devices that are not on one node -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("devices", "nodes"),
    [
        pytest.param([device("d", "", pool="x", nodes=None)], None, id="every node reaches it"),
        pytest.param([device("d", "", pool="x", nodes=(IN_A,))], (IN_A,), id="the selector of the device"),
        pytest.param(
            [device("d", "", pool="x", nodes=(IN_A,)), device("e", "", pool="x", nodes=(FAST,))],
            (NodeTerm(expressions=(*IN_A.expressions, *FAST.expressions)),),
            id="the selectors of several devices, all of which must hold",
        ),
        pytest.param(
            [device("d", "", pool="x", nodes=(IN_A,)), device("e", "n1", pool="x")], only("n1"), id="a device of a node"
        ),
        pytest.param(
            [device("d", "", pool="x", nodes=None, binds_to_node=True)],
            only("n1"),
            id="a device that binds to the node",
        ),
    ],
)
def test_where_an_allocation_can_be_used(devices: list[Device], nodes: tuple[NodeTerm, ...] | None) -> None:
    world = DeviceWorld(pool(*devices), nodes=[])
    world.cluster.node("n1", zone="n", fast="yes")
    task = world.own("p", request(count=len(devices)))
    part = world.part()
    part.take(task, N1, later=False)
    plan = part.plan(task)
    assert plan is not None
    assert plan.devices[0].allocation.nodes == nodes


def test_devices_of_a_network_are_counted_once_for_all_nodes() -> None:
    world = DeviceWorld(pool(*(device(f"d{at}", "", pool="net", nodes=None) for at in range(3))))
    pods = [world.own(name, request(count=2)) for name in ("p", "q")]
    part = world.part()
    [limit] = part.limits(pods[0])
    assert (limit.most.tolist(), limit.together) == ([1, 1], 1)
    part.take(pods[0], N1, later=False)
    assert part.serving(pods[1]) == []


# -- binding conditions, tolerations --------------------------------------------------------------------------------


def test_the_allocation_carries_binding_conditions_and_tolerations() -> None:
    slow = device("d", taints=["k:NoSchedule"], binding_conditions=("Ready",), binding_failures=("Broken",))
    world = DeviceWorld(pool(slow), nodes=["n1"])
    tolerations = (Toleration("k", "Exists"),)
    task = world.own("p", request(tolerations=tolerations))
    part = world.part()
    part.take(task, N1, later=False)
    plan = part.plan(task)
    assert plan is not None
    [result] = plan.devices[0].allocation.devices
    assert result.device == DeviceId("gpu", "n1", "d")
    assert (result.binding_conditions, result.binding_failures) == (("Ready",), ("Broken",))
    assert result.tolerations == tolerations


@pytest.mark.parametrize(
    ("effect", "running", "blocked"),
    [
        pytest.param("NoExecute", False, True, id="a waiting pod would be evicted from the device"),
        pytest.param("NoSchedule", False, False, id="what is allocated already may stay"),
        pytest.param("NoExecute", True, False, id="pods run with it"),
    ],
)
def test_a_device_that_gets_a_taint_after_it_was_allocated(effect: str, running: bool, blocked: bool) -> None:
    world = DeviceWorld(pool(device("d", taints=[f"k:{effect}"])), nodes=["n1"])
    users = [world.pod("run", "mine", status=Status.RUNNING, node="n1")] if running else []
    world.claim("mine", allocation=has("d"), users=users)
    found = world.part().obstacle(world.pod("p", "mine"))
    assert (found is not None) is blocked


# -- claims of PodGroups --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("group", "serving", "reserve"),
    [
        pytest.param("job", ["n1"], (), id="the PodGroup of the pod: nothing is left to be reserved"),
        pytest.param("other", [], ("ns/shared",), id="another PodGroup"),
    ],
)
def test_a_claim_that_is_reserved_for_a_pod_group(group: str, serving: list[str], reserve: tuple[str, ...]) -> None:
    world = DeviceWorld(gpus("n1", 1), nodes=["n1"])
    consumers = [ClaimConsumer("g", group, "podgroups", "scheduling.k8s.io")]
    consumers += [ClaimConsumer(f"u{at}", f"o{at}") for at in range(255)]
    world.claim("shared", allocation=has("gpu-0"), consumers=tuple(consumers))
    task = world.pod("p", "shared")
    part = world.part()
    assert part.serving(task) == serving
    part.take(task, N1, later=False)
    plan = part.plan(task)
    assert (() if plan is None else plan.reserve) == reserve


# -- extended resources ---------------------------------------------------------------------------------------------


def extended(classes: Sequence[DeviceClass] = (GPU,)) -> DeviceWorld:
    """Devices serve the resource on n1; n2 has a device plugin for it."""
    world = DeviceWorld(gpus("n1", 3), gpus("n2", 1), classes=classes)
    world.extended = {RESOURCE: "gpu"}
    world.plugins = {RESOURCE: frozenset(["n2"])}
    return world


def test_an_extended_resource_gets_devices_where_there_is_no_device_plugin() -> None:
    world = extended()
    pods = [world.pod(name, **{RESOURCE: 2000}) for name in ("p", "q")]
    part = world.part()
    assert part.concerns(pods[0])
    assert part.is_exact(pods[0])
    assert part.serving(pods[0]) == part.passing(pods[0]) == ["n1", "n2"]
    part.take(pods[0], N1, later=False)
    plan = part.plan(pods[0])
    assert plan is not None
    assert (plan.devices[0].claim, plan.devices[0].uid, plan.reserve) == ("", "", ())
    assert part.got(pods[0]) == [f"{RESOURCE}=gpu-0", f"{RESOURCE}=gpu-1"]
    assert part.serving(pods[1]) == ["n2"]
    part.take(pods[1], N2, later=False)
    assert part.plan(pods[1]) is None, "the device plugin serves it"
    part.give_back(pods[1], N2)
    part.give_back(pods[0], N1)
    assert part.serving(pods[1]) == ["n1", "n2"]


def test_a_claim_and_an_extended_resource_of_one_pod_get_different_devices() -> None:
    world = extended()
    world.claim("p-claim", request(count=2), owner="uid-p")
    fits, too_large = world.pod("p", "p-claim@", **{RESOURCE: 1000}), world.pod("p", "p-claim@", **{RESOURCE: 2000})
    part = world.part()
    assert part.serving(fits) == ["n1"]
    assert part.serving(too_large) == []
    part.take(fits, N1, later=False)
    assert part.got(fits) == ["r=gpu-0", "r=gpu-1", f"{RESOURCE}=gpu-2"]


def test_a_class_that_cannot_serve_an_extended_resource_leaves_the_nodes_with_a_device_plugin() -> None:
    for classes, number in (([DeviceClass("gpu", (DeviceSelector("nope"),))], 1000), ([GPU], 33_000)):
        world = extended(classes=classes)
        task = world.pod("p", **{RESOURCE: number})
        part = world.part()
        assert part.obstacle(task) is None
        assert part.serving(task) == part.passing(task) == ["n2"]


def test_a_claim_that_was_made_for_extended_resources_is_used_again() -> None:
    world = extended()
    task = world.pod("p", **{RESOURCE: 2000})
    world.claim("made", allocation=has("gpu-1", "gpu-2"), consumers=(ClaimConsumer(task.uid, "p"),), owner=task.uid)
    world.made = {task.uid: "ns/made"}
    part = world.part()
    assert part.serving(task) == ["n1"]
    part.take(task, N1, later=False)
    plan = part.plan(task)
    assert plan is not None
    assert (plan.devices, plan.reserve) == ((), ("ns/made",))


# -- what an evicted pod would need elsewhere -----------------------------------------------------------------------


def test_the_successor_of_an_evicted_pod_gets_a_claim_of_its_own() -> None:
    world = DeviceWorld(gpus("n1", 1), gpus("n2", 1))
    runs = world.pod("run", "run-claim@", status=Status.RUNNING, node="n1")
    world.claim("run-claim", allocation=has("gpu-0"), users=[runs], owner=runs.uid)
    part = world.part()
    part.evict(runs, N1)
    assert part.serving(runs) == ["n2"]
    part.take(runs, N2, later=False)
    assert part.got(runs) == ["r=gpu-0"]
    part.give_back(runs, N2)
    part.restore(runs, N1)
    assert part.serving(runs) == ["n1"]


def test_a_search_that_takes_too_long_says_so() -> None:
    world = DeviceWorld(gpus("n1", 16), nodes=["n1"])
    asked = [request("a", 8, "true"), request("b", 8, "true || true"), request("c", 1, "!false")]
    world.claim("p-claim", spec(*asked), owner="uid-p")
    task = world.pod("p", "p-claim@")
    part = world.part(ClaimRules(search_seconds=0.005))
    assert part.passing(task) == ["n1"]
    assert part.serving(task) == []
    assert part.unfit(task).reason == TIMED_OUT
