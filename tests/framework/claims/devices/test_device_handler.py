"""Devices in a session: which nodes serve a pod, what it gets, and that steps back leave no trace."""

from __future__ import annotations

import pytest
from msgspec.structs import replace as changed

from tests.support.devicesets import DeviceWorld, device, gpus, has, only, pool, request, spec
from vsched.framework.claims.devices import words
from vsched.framework.claims.devices.handler import device_handler
from vsched.framework.claims.handler import ClaimRules
from vsched.framework.words.nodes import DEVICES_ELSEWHERE
from vsched.model.claims.devices import (
    ALL,
    AllocationResult,
    ClaimConsumer,
    DeviceClaim,
    DeviceClass,
    DeviceRequest,
    DeviceSelector,
)
from vsched.model.pods.shape import Rules
from vsched.model.pods.status import Status

N1, N2 = 0, 1
ONE = request()


def test_counts_say_which_nodes_have_enough_devices() -> None:
    world = DeviceWorld(gpus("n1", 4), gpus("n2", 2))
    pods = [world.own(f"p{number}", request(count=3)) for number in range(2)]
    handler = world.handler()
    assert handler.is_exact(pods[0])
    assert handler.passing(pods[0]) == handler.serving(pods[0]) == ["n1"]
    handler.take(pods[0], N1, later=False)
    assert handler.got(pods[0]) == ["r=gpu-0", "r=gpu-1", "r=gpu-2"]
    assert handler.serving(pods[1]) == handler.serving(pods[1], later=True) == []
    handler.give_back(pods[0], N1)
    assert handler.serving(pods[1]) == ["n1"]
    assert handler.plan(pods[0]) is None or not handler.plan(pods[0]).devices


def test_devices_in_use_are_free_later_once_all_users_are_evicted() -> None:
    world = DeviceWorld(gpus("n1", 2), nodes=["n1"])
    running = [world.pod(name, "held", status=Status.RUNNING, node="n1") for name in ("a", "b")]
    world.claim("held", request(count=2), allocation=has("gpu-0", "gpu-1"), users=running)
    waiting = world.own("p", request(count=1))
    handler = world.handler()
    assert handler.serving(waiting) == handler.serving(waiting, later=True) == []
    handler.evict(running[0], N1)
    assert handler.serving(waiting, later=True) == []
    handler.evict(running[1], N1)
    assert handler.serving(waiting) == []
    assert handler.serving(waiting, later=True) == ["n1"]
    handler.take(waiting, N1, later=True)
    assert handler.got(waiting) == ["r=gpu-0"]
    handler.give_back(waiting, N1)
    handler.restore(running[1], N1)
    assert handler.serving(waiting, later=True) == []


def test_pods_that_are_leaving_hold_their_devices_now_and_not_later() -> None:
    world = DeviceWorld(gpus("n1", 1), nodes=["n1"])
    leaving = world.pod("a", "held", status=Status.RELEASING, node="n1")
    world.claim("held", allocation=has("gpu-0"), users=[leaving])
    pods = [world.own("p"), world.own("q")]
    handler = world.handler()
    assert (handler.serving(pods[0]), handler.serving(pods[0], later=True)) == ([], ["n1"])
    handler.take(pods[0], N1, later=True)
    assert handler.serving(pods[1], later=True) == []


def test_a_shared_claim_gets_devices_with_its_first_pod_and_the_others_follow() -> None:
    world = DeviceWorld(gpus("n1", 1), gpus("n2", 1))
    world.claim("shared")
    one, other = world.pod("p", "shared"), world.pod("q", "shared")
    handler = world.handler()
    assert handler.class_of(one) == handler.class_of(other)
    handler.take(one, N2, later=False)
    assert handler.serving(other) == ["n2"]
    handler.take(other, N2, later=False)
    for task in (one, other):
        plan = handler.plan(task)
        assert plan is not None
        assert [choice.claim for choice in plan.devices] == ["ns/shared"]
        assert plan.devices[0].allocation.nodes == only("n2")
        assert plan.reserve == ("ns/shared",)
    handler.withdraw(one, N2)
    assert handler.serving(one) == ["n2"], "the other pod still uses it"
    handler.withdraw(other, N2)
    assert handler.serving(one) == ["n1", "n2"]


def test_what_was_withdrawn_comes_back_exactly() -> None:
    world = DeviceWorld(gpus("n1", 2), nodes=["n1"])
    one, other, third = world.own("p"), world.own("q"), world.own("s")
    handler = world.handler()
    handler.take(one, N1, later=False)
    handler.take(other, N1, later=False)
    had = handler.withdraw(one, N1)
    assert handler.serving(one) == ["n1"]
    handler.reinstate(one, N1, had)
    assert (handler.got(one), handler.got(other)) == (["r=gpu-0"], ["r=gpu-1"])
    assert handler.serving(third) == []


def test_an_allocated_claim_is_usable_where_its_devices_are() -> None:
    world = DeviceWorld(gpus("n1", 1), gpus("n2", 1))
    world.claim("mine", allocation=has("gpu-0", node="n2"), consumers=(ClaimConsumer("uid-p", "p"),))
    task = world.pod("p", "mine")
    handler = world.handler()
    assert handler.serving(task) == ["n2"]
    assert [check.reason for check in handler.checks(task)] == [DEVICES_ELSEWHERE]
    handler.take(task, N2, later=False)
    plan = handler.plan(task)
    assert plan is not None
    assert (plan.devices, plan.reserve) == ((), ("ns/mine",))


def of_pod(
    asked: DeviceRequest = ONE,
    *,
    owner: str = "uid-p",
    allocation: AllocationResult | None = None,
    deleting: bool = False,
    failed: str = "",
) -> DeviceClaim:
    """The claim that was made for the pod ``p``."""
    return DeviceClaim(
        "ns/p-claim", "uid-p-claim", spec(asked), allocation, owner=owner, deleting=deleting, failed=failed
    )


def test_a_claim_is_reserved_for_256_pods_at_most() -> None:
    world = DeviceWorld(gpus("n1", 1), nodes=["n1"])
    others = tuple(ClaimConsumer(f"u{number}", f"o{number}") for number in range(255))
    world.claim("busy", allocation=has("gpu-0"), consumers=others)
    one, other = world.pod("p", "busy"), world.pod("q", "busy")
    handler = world.handler()
    handler.take(one, N1, later=False)
    assert next(check.reason for check in handler.checks(other)) == "resourceclaim in use"
    assert handler.serving(other) == []
    handler.give_back(one, N1)
    assert handler.serving(other) == ["n1"]


@pytest.mark.parametrize(
    ("claim", "message"),
    [
        pytest.param(of_pod(deleting=True), words.deleting("p-claim"), id="a claim that is being deleted"),
        pytest.param(
            of_pod(owner="uid-other"),
            words.not_owner("ns/p-claim", "ns/p"),
            id="a claim made for another pod",
        ),
        pytest.param(
            of_pod(asked=request("r", 1, device_class="nope")),
            words.class_missing("nope"),
            id="a class that does not exist",
        ),
        pytest.param(
            of_pod(asked=request("r", 1, "device.attributes['gpu'].nope == 1")),
            words.selector_failed(words.of_request("r"), 0, "no such key: nope", compiles=True),
            id="a selector without an answer",
        ),
        pytest.param(
            of_pod(asked=request("r", 1, "device.driver = 1")),
            words.selector_failed(words.of_request("r"), 0, "ERROR: <input>:1:15", compiles=False),
            id="a selector that is no expression",
        ),
        pytest.param(
            of_pod(asked=request("r", 1, "device.attributes['gpu'].all(k, device.attributes['gpu'].all(l, k != l))")),
            words.too_costly(500_000),
            id="a selector that takes long for many devices",
        ),
        pytest.param(
            of_pod(asked=request("r", 33)),
            words.too_many(33, 32),
            id="more devices than a claim can have",
        ),
        pytest.param(
            of_pod(allocation=has("gpu-99")),
            words.device_gone("ns/p-claim", "gpu/n1/gpu-99"),
            id="a device that is gone, and no pod runs with it",
        ),
        pytest.param(
            of_pod(allocation=has("gpu-0"), failed="LinkDown"),
            words.binding_failed("ns/p-claim", "LinkDown"),
            id="a device that could not be made ready",
        ),
    ],
)
def test_what_nobody_can_use(claim: DeviceClaim, message: str) -> None:
    world = DeviceWorld(gpus("n1", 64))
    world.claims[claim.key] = claim
    found = world.handler().obstacle(world.pod("p", "p-claim@"))
    assert found is not None
    assert found.message.startswith(message)


def test_claims_that_are_not_there() -> None:
    world = DeviceWorld(gpus("n1", 1))
    handler = world.handler()
    missing, unmade = handler.obstacle(world.pod("p", "nope")), handler.obstacle(world.pod("p", "@"))
    assert missing is not None
    assert unmade is not None
    assert missing.message == words.not_found("nope")
    assert unmade.message == words.not_made("ns/p")


def test_a_broken_selector_of_a_class_names_the_class() -> None:
    world = DeviceWorld(gpus("n1", 1), classes=[DeviceClass("gpu", (DeviceSelector("true"), DeviceSelector("1")))])
    task = world.own("p")
    found = world.handler().obstacle(task)
    assert found is not None
    assert found.message == "class gpu: selector #1: CEL runtime error: must evaluate to bool, not int"


@pytest.mark.parametrize(
    ("zone", "stops"),
    [
        pytest.param("", True, id="the pod could run on the node of such a device"),
        pytest.param("n1", False, id="it may not run on any of their nodes"),
        pytest.param("n2", True, id="it may only run on such a node"),
    ],
)
def test_a_selector_that_fails_for_some_devices_stops_the_pod_and_not_only_on_their_nodes(
    zone: str, stops: bool
) -> None:
    world = DeviceWorld(gpus("n1", 1, attributes={"model": "h"}), gpus("n2", 1))
    task = world.own("p", request("r", 1, "device.attributes['gpu'].model == 'h'"))
    if zone:
        rules = Rules(required=only(zone))
        task = changed(task, shape=changed(task.shape, rules=rules))
    handler = world.handler()
    found = handler.obstacle(task)
    assert (found is not None) is stops
    if found is not None:
        assert found.message == "request r: selector #0: CEL runtime error: no such key: model"
    assert handler.serving(task) == ["n1"]


def test_all_devices_of_a_node() -> None:
    world = DeviceWorld(gpus("n1", 3), pool(device("a", "n2"), device("b", "n2")), nodes=["n1", "n2", "n3"])
    runs = world.pod("a", "held", status=Status.RUNNING, node="n1")
    world.claim("held", allocation=has("gpu-1"), users=[runs])
    task = world.own("p", request(mode=ALL))
    handler = world.handler()
    assert handler.is_exact(task)
    assert handler.serving(task) == ["n2"]
    handler.evict(runs, N1)
    assert handler.serving(task, later=True) == ["n1", "n2"]
    handler.take(task, N2, later=False)
    assert handler.got(task) == ["r=a", "r=b"]


def test_a_pool_with_missing_slices_or_a_name_twice_is_not_used() -> None:
    good = pool(device("a", "n1", pool="good"))
    for fields in ({"complete": False}, {"problem": "duplicate device name a"}):
        world = DeviceWorld(good, pool(device("a", "n1", pool="bad"), device("b", "n2", pool="bad"), **fields))
        one, every = world.own("p"), world.own("q", request(mode=ALL))
        handler = world.handler()
        assert handler.serving(one) == ["n1"]
        assert handler.serving(every) == []


def test_rules_turn_devices_off() -> None:
    world = DeviceWorld(gpus("n1", 1))
    snapshot = world.cluster.snapshot()
    assert device_handler(snapshot, snapshot.nodes, ClaimRules(devices=False)) is None
    assert device_handler(snapshot, snapshot.nodes, ClaimRules()) is not None


def test_limits_say_how_many_more_could_be_placed() -> None:
    world = DeviceWorld(gpus("n1", 5), gpus("n2", 1))
    pods = [world.own(f"p{number}", request(count=2)) for number in range(2)]
    world.claim("shared", request(count=2))
    handler = world.handler()
    [limit] = handler.limits(pods[0])
    assert limit.most.tolist() == [2, 0]
    handler.take(pods[1], N1, later=False)
    [limit] = handler.limits(pods[0])
    assert limit.most.tolist() == [1, 0]
    assert handler.limits(world.pod("s", "shared")) == []


def test_a_later_alternative_scores_less() -> None:
    world = DeviceWorld(
        gpus("n1", 2, attributes={"model": "a"}), gpus("n2", 2, attributes={"model": "h"}), nodes=["n1", "n2", "n3"]
    )
    choices = [
        request("r/best", 2, "device.attributes['gpu'].model == 'h'"),
        request("r/other", 1, "device.attributes['gpu'].model == 'a'"),
    ]
    task, second, third = (world.own(name, spec(choices)) for name in ("p", "q", "s"))
    handler = world.handler()
    assert handler.is_exact(task)
    assert handler.serving(task) == ["n1", "n2"]
    scores = handler.score(task)
    assert scores is not None
    assert scores.tolist() == [87.5, 100.0, 0.0]
    handler.take(task, N1, later=False)
    assert handler.got(task) == ["r/other=gpu-0"]
    handler.take(second, N2, later=False)
    scores = handler.score(third)
    assert scores is not None
    assert scores.tolist() == [87.5, 0.0, 0.0], "n2 has nothing left"
