"""proportion: what queues deserve, who has had enough, and who may have more."""

from __future__ import annotations

import msgspec
import pytest

from tests.support.plans import plan, policy_of
from tests.support.small import GIB, SmallCluster
from tests.support.voting import RECLAIM, agreed, rules_out
from vsched.framework.codes import Code
from vsched.framework.jobs import JobView
from vsched.framework.points.extension import NoArgs, Vote
from vsched.framework.refusal import Refusal, Shortage
from vsched.model.amounts.resources import CPU, Amounts
from vsched.model.pods.status import Phase
from vsched.model.queues.queue import Queue
from vsched.plugins.proportion import Proportion
from vsched.plugins.words.queues import over_share


class Queues:
    """Ten cores, and queues that ask for some of them in pods of one core."""

    def __init__(self) -> None:
        self.cluster = SmallCluster().node("n1", cpu=10_000)

    def queue(self, name: str, wants: int = 0, holds: int = 0, **fields: object) -> Queues:
        self.cluster.queue(name, **fields)
        shape = self.cluster.shape(cpu=1000, memory=0)
        self.cluster.running(f"{name}-holds", holds, shape=shape, queue=name)
        self.cluster.job(f"{name}-wants", wants, shape=shape, queue=name)
        return self

    def plugin(self) -> Proportion:
        return self.cluster.opened(Proportion(NoArgs()))

    def deserved(self) -> dict[str, float]:
        plugin = self.plugin()
        divisions = {name: plugin.division(queue) for name, queue in self.cluster.queues.items()}
        return {name: found.deserved.get(CPU, 0) for name, found in divisions.items() if found is not None}


def cpu(amount: int) -> Amounts:
    return ((CPU, amount),)


@pytest.mark.parametrize(
    ("queues", "deserved"),
    [
        pytest.param(
            Queues().queue("a", 10).queue("b", 10), {"a": 5000, "b": 5000}, id="equal weights deserve the same"
        ),
        pytest.param(
            Queues().queue("a", 10).queue("b", 10, weight=4), {"a": 2000, "b": 8000}, id="else in proportion to weight"
        ),
        pytest.param(Queues().queue("a", 2).queue("b", 10), {"a": 2000, "b": 8000}, id="no more than is asked for"),
        pytest.param(
            Queues().queue("a", 0, 2).queue("b", 10), {"a": 2000, "b": 8000}, id="what is held is asked for too"
        ),
        pytest.param(
            Queues().queue("a", 10, capability=cpu(3000)).queue("b", 10),
            {"a": 3000, "b": 7000},
            id="no more than the capability",
        ),
        pytest.param(
            Queues().queue("a", 0, guarantee=cpu(4000)).queue("b", 10),
            {"a": 4000, "b": 6000},
            id="no less than the guarantee",
        ),
        pytest.param(
            Queues().queue("a", 10, capability=cpu(3000), guarantee=cpu(4000)).queue("b", 10),
            {"a": 3000, "b": 6000},
            id="no more than the capability even of the guarantee",
        ),
        pytest.param(Queues().queue("a", 3).queue("b", 3), {"a": 3000, "b": 3000}, id="what nobody asks for is left"),
    ],
)
def test_what_queues_deserve(queues: Queues, deserved: dict[str, float]) -> None:
    assert queues.deserved() == pytest.approx(deserved)


def test_a_queue_without_jobs_has_no_part() -> None:
    queues = Queues().queue("a", 1)
    queues.cluster.queue("idle")

    assert queues.plugin().division(queues.cluster.queues["idle"]) is None


@pytest.mark.parametrize(
    ("queues", "overused", "share"),
    [
        pytest.param(Queues().queue("a", 5, 1).queue("b", 9), False, 0.2, id="less than it deserves"),
        pytest.param(Queues().queue("a", 0, 5).queue("b", 9), True, 1.0, id="all it asks for"),
        pytest.param(Queues().queue("a", 5, 8).queue("b", 9), False, 1.6, id="more of one thing only"),
        pytest.param(Queues().queue("a"), True, 0.0, id="nothing deserved, nothing more to have"),
    ],
)
def test_whether_a_queue_has_had_its_part(queues: Queues, overused: bool, share: float) -> None:
    plugin, queue = queues.plugin(), queues.cluster.queues["a"]

    assert plugin.overused(queue) is overused
    assert plugin.share(queue) == pytest.approx(share)


@pytest.mark.parametrize(
    ("queue", "amount", "refusal"),
    [
        pytest.param({}, 3000, None, id="up to what it deserves"),
        pytest.param(
            {},
            3001,
            Refusal(
                "QueueOverShare",
                over_share("a", "cpu", capability=False),
                True,
                Code.QUEUE_SHARE,
                "a",
                (Shortage("cpu", held=2000, asked=3001, limit=5000),),
            ),
            id="not past it, by however little",
        ),
        pytest.param(
            {"capability": cpu(4000)},
            2001,
            Refusal(
                "QueueOverShare",
                over_share("a", "cpu", capability=True),
                False,
                Code.QUEUE_CAPABILITY,
                "a",
                (Shortage("cpu", held=2000, asked=2001, limit=4000),),
            ),
            id="not past its capability, which is all it deserves then",
        ),
        pytest.param({}, 0, None, id="what asks for nothing always may"),
        pytest.param(
            {"state": "Closed"},
            1,
            Refusal("QueueNotOpen", "queue a is Closed, not Open", code=Code.QUEUE_CLOSED, subject="a"),
            id="not while it is closed",
        ),
    ],
)
def test_a_queue_that_holds_two_of_its_five_cores_may_take(
    queue: dict[str, object], amount: int, refusal: Refusal | None
) -> None:
    queues = Queues().queue("a", 9, 2, **queue).queue("b", 9)
    plugin, found = queues.plugin(), queues.cluster.queues["a"]

    assert plugin.allocatable(found, cpu(amount)) == refusal
    assert plugin.preemptive(found, cpu(amount)) is (refusal is None)


def test_the_last_pod_of_an_exact_share_is_bound() -> None:
    text = """
        node n1 cpu=1000 memory=294Gi
        queue qa weight=7
        queue qb weight=3
        queue qc weight=7
        job ns/a1 min=1 queue=qa phase=Running
        pods ns/a1 1 cpu=1 memory=123Gi on=n1
        job ns/a2 min=1 pods=1 cpu=1 memory=1Gi queue=qa phase=Inqueue
        job ns/b1 min=1 queue=qb phase=Running
        pods ns/b1 1 cpu=1 memory=46Gi on=n1
        job ns/c1 min=1 queue=qc phase=Running
        pods ns/c1 1 cpu=1 memory=123Gi on=n1
        job ns/c2 min=1 pods=1 cpu=1 memory=5Gi queue=qc phase=Inqueue
    """
    found = plan(text, policy_of("priority gang conformance", "overcommit drf predicates proportion nodeorder"))

    assert found.bound == {"a2": 1}
    assert [queue.deserved["memory"] // GIB for queue in found.queues.values() if queue.deserved] == [124, 46, 124]


def test_of_equal_queues_the_oldest_deserves_the_odd_unit() -> None:
    queues = Queues().queue("a", 9, created=30).queue("b", 9, created=10).queue("c", 9, created=20)

    assert queues.deserved() == {"a": 3333, "b": 3334, "c": 3333}


def test_queues_go_by_priority_then_by_share() -> None:
    queues = Queues().queue("a", 5, 1).queue("b", 5, 2).queue("c", 5, 3, priority=1)
    plugin = queues.plugin()
    found: list[Queue] = [queues.cluster.queues[name] for name in "abc"]

    assert [queue.name for queue in sorted(found, key=plugin.queue_key)] == ["c", "a", "b"]


@pytest.mark.parametrize(
    ("fields", "wanted", "admitted"),
    [
        pytest.param({}, cpu(8000), True, id="all that the cluster has besides"),
        pytest.param({}, cpu(8001), False, id="not more"),
        pytest.param({"capability": cpu(6000)}, cpu(4000), True, id="up to the capability"),
        pytest.param({"capability": cpu(6000)}, cpu(4001), False, id="not past it"),
        pytest.param({"guarantee": cpu(4000)}, cpu(8000), True, id="its own guarantee takes nothing from it"),
        pytest.param({"state": "Closed"}, cpu(1), False, id="nothing while it is closed"),
        pytest.param({}, None, True, id="a job that states no minimum"),
    ],
)
def test_a_queue_that_holds_two_cores_admits(fields: dict[str, object], wanted: Amounts | None, admitted: bool) -> None:
    cluster = SmallCluster().node("n1", cpu=10_000).queue("a", **fields)
    shape = cluster.shape(cpu=1000, memory=0)
    cluster.running("old", 2, shape=shape, queue="a", min_resources=cpu(2000), min_member=2)
    job = cluster.job("new", 0, queue="a", min_resources=wanted, phase=Phase.PENDING)

    assert (cluster.opened(Proportion(NoArgs())).job_enqueueable(JobView(job)) is Vote.PERMIT) is admitted


@pytest.mark.parametrize(("gated", "admitted"), [(False, False), (True, True)], ids=["counts", "counts not if gated"])
def test_what_was_admitted_in_this_cycle(gated: bool, admitted: bool) -> None:
    cluster = SmallCluster().node("n1", cpu=10_000).queue("a")
    first, second = (
        cluster.job(name, 0, queue="a", min_resources=cpu(6000), phase=Phase.PENDING) for name in ("first", "second")
    )
    cluster.task(first, "t", cluster.shape(cpu=6000, memory=0), gated=gated)
    plugin = cluster.opened(Proportion(NoArgs()))
    plugin.job_enqueued(JobView(first))

    assert (plugin.job_enqueueable(JobView(second)) is Vote.PERMIT) is admitted


def test_what_a_job_holds_beyond_its_minimum_does_not_keep_others_out() -> None:
    cluster = SmallCluster().node("n1", cpu=10_000).queue("a")
    cluster.running("old", 6, shape=cluster.shape(cpu=1000, memory=0), queue="a", min_resources=cpu(2000), min_member=2)
    job = cluster.job("new", 0, queue="a", min_resources=cpu(8000), phase=Phase.PENDING)

    assert cluster.opened(Proportion(NoArgs())).job_enqueueable(JobView(job)) is Vote.PERMIT


def test_the_score_of_a_queue_is_one_less_its_share() -> None:
    queues = Queues().queue("a", 9, 1).queue("b", 9, 8)
    plugin = queues.plugin()

    assert plugin.queue_score(queues.cluster.queues["a"]) == pytest.approx(0.8)
    assert plugin.queue_score(queues.cluster.queues["b"]) == pytest.approx(-0.6)


# -- what may be taken back -----------------------------------------------------------------------------------------


def reclaimed(queues: Queues, of: str = "b") -> int:
    """How many of a queue's running tasks others may take, all offered at once; the same again when asked again."""
    plugin, jobs = queues.plugin(), queues.cluster.jobs
    reclaimer = queues.cluster.task(jobs["ns/a-wants"], "reclaimer", queues.cluster.shape())
    candidates = list(jobs[f"ns/{of}-holds"].tasks.values())
    first, second = (agreed(plugin, reclaimer, candidates, RECLAIM) or [] for _ in range(2))
    kept = rules_out(plugin, reclaimer, jobs[f"ns/{of}-holds"], RECLAIM)

    assert first == second == candidates[: len(first)]
    assert not (kept and first)
    return len(first)


@pytest.mark.parametrize(
    ("queues", "victims"),
    [
        pytest.param(Queues().queue("a", 9).queue("b", 9, 8), 3, id="what it holds beyond what it deserves"),
        pytest.param(Queues().queue("a", 9).queue("b", 9, 5), 0, id="nothing where it holds what it deserves"),
        pytest.param(Queues().queue("a", 9).queue("b", 9, 3), 0, id="nothing where it holds less"),
        pytest.param(Queues().queue("a", 3).queue("b", 9, 8), 1, id="no more than others ask for"),
        pytest.param(Queues().queue("a", 9, weight=4).queue("b", 9, 8), 6, id="more where its weight is small"),
        pytest.param(
            Queues().queue("a", 9).queue("b", 9, 8, guarantee=cpu(7000)), 1, id="nothing of what it is guaranteed"
        ),
        pytest.param(Queues().queue("a", 9).queue("b", 9, 8, state="Closed"), 3, id="from a closed queue too"),
        pytest.param(
            Queues().queue("a", 5, capability=cpu(4500)).queue("b", 0, 8),
            3,
            id="one task may lead below what is deserved",
        ),
    ],
)
def test_what_may_be_taken_back_from_a_queue(queues: Queues, victims: int) -> None:
    assert reclaimed(queues) == victims


@pytest.mark.parametrize(
    ("cores", "gib", "is_victim"),
    [
        pytest.param(1, 0, True, id="cores, of which its queue has too many"),
        pytest.param(1, 1, True, id="cores and memory"),
        pytest.param(0, 1, False, id="memory, which its queue may take back at once"),
        pytest.param(0, 0, False, id="nothing but a pod slot, of which there are never too many"),
    ],
)
def test_a_queue_with_too_many_cores_loses_a_task_that_holds(cores: int, gib: int, is_victim: bool) -> None:
    cluster = SmallCluster().node("n1", cpu=10_000, memory=10 * GIB).queue("a").queue("b")
    cluster.running("old", 8, shape=cluster.shape(cpu=1000, memory=0), queue="b")
    found = cluster.running("victim", 1, shape=cluster.shape(cpu=1000 * cores, memory=gib * GIB), queue="b")
    wants = cluster.job("wants", 9, shape=cluster.shape(cpu=1000, memory=GIB), queue="a")
    plugin, victims = cluster.opened(Proportion(NoArgs())), list(found.tasks.values())
    reclaimer = next(iter(wants.tasks.values()))

    assert agreed(plugin, reclaimer, victims, RECLAIM) == (victims if is_victim else [])
    assert rules_out(plugin, reclaimer, found, RECLAIM) is not is_victim


def test_what_was_evicted_in_this_cycle_is_no_longer_held() -> None:
    queues = Queues().queue("a", 9).queue("b", 9, 8)
    opening, plugin = queues.cluster.opening(), Proportion(NoArgs())
    plugin.open(opening)
    opening.usage.shift("b", "ns", cpu(2000), -1)
    job = opening.jobs["ns/b-holds"]
    candidates = list(job.job.tasks.values())

    assert agreed(plugin, candidates[0], candidates, RECLAIM) == candidates[:1]
    opening.usage.shift("b", "ns", cpu(1000), -1)
    assert agreed(plugin, candidates[0], candidates, RECLAIM) == []
    assert rules_out(plugin, candidates[0], job, RECLAIM)


def test_victims_of_unknown_jobs_are_nobodys() -> None:
    queues = Queues().queue("a", 9).queue("b", 9, 8)
    task = next(iter(queues.cluster.jobs["ns/b-holds"].tasks.values()))

    assert agreed(queues.plugin(), task, [msgspec.structs.replace(task, job="ns/unknown")], RECLAIM) == []
