"""What is refused of a vcjob: each problem is one line that names the field."""

from __future__ import annotations

from typing import Any

import pytest

from tests.controllers.vcjobs.manifests import job_from, manifest, worker
from vsched.controllers.vcjobs import words


def faulty(**fields: Any) -> dict[str, Any]:
    """A job of one good task with these fields in its spec."""
    return manifest(worker(replicas=2), **fields)


def policy(**fields: Any) -> dict[str, Any]:
    return faulty(policies=[{"action": "RestartJob", **fields}])


def volumes(*found: dict[str, Any]) -> dict[str, Any]:
    return faulty(volumes=list(found))


CLAIM = {"accessModes": ["ReadWriteOnce"]}
EVENTS = "*, JobUpdated, PodEvicted, PodFailed, PodPending, TaskCompleted, TaskFailed, Unknown"
ACTIONS = "AbortJob, CompleteJob, RestartJob, RestartPartition, RestartPod, RestartTask, ResumeJob, TerminateJob"


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        pytest.param(manifest(), [words.NO_TASKS], id="no tasks"),
        pytest.param(faulty(minAvailable=-1), [words.too_small("spec.minAvailable", -1, 0)], id="minAvailable"),
        pytest.param(
            faulty(minAvailable=3),
            [words.minimum_above_total(3, words.replicas_of_all_tasks(2))],
            id="minAvailable above all replicas",
        ),
        pytest.param(faulty(maxRetry=-1), [words.too_small("spec.maxRetry", -1, 0)], id="maxRetry"),
        pytest.param(faulty(minSuccess=0), [words.too_small("spec.minSuccess", 0, 1)], id="minSuccess"),
        pytest.param(
            faulty(ttlSecondsAfterFinished=-1),
            [words.too_small("spec.ttlSecondsAfterFinished", -1, 0)],
            id="ttlSecondsAfterFinished",
        ),
        pytest.param(
            faulty(networkTopology={"mode": "near"}),
            ["spec.networkTopology.mode: 'near' (expected hard, soft)"],
            id="the mode of networkTopology",
        ),
        pytest.param(
            faulty(networkTopology={"highestTierAllowed": 1, "highestTierName": "rack"}),
            [words.both_tiers("spec.networkTopology")],
            id="two highest tiers",
        ),
        pytest.param(
            manifest(worker(replicas=-1), minAvailable=0),
            [words.too_small("spec.tasks[0].replicas", -1, 0)],
            id="replicas",
        ),
        pytest.param(
            manifest(worker(replicas=1, minAvailable=2), minAvailable=1),
            [words.minimum_above_replicas("spec.tasks[0]", 2, 1)],
            id="minAvailable above the replicas of a task",
        ),
        pytest.param(
            manifest(worker("a", replicas=60_000), worker("b", replicas=40_001), minAvailable=1),
            [words.too_many_pods(100001, 100000)],
            id="more pods than a job may have",
        ),
        pytest.param(
            manifest(worker(replicas=10_001), minAvailable=1, plugins={"svc": [], "env": []}),
            [words.too_many_hosts("svc", 10001, 10000)],
            id="more hosts than a ConfigMap has room for",
        ),
        pytest.param(
            manifest(worker(replicas=10_001), minAvailable=1, plugins={"ssh": []}),
            [words.too_many_hosts("ssh", 10001, 10000)],
            id="more hosts than a Secret has room for",
        ),
        pytest.param(
            manifest(worker(replicas=2_001), minAvailable=1, plugins={"tensorflow": []}),
            [words.too_many_hosts("tensorflow", 2001, 2000)],
            id="more hosts than a variable has room for",
        ),
        pytest.param(manifest(worker(), worker()), [words.tasks_of_one_name(2, "worker")], id="two of one name"),
        pytest.param(
            manifest(worker("Worker")),
            [words.bad_task_name("spec.tasks[0]", "Worker", 63)],
            id="no DNS label",
        ),
        pytest.param(
            manifest(worker("w" * 60)),
            [words.long_pod_name("spec.tasks[0]", f"train-{'w' * 60}-0", 68, 63)],
            id="pods whose names are too long",
        ),
        pytest.param(
            manifest(worker(template={"spec": {}})),
            [words.no_containers("spec.tasks[0].template")],
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
            manifest(worker(maxRetry=-2)), [words.too_small("spec.tasks[0].maxRetry", -2, -1)], id="a task's maxRetry"
        ),
        pytest.param(
            policy(event="PodFailed", exitCode=3),
            [words.both_event_and_exit_code("spec.policies[0]")],
            id="event and exitCode",
        ),
        pytest.param(policy(), [words.neither_event_nor_exit_code("spec.policies[0]")], id="a policy for nothing"),
        pytest.param(policy(exitCode=0), [words.exit_code_0("spec.policies[0]")], id="exit code 0"),
        pytest.param(
            policy(event="PodRunning"),
            [words.unknown_event("spec.policies[0]", "PodRunning", EVENTS)],
            id="an event that policies cannot name",
        ),
        pytest.param(
            policy(event="PodFailed", action="SyncJob"),
            [
                words.unknown_policy_action(
                    "spec.policies[0]",
                    "SyncJob",
                    ACTIONS,
                )
            ],
            id="an action that policies cannot take",
        ),
        pytest.param(
            policy(event="PodPending", timeout="soon"),
            [words.no_duration("spec.policies[0].timeout", "soon")],
            id="no duration",
        ),
        pytest.param(
            policy(event="PodFailed", timeout="-1s"),
            [words.no_duration("spec.policies[0].timeout", "-1s")],
            id="a time that was over before it began",
        ),
        pytest.param(
            faulty(policies=[{"action": "AbortJob", "event": "PodFailed"}] * 2),
            [words.in_many_policies("spec.policies", "event", "PodFailed", 2)],
            id="one event twice",
        ),
        pytest.param(
            faulty(policies=[{"action": "AbortJob", "exitCode": 3}] * 2),
            [words.in_many_policies("spec.policies", "exitCode", "3", 2)],
            id="one exit code twice",
        ),
        pytest.param(
            policy(events=["*", "PodFailed"]),
            [words.event_of_all("spec.policies")],
            id="any event and one more",
        ),
        pytest.param(
            manifest(worker(policies=[{"action": "AbortJob"}])),
            [words.neither_event_nor_exit_code("spec.tasks[0].policies[0]")],
            id="a policy of a task",
        ),
        pytest.param(
            manifest(worker(dependsOn={"name": ["ps"]})),
            [words.no_task_to_depend_on(0, "ps")],
            id="a dependency on no task",
        ),
        pytest.param(
            manifest(
                worker("a", dependsOn={"name": ["b"]}),
                worker("b", dependsOn={"name": ["c"], "iteration": "any"}),
                worker("c", dependsOn={"name": ["a"]}),
            ),
            [words.tasks_wait_for_each_other("a -> b -> c -> a")],
            id="a circle of dependencies",
        ),
        pytest.param(
            manifest(worker(dependsOn={"name": [], "iteration": "some"})),
            ["spec.tasks[0].dependsOn.iteration: 'some' (expected any, all)"],
            id="iteration",
        ),
        pytest.param(
            manifest(worker(replicas=5, partitionPolicy={"totalPartitions": 2, "partitionSize": 2})),
            [words.partitions_are_not_replicas("spec.tasks[0].partitionPolicy", 2, 2, 4, 5)],
            id="partitions that are not all pods",
        ),
        pytest.param(
            manifest(
                worker(replicas=4, partitionPolicy={"totalPartitions": 2, "partitionSize": 2, "minPartitions": 3}),
                minAvailable=4,
            ),
            [
                words.minimum_above_replicas("spec.tasks[0]", 6, 4),
                words.minimum_above_partitions("spec.tasks[0].partitionPolicy", 3, 2),
            ],
            id="too high a minimum of partitions",
        ),
        pytest.param(
            manifest(worker(replicas=0, partitionPolicy={"partitionSize": 0}), minAvailable=0),
            [
                words.too_small("spec.tasks[0].partitionPolicy.totalPartitions", 0, 1),
                words.too_small("spec.tasks[0].partitionPolicy.partitionSize", 0, 1),
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
            [words.no_task_for_plugin("mpi", "master", "master")],
            id="mpi without its master",
        ),
        pytest.param(volumes({"volumeClaim": CLAIM}), ["spec.volumes[0].mountPath: missing"], id="no mountPath"),
        pytest.param(
            volumes({"mountPath": "/d", "volumeClaim": CLAIM}, {"mountPath": "/d", "volumeClaim": CLAIM}),
            [words.mount_path_twice("spec.volumes[1]", "/d")],
            id="one mountPath twice",
        ),
        pytest.param(volumes({"mountPath": "/d"}), [words.no_volume_claim("spec.volumes[0]")], id="no claim"),
        pytest.param(
            volumes({"mountPath": "/d", "volumeClaim": CLAIM, "volumeClaimName": "shared"}),
            [words.two_volume_claims("spec.volumes[0]")],
            id="a new claim with a name",
        ),
        pytest.param(
            volumes({"mountPath": "/d", "volumeClaimName": "A_B"}),
            [words.no_claim_name("spec.volumes[0]", "A_B")],
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
