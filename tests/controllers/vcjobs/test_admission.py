"""What is refused of a vcjob: each problem is one line that names the field."""

from __future__ import annotations

from typing import Any

import pytest

from tests.controllers.vcjobs.manifests import job_from, manifest, worker


def faulty(**fields: Any) -> dict[str, Any]:
    """A job of one good task with these fields in its spec."""
    return manifest(worker(replicas=2), **fields)


def policy(**fields: Any) -> dict[str, Any]:
    return faulty(policies=[{"action": "RestartJob", **fields}])


def volumes(*found: dict[str, Any]) -> dict[str, Any]:
    return faulty(volumes=list(found))


CLAIM = {"accessModes": ["ReadWriteOnce"]}
EVENTS = "*, JobUpdated, PodEvicted, PodFailed, PodPending, TaskCompleted, TaskFailed, Unknown"


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        pytest.param(manifest(), ["spec.tasks: none (expected at least one)"], id="no tasks"),
        pytest.param(faulty(minAvailable=-1), ["spec.minAvailable: -1 (expected 0 or more)"], id="minAvailable"),
        pytest.param(
            faulty(minAvailable=3),
            ["spec.minAvailable: 3 is more than the 2 replicas of all tasks"],
            id="minAvailable above all replicas",
        ),
        pytest.param(faulty(maxRetry=-1), ["spec.maxRetry: -1 (expected 0 or more)"], id="maxRetry"),
        pytest.param(faulty(minSuccess=0), ["spec.minSuccess: 0 (expected 1 or more)"], id="minSuccess"),
        pytest.param(
            faulty(ttlSecondsAfterFinished=-1),
            ["spec.ttlSecondsAfterFinished: -1 (expected 0 or more)"],
            id="ttlSecondsAfterFinished",
        ),
        pytest.param(
            faulty(networkTopology={"mode": "near"}),
            ["spec.networkTopology.mode: 'near' (expected hard, soft)"],
            id="the mode of networkTopology",
        ),
        pytest.param(
            faulty(networkTopology={"highestTierAllowed": 1, "highestTierName": "rack"}),
            ["spec.networkTopology: both highestTierAllowed and highestTierName (expected one of them)"],
            id="two highest tiers",
        ),
        pytest.param(
            manifest(worker(replicas=-1), minAvailable=0),
            ["spec.tasks[0].replicas: -1 (expected 0 or more)"],
            id="replicas",
        ),
        pytest.param(
            manifest(worker(replicas=1, minAvailable=2), minAvailable=1),
            ["spec.tasks[0].minAvailable: 2 is more than replicas (1)"],
            id="minAvailable above the replicas of a task",
        ),
        pytest.param(
            manifest(worker("a", replicas=60_000), worker("b", replicas=40_001), minAvailable=1),
            ["spec.tasks: 100,001 pods (expected 100,000 at most)"],
            id="more pods than a job may have",
        ),
        pytest.param(
            manifest(worker(replicas=10_001), minAvailable=1, plugins={"svc": [], "env": []}),
            ["spec.plugins[svc]: 10,001 pods to list (expected 10,000 at most)"],
            id="more hosts than a ConfigMap has room for",
        ),
        pytest.param(
            manifest(worker(replicas=10_001), minAvailable=1, plugins={"ssh": []}),
            ["spec.plugins[ssh]: 10,001 pods to list (expected 10,000 at most)"],
            id="more hosts than a Secret has room for",
        ),
        pytest.param(
            manifest(worker(replicas=2_001), minAvailable=1, plugins={"tensorflow": []}),
            ["spec.plugins[tensorflow]: 2,001 pods to list (expected 2,000 at most)"],
            id="more hosts than a variable has room for",
        ),
        pytest.param(manifest(worker(), worker()), ["spec.tasks: 2 tasks are called worker"], id="two of one name"),
        pytest.param(
            manifest(worker("Worker")),
            ["spec.tasks[0].name: 'Worker' (expected at most 63 small letters, digits and '-')"],
            id="no DNS label",
        ),
        pytest.param(
            manifest(worker("w" * 60)),
            [f"spec.tasks[0].name: the name of a pod, train-{'w' * 60}-0, has 68 characters (expected at most 63)"],
            id="pods whose names are too long",
        ),
        pytest.param(
            manifest(worker(template={"spec": {}})),
            ["spec.tasks[0].template.spec.containers: none (expected at least one)"],
            id="no containers",
        ),
        pytest.param(
            manifest(worker(topologyPolicy="close")),
            [
                "spec.tasks[0].topologyPolicy: 'close' (expected none, best-effort, restricted, single-numa-node)",
            ],
            id="topologyPolicy",
        ),
        pytest.param(
            manifest(worker(maxRetry=-2)), ["spec.tasks[0].maxRetry: -2 (expected -1 or more)"], id="a task's maxRetry"
        ),
        pytest.param(
            policy(event="PodFailed", exitCode=3),
            ["spec.policies[0]: both event and exitCode (expected one of them)"],
            id="event and exitCode",
        ),
        pytest.param(policy(), ["spec.policies[0]: neither event nor exitCode"], id="a policy for nothing"),
        pytest.param(
            policy(exitCode=0), ["spec.policies[0].exitCode: 0 (expected the exit code of a failure)"], id="exit code 0"
        ),
        pytest.param(
            policy(event="PodRunning"),
            [f"spec.policies[0].event: 'PodRunning' (expected one of {EVENTS})"],
            id="an event that policies cannot name",
        ),
        pytest.param(
            policy(event="PodFailed", action="SyncJob"),
            [
                "spec.policies[0].action: 'SyncJob' (expected one of AbortJob, CompleteJob, RestartJob,"
                " RestartPartition, RestartPod, RestartTask, ResumeJob, TerminateJob)"
            ],
            id="an action that policies cannot take",
        ),
        pytest.param(
            policy(event="PodPending", timeout="soon"),
            ["spec.policies[0].timeout: 'soon' (expected a duration such as 10m)"],
            id="no duration",
        ),
        pytest.param(
            policy(event="PodFailed", timeout="-1s"),
            ["spec.policies[0].timeout: '-1s' (expected a duration such as 10m)"],
            id="a time that was over before it began",
        ),
        pytest.param(
            faulty(policies=[{"action": "AbortJob", "event": "PodFailed"}] * 2),
            ["spec.policies: event PodFailed is in 2 policies"],
            id="one event twice",
        ),
        pytest.param(
            faulty(policies=[{"action": "AbortJob", "exitCode": 3}] * 2),
            ["spec.policies: exitCode 3 is in 2 policies"],
            id="one exit code twice",
        ),
        pytest.param(
            policy(events=["*", "PodFailed"]),
            ["spec.policies: event * means all others (expected no other event beside it)"],
            id="any event and one more",
        ),
        pytest.param(
            manifest(worker(policies=[{"action": "AbortJob"}])),
            ["spec.tasks[0].policies[0]: neither event nor exitCode"],
            id="a policy of a task",
        ),
        pytest.param(
            manifest(worker(dependsOn={"name": ["ps"]})),
            ["spec.tasks[0].dependsOn.name: there is no task 'ps'"],
            id="a dependency on no task",
        ),
        pytest.param(
            manifest(
                worker("a", dependsOn={"name": ["b"]}),
                worker("b", dependsOn={"name": ["c"], "iteration": "any"}),
                worker("c", dependsOn={"name": ["a"]}),
            ),
            ["spec.tasks: tasks wait for each other: a -> b -> c -> a"],
            id="a circle of dependencies",
        ),
        pytest.param(
            manifest(worker(dependsOn={"name": [], "iteration": "some"})),
            ["spec.tasks[0].dependsOn.iteration: 'some' (expected any, all)"],
            id="iteration",
        ),
        pytest.param(
            manifest(worker(replicas=5, partitionPolicy={"totalPartitions": 2, "partitionSize": 2})),
            ["spec.tasks[0].partitionPolicy: 2 partitions of 2 pods are 4 pods (expected replicas, 5)"],
            id="partitions that are not all pods",
        ),
        pytest.param(
            manifest(
                worker(replicas=4, partitionPolicy={"totalPartitions": 2, "partitionSize": 2, "minPartitions": 3}),
                minAvailable=4,
            ),
            [
                "spec.tasks[0].minAvailable: 6 is more than replicas (4)",
                "spec.tasks[0].partitionPolicy.minPartitions: 3 is more than totalPartitions (2)",
            ],
            id="too high a minimum of partitions",
        ),
        pytest.param(
            manifest(worker(replicas=0, partitionPolicy={"partitionSize": 0}), minAvailable=0),
            [
                "spec.tasks[0].partitionPolicy.totalPartitions: 0 (expected 1 or more)",
                "spec.tasks[0].partitionPolicy.partitionSize: 0 (expected 1 or more)",
            ],
            id="partitions of nothing",
        ),
        pytest.param(
            faulty(plugins={"gpu": []}),
            ["spec.plugins: 'gpu' (expected env, svc, ssh, pytorch, mpi, tensorflow, ray, hcclrank)"],
            id="no such plugin",
        ),
        pytest.param(
            faulty(plugins={"mpi": []}),
            ["spec.plugins[mpi]: no task 'master' (expected one of this name, or --master to name another)"],
            id="mpi without its master",
        ),
        pytest.param(volumes({"volumeClaim": CLAIM}), ["spec.volumes[0].mountPath: missing"], id="no mountPath"),
        pytest.param(
            volumes({"mountPath": "/d", "volumeClaim": CLAIM}, {"mountPath": "/d", "volumeClaim": CLAIM}),
            ["spec.volumes[1].mountPath: /d is there twice"],
            id="one mountPath twice",
        ),
        pytest.param(
            volumes({"mountPath": "/d"}), ["spec.volumes[0]: neither volumeClaim nor volumeClaimName"], id="no claim"
        ),
        pytest.param(
            volumes({"mountPath": "/d", "volumeClaim": CLAIM, "volumeClaimName": "shared"}),
            ["spec.volumes[0]: both volumeClaim and volumeClaimName (expected one: a new claim, or one that is there)"],
            id="a new claim with a name",
        ),
        pytest.param(
            volumes({"mountPath": "/d", "volumeClaimName": "A_B"}),
            ["spec.volumes[0].volumeClaimName: 'A_B' cannot be the name of a claim"],
            id="no name of a claim",
        ),
    ],
)
def test_what_is_refused(written: dict[str, Any], expected: list[str]) -> None:
    assert list(job_from(written).refusals) == expected


@pytest.mark.parametrize(
    "written",
    [
        pytest.param(faulty(), id="the least"),
        pytest.param(faulty(minAvailable=0, maxRetry=0), id="zeros stand for the defaults"),
        pytest.param(policy(events=["PodFailed", "PodEvicted"], timeout="10m"), id="events with a time"),
        pytest.param(policy(event="PodFailed", timeout="0s"), id="a time of zero, which is none"),
        pytest.param(policy(event="PodFailed", events=["PodFailed"]), id="one event in both fields of a policy"),
        pytest.param(volumes({"mountPath": "/d", "volumeClaimName": "shared"}), id="a claim that is there"),
        pytest.param(
            volumes({"mountPath": "/d", "volumeClaim": CLAIM, "volumeClaimName": "train-pvc-0a1b2c3d4e5f"}),
            id="a claim that Volcano's controller has made and named",
        ),
        pytest.param(manifest(worker("a"), worker("b", dependsOn={"name": ["a", "a"]})), id="a dependency twice"),
        pytest.param(faulty(plugins={"pytorch": ["--nothing=1"]}), id="arguments that a plugin passes over"),
    ],
)
def test_what_is_let_in(written: dict[str, Any]) -> None:
    assert job_from(written).refusals == ()


def test_requests_that_cannot_be_read_are_refused() -> None:
    template = {"spec": {"containers": [{"name": "c", "resources": {"requests": {"cpu": "much"}}}]}}
    (problem,) = job_from(manifest(worker(template=template))).refusals
    assert problem.startswith("spec.tasks: task worker: template: ")
