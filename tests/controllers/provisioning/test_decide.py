"""What is done about the ProvisioningRequests of a gang: pure."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from vsched.controllers import words as controllers_words
from vsched.controllers.provisioning.bodies import name_of
from vsched.controllers.provisioning.decide import WITHDRAW_SECONDS, Need, decide, is_in_vain, waits_for_nodes
from vsched.controllers.provisioning.records import LackingGang, OwnRequest, PodShape
from vsched.framework.policy import Autoscaling
from vsched.model import words as model_words
from vsched.model.jobs.job import Job
from vsched.model.jobs.provisioning import ASKED, FAILED, GIVEN_UP, PROVISIONED, told
from vsched.model.jobs.spec import JobSpec
from vsched.model.pods.shape import PodLabels, ShapeTable
from vsched.model.pods.status import Status
from vsched.model.pods.task import Task
from vsched.writes.bodies import ObjectReference

NOW = 10_000.0
OWNER = ObjectReference("scheduling.volcano.sh/v1beta1", "PodGroup", "ns", "train", "uid")
GANG = LackingGang("ns/train", OWNER, (PodShape("train-0", 16),), "shape")
WANTS, WAITS, RUNS = Need(GANG, waits=True), Need(None, waits=True, since=NOW), Need()
RULES = Autoscaling(provisioning_request=True, retries=3, back_off=60.0, longest_back_off=100.0, hold_evictions=900.0)


def request(attempt: int = 1, shape: str = "shape", **fields: Any) -> OwnRequest:
    made = OwnRequest("ns/train", "ns", f"r-{attempt}", f"u-{attempt}", shape, attempt, NOW - 100.0, ("r-1-0",), "c")
    return made._replace(**fields)


@pytest.mark.parametrize(
    ("need", "found", "create", "delete", "state"),
    [
        pytest.param(WANTS, [], 1, [], None, id="the first"),
        pytest.param(WANTS, [request()], 0, [], ASKED, id="one is enough"),
        pytest.param(WANTS, [request(provisioned=NOW - 100)], 0, [], PROVISIONED, id="its nodes are on their way"),
        pytest.param(WANTS, [request(ended=NOW - 59)], 0, [], FAILED, id="a failed one is not followed at once"),
        pytest.param(WANTS, [request(ended=NOW - 60)], 2, [], FAILED, id="but after a while, and stays until then"),
        pytest.param(WANTS, [request(1, ended=NOW - 99), request(2)], 0, ["r-1"], ASKED, id="then it goes"),
        pytest.param(WANTS, [request(2, ended=NOW - 99)], 0, [], FAILED, id="the next wait is twice as long"),
        pytest.param(WANTS, [request(2, ended=NOW - 100)], 3, [], FAILED, id="up to the longest"),
        pytest.param(WANTS, [request(4, ended=NOW - 9999)], 0, [], GIVEN_UP, id="after so many it is left"),
        pytest.param(
            WANTS,
            [request(provisioned=NOW - 100, ended=NOW)],
            0,
            [],
            FAILED,
            id="what is no longer kept",
        ),
        pytest.param(WANTS, [request(provisioned=NOW - 599)], 0, [], PROVISIONED, id="so long its nodes are kept"),
        pytest.param(WANTS, [request(provisioned=NOW - 600)], 0, [], FAILED, id="nodes that never came"),
        pytest.param(WANTS, [request(provisioned=NOW - 660)], 2, [], FAILED, id="are asked for again, too"),
        pytest.param(WANTS, [request(4, provisioned=NOW - 600)], 0, [], GIVEN_UP, id="as often as others"),
        pytest.param(WANTS, [request(shape="old")], 0, ["r-1"], None, id="one for another shape is withdrawn first"),
        pytest.param(WANTS, [request(shape="old", ended=NOW)], 1, ["r-1"], None, id="a failed one is no bar"),
        pytest.param(WAITS, [request()], 0, [], ASKED, id="a gang that finds a node for a moment keeps it"),
        pytest.param(
            WAITS._replace(since=NOW - WITHDRAW_SECONDS), [request()], 0, ["r-1"], None, id="it is withdrawn later"
        ),
        pytest.param(
            WAITS._replace(since=0.0),
            [request(2, ended=NOW)],
            0,
            [],
            FAILED,
            id="what failed stays, to count",
        ),
        pytest.param(RUNS, [request(), request(2)], 0, ["r-1", "r-2"], None, id="a gang that runs or is gone"),
        pytest.param(WAITS, [], 0, [], None, id="nothing to do"),
    ],
)
def test_the_next_step(need: Need, found: list[OwnRequest], create: int, delete: list[str], state: str | None) -> None:
    decision = decide(need, found, RULES, NOW)

    assert (decision.create, [one.name for one in decision.delete]) == (create, delete)
    assert (None if decision.state is None else decision.state.state) == state


@pytest.mark.parametrize(
    ("statuses", "waits"),
    [
        pytest.param([Status.PENDING, Status.PENDING], True, id="no pod has a node"),
        pytest.param([Status.BINDING, Status.BINDING], True, id="bindings on their way may be refused"),
        pytest.param([Status.BOUND, Status.BINDING], True, id="also the last of them"),
        pytest.param([Status.BOUND, Status.RUNNING], False, id="all are bound"),
        pytest.param([Status.BOUND, Status.RUNNING, Status.PENDING], False, id="those beyond the minimum do not count"),
        pytest.param([Status.RUNNING, Status.RELEASING], False, id="nothing is there to place"),
        pytest.param([], False, id="no pods"),
    ],
)
def test_a_gang_waits_until_the_bindings_of_its_minimum_are_confirmed(statuses: list[Status], waits: bool) -> None:
    job, shape = Job("ns/train", JobSpec("ns", "train", queue="q", min_member=2)), ShapeTable().shape(((0, 1),))
    for number, status in enumerate(statuses):
        job.put(Task(f"u{number}", "ns", f"p{number}", "ns/train", shape, PodLabels("ns", ()), status))
    assert waits_for_nodes(job) is waits


def test_a_policy_that_asks_no_more_withdraws_all() -> None:
    assert decide(WANTS, [request()], Autoscaling(), NOW).delete == (request(),)


def test_evictions_are_held_while_nodes_are_on_their_way_only() -> None:
    states = [decide(WANTS, [found], RULES, NOW).state for found in (request(), request(ended=NOW))]

    assert [state.evict_from for state in states if state is not None] == [NOW + 800.0, 0.0]


@pytest.mark.parametrize(
    ("found", "keep", "until", "wake"),
    [
        pytest.param(request(), 600.0, NOW + 800, NOW + 800, id="while they are on their way, as evictions are held"),
        pytest.param(request(provisioned=NOW - 50), 600.0, NOW + 550, NOW + 550, id="then from there on"),
        pytest.param(request(created=NOW - 900), 600.0, 0.0, None, id="not for ever"),
        pytest.param(request(provisioned=NOW - 50), 0.0, 0.0, None, id="where the policy says so"),
        pytest.param(request(provisioned=NOW - 9999), 0.0, 0.0, None, id="which asks for them once"),
        pytest.param(request(provisioned=NOW - 600), 600.0, 0.0, NOW + 60, id="not once they have not come"),
    ],
)
def test_for_how_long_nodes_are_kept(found: OwnRequest, keep: float, until: float, wake: float | None) -> None:
    rules = msgspec.structs.replace(RULES, keep_nodes=keep)
    decision = decide(WANTS, [found], rules, NOW)

    assert decision.state is not None
    assert (decision.state.kept_until, decision.wake_at) == (until, wake)


@pytest.mark.parametrize(
    ("found", "words"),
    [
        pytest.param(request(), model_words.nodes_are_asked_for("ProvisioningRequest r-1", ""), id="asked"),
        pytest.param(
            request(provisioned=NOW - 600),
            f"ProvisioningRequest r-1 failed: {controllers_words.nodes_not_ready('10m')}",
            id="provisioned in vain",
        ),
        pytest.param(request(provisioned=NOW - 100), "ProvisioningRequest r-1 is provisioned", id="provisioned"),
        pytest.param(
            request(ended=NOW, message="none left"),
            model_words.asked_for_again("ProvisioningRequest r-1", ": none left", "at 5"),
            id="failed",
        ),
        pytest.param(
            request(4, ended=NOW, message="none left"),
            model_words.given_up(4, "r-4", ": none left"),
            id="left",
        ),
    ],
)
def test_what_is_told(found: OwnRequest, words: str) -> None:
    state = decide(WANTS, [found], RULES, NOW).state

    assert state is not None
    assert told(state, "at 5").startswith(words)


def test_names_are_always_the_same_and_differ_by_attempt_gang_and_shape() -> None:
    others = [GANG._replace(key="ns/other"), GANG._replace(shape="x"), GANG._replace(owner=OWNER._replace(uid="v"))]
    names = {name_of(GANG, 1), name_of(GANG, 2), *(name_of(one, 1) for one in others)}

    assert len(names) == 5
    assert name_of(GANG, 1) == name_of(GANG._replace(), 1)
    assert name_of(GANG._replace(owner=OWNER._replace(name="a" * 39 + ".b")), 7).startswith("a" * 39 + "-")


class Autoscaler:
    """A world in which requests fail or are met at will, and the daemon may be killed between any two writes."""

    def __init__(self) -> None:
        self.requests: dict[str, OwnRequest] = {}
        self.made: list[str] = []
        self.now = NOW

    def live(self) -> list[OwnRequest]:
        return [one for one in self.requests.values() if not one.ended and not is_in_vain(one, RULES, self.now)]

    def step(self, need: Need, killed_after: int) -> None:
        """What a decision comes to, up to so many writes."""
        decision = decide(need, [*self.requests.values()], RULES, self.now)
        writes: list[tuple[str, Any]] = [("create", decision.create)] if decision.create else []
        writes += [("delete", one.name) for one in decision.delete]
        for verb, what in writes[:killed_after]:
            if verb == "delete":
                self.requests.pop(what, None)
            elif (name := name_of(GANG, what)) not in self.requests:
                self.requests[name] = request(what, name=name, created=self.now)
                self.made.append(name)


@given(st.lists(st.tuples(st.sampled_from(["step", "fail", "meet", "wait"]), st.integers(0, 3)), max_size=60))
def test_whatever_is_killed_when_no_two_requests_are_open_and_there_are_no_more_than_allowed(
    happens: list[tuple[str, int]],
) -> None:
    world = Autoscaler()
    for what, count in happens:
        match what:
            case "step":
                world.step(WANTS, count)
            case "wait":
                world.now += 250.0 * count
            case "fail":
                for one in world.live():
                    world.requests[one.name] = one._replace(ended=world.now, provisioned=0.0)
            case "meet":
                for one in world.live():
                    world.requests[one.name] = one._replace(provisioned=one.provisioned or world.now)
        assert len(world.live()) <= 1
    assert len(world.made) == len(set(world.made)) <= RULES.retries + 1
    world.step(RUNS, 99)
    assert not world.requests
