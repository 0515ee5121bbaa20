"""The webhooks for vcjobs: a daemon at an embedded cluster whose API server asks it over TLS."""

from __future__ import annotations

import json
from base64 import b64decode, b64encode
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import aiohttp
import pytest
import yaml

from tests.support.answering import CERTIFICATES
from tests.support.asking import trusting
from tests.support.kubectl import Kubectl
from tests.support.queue_commands import found as queue_found
from tests.support.queue_commands import queue
from tests.support.running import has_listed, node, scheduling
from tests.support.vcjob_cluster import VCJOBS, job, phase, pods, task, vcjob
from tests.support.waiting import until
from vsched.controllers.flows import words as flows_words
from vsched.controllers.vcjobs import words as vcjobs_words
from vsched.daemon.app import Daemon
from vsched.daemon.words import calls as words
from vsched.sim.cluster import Cluster

pytestmark = pytest.mark.real_time

Obj = dict[str, Any]
SAMPLE = Path(__file__).parents[2] / "config" / "webhook.yaml"
TLS = {"tls_cert_file": CERTIFICATES / "server.pem", "tls_key_file": CERTIFICATES / "server.key"}


def url_of(daemon: Daemon, path: str) -> str:
    return f"https://127.0.0.1:{daemon.ports['--webhook-address']}{path}"


def configurations(daemon: Daemon) -> list[Obj]:
    """The sample's own, for vcjobs, with the address of this daemon."""
    authority = b64encode((CERTIFICATES / "authority.pem").read_bytes()).decode()
    found = list(yaml.safe_load_all(SAMPLE.read_text(encoding="utf-8")))
    for each in found:
        each["webhooks"] = [hook for hook in each["webhooks"] if hook["name"] != "consumers.vsched.io"]
        for hook in each["webhooks"]:
            hook["failurePolicy"] = "Fail"
            url = url_of(daemon, hook["clientConfig"]["service"]["path"])
            hook["clientConfig"] = {"url": url, "caBundle": authority}
    return found


@asynccontextmanager
async def reviewed(*objects: Obj, **options: Any) -> AsyncIterator[tuple[Cluster, Daemon]]:
    """A cluster whose API server asks a daemon about vcjobs."""
    async with (
        Cluster([node("n1")], manifests=objects) as cluster,
        scheduling(cluster.url, webhook_address="127.0.0.1:0", **TLS, **options) as daemon,
    ):
        await until(lambda: has_listed(daemon))
        cluster.apply(configurations(daemon))
        yield cluster, daemon


async def ask(daemon: Daemon, path: str, obj: Obj | None, old: Obj | None = None, **fields: Any) -> tuple[int, Obj]:
    """What the webhook answers: code, and the response or the error."""
    group, _, version = ((obj or old or {}).get("apiVersion") or "").partition("/")
    kind = {"group": group, "version": version, "kind": (obj or old or {}).get("kind")}
    operation = "CREATE" if old is None else "UPDATE" if obj is not None else "DELETE"
    asked = {"uid": "u", "kind": kind, "operation": operation, "namespace": "default", "object": obj, "oldObject": old}
    review = {"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": {**asked, **fields}}
    async with (
        aiohttp.ClientSession() as session,
        session.post(url_of(daemon, path), json=review, ssl=trusting()) as answer,
    ):
        said = await answer.json()
        return answer.status, said.get("response", said)


async def denied(daemon: Daemon, obj: Obj | None, old: Obj | None = None, **fields: Any) -> str:
    """Why the write is denied; empty if it is allowed."""
    code, response = await ask(daemon, "/validate/jobs", obj, old, **fields)
    assert code == 200, response
    return "" if response["allowed"] else str(response["status"]["message"])


@pytest.mark.kubectl
async def test_kubectl_is_told_what_is_wrong_with_a_job_and_what_cannot_be_changed(tmp_path: Path) -> None:
    kubectl = Kubectl(tmp_path)
    async with reviewed() as (cluster, _):
        cluster.write_kubeconfig(tmp_path / "config")
        bad = vcjob("bad", task("worker", 1), task("worker", 1, dependsOn={"name": ["ps"]}), plugins={"gpu": []})
        said = await kubectl("create", "-f", "-", given=json.dumps(bad), code=1)
        assert "admission webhook \"jobs.vsched.io\" denied the request: spec.plugins: 'gpu' (expected env, " in said
        assert "; spec.tasks: 2 tasks are called worker; spec.tasks[1].dependsOn.name: there is no task 'ps'" in said
        assert job(cluster, "bad") == {}

        good = vcjob("train", task("worker", 2), plugins={"pytorch": ["--worker=worker"]})
        await kubectl("create", "-f", "-", given=json.dumps(good))
        spec = job(cluster, "train")["spec"]
        assert (spec["queue"], spec["maxRetry"], spec["minAvailable"]) == ("default", 3, 2)
        assert spec["plugins"] == {"pytorch": ["--worker=worker"], "svc": []}
        assert (spec["tasks"][0]["minAvailable"], spec["tasks"][0]["maxRetry"]) == (2, 3)
        await until(lambda: phase(cluster, "train") == "Running")
        image = '[{"op": "replace", "path": "/spec/tasks/0/template/spec/containers/0/image", "value": "alpine"}]'
        said = await kubectl("patch", "vcjob", "train", "--type=json", "-p", image, code=1)
        where = "spec.tasks[0].template.spec.containers[0].image"
        assert vcjobs_words.may_not_change(where, "'alpine'", "'busybox'") in said
        count = '[{"op": "add", "path": "/spec/%s", "value": %d}]'
        for path, value in (("minAvailable", 1), ("tasks/0/minAvailable", 0), ("tasks/0/replicas", 3)):
            await kubectl("patch", "vcjob", "train", "--type=json", "-p", count % (path, value))
        await until(lambda: len(pods(cluster, "train")) == 3)
        said = await kubectl("patch", "vcjob", "train", "--type=json", "-p", count % ("minAvailable", 4), code=1)
        assert vcjobs_words.minimum_above_total(4, vcjobs_words.replicas_of_all_tasks(3)) in said
        left_out = '[{"op": "remove", "path": "/spec/queue"}, {"op": "remove", "path": "/spec/plugins/svc"}]'
        await kubectl("patch", "vcjob", "train", "--type=json", "-p", left_out)
        await kubectl("label", "vcjob", "train", "a=b")
        await kubectl("delete", "vcjob", "train")


@pytest.mark.kubectl
async def test_a_flow_that_runs_in_circles_is_refused_when_it_is_made_and_when_it_is_changed(tmp_path: Path) -> None:
    kubectl = Kubectl(tmp_path)
    flows = [{"name": "a", "dependsOn": {"targets": ["b"]}}, {"name": "b", "dependsOn": {"targets": ["a"]}}]
    circle = {
        "apiVersion": "flow.volcano.sh/v1alpha1",
        "kind": "JobFlow",
        "metadata": {"name": "circle", "namespace": "default"},
        "spec": {"flows": flows, "jobRetainPolicy": "retain"},
    }
    async with reviewed() as (cluster, _):
        cluster.write_kubeconfig(tmp_path / "config")
        said = await kubectl("create", "-f", "-", given=json.dumps(circle), code=1)
        assert flows_words.depend_on_each_other("a -> b -> a") in said
        line = {**circle, "spec": {"flows": [{"name": "a"}, flows[1]], "jobRetainPolicy": "retain"}}
        await kubectl("create", "-f", "-", given=json.dumps(line))
        said = await kubectl("apply", "-f", "-", given=json.dumps(circle), code=1)
        assert flows_words.depend_on_each_other("a -> b -> a") in said


async def test_the_queue_has_to_be_there_and_open_and_a_leaf() -> None:
    async with reviewed(queue("above"), queue("below", "above"), queue("shut", wish="closed")) as (cluster, daemon):
        await until(lambda: queue_found(cluster, "shut").get("status", {}).get("state") == "Closed")
        await until(lambda: "Closed" in str(daemon.mirror.watched_queue("shut")))

        async def said(name: str) -> str:
            return await denied(daemon, vcjob("train", task("worker", 1), queue=name))

        assert await said("below") == ""
        assert await said("nowhere") == words.no_queue("nowhere")
        assert await said("shut") == words.queue_not_open("shut", "Closed")
        children = "has child queues (expected a queue without any)"
        assert await said("above") == f"spec.queue: queue above {children}"
        assert await said("root") == f"spec.queue: queue root {children}"
        # As kubectl does with one file: the queue, and at once its job.
        cluster.client.create("scheduling.volcano.sh/queues", queue("new"))
        assert await said("new") == ""


async def test_what_passes_and_what_cannot_be_answered() -> None:
    good, bad = vcjob("train", task("worker", 1)), vcjob("train", task("worker", 1), maxRetry=-1)
    async with reviewed() as (cluster, daemon):
        assert await denied(daemon, bad) == vcjobs_words.too_small("spec.maxRetry", -1, 0)
        assert await denied(daemon, bad, bad) == "", "a bad one that stays as it is, as when it loses its finalizers"
        assert await denied(daemon, bad, good, subResource="status") == ""
        assert await denied(daemon, None, bad) == "", "a deletion"
        assert await denied(daemon, vcjob("train", maxRetry=-1, schedulerName="other")) == "", "not ours"
        assert await denied(daemon, good, bad) == "", "nothing was made of a bad one, so it may be changed in any field"
        assert await denied(daemon, {**good, "metadata": {"generateName": "train-"}}) == "", "the name comes later"
        long = {**good, "metadata": {"generateName": "n" * 58}}
        assert "(expected at most 63)" in await denied(daemon, long)
        typed = await denied(daemon, vcjob("train", task("worker", 1), queue=3))
        assert typed == "Job.batch.volcano.sh default/train: spec.queue: must be a string, is 3"

        code, said = await ask(daemon, "/validate/jobs", {**good, "apiVersion": "batch/v1"})
        assert code == 400
        assert said["error"].startswith("request.kind: Job.batch (expected Job.batch.volcano.sh, CronJob.batch")
        code, said = await ask(daemon, "/validate/jobs", {**good}, uid=7)
        assert (code, said["error"]) == (400, "request.uid: must be a string, is 7")
        code, said = await ask(daemon, "/validate/consumers", good)
        assert code == 404, "arbitration is off"

        label = {"app": "volcano-controller"}
        rival = {"name": "c", "namespace": "volcano-system", "labels": label}
        container = {"name": "c", "image": "c"}
        namespace = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "volcano-system"}}
        pod = {"apiVersion": "v1", "kind": "Pod", "metadata": rival, "spec": {"containers": [container]}}
        cluster.apply([namespace, pod])
        await until(lambda: bool(daemon.housekeeping.standing_back()))
        assert await denied(daemon, bad) == "", "Volcano's own webhooks decide while its controllers run"
        assert await ask(daemon, "/mutate/jobs", good) == (200, {"uid": "u", "allowed": True})


async def test_the_patch_has_the_defaults_of_new_jobs_of_ours() -> None:
    async with reviewed() as (_, daemon):
        new = vcjob("train", task("", 2), plugins={"pytorch": []})
        del new["spec"]["schedulerName"]
        code, response = await ask(daemon, "/mutate/jobs", new)
        assert (code, response["allowed"], response["patchType"]) == (200, True, "JSONPatch")
        patch = {each["path"]: each["value"] for each in json.loads(b64decode(response["patch"]))}
        assert patch == {
            "/spec/queue": "default",
            "/spec/schedulerName": "vsched",
            "/spec/maxRetry": 3,
            "/spec/minAvailable": 2,
            "/spec/tasks/0/name": "default0",
            "/spec/tasks/0/minAvailable": 2,
            "/spec/tasks/0/maxRetry": 3,
            "/spec/plugins/svc": [],
        }
        for obj, old in ((vcjob("a", task("b", 1), schedulerName="other"), None), (new, new), (vcjob("a"), None)):
            assert await ask(daemon, "/mutate/jobs", obj, old) == (200, {"uid": "u", "allowed": True})


async def test_jobs_that_the_daemon_makes_for_others_are_reviewed_too() -> None:
    template = {"tasks": [task("worker", 1, "50ms")], "schedulerName": "vsched", "queue": "nowhere"}
    objects = [
        {"kind": "JobTemplate", "metadata": {"name": "fit", "namespace": "default"}, "spec": template},
        {
            "kind": "JobFlow",
            "metadata": {"name": "nightly", "namespace": "default"},
            "spec": {"flows": [{"name": "fit"}], "jobRetainPolicy": "retain"},
        },
    ]
    async with reviewed() as (cluster, _):
        cluster.apply([{"apiVersion": "flow.volcano.sh/v1alpha1", **each} for each in objects])

        def events() -> list[str]:
            found = cluster.client.list("events", "default")
            return [each["message"] for each in found if each["reason"] == "FailedCreate"]

        await until(lambda: events())
        assert words.no_queue("nowhere") in events()[0]
        assert cluster.client.list(VCJOBS, "default") == []
