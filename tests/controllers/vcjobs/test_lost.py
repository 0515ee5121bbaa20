"""Pods that have gone while no process looked after their job."""

from __future__ import annotations

import pytest

from tests.controllers.vcjobs.world import World, started
from tests.support.vcjobs import task, vcjob
from vsched.controllers.vcjobs.lost import lost_pods
from vsched.controllers.vcjobs.spec import JobAction, JobEvent, VcjobPolicy

WORKERS = vcjob(task("ps"), task(replicas=3, minimum=1), min_available=1)


def names(world: World) -> list[str]:
    return [pod.name for pod in lost_pods(world.view, world.now)]


def without(world: World, *gone: str) -> World:
    for name in gone:
        del world.pods[name]
    return world


@pytest.mark.parametrize(
    ("gone", "expected"),
    [
        pytest.param((), [], id="all are there"),
        pytest.param(("train-worker-1",), ["train-worker-1"], id="one has gone"),
        pytest.param(
            ("train-worker-0", "train-ps-0"), ["train-ps-0", "train-worker-0"], id="one of each task has gone"
        ),
    ],
)
def test_what_the_status_counts_and_is_not_there(gone: tuple[str, ...], expected: list[str]) -> None:
    assert names(without(started(WORKERS), *gone)) == expected


ENDED = {"train-worker-0": "Succeeded", "train-worker-1": "Failed"}


@pytest.mark.parametrize(
    ("gone", "expected"),
    [
        pytest.param(("train-worker-0", "train-worker-1"), ENDED, id="those that had ended"),
        pytest.param(("train-worker-0",), {"train-worker-0": "Succeeded"}, id="one of them"),
        pytest.param(
            ("train-worker-0", "train-worker-1", "train-worker-2"),
            dict.fromkeys(("train-worker-0", "train-worker-1", "train-worker-2"), "Unknown"),
            id="others as well: nobody knows which had ended",
        ),
    ],
)
def test_pods_that_had_ended_count_as_they_ended(gone: tuple[str, ...], expected: dict[str, str]) -> None:
    world = started(WORKERS).set("train-worker-0", "Succeeded").set("train-worker-1", "Failed").settle()
    assert {pod.name: pod.phase for pod in lost_pods(without(world, *gone).view, world.now)} == expected


def test_pods_that_are_not_made_yet_have_not_gone() -> None:
    assert names(World(WORKERS).settle()) == []


def test_pods_that_a_restart_takes_away_have_not_gone() -> None:
    policy = VcjobPolicy(JobAction.RESTART_TASK, frozenset({JobEvent.POD_FAILED}))
    world = started(vcjob(task("ps"), task(replicas=3, minimum=1), min_available=1, policies=(policy,)))
    world.fail("train-worker-0")
    world.step()
    world.step()
    world.clear()
    assert (world.phase, set(world.pods)) == ("Pending", {"train-ps-0"})
    assert names(world) == []


def test_pods_of_fewer_replicas_have_not_gone() -> None:
    world = started(WORKERS)
    world.job = vcjob(task("ps"), task(replicas=1), min_available=1, status=world.job.status)
    assert names(without(world, "train-worker-1", "train-worker-2")) == []


def test_a_job_that_ends_loses_no_pods() -> None:
    world = started(WORKERS).ask(JobAction.ABORT_JOB)
    world.step()
    assert names(without(world, "train-worker-0")) == []


def test_what_was_lost_counts_as_evicted() -> None:
    policy = VcjobPolicy(JobAction.RESTART_JOB, frozenset({JobEvent.POD_EVICTED}))
    world = without(started(vcjob(task(replicas=3), policies=(policy,))), "train-worker-2")
    world.evicted = {pod.uid: pod for pod in lost_pods(world.view, world.now)}
    world.settle()
    assert (world.phase, world.status["retryCount"], world.evicted) == ("Pending", 1, {})
    assert "pod train-worker-2 was deleted" in world.job.status.message
