"""The real kubectl against the embedded cluster, with a small stand-in for a scheduler."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import yaml

from tests.support.kubectl import Kubectl, bind_everything
from tests.support.waiting import until_answered
from vsched.sim.cluster import Cluster, ClusterSettings
from vsched.sim.controllers import ControllerSettings, UsageSettings

pytestmark = pytest.mark.kubectl

BUDGET = """
apiVersion: policy/v1
kind: PodDisruptionBudget
metadata: {name: web}
spec: {minAvailable: 1, selector: {matchLabels: {app: web}}}
"""
QUEUE = """
apiVersion: scheduling.volcano.sh/v1beta1
kind: Queue
metadata: {name: q}
spec: {weight: 2}
"""
BUSY = """
apiVersion: v1
kind: Pod
metadata: {name: busy, annotations: {vsched.io/cpu-usage: "50%"}}
spec: {nodeName: node-0, containers: [{name: c, image: i, resources: {requests: {cpu: 16, memory: 64Gi}}}]}
"""


@pytest.fixture
async def kubectl(tmp_path: Path) -> AsyncIterator[Kubectl]:
    async with Cluster(2) as cluster:
        cluster.write_kubeconfig(tmp_path / "config")
        scheduler = asyncio.create_task(bind_everything(cluster.url))
        yield Kubectl(tmp_path)
        scheduler.cancel()
        await asyncio.gather(scheduler, return_exceptions=True)


async def test_a_deployment_from_rollout_to_drain(kubectl: Kubectl) -> None:
    await kubectl("create", "deployment", "web", "--image=i:1", "--replicas=2")
    assert "successfully rolled out" in await kubectl("rollout", "status", "deployment/web", "--timeout=40s")
    await kubectl("set", "image", "deployment/web", "i=i:2")
    assert "successfully rolled out" in await kubectl("rollout", "status", "deployment/web", "--timeout=40s")
    assert "runs on node-" in await kubectl("logs", "deployment/web")
    await kubectl("apply", "-f", "-", given=BUDGET)
    node = await kubectl("get", "pods", "-l=app=web", "-o=jsonpath={.items[0].spec.nodeName}")
    drained = await kubectl("drain", node, "--ignore-daemonsets", "--timeout=40s")
    assert f"node/{node} drained" in drained
    assert "SchedulingDisabled" in await kubectl("get", "node", node)
    await kubectl("uncordon", node)
    await kubectl("wait", "--for=jsonpath={.status.readyReplicas}=2", "deployment/web", "--timeout=40s")


async def test_apply_in_both_ways_and_diff(kubectl: Kubectl) -> None:
    queues = {"apiVersion": "v1", "kind": "List", "items": [yaml.safe_load(QUEUE)]}
    assert "created" in await kubectl("apply", "-f", "-", given=json.dumps(queues))
    assert "unchanged" in await kubectl("apply", "-f", "-", given=QUEUE)
    changed = QUEUE.replace("weight: 2", "weight: 3")
    assert "+  weight: 3" in await kubectl("diff", "-f", "-", given=changed, code=1)
    assert "configured" in await kubectl("apply", "-f", "-", given=changed)
    other = ("apply", "--server-side", "--field-manager=other", "-f", "-")
    assert "conflict" in await kubectl(*other, given=QUEUE, code=1)
    forced = await kubectl("apply", "--server-side", "--force-conflicts", "-f", "-", given=QUEUE)
    assert "serverside-applied" in forced
    assert await kubectl("get", "queue", "q", "-o=jsonpath={.spec.weight}") == "2"
    assert "NAME   WEIGHT" in await kubectl("get", "queue", "q")


async def test_what_it_asks_about_the_server(kubectl: Kubectl) -> None:
    assert "yes" in await kubectl("auth", "can-i", "create", "pods")
    assert "nodeName <string>" in await kubectl("explain", "pod.spec.nodeName")
    assert "weight" in await kubectl("explain", "queues.spec.weight")
    assert "podgroups" in await kubectl("api-resources", "--api-group=scheduling.volcano.sh")
    assert "No events found" in await kubectl("events")


async def test_describe_and_events_show_what_happened(tmp_path: Path) -> None:
    async with Cluster(1, settings=ClusterSettings(controllers=ControllerSettings(events=True))) as cluster:
        cluster.write_kubeconfig(tmp_path / "config")
        kubectl = Kubectl(tmp_path)
        await kubectl("create", "deployment", "web", "--image=i", "--replicas=1")
        assert "deployment-controller  Scaled up replica set web-" in await kubectl("describe", "deployment", "web")
        await kubectl("apply", "-f", "-", given=BUSY)
        await kubectl("wait", "--for=condition=Ready", "pod/busy", "--timeout=40s")
        assert "kubelet  Started container c" in await kubectl("describe", "pod", "busy")
        rows = [row.split() for row in (await kubectl("get", "events", "--no-headers")).splitlines()]
        assert ["Normal", "Started", "pod/busy"] in [row[1:4] for row in rows]
        assert "SuccessfulCreate" in {row[2] for row in rows}


CLAIMED = """
apiVersion: storage.k8s.io/v1
kind: StorageClass
metadata: {name: standard}
provisioner: csi.example.com
volumeBindingMode: WaitForFirstConsumer
---
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: data}
spec: {storageClassName: standard, accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}
---
apiVersion: resource.k8s.io/v1
kind: ResourceClaimTemplate
metadata: {name: gpu}
spec: {spec: {devices: {requests: [{name: gpu, exactly: {deviceClassName: gpu.example.com}}]}}}
---
apiVersion: v1
kind: Pod
metadata: {name: p}
spec:
  nodeName: node-0
  containers: [{name: c, image: i, resources: {claims: [{name: gpu}]}, volumeMounts: [{name: data, mountPath: /data}]}]
  volumes: [{name: data, persistentVolumeClaim: {claimName: data}}]
  resourceClaims: [{name: gpu, resourceClaimTemplateName: gpu}]
"""


async def test_a_pod_with_a_volume_and_a_device_step_by_step(tmp_path: Path) -> None:
    devices = tmp_path / "devices.yaml"
    devices.write_text("- {driver: gpu.example.com, count: 2}")
    settings = ClusterSettings(controllers=ControllerSettings(events=True))
    async with Cluster(1, devices=devices, settings=settings) as cluster:
        cluster.write_kubeconfig(tmp_path / "config")
        kubectl = Kubectl(tmp_path)
        await kubectl("apply", "-f", "-", given=CLAIMED)
        await until_answered(lambda: _shows(kubectl, "ContainerCreating", "get", "pod", "p"))
        await until_answered(lambda: _shows(kubectl, "has non-bound phase", "describe", "pod", "p"))
        waiting = await kubectl("logs", "p", code=1)
        assert 'container "c" in pod "p" is waiting to start: ContainerCreating' in waiting
        assert "waiting for first consumer" in await kubectl("describe", "pvc", "data")
        await kubectl("annotate", "pvc", "data", "volume.kubernetes.io/selected-node=node-0")
        await kubectl("wait", "--for=jsonpath={.status.phase}=Bound", "pvc/data", "--timeout=40s")
        assert "default/data" in await kubectl("get", "pv")
        claim = (await kubectl("get", "resourceclaims", "-o=name")).strip()
        assert "pending" in await kubectl("get", claim)
        await until_answered(lambda: _shows(kubectl, "is not allowed to use ResourceClaim", "describe", "pod", "p"))
        uid = await kubectl("get", "pod", "p", "-o=jsonpath={.metadata.uid}")
        result = {"request": "gpu", "driver": "gpu.example.com", "pool": "node-0", "device": "gpu-1"}
        consumer = {"resource": "pods", "name": "p", "uid": uid}
        status = {"allocation": {"devices": {"results": [result]}}, "reservedFor": [consumer]}
        patch = json.dumps({"status": status})
        await kubectl("patch", claim, "--subresource=status", "--type=merge", "-p", patch)
        await kubectl("wait", "--for=condition=Ready", "pod/p", "--timeout=40s")
        assert "allocated,reserved" in await kubectl("get", claim)
        assert "node-0" in await kubectl("get", "resourceslices")
        assert "csi.example.com" in await kubectl("get", "volumeattachments")
        await kubectl("delete", "pod", "p", "--timeout=40s")
        await until_answered(lambda: _shows(kubectl, "No resources found", "get", "resourceclaims"))
        await kubectl("delete", "pvc", "data", "--timeout=40s")
        await until_answered(lambda: _shows(kubectl, "No resources found", "get", "pv"))


async def _shows(kubectl: Kubectl, text: str, *arguments: str) -> bool:
    return text in await kubectl(*arguments)


async def test_top_of_nodes_and_pods(tmp_path: Path) -> None:
    usage = UsageSettings(low=0.5, high=0.5)
    async with Cluster(2, settings=ClusterSettings(controllers=ControllerSettings(usage=usage))) as cluster:
        cluster.write_kubeconfig(tmp_path / "config")
        kubectl = Kubectl(tmp_path)
        await kubectl("apply", "-f", "-", given=BUSY)
        await kubectl("wait", "--for=condition=Ready", "pod/busy", "--timeout=40s")
        # An average over some seconds, of which it has run for a part: how much it is, the meter's own tests say.
        shown = ""
        async with asyncio.timeout(60):
            while shown.split()[:1] != ["busy"] or shown.split()[1] == "0m":
                await asyncio.sleep(0.1)
                shown = await kubectl("top", "pods", "--no-headers")
        assert 0 < int(shown.split()[1].removesuffix("m")) <= 8000
        nodes = {row.split()[0]: row.split()[1:] for row in (await kubectl("top", "nodes")).splitlines()[1:]}
        assert nodes["node-1"] == ["0m", "0%", "0Mi", "0%"]
        assert 0 < int(nodes["node-0"][0][:-1]) <= 8000
        assert "metrics.k8s.io/v1beta1" in await kubectl("api-resources", "--api-group=metrics.k8s.io")


async def test_deleting_with_and_without_dependents(kubectl: Kubectl) -> None:
    await kubectl("create", "namespace", "n")
    await kubectl("create", "deployment", "web", "--image=i", "-n=n")
    await kubectl("rollout", "status", "deployment/web", "-n=n", "--timeout=40s")
    await kubectl("delete", "deployment", "web", "--cascade=orphan", "-n=n")
    assert "web-" in await kubectl("get", "rs", "-n=n", "-o=name")
    await kubectl("delete", "rs", "--all", "--cascade=foreground", "-n=n")
    assert await kubectl("get", "rs,pods", "-n=n", "-o=name") == ""
    await kubectl("delete", "namespace", "n", "--timeout=40s")
    assert "NotFound" in await kubectl("get", "namespace", "n", code=1)


async def test_following_a_pod(kubectl: Kubectl) -> None:
    await kubectl("run", "first", "--image=i")
    watching = await kubectl.started("get", "pods", "-w", "--output-watch-events", "--no-headers")
    try:
        assert watching.stdout is not None
        shown = [await _row(watching.stdout)]
        await kubectl("run", "p", "--image=i", "--restart=Never")
        await kubectl("wait", "--for=condition=Ready", "pod/p", "--timeout=40s")
        await kubectl("delete", "pod", "p", "--grace-period=0", "--force")
        while shown[-1][0] != "DELETED":
            shown.append(await _row(watching.stdout))
    finally:
        watching.kill()
        await watching.communicate()
    rows = [row[:4] for row in shown if row[1] == "p"]
    assert rows[0] == ["ADDED", "p", "0/1", "Pending"]
    assert ["MODIFIED", "p", "1/1", "Running"] in rows


async def _row(stream: asyncio.StreamReader) -> list[str]:
    return (await asyncio.wait_for(stream.readline(), 40)).decode().split()
