"""The Events that controllers and kubelets tell: about whom, in which words, how often, and by whom."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest

from tests.support.kubectl import bind_everything
from tests.support.waiting import until
from vsched.sim.client import LocalClient
from vsched.sim.cluster import Cluster, ClusterSettings
from vsched.sim.controllers import ControllerSettings, JobTimes, PodTimes
from vsched.sim.controllers.event_messages import EventMessage
from vsched.sim.controllers.event_recorder import COMBINED, MOST_ALIKE, ControllerEventRecorder
from vsched.sim.store.store import Store
from vsched.sim.writer import ObjectWriter

Obj = dict[str, Any]
_CONTAINER: Obj = {"name": "c", "image": "i:1"}
_SELECTOR = {"matchLabels": {"app": "web"}}
_QUICK = ControllerSettings(PodTimes(termination=0.01), JobTimes(backoff=0.0), events=True)


def _template(**more: Any) -> Obj:
    return {
        "metadata": {"labels": {"app": "web"}, **more.pop("metadata", {})},
        "spec": {"containers": [_CONTAINER], **more},
    }


def _workload(api: str, kind: str, **spec: Any) -> Obj:
    return {"apiVersion": api, "kind": kind, "metadata": {"name": "web", "namespace": "default"}, "spec": spec}


@pytest.fixture
async def cluster() -> AsyncIterator[Cluster]:
    async with Cluster(1, settings=ClusterSettings(_QUICK)) as cluster:
        scheduler = asyncio.create_task(bind_everything(cluster.url))
        yield cluster
        scheduler.cancel()
        await asyncio.gather(scheduler, return_exceptions=True)


async def _told(cluster: Cluster, kind: str, reason: str, times: int = 1) -> list[Obj]:
    """The Events of this kind of object for this reason, once they have been told so often."""

    def told() -> list[Obj]:
        events = [each for each in cluster.client.list("events") if each["involvedObject"]["kind"] == kind]
        events = [each for each in events if each["reason"] == reason]
        return events if sum(each["count"] for each in events) >= times else []

    return await until(told)


def _pods(cluster: Cluster) -> list[str]:
    return [pod["metadata"]["name"] for pod in cluster.client.list("pods")]


async def test_a_deployment_its_set_and_a_pod(cluster: Cluster) -> None:
    made = _workload("apps/v1", "Deployment", replicas=2, selector=_SELECTOR, template=_template())
    cluster.client.create("apps/deployments", made)
    await _told(cluster, "Pod", "Started", 2)
    replica_set = cluster.client.list("apps/replicasets")[0]["metadata"]
    (scaled,) = await _told(cluster, "Deployment", "ScalingReplicaSet")
    assert scaled["message"] == f"Scaled up replica set {replica_set['name']} from 0 to 2"
    assert (scaled["type"], scaled["source"]) == ("Normal", {"component": "deployment-controller"})
    assert scaled["involvedObject"]["uid"] == cluster.client.list("apps/deployments")[0]["metadata"]["uid"]
    created = await _told(cluster, "ReplicaSet", "SuccessfulCreate", 2)
    assert {each["message"] for each in created} == {f"Created pod: {name}" for name in _pods(cluster)}
    assert {each["reportingComponent"] for each in created} == {"replicaset-controller"}
    for reason, message in (
        ("Pulled", 'Container image "i:1" already present on machine'),
        ("Created", "Created container: c"),
        ("Started", "Started container c"),
    ):
        events = await _told(cluster, "Pod", reason, 2)
        assert {each["message"] for each in events} == {message}
        assert all(each["source"] == {"component": "kubelet", "host": "node-0"} for each in events)
        assert all(each["involvedObject"]["fieldPath"] == "spec.containers{c}" for each in events)


async def test_scaling_down(cluster: Cluster) -> None:
    made = _workload("apps/v1", "Deployment", replicas=2, selector=_SELECTOR, template=_template())
    cluster.client.create("apps/deployments", made)
    await _told(cluster, "Pod", "Started", 2)
    cluster.client.patch(
        "apps/deployments", "default", "web", lambda obj: {**obj, "spec": {**obj["spec"], "replicas": 1}}
    )
    (killing,) = await _told(cluster, "Pod", "Killing")
    assert killing["message"] == "Stopping container c"
    (deleted,) = await _told(cluster, "ReplicaSet", "SuccessfulDelete")
    assert deleted["message"] == f"Deleted pod: {killing['involvedObject']['name']}"
    scaled = await _told(cluster, "Deployment", "ScalingReplicaSet", 2)
    assert scaled[-1]["message"].endswith("from 2 to 1")


async def test_a_quota_that_refuses(cluster: Cluster) -> None:
    quota = {"apiVersion": "v1", "kind": "ResourceQuota", "metadata": {"name": "q", "namespace": "default"}}
    cluster.client.create("resourcequotas", {**quota, "spec": {"hard": {"pods": "1"}}})
    async with asyncio.timeout(60):
        async for _, obj, _ in cluster.client.watch("resourcequotas"):
            if obj.get("status", {}).get("hard"):
                break
    made = _workload("apps/v1", "ReplicaSet", replicas=2, selector=_SELECTOR, template=_template())
    cluster.client.create("apps/replicasets", made)
    refused = (await _told(cluster, "ReplicaSet", "FailedCreate", 2))[0]
    assert refused["type"] == "Warning"
    assert refused["message"].startswith("Error creating: pods ")
    assert "exceeded quota: q, requested: pods=1, used: pods=1, limited: pods=1" in refused["message"]


async def test_a_stateful_set_names_its_pods(cluster: Cluster) -> None:
    spec: Obj = {"replicas": 2, "selector": _SELECTOR, "template": _template(), "serviceName": "web"}
    cluster.client.create("apps/statefulsets", _workload("apps/v1", "StatefulSet", **spec))
    created = await _told(cluster, "StatefulSet", "SuccessfulCreate", 2)
    assert [each["message"] for each in created] == [
        "create Pod web-0 in StatefulSet web successful",
        "create Pod web-1 in StatefulSet web successful",
    ]


_ENDS: dict[str, tuple[str, str, str, str]] = {
    "a job that is done": ("0", "Completed", "Normal", "Job completed"),
    "a job that fails": ("1", "BackoffLimitExceeded", "Warning", "Job has reached the specified backoff limit"),
}


@pytest.mark.parametrize(("code", "reason", "type_", "message"), _ENDS.values(), ids=_ENDS)
async def test_the_end_of_a_job(cluster: Cluster, code: str, reason: str, type_: str, message: str) -> None:
    script = {"annotations": {"vsched.io/duration": "10ms", "vsched.io/exit-code": code}}
    template = _template(restartPolicy="Never", metadata=script)
    cluster.client.create("batch/jobs", _workload("batch/v1", "Job", backoffLimit=0, template=template))
    (ended,) = await _told(cluster, "Job", reason)
    assert (ended["type"], ended["message"], ended["count"]) == (type_, message, 1)
    assert ended["source"] == {"component": "job-controller"}
    (created,) = await _told(cluster, "Job", "SuccessfulCreate")
    assert created["message"].startswith("Created pod: web-")


async def test_a_pod_nobody_owns_is_told_of_by_its_kubelet_alone(cluster: Cluster) -> None:
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p", "namespace": "default"}}
    cluster.client.create("pods", {**pod, "spec": {"containers": [_CONTAINER]}})
    await _told(cluster, "Pod", "Started")
    assert [each["reason"] for each in cluster.client.list("events")] == ["Pulled", "Created", "Started"]


async def test_no_events_unless_they_are_wanted() -> None:
    async with Cluster(1) as cluster:
        pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p", "namespace": "default"}}
        cluster.client.create("pods", {**pod, "spec": {"nodeName": "node-0", "containers": [_CONTAINER]}})
        async with asyncio.timeout(60):
            async for _, obj, _ in cluster.client.watch("pods"):
                if obj["status"]["phase"] == "Running":
                    break
        assert cluster.client.list("events") == []


@pytest.fixture
def recorder() -> tuple[ControllerEventRecorder, LocalClient]:
    client = LocalClient(ObjectWriter(Store()))
    client.create("namespaces", {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "d"}})
    return ControllerEventRecorder(client), client


def _notice(message: str, uid: str = "u") -> EventMessage:
    about = {"kind": "Job", "namespace": "d", "name": "j", "uid": uid, "apiVersion": "batch/v1"}
    return EventMessage(about, "SuccessfulCreate", message, "job-controller")


def test_the_same_again_is_counted(recorder: tuple[ControllerEventRecorder, LocalClient]) -> None:
    for _ in range(5):
        recorder[0].tell(_notice("m"))
    (event,) = recorder[1].list("events")
    assert (event["count"], event["message"]) == (5, "m")


def test_many_of_a_kind_are_combined(recorder: tuple[ControllerEventRecorder, LocalClient]) -> None:
    for number in range(3 * MOST_ALIKE):
        recorder[0].tell(_notice(f"m{number}"))
    recorder[0].tell(_notice("m", uid="other"))
    events = recorder[1].list("events")
    assert len(events) == MOST_ALIKE + 2
    (combined,) = [each for each in events if each["message"].startswith(COMBINED)]
    assert combined["message"] == f"{COMBINED}m{3 * MOST_ALIKE - 1}"
    assert combined["count"] == 2 * MOST_ALIKE


def test_an_event_that_was_taken_away_is_told_anew(recorder: tuple[ControllerEventRecorder, LocalClient]) -> None:
    recorder[0].tell(_notice("m"))
    recorder[1].delete("events", "d", recorder[1].list("events")[0]["metadata"]["name"])
    recorder[0].tell(_notice("m"))
    (event,) = recorder[1].list("events")
    assert event["count"] == 1


def test_a_namespace_that_is_not_there_is_no_error(recorder: tuple[ControllerEventRecorder, LocalClient]) -> None:
    notice = _notice("m")
    recorder[0].tell(EventMessage({**notice.about, "namespace": "gone"}, notice.reason, "m", notice.component))
    assert recorder[1].list("events") == []
