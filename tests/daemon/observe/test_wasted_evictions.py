"""Which evictions count as in vain, and which do not."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import pytest

from tests.support.small import SmallCluster
from vsched.arbitrator.effects import Promise, RoundResult
from vsched.daemon.observe.wasted_evictions import BOUND_SECONDS, MOST, WastedEvictions, kept_by, promised_by
from vsched.model.nodes.table import NodeAttributes, NodeStatics, Taint
from vsched.model.plan import CycleReport, Evict, Nominate
from vsched.model.pods.status import Status
from vsched.model.pods.task import Task
from vsched.writes.evictions import EvictionVerdict

JOB = "ns/urgent"


def evict(number: int, node: str = "n1", action: str = "preempt", beneficiary: str = JOB) -> Evict:
    return Evict(f"victim-{number}", "ns", f"v-{number}", node, "ns/low", action, beneficiary)


@dataclass
class World:
    """Pods as the mirror shows them, and what was told."""

    told: list[tuple[str, str, dict[str, int]]] = field(default_factory=list)
    tasks: dict[str, Task] = field(default_factory=dict)
    nodes: list[NodeAttributes] = field(default_factory=lambda: [NodeAttributes("n1", {}), NodeAttributes("n2", {})])
    now: float = 100.0

    def __post_init__(self) -> None:
        self.small = SmallCluster().node("n1").node("n2")
        self.wasted = WastedEvictions(self.tasks.get, lambda *told: self.told.append(told))

    def see(self, uid: str, status: Status, node: str = "") -> None:
        job = self.small.jobs.get("ns/low") or self.small.job("low", 0)
        self.tasks[uid] = Task(
            uid, "ns", uid, job.key, self.small.shape(), self.small.shapes.labels("ns", {}), status, node
        )

    def take(self, *evictions: Evict, pods: tuple[str, ...] = ("p",)) -> None:
        """Evictions are decided, carried out, and seen to be under way; somebody waits for their room."""
        for uid in pods:
            self.see(uid, Status.PENDING)
        self.wasted.decided(evictions, {(each.beneficiary, each.node): pods for each in evictions})
        for each in evictions:
            self.see(each.uid, Status.RELEASING, each.node)
            self.wasted.answered(each, EvictionVerdict.EVICTED)
        self.pass_time(1.0)

    def leave(self, *victims: int) -> None:
        for number in victims:
            self.tasks.pop(f"victim-{number}", None)

    def pass_time(self, seconds: float) -> None:
        """Time passes in steps of a session a second."""
        ends = self.now + seconds
        while self.now < ends:
            self.now += 1.0
            self.wasted.look(self.now, NodeStatics(self.nodes))

    def outlast(self) -> None:
        self.pass_time(BOUND_SECONDS + 3.0)


def test_evictions_whose_beneficiary_still_waits_a_minute_after_the_room_was_there_were_in_vain() -> None:
    world = World()
    world.take(evict(0), evict(1))
    world.leave(0, 1)
    world.pass_time(BOUND_SECONDS - 2.0)
    assert world.told == []
    world.pass_time(4.0)
    assert world.told == [(JOB, "n1", {"preempt": 2})]
    assert len(world.wasted) == 0
    world.outlast()
    assert len(world.told) == 1


def placed(world: World) -> None:
    world.see("p", Status.BOUND, "n1")


def placed_elsewhere(world: World) -> None:
    world.see("p", Status.RUNNING, "n2")


def withdrawn(world: World) -> None:
    del world.tasks["p"]


def node_gone(world: World) -> None:
    del world.nodes[0]


def node_cordoned(world: World) -> None:
    world.nodes[0] = NodeAttributes("n1", {}, unschedulable=True)


def node_tainted(world: World) -> None:
    world.nodes[0] = NodeAttributes("n1", {}, taints=(Taint("node.kubernetes.io/not-ready", "", "NoSchedule"),))


def room_never_made(world: World) -> None:
    world.see("victim-0", Status.RUNNING, "n1")


def one_refused(world: World) -> None:
    world.wasted.answered(evict(1), EvictionVerdict.REFUSED_NOW)


def one_lost(world: World) -> None:
    world.wasted.answered(evict(1), EvictionVerdict.GAVE_UP)


@pytest.mark.parametrize(
    "happens",
    [
        pytest.param(placed, id="the-beneficiary-got-its-place"),
        pytest.param(placed_elsewhere, id="the-beneficiary-got-another-place"),
        pytest.param(withdrawn, id="the-beneficiary-was-deleted"),
        pytest.param(node_gone, id="the-node-is-gone"),
        pytest.param(node_cordoned, id="the-node-was-cordoned"),
        pytest.param(node_tainted, id="the-node-was-tainted"),
        pytest.param(room_never_made, id="a-victim-does-not-leave"),
    ],
)
def test_evictions_that_nobody_can_call_in_vain(happens: Callable[[World], None]) -> None:
    world = World()
    world.take(evict(0), evict(1))
    world.leave(0, 1)
    happens(world)
    world.outlast()
    assert world.told == []
    world.leave(0)
    assert len(world.wasted) == (1 if happens is room_never_made else 0)


@pytest.mark.parametrize(
    "happens",
    [
        pytest.param(one_refused, id="a-budget-kept-it"),
        pytest.param(one_lost, id="nobody-knows-whether-it-was-evicted"),
    ],
)
def test_who_left_while_another_did_not_has_left_in_vain(happens: Callable[[World], None]) -> None:
    world = World()
    world.take(evict(0), evict(1))
    happens(world)
    world.leave(0)
    world.outlast()
    assert world.told == [(JOB, "n1", {"preempt": 1})]
    assert len(world.wasted) == 0


def test_one_at_a_time_for_ever_is_in_vain_though_others_are_taken_meanwhile() -> None:
    world = World()
    for number in range(0, 20, 2):
        world.take(evict(number), evict(number + 1))
        world.wasted.answered(evict(number + 1), EvictionVerdict.REFUSED_NOW)
        world.leave(number)
        world.pass_time(20.0)
    assert world.wasted.follows(JOB)
    assert len(world.told) >= 5
    world.outlast()
    assert world.told == [(JOB, "n1", {"preempt": 1})] * 10
    assert not world.wasted.follows(JOB)


def test_a_beneficiary_that_is_placed_in_the_end_makes_good_what_was_left_of_a_refusal() -> None:
    world = World()
    world.take(evict(0), evict(1))
    one_refused(world)
    world.leave(0)
    world.take(evict(2))
    world.leave(2)
    placed(world)
    world.outlast()
    assert world.told == []
    assert len(world.wasted) == 0


def test_nothing_is_followed_where_all_is_refused() -> None:
    world = World()
    world.wasted.decided((evict(0), evict(1)), {(JOB, "n1"): ("p",)})
    for number in (0, 1):
        world.wasted.answered(evict(number), EvictionVerdict.REFUSED)
    world.pass_time(2.0)
    assert len(world.wasted) == 0


def test_time_counts_from_when_the_last_victim_of_a_gang_has_left() -> None:
    world = World()
    world.take(evict(0), evict(1, "n2"))
    world.leave(0)
    world.outlast()
    assert world.told == []
    world.leave(1)
    world.outlast()
    assert world.told == [(JOB, "n1", {"preempt": 1}), (JOB, "n2", {"preempt": 1})]


def test_another_eviction_for_the_same_beneficiary_starts_the_time_anew() -> None:
    world = World()
    world.take(evict(0))
    world.leave(0)
    world.pass_time(BOUND_SECONDS - 5.0)
    world.take(evict(1, "n2", "reclaim"), pods=("p",))
    world.leave(1)
    world.pass_time(BOUND_SECONDS - 5.0)
    assert world.told == []
    world.pass_time(10.0)
    assert world.told == [(JOB, "n1", {"preempt": 1}), (JOB, "n2", {"reclaim": 1})]


def test_a_node_of_several_that_served_its_purpose_is_not_counted() -> None:
    world = World()
    world.wasted.decided((evict(0), evict(1, "n2")), {(JOB, "n1"): ("p",), (JOB, "n2"): ("q",)})
    world.see("p", Status.BINDING, "n1")
    world.see("q", Status.PENDING)
    world.pass_time(2.0)
    world.see("p", Status.BOUND, "n1")
    world.outlast()
    assert world.told == [(JOB, "n2", {"preempt": 1})]


def test_a_binding_that_does_not_come_true_is_no_place() -> None:
    world = World()
    world.take(evict(0))
    world.leave(0)
    world.see("p", Status.BINDING, "n1")
    world.pass_time(3.0)
    world.see("p", Status.PENDING)
    world.outlast()
    assert world.told == [(JOB, "n1", {"preempt": 1})]


def test_who_evicts_for_nobody_in_particular_is_not_followed() -> None:
    world = World()
    world.wasted.decided((evict(0, action="shuffle", beneficiary=""),), {})
    world.wasted.decided((evict(1),), {})
    assert len(world.wasted) == 0


def test_no_more_are_followed_than_is_good() -> None:
    world = World()
    for number in range(MOST + 5):
        each = evict(number, beneficiary=f"ns/{number}")
        world.wasted.decided((each,), {(each.beneficiary, "n1"): ("p",)})
    assert len(world.wasted) == MOST


def test_whom_a_session_keeps_nodes_for() -> None:
    cluster = SmallCluster().node("n1").node("n2")
    job = cluster.job("urgent", 1)
    cluster.task(job, "earlier", cluster.shape(), nominated="n1")
    cluster.task(cluster.job("other", 0), "stranger", cluster.shape(), nominated="n1")
    report = CycleReport(
        evictions=(evict(0), evict(1, "n2")),
        nominations=(
            Nominate("ns-urgent-0", "ns", "urgent-0", "n2", JOB),
            Nominate("ns-x-0", "ns", "x-0", "n2", "ns/x"),
        ),
    )
    kept = kept_by(cluster.snapshot(), report)
    assert kept == {(JOB, "n2"): {"ns-urgent-0"}, (JOB, "n1"): {"ns-earlier"}}


def test_whoever_waits_of_a_job_is_meant_where_no_node_is_kept() -> None:
    cluster = SmallCluster().node("n1").node("n2")
    cluster.job("urgent", 2)
    report = CycleReport(evictions=(evict(0), evict(1, beneficiary="ns/gone")))
    assert kept_by(cluster.snapshot(), report) == {(JOB, "n1"): {"ns-urgent-0", "ns-urgent-1"}}


def test_whom_arbitration_keeps_nodes_for() -> None:
    promised = {
        "mine": Promise("two", "n1", 9.0),
        "on another node": Promise("two", "n2", 9.0),
        "of another namespace": Promise("three", "n1", 9.0),
    }
    verdict = RoundResult(evictions=(evict(0, action="arbitrate", beneficiary="two/work-0"),), promised=promised)
    assert promised_by(verdict) == {("two/work-0", "n1"): {"mine"}}
