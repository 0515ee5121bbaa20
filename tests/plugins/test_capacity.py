"""capacity with queues side by side: what they deserve, may hold and may claim. Excludes trees and victims."""

from __future__ import annotations

import pytest

from tests.plugins.quota_world import Quotas, cpu, memory, pods
from tests.support.plans import plan, policy_of
from vsched.framework.refusal import Refusal
from vsched.model.amounts.resources import CPU, Amounts
from vsched.plugins.capacity import CapacityArgs
from vsched.plugins.words.queues import over_limit, quota_insufficient


@pytest.mark.parametrize(
    ("fields", "deserved"),
    [
        pytest.param({"deserved": cpu(4000)}, 4000, id="what it says"),
        pytest.param({"deserved": cpu(4000), "capability": cpu(3000)}, 3000, id="at most the capability"),
        pytest.param({"deserved": cpu(99_000)}, 8000, id="at most what others leave of the cluster"),
        pytest.param({"deserved": cpu(1000), "guarantee": cpu(3000)}, 3000, id="at least the guarantee"),
        pytest.param({}, 0, id="nothing unless it says so"),
    ],
)
def test_what_a_queue_deserves(fields: dict[str, Amounts], deserved: int) -> None:
    world = Quotas().queue("a", **fields).queue("b", guarantee=cpu(2000))
    division = world.plugin.division(world.found("a"))

    assert division is not None
    assert division.deserved.get(CPU, 0) == deserved


@pytest.mark.parametrize(
    ("holds", "fields", "share"),
    [
        pytest.param(1, {"deserved": cpu(4000)}, 0.25, id="of what it deserves"),
        pytest.param(6, {"deserved": cpu(4000)}, 1.5, id="above one where it holds more"),
        pytest.param(1, {"deserved": (*cpu(4000), *pods(2))}, 0.5, id="the largest counts"),
        pytest.param(0, {}, 1.0, id="one where nothing is deserved, whatever it holds"),
        pytest.param(5, {"deserved": pods(9)}, 1.0, id="or nothing but pods"),
    ],
)
def test_the_share_of_a_queue(holds: int, fields: dict[str, Amounts], share: float) -> None:
    world = Quotas().queue("a", holds, **fields)
    division = world.plugin.division(world.found("a"))

    assert division is not None
    assert division.share == pytest.approx(share)
    assert division.overused is (share > 1)
    assert world.plugin.queue_score(world.found("a")) == pytest.approx(1 - share)


def test_queues_go_by_priority_then_share_then_those_that_deserve_something() -> None:
    world = Quotas().queue("best-effort").queue("full", 2, deserved=cpu(2000)).queue("half", 1, deserved=cpu(2000))
    world.queue("first", 9, deserved=cpu(1000), priority=1)

    assert world.in_order("best-effort", "full", "half", "first") == ["first", "half", "full", "best-effort"]


@pytest.mark.parametrize(
    ("fields", "amount", "refusal"),
    [
        pytest.param({}, 5000, "", id="all that others are not guaranteed"),
        pytest.param({}, 5001, over_limit("a", "a", "cpu"), id="no more than that"),
        pytest.param({"deserved": cpu(1000)}, 5000, "", id="more than it deserves: what others do not use is lent"),
        pytest.param({"capability": cpu(4000)}, 2000, "", id="up to the capability"),
        pytest.param({"capability": cpu(4000)}, 2001, over_limit("a", "a", "cpu"), id="not past it"),
        pytest.param({"capability": memory(1)}, 5000, "", id="of what the capability does not name, as before"),
        pytest.param({"guarantee": cpu(1000)}, 5000, "", id="its own guarantee takes nothing from it"),
        pytest.param({"state": "Closed"}, 1, "queue a is Closed, not Open", id="nothing while it is closed"),
    ],
)
def test_a_queue_that_holds_two_of_ten_cores_may_take(fields: dict[str, object], amount: int, refusal: str) -> None:
    world = Quotas().queue("a", 2, **fields).queue("b", guarantee=cpu(3000))

    assert world.refusal("a", cpu(amount)) == refusal


def test_a_capability_of_none_is_a_limit() -> None:
    world = Quotas()
    world.queue("a", capability=((world.gpu, 0),)).queue("b")

    assert world.refusal("a", ((world.gpu, 1),)) == over_limit("a", "a", "example.com/gpu")
    assert world.refusal("b", ((world.gpu, 1),)) == ""


def test_a_capability_of_none_reaches_the_cycle() -> None:
    queue = "node n1 gpu=2\nqueue a capability=cpu:4,gpu:0"
    jobs = "job ns/a queue=a pods=1 cpu=1 gpu=1\njob ns/b queue=a pods=1 cpu=1"

    found = plan(f"{queue}\n{jobs}", policy_of("gang capacity", "predicates"))
    assert found.bound == {"b": 1}
    assert found.why("ns/a.0") == "queue a may hold 0 example.com/gpu at most: 1 asked"


@pytest.mark.parametrize(
    ("fields", "request_", "may"),
    [
        pytest.param({"deserved": cpu(3000)}, cpu(1000), True, id="up to what it deserves"),
        pytest.param({"deserved": cpu(3000)}, cpu(1001), False, id="not past it"),
        pytest.param(
            {"deserved": (*cpu(1000), *memory(10))},
            (*cpu(1000), *memory(10)),
            True,
            id="one resource deserved suffices",
        ),
        pytest.param({"deserved": pods(99)}, (*cpu(1000), *pods(1)), False, id="pods are no such resource"),
        pytest.param({}, cpu(1), False, id="where nothing is deserved nothing is claimed"),
        pytest.param(
            {"deserved": memory(10), "capability": cpu(2000)}, (*cpu(1), *memory(1)), False, id="not past capability"
        ),
        pytest.param({"deserved": cpu(9000), "state": "Closing"}, cpu(1), False, id="not while it is closing"),
    ],
)
def test_a_queue_that_holds_two_cores_may_claim(fields: dict[str, object], request_: Amounts, may: bool) -> None:
    world = Quotas().queue("a", 2, **fields)

    assert world.plugin.preemptive(world.found("a"), request_) is may


@pytest.mark.parametrize(
    ("fields", "wanted", "refusal"),
    [
        pytest.param({}, cpu(8000), "", id="all that the cluster has besides"),
        pytest.param({}, cpu(8001), quota_insufficient("queue a", "cpu"), id="not more"),
        pytest.param({"capability": cpu(6000)}, cpu(4000), "", id="up to the capability"),
        pytest.param({"deserved": cpu(1000)}, cpu(8000), "", id="whatever it deserves"),
        pytest.param({"state": "Closed"}, cpu(1), "queue a is Closed, not Open", id="nothing while it is closed"),
        pytest.param({}, None, "", id="a job that states no minimum"),
    ],
)
def test_a_queue_that_holds_two_cores_admits(fields: dict[str, object], wanted: Amounts | None, refusal: str) -> None:
    world = Quotas().queue("a", **fields)
    world.cluster.running("old", 2, shape=world.core, queue="a", min_resources=cpu(2000), min_member=2)

    assert world.enqueueable(world.waiting("a", min_resources=wanted)) == refusal


def test_what_was_admitted_counts_and_what_is_held_beyond_a_minimum_does_not() -> None:
    world = Quotas().queue("a", capability=cpu(6000))
    world.cluster.running("old", 4, shape=world.core, queue="a", min_resources=cpu(1000), min_member=1)
    first, second = (world.waiting("a", name, min_resources=cpu(3000)) for name in ("first", "second"))

    assert world.enqueueable(first) == ""
    world.plugin.job_enqueued(world.opening.jobs[first.key])
    assert world.enqueueable(second) == quota_insufficient("queue a", "cpu")


def test_the_report_says_what_a_queue_may_really_hold() -> None:
    world = Quotas().queue("a", guarantee=cpu(1000), capability=memory(5)).queue("b", guarantee=cpu(2000))
    division = world.plugin.division(world.found("a"))

    assert division is not None
    assert dict(division.capability) | {world.gpu: 4000} == {CPU: 8000, 1: 5, world.gpu: 4000}
    assert division.problem is None
    assert not division.subtree


def test_parents_mean_nothing_while_queues_are_flat() -> None:
    world = Quotas().queue("a", parent="nowhere").queue("b", parent="a")

    assert world.refusal("a", cpu(10_000)) == world.refusal("b", cpu(10_000)) == ""


def test_a_negative_level_means_none() -> None:
    assert CapacityArgs(ancestor_reclaim_level=-3).normalised() == CapacityArgs()


def test_deserved_amounts_are_lent_while_unused_and_served_first_when_wanted() -> None:
    policy = policy_of("gang capacity", "predicates")
    lender = "node n1 cpu=6\nqueue a deserved=cpu:4\nqueue b deserved=cpu:2"

    assert plan(f"{lender}\njob ns/b queue=b pods=6 cpu=1", policy).bound == {"b": 6}
    both = plan(f"{lender}\njob ns/a queue=a pods=6 cpu=1\njob ns/b queue=b pods=6 cpu=1", policy)
    assert both.bound == {"a": 4, "b": 2}


def test_a_queue_without_claims_waits_for_those_with() -> None:
    queues = "node n1 cpu=5\nqueue a age=9\nqueue b deserved=cpu:3"
    found = plan(
        f"{queues}\njob ns/a queue=a pods=4 cpu=1\njob ns/b queue=b pods=5 cpu=1",
        policy_of("gang capacity", "predicates"),
    )

    assert [name[0] for name in found.order] == ["b", "b", "b", "b", "a"], "b is first up to its share, and where even"


def test_a_refusal_names_the_queue_and_the_resource() -> None:
    text = "node n1\nqueue a capability=cpu:1\njob ns/a queue=a pods=2 cpu=1"

    found = plan(text, policy_of("gang capacity", "predicates"))
    assert found.bound == {"a": 1}
    assert found.why("ns/a.1") == "queue a allows 1 cpu: 1 held, 1 more asked"


def test_refusals_have_words_for_machines() -> None:
    world = Quotas().queue("a", capability=cpu(1)).queue("b", state="Closed")
    answers = [world.plugin.allocatable(world.found(name), cpu(2)) for name in "ab"]

    assert [answer.reason for answer in answers if isinstance(answer, Refusal)] == [
        "QueueQuotaInsufficient",
        "QueueNotOpen",
    ]
