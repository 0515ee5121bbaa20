"""priority: who goes first, and who may be taken from."""

from __future__ import annotations

import pytest

from tests.support.small import SmallCluster
from tests.support.voting import PREEMPT, agreed, class_of
from vsched.framework.jobs import JobView
from vsched.framework.points.extension import NoArgs
from vsched.model.jobs.job import Job
from vsched.model.pods.status import Status
from vsched.plugins.priority import Priority


def job(cluster: SmallCluster, name: str, priority: int) -> Job:
    made = cluster.job(name, 0)
    made.priority = priority
    return made


@pytest.mark.parametrize(
    ("victim_job", "victim_priority", "is_victim"),
    [
        pytest.param("low", 9, True, id="of a lower job, whatever the task's own priority"),
        pytest.param("same", 0, False, id="of a job of equal priority, never"),
        pytest.param("high", 0, False, id="of a higher job, never"),
        pytest.param("mine", 4, True, id="of the same job, a task of lower priority"),
        pytest.param("mine", 5, False, id="of the same job, not one of equal priority"),
        pytest.param("unknown", 0, False, id="of a job that nobody knows, never"),
    ],
)
def test_a_task_of_priority_5_takes_from(victim_job: str, victim_priority: int, is_victim: bool) -> None:
    cluster = SmallCluster().node("n1")
    made = {
        name: job(cluster, name, priority) for name, priority in (("low", 1), ("same", 3), ("high", 5), ("mine", 3))
    }
    preemptor = cluster.task(made["mine"], "preemptor", cluster.shape(), priority=5)
    of = made.get(victim_job) or Job("ns/unknown", made["low"].spec)
    victim = cluster.task(of, "victim", cluster.shape(), Status.RUNNING, "n1", priority=victim_priority)

    assert agreed(cluster.opened(Priority(NoArgs())), preemptor, [victim], PREEMPT) == [victim] * is_victim


def test_higher_priority_goes_first() -> None:
    cluster = SmallCluster().node("n1")
    plugin = cluster.opened(Priority(NoArgs()))
    low, high = job(cluster, "low", 1), job(cluster, "high", 2)
    tasks = [cluster.task(low, f"t{priority}", cluster.shape(), priority=priority) for priority in (-1, 7)]

    assert plugin.job_key(JobView(high)) < plugin.job_key(JobView(low))
    assert plugin.task_key(tasks[1]) < plugin.task_key(tasks[0])


@pytest.mark.parametrize(
    ("status", "starves"),
    [
        pytest.param(Status.PENDING, True, id="a pending task"),
        pytest.param(Status.FAILED, True, id="a failed task"),
        pytest.param(Status.PIPELINED, False, id="a task that waits for others to leave"),
        pytest.param(Status.SUCCEEDED, False, id="a task that succeeded"),
    ],
)
def test_a_job_with_one_task_running_starves_with(status: Status, starves: bool) -> None:
    cluster = SmallCluster().node("n1")
    made = cluster.running("a", 1)
    cluster.task(made, "other", cluster.shape(), status)

    assert cluster.opened(Priority(NoArgs())).job_starving(JobView(made)) is starves


@pytest.mark.parametrize(
    ("priority", "low", "high", "score"),
    [
        pytest.param(40, 0, 100, 0.4, id="queue A of the seed's table"),
        pytest.param(80, 0, 100, 0.8, id="queue B"),
        pytest.param(0, 0, 100, 0.0, id="queue C"),
        pytest.param(100, 0, 100, 1.0, id="the highest there is"),
        pytest.param(-50, -100, 0, 0.5, id="negative priorities"),
        pytest.param(7, 7, 7, 0.0, id="where all priorities are equal, nothing"),
    ],
)
def test_the_score_of_a_queue(priority: int, low: int, high: int, score: float) -> None:
    cluster = SmallCluster().node("n1").queue("q", priority=priority)
    cluster.priority_range = (low, high)

    assert cluster.opened(Priority(NoArgs())).queue_score(cluster.queues["q"]) == pytest.approx(score)


@pytest.mark.parametrize(
    ("other_priority", "lowest", "one_class"),
    [
        pytest.param(3, 5, True, id="where their jobs have the same priority, and their own no lower tasks"),
        pytest.param(4, 5, False, id="not where their jobs differ"),
        pytest.param(3, 4, False, id="not where one could take from its own job"),
    ],
)
def test_two_preemptors_are_of_one_class(other_priority: int, lowest: int, one_class: bool) -> None:
    cluster = SmallCluster().node("n1")
    mine, others = job(cluster, "mine", 3), job(cluster, "others", other_priority)
    cluster.task(mine, "running", cluster.shape(), Status.RUNNING, "n1", priority=lowest)
    one = cluster.task(mine, "one", cluster.shape(), priority=5)
    other = cluster.task(others, "other", cluster.shape(), priority=9)
    plugin = cluster.opened(Priority(NoArgs()))

    assert (class_of(plugin, one, PREEMPT) == class_of(plugin, other, PREEMPT)) is one_class
