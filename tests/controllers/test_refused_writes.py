"""Writes that somebody waits for and that an admission webhook refuses because it cannot be reached."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support.running import node, pod, scheduling
from tests.support.vcjob_cluster import command, phase, status, task, vcjob
from tests.support.waiting import until
from vsched.sim.cluster import Cluster

Obj = dict[str, Any]
VOLCANO = "scheduling.volcano.sh"


def guard(verb: str, group: str, resource: str) -> Obj:
    """A webhook that nobody answers for, and that is asked about these writes."""
    rule = {"apiGroups": [group], "apiVersions": ["*"], "operations": [verb], "resources": [resource], "scope": "*"}
    asked = {
        "name": "guard.corp.io",
        "rules": [rule],
        "clientConfig": {"url": "https://127.0.0.1:9/x"},
        "admissionReviewVersions": ["v1"],
        "failurePolicy": "Fail",
        "sideEffects": "None",
        "timeoutSeconds": 1,
    }
    kind = {"apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingWebhookConfiguration"}
    return {**kind, "metadata": {"name": "guard"}, "webhooks": [asked]}


def told(cluster: Cluster, kind: str, reason: str) -> list[str]:
    """The messages of the Events of this reason on objects of this kind."""
    found = cluster.client.list("events", "default")
    return [each["message"] for each in found if (each["involvedObject"]["kind"], each["reason"]) == (kind, reason)]


@pytest.mark.parametrize(
    ("refused", "kind", "reason", "what"),
    [
        pytest.param(("CREATE", "", "pods"), "Job", "FailedCreate", "Pod train-worker-", id="number of its pods"),
        pytest.param(
            ("CREATE", "scheduling.volcano.sh", "podgroups"), "Job", "FailedCreate", "PodGroup ", id="its gang"
        ),
        pytest.param(("CREATE", "", "services"), "Job", "FailedCreate", "Service train", id="what plugins make"),
        pytest.param(("UPDATE", "batch.volcano.sh", "jobs/status"), "Job", "FailedUpdate", "status", id="its status"),
        pytest.param(
            ("UPDATE", VOLCANO, "podgroups"),
            "PodGroup",
            "FailedUpdate",
            "status",
            id="its entry",
        ),
        pytest.param(("CREATE", "", "pods/binding"), "Pod", "FailedBinding", "binding to n1", id="its nodes"),
    ],
)
async def test_a_job_that_waits_for_a_write_is_told_why_it_is_refused(
    refused: tuple[str, str, str], kind: str, reason: str, what: str
) -> None:
    made = vcjob("train", task("worker", 2), plugins={"svc": []})
    async with Cluster([node("n1")], manifests=[guard(*refused), made]) as cluster, scheduling(cluster.url):
        await until(lambda: told(cluster, kind, reason), seconds=20.0)
        message = told(cluster, kind, reason)[0]
        assert message.startswith(what)
        assert 'failed calling webhook "guard.corp.io"' in message
        cluster.client.delete("admissionregistration.k8s.io/validatingwebhookconfigurations", "", "guard")
        await until(lambda: status(cluster, "train").get("running") == 2)


async def test_a_job_whose_pods_cannot_be_deleted_is_told_why() -> None:
    async with Cluster([node("n1")], manifests=[vcjob("train", task("worker", 2))]) as cluster, scheduling(cluster.url):
        await until(lambda: phase(cluster, "train") == "Running")
        cluster.apply([guard("DELETE", "", "pods")])
        command(cluster, "RestartJob", "train")
        await until(lambda: told(cluster, "Job", "FailedDelete"), seconds=20.0)
        assert told(cluster, "Job", "FailedDelete")[0].startswith("pod train-worker-")


async def test_a_pod_whose_podgroup_cannot_be_made_is_told_why() -> None:
    refused = guard("CREATE", "scheduling.volcano.sh", "podgroups")
    async with (
        Cluster([node("n1")], manifests=[refused, pod("p")]) as cluster,
        scheduling(cluster.url, podgroups_of_single_pods=True),
    ):
        await until(lambda: told(cluster, "Pod", "FailedCreate"), seconds=20.0)
        assert told(cluster, "Pod", "FailedCreate")[0].startswith("PodGroup ")
