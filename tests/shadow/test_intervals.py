"""Sums over time: parts of nodes that are idle, shares of queues, and time that nobody saw."""

from __future__ import annotations

import pytest

from tests.support.small import GIB, SmallCluster
from vsched.model.plan import Bind, CycleReport, QueueOutcome
from vsched.shadow.findings import QueueShare
from vsched.shadow.intervals import QUEUES_MAX, IntervalSums, idle_rates, shares_of


def test_idle_nodes_are_counted_as_the_parts_that_would_have_been_used() -> None:
    cluster = SmallCluster().node("n1", cpu=4000, memory=16 * GIB).node("n2", cpu=2000, memory=16 * GIB)
    job, other = cluster.job("j", 3), cluster.job("other", 1)
    binds = [
        Bind(task.uid, "ns", task.name, node, job.key)
        for task, node in zip(job.tasks.values(), ("n1", "n1", "n2"), strict=True)
    ]
    binds += [Bind(task.uid, "ns", task.name, "n2", other.key) for task in other.tasks.values()]
    rates = idle_rates(cluster.snapshot(), binds, {job.key})
    assert rates["cpu"] == pytest.approx(1000 / 4000 + 1000 / 4000 + 1000 / 2000)
    assert rates["memory"] == pytest.approx(3 / 16)


def test_a_queue_is_short_where_it_holds_too_little_of_everything_that_it_asks_for() -> None:
    cluster = SmallCluster().node("n1").queue("short").queue("full").queue("nothing")
    cluster.running("a", 2, queue="short")
    cluster.job("waits", 1, queue="short")
    cluster.running("b", 4, queue="full")
    cluster.job("more", 1, queue="full")
    cluster.queue("full of one").running("c", 4, queue="full of one")
    cluster.job("asks for both", 1, queue="full of one")
    deserved = {"cpu": 4000, "memory": 4 * GIB}
    report = CycleReport(
        queues={
            "short": QueueOutcome("short", 1, deserved=deserved),
            "full": QueueOutcome("full", 1, deserved=deserved),
            "full of one": QueueOutcome("full of one", 1, deserved={"cpu": 4000, "memory": 8 * GIB}),
            "nothing": QueueOutcome("nothing", 1, deserved=deserved),
            "default": QueueOutcome("default", 1),
        }
    )
    found = shares_of(cluster.snapshot(), report)
    assert found == {"full": (1.0, False), "full of one": (1.0, False), "short": (0.5, True)}


def test_no_more_queues_are_followed_than_may_be() -> None:
    cluster, outcomes = SmallCluster().node("n1"), {}
    for number in range(QUEUES_MAX + 2):
        name = f"q{number}"
        cluster.queue(name).job(name, 1, queue=name)
        outcomes[name] = QueueOutcome(name, 1, deserved={"cpu": 1})
    found = shares_of(cluster.snapshot(), CycleReport(queues=outcomes))
    assert len(found) == QUEUES_MAX


def test_time_adds_up_between_sessions_and_breaks_off_where_there_were_none() -> None:
    cluster = SmallCluster().node("n1")
    job = cluster.job("j", 1)
    (bind,) = (Bind(task.uid, "ns", task.name, "n1", job.key) for task in job.tasks.values())
    report = CycleReport(binds=(bind,), queues={"default": QueueOutcome("default", 1, deserved={"cpu": 1000})})
    sums = IntervalSums(30.0)
    assert sums.pass_to(10.0) is None
    sums.see(cluster.snapshot(), report, {job.key})
    assert sums.pass_to(14.0) is None
    ended = sums.so_far()
    assert (ended.since, ended.at, ended.idle["cpu"]) == (10.0, 14.0, 1.0)
    assert ended.queues == {"default": QueueShare(4.0, 0.0, 4.0)}
    assert sums.pass_to(100.0) == ended, "nothing was seen for longer than the bound"
    assert sums.so_far().idle == {}
    assert (sums.so_far().since, sums.lasts()) == (100.0, 0.0)
    sums.pass_to(90.0)
    assert sums.so_far().since == 90.0, "the clock was set back"


def test_an_interval_that_is_cut_goes_on_from_there() -> None:
    cluster = SmallCluster().node("n1")
    sums = IntervalSums(30.0)
    sums.pass_to(10.0)
    sums.see(cluster.snapshot(), CycleReport(), ())
    sums.pass_to(20.0)
    first = sums.cut(20.0)
    sums.pass_to(25.0)
    second = sums.so_far()
    assert (first.since, first.at, second.since, second.at) == (10.0, 20.0, 20.0, 25.0)
