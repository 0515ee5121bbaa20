"""Which statuses in a bottle are not true."""

from __future__ import annotations

from typing import Any

import pytest

from vsched.lab.sender import Obj
from vsched.lab.soak import words as soak_words
from vsched.lab.soak.bottle import words
from vsched.lab.soak.bottle.statuses import unexplained, untrue_groups, untrue_queues
from vsched.mirror.ingest.metadata import QUEUE_NAME
from vsched.sim.fleet.sample_gangs import GROUP_NAME

DONE = "Succeeded"


def member(node: str = "n1", phase: str = "Running", **more: Any) -> Obj:
    container = {"resources": {"requests": {"cpu": "2"}}}
    metadata = {"namespace": "team", "name": "p", "annotations": {GROUP_NAME: "train"}, **more}
    return {"metadata": metadata, "spec": {"nodeName": node, "containers": [container]}, "status": {"phase": phase}}


def group(phase: str) -> Obj:
    metadata = {"namespace": "team", "name": "train"}
    return {"metadata": metadata, "spec": {"minMember": 2, "queue": "q"}, "status": {"phase": phase}}


@pytest.mark.parametrize(
    ("phase", "pods", "told"),
    [
        pytest.param("Running", [member(), member()], [], id="one that runs"),
        pytest.param("Running", [member(), member(phase=DONE)], [], id="pods that succeeded count for the minimum"),
        pytest.param("Completed", [member(phase=DONE), member(phase=DONE)], [], id="one that is done"),
        pytest.param("Inqueue", [member(""), member("")], [], id="one that waits"),
        pytest.param("Running", [], [], id="one whose pods are gone"),
        pytest.param(
            "Inqueue",
            [member(), member()],
            [words.says("team/train", "Inqueue", 2, 2)],
            id="one that runs is not in a queue",
        ),
        pytest.param(
            "Running",
            [member(""), member("")],
            [words.says("team/train", "Running", 0, 2)],
            id="one that waits does not run",
        ),
        pytest.param("Inqueue", [member(), member("")], [soak_words.partly_bound("team/train")], id="a part of one"),
        pytest.param(
            "Running",
            [member(), member(deletionTimestamp="2026-01-01T00:00:00Z")],
            [soak_words.partly_bound("team/train"), words.says("team/train", "Running", 1, 2)],
            id="a pod that goes does not count",
        ),
    ],
)
def test_phases_of_podgroups(phase: str, pods: list[Obj], told: list[str]) -> None:
    assert list(untrue_groups(pods, [group(phase)])) == told


@pytest.mark.parametrize(
    ("allocated", "pods", "told"),
    [
        pytest.param({"cpu": "4"}, [member(), member()], [], id="the cpus of its pods"),
        pytest.param({}, [member(""), member(phase=DONE)], [], id="pods that wait or ended hold nothing"),
        pytest.param({"cpu": "2"}, [member(annotations={QUEUE_NAME: "q"})], [], id="a pod alone names its queue"),
        pytest.param({"cpu": "2"}, [], [words.queue_says("q", 2, 0)], id="too much"),
        pytest.param(None, [member()], [words.queue_says("q", 0, 2)], id="nothing said"),
    ],
)
def test_what_queues_hold(allocated: Obj | None, pods: list[Obj], told: list[str]) -> None:
    queue = {"metadata": {"name": "q"}, "status": {"allocated": allocated}}
    other = {"metadata": {"name": "of others"}, "status": {"allocated": {"cpu": "9"}}}
    assert list(untrue_queues(pods, [group("Running")], [queue, other], {"q"})) == told


SAYS_WHY = {"type": "PodScheduled", "status": "False", "message": "no node fits"}


@pytest.mark.parametrize(
    ("pod", "told"),
    [
        pytest.param(member(), [], id="one that runs"),
        pytest.param(member(""), [words.says_nothing("team/p")], id="one that waits"),
        pytest.param({**member(""), "status": {"conditions": [SAYS_WHY]}}, [], id="one that says why"),
        pytest.param(
            {**member(""), "status": {"conditions": [SAYS_WHY | {"message": ""}]}},
            [words.says_nothing("team/p")],
            id="one that says nothing by it",
        ),
        pytest.param(member("", DONE), [], id="one that is over"),
        pytest.param(member("", deletionTimestamp="2026-01-01T00:00:00Z"), [], id="one that goes"),
    ],
)
def test_pods_that_wait_say_why(pod: Obj, told: list[str]) -> None:
    assert list(unexplained([pod])) == told
