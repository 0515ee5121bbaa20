"""What queues ask for while vcjobs restart."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support import builders as make
from tests.support.mirrors import World
from tests.support.views import named
from vsched import api
from vsched.kube.times import time_stamp
from vsched.mirror.ingest.restarts import COMING_SECONDS, LEAVING_SECONDS

Obj = dict[str, Any]
NOW = 1_000_000.0
PODS = {f"w-{number}": make.pod(f"w-{number}", group="train-u") for number in range(3)}
LEAVING = {"metadata": {"deletionTimestamp": "2026-01-01T00:00:00Z"}}
RUNNING = {
    name: make.merged(pod, {"spec": {"nodeName": "n1"}, "status": {"phase": "Running"}}) for name, pod in PODS.items()
}


def vcjob(phase: str, reason: str = "RestartJob", retries: int = 1, since: float = NOW, **spec: Any) -> Obj:
    template = {"spec": {"containers": [make.container("1")]}}
    later = {"name": "later", "replicas": 5, "template": template, "dependsOn": {"name": ["w"]}}
    tasks = [{"name": "w", "replicas": 3, "template": template}, later]
    return {
        "kind": api.VCJOB,
        "metadata": {"namespace": "ns", "name": "train", "uid": "u"},
        "spec": {"schedulerName": "volcano", "queue": "q", "tasks": tasks, **spec},
        "status": {
            "state": {"phase": phase, "reason": reason, "lastTransitionTime": time_stamp(since)},
            "retryCount": retries,
        },
    }


def asked(world: World, now: float = NOW) -> dict[str, int]:
    """The cpu that the queue asks for, with pods of restarting jobs."""
    snapshot = world.cache.snapshot(now)
    return {name: amount for name, amount in named(snapshot.axis, snapshot.queues["q"].asked).items() if name == "cpu"}


ALL = {"cpu": 3000}


@pytest.mark.parametrize(
    ("objects", "expected"),
    [
        pytest.param([vcjob("Restarting")], ALL, id="while its old pods go"),
        pytest.param([vcjob("Pending")], ALL, id="until its new pods are there"),
        pytest.param([vcjob("Restarting"), *RUNNING.values()], {}, id="all pods are there"),
        pytest.param([vcjob("Pending"), *list(PODS.values())[:2]], ALL, id="some of them are there"),
        pytest.param(
            [vcjob("Restarting"), make.merged(RUNNING["w-0"], LEAVING)],
            ALL,
            id="a pod that is being deleted",
        ),
        pytest.param([vcjob("Restarting", since=NOW - LEAVING_SECONDS - 1)], {}, id="its old pods do not go"),
        pytest.param([vcjob("Pending", since=NOW - COMING_SECONDS - 1)], {}, id="its new pods do not come"),
        pytest.param([vcjob("Pending", retries=0)], {}, id="a job that begins"),
        pytest.param([vcjob("Running")], ALL, id="until the others are there, too, once its minimum runs"),
        pytest.param([vcjob("Running", retries=0)], {}, id="a job that runs and has not restarted"),
        pytest.param([vcjob("Running", since=NOW - COMING_SECONDS - 1)], {}, id="a job that has run for a while"),
        pytest.param([vcjob("Restarting", "ResumeJob")], {}, id="a job that goes on after a pause"),
        pytest.param([vcjob("Restarting", schedulerName="other")], {}, id="a job of another scheduler"),
        pytest.param([vcjob("Restarting", queue="elsewhere")], {}, id="a job of a queue that is not there"),
        pytest.param([vcjob("Restarting", tasks=[{"replicas": 1, "template": 3}])], {}, id="cannot be read"),
        pytest.param(
            [vcjob("Restarting"), make.pod_group("other"), make.pod("other", group="other")],
            {"cpu": 4000},
            id="with what other jobs of the queue ask for",
        ),
    ],
)
def test_what_a_queue_asks_for_while_a_job_restarts(objects: list[Obj], expected: dict[str, int]) -> None:
    world = World(make.node(), make.queue(), make.pod_group("train-u"), *objects)
    assert asked(world) == expected


def test_a_restart_is_over_when_its_time_is_or_the_job_is_gone() -> None:
    world = World(make.node(), make.queue(), vcjob("Pending"))
    before = world.cache.snapshot(NOW).queues
    assert world.cache.snapshot(NOW + 1).queues is before
    assert asked(world) == ALL
    world.delete(vcjob("Pending"))
    assert asked(world) == {}
    world.add(vcjob("Pending"))
    assert asked(world, NOW + COMING_SECONDS + 1) == {}
