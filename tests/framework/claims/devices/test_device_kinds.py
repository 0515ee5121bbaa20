"""Devices that are shared, far away, slow to be ready, or offered as extended resources; claims of PodGroups."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from tests.support.devicesets import GPU, DeviceWorld, amounts, device, gpus, has, only, pool, request, spec
from vsched.framework.claims.devices.words import TIMED_OUT
from vsched.framework.claims.handler import ClaimRules
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
    handler = world.handler()
    assert handler.is_exact(pods[0])
    assert handler.limits(pods[0])[0].most.tolist() == [1]
    handler.take(pods[0], N1, later=False)
    plan = handler.plan(pods[0])
    assert plan is not None
    [result] = plan.devices[0].allocation.devices
    assert result.consumed == amounts(memory=20)
    assert len(result.share) == 36
    assert handler.serving(pods[1]) == []
    handler.evict(runs, N1)
    assert (handler.serving(pods[1]), handler.serving(pods[1], later=True)) == ([], ["n1"])


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
    handler = world.handler()
    handler.take(several, N1, later=False)
    assert handler.got(several) == ["r=a", "r=a", "r=b"]
    shares = [one.share for one in (handler.plan(several) or pytest.fail("no plan")).devices[0].allocation.devices]
    assert len(set(shares)) == 3
    handler.give_back(several, N1)
    handler.take(apart, N1, later=False)
    assert handler.got(apart) == ["r=a", "r=b"]


def test_administrative_access_sees_devices_in_use() -> None:
    world = DeviceWorld(gpus("n1", 1), nodes=["n1"])
    runs = world.pod("run", "held", status=Status.RUNNING, node="n1")
    world.claim("held", allocation=has("gpu-0"), users=[runs])
    watcher, other = world.own("p", request(admin=True)), world.own("q", request(admin=True))
    handler = world.handler()
    handler.take(watcher, N1, later=False)
    assert handler.got(watcher) == ["r=gpu-0"]
    assert handler.serving(other) == ["n1"]
    plan = handler.plan(watcher)
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
    handler = world.handler()
    handler.take(task, N1, later=False)
    plan = handler.plan(task)
    assert plan is not None
    assert plan.devices[0].allocation.nodes == nodes


def test_devices_of_a_network_are_counted_once_for_all_nodes() -> None:
    world = DeviceWorld(pool(*(device(f"d{at}", "", pool="net", nodes=None) for at in range(3))))
    pods = [world.own(name, request(count=2)) for name in ("p", "q")]
    handler = world.handler()
    [limit] = handler.limits(pods[0])
    assert (limit.most.tolist(), limit.together) == ([1, 1], 1)
    handler.take(pods[0], N1, later=False)
    assert handler.serving(pods[1]) == []


# -- binding conditions, tolerations --------------------------------------------------------------------------------


def test_the_allocation_carries_binding_conditions_and_tolerations() -> None:
    slow = device("d", taints=["k:NoSchedule"], binding_conditions=("Ready",), binding_failures=("Broken",))
    world = DeviceWorld(pool(slow), nodes=["n1"])
    tolerations = (Toleration("k", "Exists"),)
    task = world.own("p", request(tolerations=tolerations))
    handler = world.handler()
    handler.take(task, N1, later=False)
    plan = handler.plan(task)
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
    found = world.handler().obstacle(world.pod("p", "mine"))
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
    handler = world.handler()
    assert handler.serving(task) == serving
    handler.take(task, N1, later=False)
    plan = handler.plan(task)
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
    handler = world.handler()
    assert handler.concerns(pods[0])
    assert handler.is_exact(pods[0])
    assert handler.serving(pods[0]) == handler.passing(pods[0]) == ["n1", "n2"]
    handler.take(pods[0], N1, later=False)
    plan = handler.plan(pods[0])
    assert plan is not None
    assert (plan.devices[0].claim, plan.devices[0].uid, plan.reserve) == ("", "", ())
    assert handler.got(pods[0]) == [f"{RESOURCE}=gpu-0", f"{RESOURCE}=gpu-1"]
    assert handler.serving(pods[1]) == ["n2"]
    handler.take(pods[1], N2, later=False)
    assert handler.plan(pods[1]) is None, "the device plugin serves it"
    handler.give_back(pods[1], N2)
    handler.give_back(pods[0], N1)
    assert handler.serving(pods[1]) == ["n1", "n2"]


def test_a_claim_and_an_extended_resource_of_one_pod_get_different_devices() -> None:
    world = extended()
    world.claim("p-claim", request(count=2), owner="uid-p")
    fits, too_large = world.pod("p", "p-claim@", **{RESOURCE: 1000}), world.pod("p", "p-claim@", **{RESOURCE: 2000})
    handler = world.handler()
    assert handler.serving(fits) == ["n1"]
    assert handler.serving(too_large) == []
    handler.take(fits, N1, later=False)
    assert handler.got(fits) == ["r=gpu-0", "r=gpu-1", f"{RESOURCE}=gpu-2"]


def test_a_class_that_cannot_serve_an_extended_resource_leaves_the_nodes_with_a_device_plugin() -> None:
    for classes, number in (([DeviceClass("gpu", (DeviceSelector("nope"),))], 1000), ([GPU], 33_000)):
        world = extended(classes=classes)
        task = world.pod("p", **{RESOURCE: number})
        handler = world.handler()
        assert handler.obstacle(task) is None
        assert handler.serving(task) == handler.passing(task) == ["n2"]


def test_a_claim_that_was_made_for_extended_resources_is_used_again() -> None:
    world = extended()
    task = world.pod("p", **{RESOURCE: 2000})
    world.claim("made", allocation=has("gpu-1", "gpu-2"), consumers=(ClaimConsumer(task.uid, "p"),), owner=task.uid)
    world.made = {task.uid: "ns/made"}
    handler = world.handler()
    assert handler.serving(task) == ["n1"]
    handler.take(task, N1, later=False)
    plan = handler.plan(task)
    assert plan is not None
    assert (plan.devices, plan.reserve) == ((), ("ns/made",))


# -- what an evicted pod would need elsewhere -----------------------------------------------------------------------


def test_the_successor_of_an_evicted_pod_gets_a_claim_of_its_own() -> None:
    world = DeviceWorld(gpus("n1", 1), gpus("n2", 1))
    runs = world.pod("run", "run-claim@", status=Status.RUNNING, node="n1")
    world.claim("run-claim", allocation=has("gpu-0"), users=[runs], owner=runs.uid)
    handler = world.handler()
    handler.evict(runs, N1)
    assert handler.serving(runs) == ["n2"]
    handler.take(runs, N2, later=False)
    assert handler.got(runs) == ["r=gpu-0"]
    handler.give_back(runs, N2)
    handler.restore(runs, N1)
    assert handler.serving(runs) == ["n1"]


def test_a_search_that_takes_too_long_says_so() -> None:
    world = DeviceWorld(gpus("n1", 16), nodes=["n1"])
    asked = [request("a", 8, "true"), request("b", 8, "true || true"), request("c", 1, "!false")]
    world.claim("p-claim", spec(*asked), owner="uid-p")
    task = world.pod("p", "p-claim@")
    handler = world.handler(ClaimRules(search_seconds=0.005))
    assert handler.passing(task) == ["n1"]
    assert handler.serving(task) == []
    assert handler.unfit(task).reason == TIMED_OUT
