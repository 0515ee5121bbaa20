"""drf: the smaller dominant share goes first, among jobs and, by weight, among namespaces of a queue."""

from __future__ import annotations

from collections import Counter
from typing import Any

import msgspec
import pytest

from tests.support.small import GIB, SmallCluster
from vsched.framework.jobs import JobView
from vsched.framework.points.extension import NoArgs
from vsched.framework.points.victims import Purpose, Votes
from vsched.model.pods.status import Status
from vsched.model.pods.task import Task
from vsched.model.queues.queue import Namespace
from vsched.plugins.drf import Drf


def votes_of(plugin: Drf, preemptor: Task) -> Votes:
    votes = plugin.victim_votes(preemptor, Purpose.PREEMPT)
    assert votes is not None
    return votes


def cluster() -> SmallCluster:
    made = SmallCluster().node("n1", cpu=10_000, memory=100 * GIB)
    made.running("a", 2, shape=made.shape(cpu=1000, memory=GIB), namespace="x")
    made.running("b", 1, shape=made.shape(cpu=1000, memory=50 * GIB), namespace="y")
    made.running("c", 1, shape=made.shape(cpu=3000, memory=0), namespace="x", queue="other")
    return made.queue("other")


def placed(path: str, weights: str = "") -> tuple[tuple[str, str], ...]:
    """A queue's annotations."""
    return (("volcano.sh/hierarchy", path), ("volcano.sh/hierarchy-weights", weights))


@pytest.mark.parametrize(
    ("job", "share"),
    [
        pytest.param("x/a", 0.2, id="most of the processors"),
        pytest.param("y/b", 0.5, id="most of the memory"),
    ],
)
def test_the_share_of_a_job_is_its_largest_part_of_anything(job: str, share: float) -> None:
    made = cluster()

    assert made.opened(Drf(NoArgs())).job_key(JobView(made.jobs[job])) == pytest.approx(share)


@pytest.mark.parametrize(
    ("queue", "namespace", "weight", "key"),
    [
        pytest.param("default", "x", 1, 0.2, id="what it holds in the queue"),
        pytest.param("other", "x", 1, 0.3, id="each queue by itself"),
        pytest.param("default", "y", 5, 0.1, id="over its weight"),
        pytest.param("default", "z", 1, 0.0, id="nothing where it holds nothing"),
    ],
)
def test_the_share_of_a_namespace(queue: str, namespace: str, weight: int, key: float) -> None:
    made = cluster()
    made.namespaces[namespace] = Namespace(namespace, weight=weight)

    assert made.opened(Drf(NoArgs())).namespace_key(queue, namespace) == pytest.approx(key)


# -- scores of queues -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("fields", "hierarchy", "score"),
    [
        pytest.param({}, False, 0.7, id="one less its share of the cluster"),
        pytest.param({"weight": 3}, False, 0.9, id="over its weight"),
        pytest.param({"weight": 3}, True, 0.9, id="with hierarchy the share of its node, where it names no place"),
        pytest.param(
            {"annotations": placed("root/a/b", "1/1/2")}, True, 0.85, id="with hierarchy over the weight of its node"
        ),
    ],
)
def test_the_score_of_a_queue(fields: dict[str, Any], hierarchy: bool, score: float) -> None:
    made = cluster().queue("other", **fields)

    assert made.opened(Drf(NoArgs()), hierarchy=hierarchy).queue_score(made.queues["other"]) == pytest.approx(score)


# -- within a queue -------------------------------------------------------------------------------------------------


class Rivals:
    """Twenty cores; a job in namespace x asks for one more, others hold theirs."""

    def __init__(self, mine: int, *, weight: int = 1) -> None:
        self.cluster = SmallCluster().node("n1", cpu=20_000, memory=100 * GIB)
        self.core = self.cluster.shape(cpu=1000, memory=0)
        self.cluster.namespaces["x"] = Namespace("x", weight=weight)
        self.mine = self.cluster.running("mine", mine, shape=self.core, namespace="x")
        self.preemptor = self.cluster.task(self.mine, "preemptor", self.core)

    def other(self, name: str, cores: int, namespace: str = "y", weight: int = 1) -> Rivals:
        self.cluster.namespaces.setdefault(namespace, Namespace(namespace, weight=weight))
        self.cluster.running(name, cores, shape=self.core, namespace=namespace)
        return self

    def victims(self, *, by_namespace: bool = True) -> dict[str, int]:
        """How many tasks of each job the preemptor may take from, all tasks offered job by job."""
        plugin = self.cluster.opened(Drf(NoArgs()), namespace_order=by_namespace)
        candidates = [
            task
            for job in self.cluster.jobs.values()
            for task in job.tasks.values()
            if task.status is Status.RUNNING and job is not self.mine
        ]
        found = votes_of(plugin, self.preemptor).agreed(candidates) or ()
        return dict(Counter(task.job.partition("/")[2] for task in found))


@pytest.mark.parametrize(
    ("rivals", "victims"),
    [
        pytest.param(Rivals(1).other("b", 5), {"b": 3}, id="of a namespace that has more, until it would have less"),
        pytest.param(Rivals(4).other("b", 5), {}, id="none of a namespace that would have less at once"),
        pytest.param(
            Rivals(5, weight=3).other("b", 5), {"b": 2}, id="by weight: six for a weight of three are like two for one"
        ),
        pytest.param(Rivals(1).other("b", 4, weight=4), {}, id="none of a namespace whose weight entitles it to more"),
        pytest.param(
            Rivals(1).other("b", 1).other("c", 4),
            {"b": 1, "c": 2},
            id="all jobs of a namespace count together, and a small one is no safer while it has more",
        ),
        pytest.param(
            Rivals(1).other("mate", 3, namespace="x").other("b", 2, namespace="y"),
            {"mate": 1},
            id="of the same namespace by job; of one that has less none, though the job has as much",
        ),
        pytest.param(
            Rivals(3).other("b", 5).other("c", 4),
            {"b": 4},
            id="where namespaces become equal the job decides",
        ),
    ],
)
def test_victims_by_namespace_then_by_job(rivals: Rivals, victims: dict[str, int]) -> None:
    assert rivals.victims() == victims


@pytest.mark.parametrize(
    ("rivals", "victims"),
    [
        pytest.param(
            Rivals(1).other("b", 4, weight=4), {"b": 2}, id="until the job would have less; weights do not count"
        ),
        pytest.param(Rivals(3).other("b", 4), {}, id="none of a job that would have less at once"),
        pytest.param(Rivals(1).other("b", 3).other("c", 3), {"b": 1, "c": 1}, id="each job by itself"),
    ],
)
def test_victims_by_job_where_namespaces_are_not_ordered(rivals: Rivals, victims: dict[str, int]) -> None:
    assert rivals.victims(by_namespace=False) == victims


@pytest.mark.parametrize(
    ("rivals", "by_namespace", "kept"),
    [
        pytest.param(Rivals(4).other("b", 3), True, {"b"}, id="jobs of a namespace that has less already"),
        pytest.param(Rivals(4).other("b", 5), True, set(), id="not of one that has as much"),
        pytest.param(Rivals(4, weight=5).other("b", 3), True, set(), id="by weight"),
        pytest.param(Rivals(4, weight=5).other("b", 3), False, {"b"}, id="by job where namespaces are not ordered"),
        pytest.param(Rivals(4).other("mate", 3, namespace="x"), True, {"mate"}, id="by job within the namespace"),
        pytest.param(
            Rivals(4).other("mate", 6, namespace="x"), True, set(), id="not a job that has as much once it lost a task"
        ),
        pytest.param(
            Rivals(0).other("mate", 6, namespace="x").other("b", 5),
            True,
            set(),
            id="not where others of the preemptor's namespace may have to go first",
        ),
    ],
)
def test_jobs_that_a_preemptor_need_not_look_at(rivals: Rivals, by_namespace: bool, kept: set[str]) -> None:
    plugin = rivals.cluster.opened(Drf(NoArgs()), namespace_order=by_namespace)
    jobs = rivals.cluster.jobs.values()

    assert {job.spec.name for job in jobs if votes_of(plugin, rivals.preemptor).rules_out(job)} == kept


def test_victims_of_unknown_jobs_are_nobodys() -> None:
    rivals = Rivals(0).other("b", 9)
    plugin = rivals.cluster.opened(Drf(NoArgs()))
    orphan = msgspec.structs.replace(next(iter(rivals.cluster.jobs["y/b"].tasks.values())), job="y/unknown")

    assert votes_of(plugin, rivals.preemptor).agreed([orphan]) == []


def test_preemptors_are_of_one_class_where_share_and_namespace_are_equal() -> None:
    rivals = Rivals(1).other("b", 1, namespace="x").other("c", 2, namespace="x").other("d", 1)
    plugin = rivals.cluster.opened(Drf(NoArgs()))
    one, same, more, elsewhere = (
        votes_of(plugin, msgspec.structs.replace(rivals.preemptor, job=job, namespace=job[0])).depends_on
        for job in ("x/mine", "x/b", "x/c", "y/d")
    )

    assert one == same
    assert len({one, more, elsewhere}) == 3
