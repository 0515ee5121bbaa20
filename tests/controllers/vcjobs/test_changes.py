"""Changes of vcjobs: which are forbidden, and which reach only later pods, or nothing before a restart."""

from __future__ import annotations

from typing import Any

import pytest

from tests.controllers.vcjobs.manifests import job_from, manifest, worker
from vsched.controllers.vcjobs.changes import forbidden_changes, late_changes
from vsched.controllers.vcjobs.words import ONLY_THESE_MAY_CHANGE

Obj = dict[str, Any]
CLAIM = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}


def spec(*tasks: Obj, **fields: Any) -> Obj:
    found: Obj = manifest(*tasks, **fields)["spec"]
    return found


def asking(cpu: Any, **more: Any) -> Obj:
    """A task whose pods ask for so much."""
    container = {"name": "c", "image": "busybox", "resources": {"requests": {"cpu": cpu}}, **more}
    return worker(template={"spec": {"containers": [container]}})


ONE = spec(worker(), queue="a", minAvailable=1)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        pytest.param(ONE, ONE, id="nothing"),
        pytest.param(ONE, {**ONE, "minAvailable": 2}, id="minAvailable"),
        pytest.param(ONE, {**ONE, "priorityClassName": "high"}, id="priorityClassName"),
        pytest.param(spec(worker()), spec(worker(replicas=5)), id="replicas of a task"),
        pytest.param(spec(worker()), spec(worker(minAvailable=0)), id="minAvailable of a task"),
        pytest.param(spec(asking(1)), spec(asking("1000m")), id="the same amount written in another way"),
        pytest.param(
            spec(worker()), spec(worker(), policies=[], plugins={}, volumes=None), id="empty lists and objects"
        ),
        pytest.param(
            spec(worker(), volumes=[{"mountPath": "/d", "volumeClaim": CLAIM}]),
            spec(worker(), volumes=[{"mountPath": "/d", "volumeClaim": CLAIM, "volumeClaimName": "train-pvc-1"}]),
            id="the name of a claim that a controller has made",
        ),
    ],
)
def test_what_may_be_changed(before: Obj, after: Obj) -> None:
    assert forbidden_changes(before, after) == []
    assert forbidden_changes(after, before) == []


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        pytest.param(ONE, {**ONE, "queue": "b"}, ["spec.queue: 'b' (expected 'a' as before)"], id="the queue"),
        pytest.param(
            ONE,
            {**ONE, "queue": "b", "minAvailable": 2, "maxRetry": 5},
            ["spec.queue: 'b' (expected 'a' as before)", "spec.maxRetry: 5 (expected nothing as before)"],
            id="several, beside one that may be changed",
        ),
        pytest.param(
            spec(asking(1)),
            spec(asking(1, image="alpine")),
            ["spec.tasks[0].template.spec.containers[0].image: 'alpine' (expected 'busybox' as before)"],
            id="an image",
        ),
        pytest.param(
            spec(asking("1")),
            spec(asking("1500m")),
            ["spec.tasks[0].template.spec.containers[0].resources.requests.cpu: '1500m' (expected '1' as before)"],
            id="an amount",
        ),
        pytest.param(
            spec(asking(1, args=["a"])),
            spec(asking(1, args=["a", "b"])),
            [
                "spec.tasks[0].template.spec.containers[0].args: a list of 2 (expected a list of 1 as before)",
            ],
            id="a longer list",
        ),
        pytest.param(
            spec(worker()),
            spec(worker(), policies=[{"event": "PodFailed", "action": "RestartJob"}]),
            ["spec.policies: a list of 1 (expected nothing as before)"],
            id="a policy",
        ),
        pytest.param(
            spec(worker("a"), worker("b")),
            spec(worker("b"), worker("a")),
            ["spec.tasks[0].name: 'b' (expected 'a' as before)", "spec.tasks[1].name: 'a' (expected 'b' as before)"],
            id="the order of tasks",
        ),
        pytest.param(
            spec(worker(), volumes=[{"mountPath": "/d", "volumeClaimName": "one"}]),
            spec(worker(), volumes=[{"mountPath": "/d", "volumeClaimName": "two"}]),
            ["spec.volumes[0].volumeClaimName: 'two' (expected 'one' as before)"],
            id="another claim",
        ),
        pytest.param(
            spec(asking(1, command=["x" * 100])),
            spec(asking(1, command=["y" * 100])),
            [
                "spec.tasks[0].template.spec.containers[0].command[0]: "
                f"'{'y' * 59}... (expected '{'x' * 59}... as before)",
            ],
            id="long values are cut",
        ),
    ],
)
def test_what_may_not_be_changed(before: Obj, after: Obj, expected: list[str]) -> None:
    assert forbidden_changes(before, after) == [ONLY_THESE_MAY_CHANGE, *expected]


@pytest.mark.parametrize(("before", "after"), [(1, 2), (2, 1)])
def test_tasks_can_be_neither_added_nor_removed(before: int, after: int) -> None:
    tasks = [worker("a"), worker("b")]
    assert forbidden_changes(spec(*tasks[:before]), spec(*tasks[:after])) == [
        f"spec.tasks: {after} (expected {before} as before: tasks can be neither added nor removed)"
    ]


LATER = "the change applies only to pods created from now on"


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        pytest.param(manifest(worker()), manifest(worker(replicas=2)), [], id="replicas take effect at once"),
        pytest.param(
            manifest(worker()),
            manifest(worker(), worker("b"), maxRetry=9, policies=[{"event": "PodFailed", "action": "RestartJob"}]),
            [],
            id="so do a new task, maxRetry and policies",
        ),
        pytest.param(
            manifest(worker(), queue="a"),
            manifest(worker(), queue="b"),
            ["spec.queue: the PodGroup stays in queue a until the whole job is restarted"],
            id="the queue",
        ),
        pytest.param(
            manifest(worker()),
            manifest(worker(), networkTopology={"mode": "soft"}),
            ["spec.networkTopology: the PodGroup keeps the old one until the whole job is restarted"],
            id="networkTopology",
        ),
        pytest.param(
            manifest(worker("a"), asking(1)),
            manifest(worker("a", topologyPolicy="restricted"), asking(2), plugins={"env": []}),
            [f"spec.plugins, spec.tasks[0].topologyPolicy, spec.tasks[1].template: {LATER}"],
            id="what pods are made from",
        ),
        pytest.param(
            manifest(worker(replicas=2)),
            manifest(worker(replicas=2, partitionPolicy={"totalPartitions": 1, "partitionSize": 2})),
            [f"spec.tasks[0].partitionPolicy: {LATER}"],
            id="partitions",
        ),
    ],
)
def test_what_of_a_change_does_not_reach_a_job_under_way(before: Obj, after: Obj, expected: list[str]) -> None:
    assert late_changes(job_from(before), job_from(after)) == expected
