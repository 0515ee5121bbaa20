"""Definitions of Volcano's Job, CronJob, JobFlow and JobTemplate: what the embedded cluster makes of such objects."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from tests.sim.api_client import Api
from tests.support.kubectl import Kubectl
from vsched.apimachinery.objects.crds import shipped_definitions
from vsched.sim.cluster import Cluster, ClusterSettings

Obj = dict[str, Any]
DEFINITIONS = {each["metadata"]["name"]: each for each in shipped_definitions()}
JOBS = "/apis/batch.volcano.sh/v1alpha1/namespaces/default/jobs"
TEMPLATE: Obj = {"metadata": {"labels": {"a": "b"}}, "spec": {"containers": [{"name": "main", "image": "busybox"}]}}
TASK: Obj = {"name": "worker", "replicas": 2, "template": TEMPLATE}


def spec_of(name: str, *below: str) -> Obj:
    """The schema of a spec, or of what is below it."""
    [version] = DEFINITIONS[name]["spec"]["versions"]
    found: Obj = version["schema"]["openAPIV3Schema"]["properties"]["spec"]
    for each in below:
        found = found["properties"][each]
    return dict(found)


def vcjob(name: str = "train", **spec: Any) -> Obj:
    return {
        "apiVersion": "batch.volcano.sh/v1alpha1",
        "kind": "Job",
        "metadata": {"name": name},
        "spec": {"tasks": [TASK], **spec},
    }


def test_templates_of_jobs_have_the_schema_of_jobs() -> None:
    specs = [
        spec_of("jobs.batch.volcano.sh"),
        spec_of("jobtemplates.flow.volcano.sh"),
        spec_of("cronjobs.batch.volcano.sh", "jobTemplate", "spec"),
    ]
    assert len({spec.pop("description") for spec in specs}) == 3  # what each is the spec of
    assert specs[0] == specs[1] == specs[2]


async def test_containers_of_a_task_may_restart_without_limit(api: Api) -> None:
    made = await api.made(JOBS, vcjob(tasks=[{**TASK, "maxRetry": -1}]))
    assert made["spec"]["tasks"][0]["maxRetry"] == -1


async def test_a_job_keeps_its_pod_templates_whole_and_has_the_defaults_of_volcano(api: Api) -> None:
    made = await api.made(JOBS, vcjob(volumes=[{"mountPath": "/data", "volumeClaim": {"storageClassName": "x"}}]))
    assert made["spec"]["queue"] == "default"
    assert made["spec"]["maxRetry"] == 3
    assert made["spec"]["tasks"][0]["template"] == TEMPLATE
    assert made["spec"]["volumes"][0]["volumeClaim"] == {"storageClassName": "x"}


REFUSED: dict[str, tuple[Obj, str, str]] = {
    "no tasks": ({"tasks": []}, "spec.tasks", "at least 1 items"),
    "a minimum above the replicas": (
        {"tasks": [{**TASK, "minAvailable": 3}]}, "spec.tasks[0]", "minAvailable must not be greater than replicas"),
    "partitions that do not make up the replicas": (
        {"tasks": [{**TASK, "partitionPolicy": {"totalPartitions": 2, "partitionSize": 2}}]},
        "spec.tasks[0]", "totalPartitions times partitionSize must be replicas"),
    "a time to live below nothing": (
        {"ttlSecondsAfterFinished": -1}, "spec.ttlSecondsAfterFinished", "greater than or equal to 0"),
    "a queue that cannot be": ({"queue": "Not A Queue"}, "spec.queue", "should match"),
}  # fmt: skip


@pytest.mark.parametrize(("spec", "where", "message"), REFUSED.values(), ids=REFUSED)
async def test_a_job_is_refused_for(api: Api, spec: Obj, where: str, message: str) -> None:
    reply = await api.post(JOBS, vcjob(**spec))
    assert (reply.code, reply.reason) == (422, "Invalid"), reply.body
    cause = reply.body["details"]["causes"][0]
    assert cause["field"] == where
    assert message in cause["message"]


async def test_a_status_is_written_beside_the_spec(api: Api) -> None:
    await api.made(JOBS, vcjob())
    status = {"state": {"phase": "Running"}, "running": 2, "minAvailable": 2, "controlledResources": {"a": "b"}}
    reply = await api.patch(f"{JOBS}/train/status", {"status": status, "spec": {"queue": "other"}})
    assert reply.body["status"] == status
    assert reply.body["spec"]["queue"] == "default"


@pytest.mark.real_time
@pytest.mark.skipif(not shutil.which("kubectl"), reason="kubectl is not on the PATH")
async def test_kubectl_knows_the_short_names_and_jobs_of_kubernetes_keep_theirs(tmp_path: Path) -> None:
    async with Cluster(0, settings=ClusterSettings(controllers=None)) as cluster:
        cluster.write_kubeconfig(tmp_path / "config")
        kubectl = Kubectl(tmp_path)
        jobspec = vcjob()["spec"]
        flow = {"apiVersion": "flow.volcano.sh/v1alpha1", "metadata": {"name": "train"}}
        objects = (
            vcjob(),
            {**vcjob(), "kind": "CronJob", "spec": {"schedule": "* * * * *", "jobTemplate": {"spec": jobspec}}},
            {**flow, "kind": "JobTemplate", "spec": jobspec},
            {
                **flow,
                "kind": "JobFlow",
                "spec": {"flows": [{"name": "train", "patch": {"jobSpec": {"minAvailable": 1}}}]},
            },
        )
        items = {"apiVersion": "v1", "kind": "List", "items": objects}
        await kubectl("apply", "--server-side", "-f", "-", given=json.dumps(items))
        shown = (await kubectl("get", "vcjob", "-o", "wide")).splitlines()
        assert shown[0].split() == ["NAME", "STATUS", "MINAVAILABLE", "RUNNINGS", "AGE", "QUEUE"]
        assert shown[1].split()[-1] == "default"
        names = [
            await kubectl("get", short, "-o", "name") for short in ("vj", "cronvcjob", "jf", "jt", "jobs", "cronjobs")
        ]
        assert [name.strip() for name in names] == [
            "job.batch.volcano.sh/train",
            "cronjob.batch.volcano.sh/train",
            "jobflow.flow.volcano.sh/train",
            "jobtemplate.flow.volcano.sh/train",
            "",
            "",
        ]
