"""Changes of vcjobs: which are forbidden, and which reach only later pods, or nothing before a restart."""

from __future__ import annotations

from typing import Any

import pytest

from tests.controllers.vcjobs.manifests import job_from, manifest, worker
from vsched.controllers.vcjobs import words
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
        pytest.param(ONE, {**ONE, "queue": "b"}, [words.may_not_change("spec.queue", "'b'", "'a'")], id="the queue"),
        pytest.param(
            ONE,
            {**ONE, "queue": "b", "minAvailable": 2, "maxRetry": 5},
            [words.may_not_change("spec.queue", "'b'", "'a'"), words.may_not_change("spec.maxRetry", "5", "nothing")],
            id="several, beside one that may be changed",
        ),
        pytest.param(
            spec(asking(1)),
            spec(asking(1, image="alpine")),
            [words.may_not_change("spec.tasks[0].template.spec.containers[0].image", "'alpine'", "'busybox'")],
            id="an image",
        ),
        pytest.param(
            spec(asking("1")),
            spec(asking("1500m")),
            [
                words.may_not_change(
                    "spec.tasks[0].template.spec.containers[0].resources.requests.cpu", "'1500m'", "'1'"
                )
            ],
            id="an amount",
        ),
        pytest.param(
            spec(asking(1, args=["a"])),
            spec(asking(1, args=["a", "b"])),
            [
                words.may_not_change("spec.tasks[0].template.spec.containers[0].args", "a list of 2", "a list of 1"),
            ],
            id="a longer list",
        ),
        pytest.param(
            spec(worker()),
            spec(worker(), policies=[{"event": "PodFailed", "action": "RestartJob"}]),
            [words.may_not_change("spec.policies", "a list of 1", "nothing")],
            id="a policy",
        ),
        pytest.param(
            spec(worker("a"), worker("b")),
            spec(worker("b"), worker("a")),
            [
                words.may_not_change("spec.tasks[0].name", "'b'", "'a'"),
                words.may_not_change("spec.tasks[1].name", "'a'", "'b'"),
            ],
            id="the order of tasks",
        ),
        pytest.param(
            spec(worker(), volumes=[{"mountPath": "/d", "volumeClaimName": "one"}]),
            spec(worker(), volumes=[{"mountPath": "/d", "volumeClaimName": "two"}]),
            [words.may_not_change("spec.volumes[0].volumeClaimName", "'two'", "'one'")],
            id="another claim",
        ),
        pytest.param(
            spec(asking(1, command=["x" * 100])),
            spec(asking(1, command=["y" * 100])),
            [
                words.may_not_change(
                    "spec.tasks[0].template.spec.containers[0].command[0]", f"'{'y' * 59}...", f"'{'x' * 59}..."
                ),
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
        words.tasks_added_or_removed(after, before)
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
            [words.podgroup_stays_in_queue("a", words.UNTIL_RESTARTED)],
            id="the queue",
        ),
        pytest.param(
            manifest(worker()),
            manifest(worker(), networkTopology={"mode": "soft"}),
            [words.podgroup_keeps_topology(words.UNTIL_RESTARTED)],
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
