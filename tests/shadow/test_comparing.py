"""The comparison by itself, on small clusters: who is followed, for how long, and what counts as one."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.support.small import SmallCluster
from vsched.model.jobs.job import Job
from vsched.model.plan import Bind, CycleReport, Evict, JobOutcome
from vsched.model.pods.status import Status
from vsched.shadow.comparing import WAITING_MAX, ComparisonSettings, ShadowComparison
from vsched.shadow.findings import Finding, Interval, Started, StoppedWaiting, WouldEvict, WouldStart

NOTHING = CycleReport()


def at(cluster: SmallCluster, now: float, comparison: ShadowComparison, report: CycleReport = NOTHING) -> list[Finding]:
    """What one session finds besides intervals."""
    found: list[Finding] = []
    snapshot = replace(cluster.snapshot(), now=now)
    for _ in comparison.taking(snapshot, report, found):
        pass
    return [one for one in found if not isinstance(one, Interval)]


def starts(job: Job, node: str = "n1") -> CycleReport:
    """A report by which all pods of a job are bound."""
    binds = tuple(Bind(task.uid, task.namespace, task.name, node, job.key) for task in job.pending.values())
    outcome = JobOutcome(job.key, job.spec.queue, "Inqueue", job.spec.min_member, len(job.tasks), 0, 0, 0, 0)
    return CycleReport(binds=binds, jobs={job.key: outcome})


def waits(job: Job, code: str = "QueueCapability") -> CycleReport:
    outcome = JobOutcome(job.key, job.spec.queue, "Inqueue", job.spec.min_member, 0, 1, 0, 0, 0, message="m", code=code)
    return CycleReport(jobs={job.key: outcome})


def place(cluster: SmallCluster, job: Job, node: str = "n1") -> None:
    """The scheduler in charge binds all pods of a job."""
    for task in list(job.pending.values()):
        job.put(task.moved(Status.BOUND, node))


@pytest.fixture
def cluster() -> SmallCluster:
    return SmallCluster().node("n1").node("n2")


def test_a_gang_is_decided_once_and_starts_later(cluster: SmallCluster) -> None:
    comparison, job = ShadowComparison(), cluster.job("j", 2, min_member=2)
    assert at(cluster, 10.0, comparison, starts(job)) == [WouldStart(10.0, "ns/j", "default", 2, 0.0)]
    assert comparison.starting == {"ns/j"}
    assert at(cluster, 11.0, comparison, starts(job)) == []
    place(cluster, job)
    assert at(cluster, 20.0, comparison) == [Started(20.0, "ns/j", "default", 2, 10.0, 10.0)]
    assert comparison.waiting == 0
    assert comparison.starting == set()


def test_a_gang_whose_minimum_would_not_be_reached_does_not_start(cluster: SmallCluster) -> None:
    comparison, job = ShadowComparison(), cluster.job("j", 3, min_member=3)
    found = starts(job)
    short = replace_ready(found, job, 2)
    assert at(cluster, 10.0, comparison, short) == []
    assert comparison.starting == set()


def replace_ready(report: CycleReport, job: Job, ready: int) -> CycleReport:
    outcome = JobOutcome(job.key, job.spec.queue, "Inqueue", job.spec.min_member, ready, 1, 0, 0, 0)
    return CycleReport(binds=report.binds[:ready], jobs={job.key: outcome})


def test_a_reason_counts_where_pods_and_room_were_there_when_it_was_given(cluster: SmallCluster) -> None:
    comparison, job = ShadowComparison(), cluster.job("j", 1, min_member=1)
    at(cluster, 10.0, comparison, waits(job))
    place(cluster, job)
    (start,) = at(cluster, 20.0, comparison)
    assert start == Started(20.0, "ns/j", "default", 1, 10.0, 0.0, "QueueCapability", "m")


def test_a_reason_does_not_count_where_a_pod_came_after_it(cluster: SmallCluster) -> None:
    comparison, job = ShadowComparison(), cluster.job("j", 1, min_member=2)
    at(cluster, 10.0, comparison, waits(job, "GangSize"))
    cluster.task(job, "late", cluster.shape())
    place(cluster, job)
    (start,) = at(cluster, 20.0, comparison)
    assert isinstance(start, Started)
    assert start.verdict == "unseen"


def test_a_reason_does_not_count_where_the_room_came_after_it(cluster: SmallCluster) -> None:
    comparison, job = ShadowComparison(), cluster.job("j", 1, min_member=1)
    other = cluster.running("other", 4)
    at(cluster, 10.0, comparison, waits(job, "Resources"))
    for task in list(other.tasks.values()):
        other.put(task.moved(Status.SUCCEEDED, "n1"))
    place(cluster, job)
    found = at(cluster, 20.0, comparison)
    assert [one.verdict for one in found if isinstance(one, Started)] == ["unseen"]


def test_a_gang_that_is_deleted_waits_no_more(cluster: SmallCluster) -> None:
    comparison, job = ShadowComparison(), cluster.job("j", 1)
    at(cluster, 10.0, comparison, starts(job))
    del cluster.jobs[job.key]
    snapshot = replace(cluster.snapshot(), now=11.0, changed=[job.key])
    found: list[Finding] = []
    assert list(comparison.taking(snapshot, NOTHING, found))
    assert found == [StoppedWaiting(11.0, "ns/j")]


def test_another_gang_of_the_same_name_is_another_one(cluster: SmallCluster) -> None:
    comparison, job = ShadowComparison(), cluster.job("j", 1, min_member=1, created=5.0)
    at(cluster, 10.0, comparison, starts(job))
    again = cluster.job("j", 1, min_member=1, created=11.0)
    found = at(cluster, 12.0, comparison, starts(again))
    assert found == [StoppedWaiting(12.0, "ns/j"), WouldStart(12.0, "ns/j", "default", 1, 11.0)]


def test_a_comparison_goes_on_with_gangs_that_wait_still(cluster: SmallCluster) -> None:
    before = {
        "ns/j": WouldStart(3.0, "ns/j", "default", 1, 0.0),
        "ns/other": WouldStart(3.0, "ns/other", "default", 1, 7.0),
        "ns/gone": WouldStart(3.0, "ns/gone", "default", 1, 0.0),
    }
    comparison, job = ShadowComparison(None, before), cluster.job("j", 1, min_member=1)
    cluster.job("other", 1, created=8.0)
    assert at(cluster, 10.0, comparison, starts(job)) == [
        StoppedWaiting(10.0, "ns/other"),
        StoppedWaiting(10.0, "ns/gone"),
    ]
    place(cluster, job)
    assert Started(20.0, "ns/j", "default", 1, 3.0, 3.0) in at(cluster, 20.0, comparison)


def test_no_more_gangs_are_followed_than_may_be(cluster: SmallCluster) -> None:
    shape = cluster.shape()
    for number in range(WAITING_MAX + 3):
        cluster.job(f"j{number}", 1, shape=shape)
    comparison = ShadowComparison()
    at(cluster, 10.0, comparison)
    assert (comparison.waiting, comparison.unfollowed) == (WAITING_MAX, 3)


def test_an_eviction_that_is_decided_again_and_again_is_one(cluster: SmallCluster) -> None:
    comparison = ShadowComparison(ComparisonSettings(eviction_seconds=60.0))
    job = cluster.running("runs", 2)
    evictions = tuple(
        Evict(task.uid, "ns", task.name, "n1", job.key, "preempt", "ns/urgent") for task in job.tasks.values()
    )
    report = CycleReport(evictions=evictions)
    once = [WouldEvict(10.0, "ns/runs", 2, "preempt", "ns/urgent")]
    assert at(cluster, 10.0, comparison, report) == once
    assert at(cluster, 50.0, comparison, report) == []
    assert at(cluster, 100.0, comparison, report) == []
    assert len(at(cluster, 200.0, comparison, report)) == 1, "it was not decided for a while"


def test_work_that_runs_when_the_comparison_begins_is_no_start(cluster: SmallCluster) -> None:
    comparison = ShadowComparison()
    cluster.running("runs", 2)
    assert at(cluster, 10.0, comparison) == []
