"""Whole lives of vcjobs: random pods, Commands and policies, and a controller that may die after any write."""

from __future__ import annotations

from collections.abc import Callable
from itertools import islice
from typing import NamedTuple

from hypothesis import given
from hypothesis import strategies as st

from tests.controllers.vcjobs.world import World, started
from tests.support.vcjobs import task, vcjob
from vsched.controllers.vcjobs.spec import Dependency, JobAction, JobEvent, JobPhase, TaskSpec, VcJob, VcjobPolicy
from vsched.controllers.vcjobs.states import FINISHED

ACTIONS = [action for action in JobAction if action not in (JobAction.SYNC_JOB, JobAction.ENQUEUE_JOB)]
EVENTS = [
    JobEvent.ANY,
    JobEvent.POD_FAILED,
    JobEvent.POD_EVICTED,
    JobEvent.TASK_COMPLETED,
    JobEvent.TASK_FAILED,
    JobEvent.POD_PENDING,
]
MOST_RETRIES = 3


@st.composite
def policies(draw: st.DrawFn) -> VcjobPolicy:
    action = draw(st.sampled_from(ACTIONS))
    if draw(st.booleans()):
        return VcjobPolicy(action, exit_code=draw(st.integers(1, 2)))
    seconds = draw(st.sampled_from([0.0, 0.0, 30.0]))
    return VcjobPolicy(action, frozenset({draw(st.sampled_from(EVENTS))}), timeout_seconds=seconds)


@st.composite
def tasks(draw: st.DrawFn, name: str, dependency: Dependency | None) -> TaskSpec:
    size = draw(st.sampled_from([0, 0, 2]))
    replicas = 2 * draw(st.integers(1, 2)) if size else draw(st.integers(1, 3))
    few = draw(st.lists(policies(), max_size=1))
    minimum = draw(st.integers(0, replicas))
    return task(name, replicas, minimum=minimum, size=size, policies=tuple(few), dependency=dependency)


@st.composite
def jobs(draw: st.DrawFn) -> VcJob:
    first = draw(tasks("a", None))
    second = draw(tasks("b", draw(st.sampled_from([None, Dependency(("a",))]))))
    replicas = first.replicas + second.replicas
    return vcjob(
        first,
        second,
        min_available=draw(st.integers(1, replicas)),
        max_retry=draw(st.integers(1, MOST_RETRIES)),
        min_success=draw(st.sampled_from([None, None, 1, replicas])),
        policies=tuple(draw(st.lists(policies(), max_size=2))),
        plugins=draw(st.sampled_from([{}, {"svc": ()}])),
    )


class Change(NamedTuple):
    """Something that happens, and after how many writes the controller dies over it."""

    kind: str
    which: int
    dies: int | None


KINDS = ["admit", "run", "run all", "succeed", "fail", "restart container", "delete", "collect"]
KINDS += ["wait", "command", "gone"]
CHANGES = st.builds(
    Change, st.sampled_from([*KINDS, "admit", "run all"]), st.integers(0, 50), st.none() | st.integers(0, 6)
)


def worlds(job: VcJob, early: bool) -> World:
    """The job before anything has happened, or with all of its pods running."""
    return World(job) if early else started(job)


def happen(world: World, change: Change) -> None:
    pods = [pod for pod in world.pods.values() if not pod.deleting]
    pod = pods[change.which % len(pods)] if pods else None
    simple: dict[str, Callable[[], object]] = {
        "admit": world.admit,
        "run all": world.run,
        "wait": lambda: world.wait(20.0),
        "gone": world.clear,
        "command": lambda: world.ask(ACTIONS[change.which % len(ACTIONS)], f"c-{change.which}"),
    }
    if change.kind in simple:
        simple[change.kind]()
    elif pod is not None and change.kind == "collect" and pod.ended:
        world.evict(pod.name)
    elif pod is not None and pod.phase in ("Pending", "Running"):
        if change.kind == "run":
            world.run(pod.name)
        elif change.kind == "succeed":
            world.set(pod.name, "Succeeded")
        elif change.kind == "fail":
            world.fail(pod.name, 1 + change.which % 2)
        elif change.kind == "restart container":
            world.set(pod.name, pod.phase, restarts=pod.restarts + 1)
        elif change.kind == "delete":
            world.set(pod.name, pod.phase, deleting=True)


def decide(world: World, dies: int | None) -> None:
    """One decision, cut off after so many writes; every status that is written counts right."""
    before = world.job.status
    for write in islice(world.writes(world.plan()), dies):
        if write == "status":
            check_status(world, before.phase, before.retries, before.version)


def check_status(world: World, phase: JobPhase, retries: int, version: int) -> None:
    after = world.job.status
    restarted = after.phase is JobPhase.RESTARTING and phase in (JobPhase.NEW, JobPhase.PENDING, JobPhase.RUNNING)
    assert after.retries == retries + restarted
    assert version <= after.version <= version + 1
    assert after.retries <= world.job.max_retry
    if phase in FINISHED:
        assert after.phase is phase


@given(jobs(), st.booleans(), st.lists(CHANGES, max_size=40))
def test_retries_are_counted_once_and_no_pod_is_doubled(job: VcJob, early: bool, changes: list[Change]) -> None:
    world = worlds(job, early)
    for change in changes:
        happen(world, change)
        decide(world, change.dies)
        wanted = {f"train-{each.name}-{index}" for each in job.tasks for index in range(each.replicas)}
        assert world.pods.keys() <= wanted


@given(jobs(), st.booleans(), st.lists(CHANGES, max_size=25))
def test_a_controller_that_dies_is_followed_by_one_that_goes_on(job: VcJob, early: bool, changes: list[Change]) -> None:
    steady, dying = worlds(job, early), worlds(job, early)
    for change in changes:
        for world, dies in ((steady, None), (dying, change.dies)):
            happen(world, change)
            decide(world, dies)
            world.settle()
        for world in (steady, dying):
            assert (world.phase, world.job.status.retries, world.job.status.version) == (
                steady.phase,
                steady.job.status.retries,
                steady.job.status.version,
            )
        assert {pod.name: pod.phase for pod in steady.pods.values()} == {
            pod.name: pod.phase for pod in dying.pods.values()
        }


@given(jobs(), st.booleans(), st.lists(CHANGES, max_size=25))
def test_a_job_whose_pods_end_comes_to_an_end(job: VcJob, early: bool, changes: list[Change]) -> None:
    world = worlds(job, early)
    for change in changes:
        happen(world, change)
        decide(world, change.dies)
    for _ in range(4 * (MOST_RETRIES + 1)):
        world.settle()
        if world.phase in (*FINISHED, JobPhase.ABORTED):
            break
        world.wait(60.0).settle().admit().settle().run().settle()
        for pod in list(world.pods.values()):
            if pod.phase == "Running":
                world.set(pod.name, "Succeeded")
    assert world.phase in (*FINISHED, JobPhase.ABORTED)
    assert all(pod.phase in ("Succeeded", "Failed") for pod in world.pods.values())
    assert world.group is None
    assert not world.objects
