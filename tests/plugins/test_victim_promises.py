"""What plugins say of victims in advance holds: jobs that are kept lose nothing, evictors of one class are one."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.small import GIB, SmallCluster
from tests.support.voting import PREEMPT, RECLAIM, agreed, class_of, rules_out
from vsched.framework.points.extension import NoArgs, SessionContext
from vsched.framework.points.victims import Preemptable, Reclaimable
from vsched.model.jobs.job import Job
from vsched.model.pods.status import Status
from vsched.model.pods.task import Task
from vsched.model.queues.queue import Namespace
from vsched.plugins.conformance import Conformance
from vsched.plugins.drf import Drf
from vsched.plugins.gang import Gang
from vsched.plugins.priority import Priority
from vsched.plugins.proportion import Proportion


class JobDraw(NamedTuple):
    """What is drawn of a job."""

    queue: str
    namespace: str
    shape: int
    running: int
    minimum: int
    priority: int


JOBS = st.builds(
    JobDraw,
    st.sampled_from("ppq"),
    st.sampled_from(["x", "x", "y", "kube-system"]),
    st.integers(0, 1),
    st.integers(0, 4),
    st.integers(0, 3),
    st.integers(0, 2),
)
WORLDS = st.tuples(
    st.lists(JOBS, min_size=2, max_size=6),
    st.lists(st.integers(0, 30), max_size=6),
    st.integers(1, 3),
)
SHAPES = ((1000, 0), (1000, 2 * GIB))


class Drawn:
    """A cluster, the first pending task of each job as an evictor, and evictions that others have made."""

    def __init__(self, drawn: tuple[list[JobDraw], list[int], int], *, by_namespace: bool = True) -> None:
        jobs, self.evictions, weight = drawn
        cluster = self.cluster = SmallCluster().node("n1", cpu=5000, memory=6 * GIB)
        cluster.queue("p", annotations=(("volcano.sh/hierarchy", "root/p"),))
        cluster.queue("q", weight=2, annotations=(("volcano.sh/hierarchy", "root/g/q"),))
        cluster.namespaces["x"] = Namespace("x", weight=weight)
        self.evictors: list[Task] = []
        shapes = [cluster.shape(cpu=cpu, memory=memory) for cpu, memory in SHAPES]
        for number, draw in enumerate(jobs):
            job = cluster.job(f"j{number}", 0, namespace=draw.namespace, queue=draw.queue, min_member=draw.minimum)
            job.priority = draw.priority
            for at in range(draw.running):
                cluster.task(job, f"r{number}-{at}", shapes[draw.shape], Status.RUNNING, "n1", priority=at)
            self.evictors.append(cluster.task(job, f"e{number}", shapes[0], priority=draw.priority))
        self.opening: SessionContext = cluster.opening(hierarchy=True, namespace_order=by_namespace)

    def running(self) -> list[Task]:
        """Tasks that still run."""
        return [
            task
            for view in self.opening.jobs.values()
            for task in view.job.tasks.values()
            if task.status is Status.RUNNING and task.uid not in view.moved
        ]

    def evict(self, spared: Callable[[Job], bool]) -> None:
        """Evict what was drawn, of jobs that are not spared."""
        for number in self.evictions:
            running = [task for task in self.running() if not spared(self.cluster.jobs[task.job])]
            if running:
                task = running[number % len(running)]
                view = self.opening.jobs[task.job]
                view.move(task, Status.RUNNING, Status.RELEASING, "n1")
                self.opening.usage.shift(view.queue, view.namespace, task.shape.request, -1)


PREEMPTABLE = [Conformance, Gang, Priority, Drf]
RECLAIMABLE = [Conformance, Gang, Proportion, Drf]


@pytest.mark.parametrize("by_namespace", [True, False], ids=["namespaces first", "jobs alone"])
@pytest.mark.parametrize("plugin_type", PREEMPTABLE, ids=lambda plugin: plugin.name)
@given(WORLDS)
def test_jobs_that_are_kept_from_a_preemptor_lose_nothing_to_it(
    plugin_type: type[Conformance | Gang | Priority | Drf],
    by_namespace: bool,
    drawn: tuple[list[JobDraw], list[int], int],
) -> None:
    world = Drawn(drawn, by_namespace=by_namespace)
    plugin = plugin_type(NoArgs())
    plugin.open(world.opening)
    assert isinstance(plugin, Preemptable)
    evictor = world.evictors[0]
    queue = world.cluster.jobs[evictor.job].spec.queue
    kept = {job.key for job in world.opening.jobs.values() if rules_out(plugin, evictor, job, PREEMPT)}
    world.evict(lambda job: job.key == evictor.job or job.spec.queue != queue)
    candidates = [task for task in world.running() if world.cluster.jobs[task.job].spec.queue == queue]

    assert kept.isdisjoint(task.job for task in agreed(plugin, evictor, candidates, PREEMPT) or ())


@pytest.mark.parametrize("plugin_type", RECLAIMABLE, ids=lambda plugin: plugin.name)
@given(WORLDS)
def test_jobs_that_are_kept_from_a_reclaimer_lose_nothing_to_it(
    plugin_type: type[Conformance | Gang | Proportion | Drf], drawn: tuple[list[JobDraw], list[int], int]
) -> None:
    world = Drawn(drawn)
    plugin = plugin_type(NoArgs())
    plugin.open(world.opening)
    assert isinstance(plugin, Reclaimable)
    evictor = world.evictors[0]
    queue = world.cluster.jobs[evictor.job].spec.queue
    kept = {job.key for job in world.opening.jobs.values() if rules_out(plugin, evictor, job, RECLAIM)}
    world.evict(lambda job: job.spec.queue == queue)
    candidates = [task for task in world.running() if world.cluster.jobs[task.job].spec.queue != queue]

    assert kept.isdisjoint(task.job for task in agreed(plugin, evictor, candidates, RECLAIM) or ())


@pytest.mark.parametrize("by_namespace", [True, False], ids=["namespaces first", "jobs alone"])
@pytest.mark.parametrize("plugin_type", PREEMPTABLE, ids=lambda plugin: plugin.name)
@given(WORLDS)
def test_preemptors_of_one_class_in_one_queue_get_one_answer(
    plugin_type: type[Conformance | Gang | Priority | Drf],
    by_namespace: bool,
    drawn: tuple[list[JobDraw], list[int], int],
) -> None:
    world = Drawn(drawn, by_namespace=by_namespace)
    plugin = plugin_type(NoArgs())
    plugin.open(world.opening)
    jobs = world.cluster.jobs
    answers: dict[object, list[Task]] = {}
    for evictor in world.evictors:
        queue = jobs[evictor.job].spec.queue
        candidates = [task for task in world.running() if jobs[task.job].spec.queue == queue]
        found = list(agreed(plugin, evictor, candidates, PREEMPT) or ())

        assert answers.setdefault((queue, class_of(plugin, evictor, PREEMPT)), found) == found


@pytest.mark.parametrize("plugin_type", RECLAIMABLE, ids=lambda plugin: plugin.name)
@given(WORLDS)
def test_reclaimers_of_one_class_in_one_queue_get_one_answer(
    plugin_type: type[Conformance | Gang | Proportion | Drf], drawn: tuple[list[JobDraw], list[int], int]
) -> None:
    world = Drawn(drawn)
    plugin = plugin_type(NoArgs())
    plugin.open(world.opening)
    jobs = world.cluster.jobs
    answers: dict[object, list[Task]] = {}
    for evictor in world.evictors:
        queue = jobs[evictor.job].spec.queue
        candidates = [task for task in world.running() if jobs[task.job].spec.queue != queue]
        found = list(agreed(plugin, evictor, candidates, RECLAIM) or ())

        assert answers.setdefault((queue, class_of(plugin, evictor, RECLAIM)), found) == found
