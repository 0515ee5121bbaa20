"""Applying with the real kubectl on the client's and on the server's side in turns, with others writing in between."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from tests.support.kubectl import Kubectl, bind_everything
from vsched.sim.cluster import Cluster

pytestmark = pytest.mark.kubectl

ANNOTATION = "kubectl.kubernetes.io/last-applied-configuration"
WEB = """
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, labels: {mine: "1", gone: "1"}}
spec:
  replicas: 2
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec: {containers: [{name: c, image: "i:1"}]}
"""
CHANGED = WEB.replace("i:1", "i:2").replace(', gone: "1"', "")
SERVER_SIDE = ("apply", "--server-side", "-f", "-")


@pytest.fixture
async def kubectl(tmp_path: Path) -> AsyncIterator[Kubectl]:
    async with Cluster(1) as cluster:
        cluster.write_kubeconfig(tmp_path / "config")
        scheduler = asyncio.create_task(bind_everything(cluster.url))
        yield Kubectl(tmp_path)
        scheduler.cancel()
        await asyncio.gather(scheduler, return_exceptions=True)


async def _shown(kubectl: Kubectl, what: str = "deployment/web") -> dict[str, Any]:
    shown: dict[str, Any] = json.loads(await kubectl("get", what, "-o=json", "--show-managed-fields"))
    return shown


def _managers(obj: dict[str, Any]) -> set[tuple[str, str, str]]:
    return {(e["manager"], e["operation"], e.get("subresource", "")) for e in obj["metadata"]["managedFields"]}


def _owned(obj: dict[str, Any], manager: str, operation: str = "Apply", subresource: str = "") -> dict[str, Any]:
    """What a manager owns."""
    wanted = (manager, operation, subresource)
    entries = obj["metadata"]["managedFields"]
    found = [e for e in entries if (e["manager"], e["operation"], e.get("subresource", "")) == wanted]
    fields: dict[str, Any] = found[0]["fieldsV1"]
    return fields


async def test_from_the_client_side_to_the_server_side(kubectl: Kubectl) -> None:
    await kubectl("apply", "-f", "-", given=WEB)
    assert ("kubectl-client-side-apply", "Update", "") in _managers(await _shown(kubectl))
    await kubectl("label", "deployment/web", "theirs=1", "--field-manager=other")
    assert "serverside-applied" in await kubectl(*SERVER_SIDE, given=WEB)
    migrated = await _shown(kubectl)
    assert ("kubectl", "Apply", "") in _managers(migrated)
    assert ("kubectl-client-side-apply", "Update", "") not in _managers(migrated)
    assert migrated["metadata"]["labels"] == {"mine": "1", "gone": "1", "theirs": "1"}
    assert "serverside-applied" in await kubectl(*SERVER_SIDE, given=CHANGED)
    changed = await _shown(kubectl)
    assert changed["metadata"]["labels"] == {"mine": "1", "theirs": "1"}
    assert changed["spec"]["template"]["spec"]["containers"][0]["image"] == "i:2"
    assert _owned(changed, "other", "Update") == {"f:metadata": {"f:labels": {"f:theirs": {}}}}


async def test_the_annotation_is_kept_up_to_date_for_the_way_back(kubectl: Kubectl) -> None:
    await kubectl("apply", "-f", "-", given=WEB)
    await kubectl(*SERVER_SIDE, given=CHANGED)
    shown = await _shown(kubectl)
    said = json.loads(shown["metadata"]["annotations"][ANNOTATION])
    assert said["spec"]["template"]["spec"]["containers"][0]["image"] == "i:2"
    assert said["metadata"]["labels"] == {"mine": "1"}
    await kubectl("apply", "-f", "-", given=CHANGED.replace("mine: ", "ours: "))
    assert (await _shown(kubectl))["metadata"]["labels"] == {"ours": "1"}


async def test_what_another_has_changed_since_is_a_conflict(kubectl: Kubectl) -> None:
    await kubectl("apply", "-f", "-", given=WEB)
    await kubectl("scale", "deployment/web", "--replicas=5")
    refused = await kubectl(*SERVER_SIDE, given=WEB, code=1)
    assert 'conflict with "kubectl" with subresource "scale" using apps/v1: .spec.replicas' in refused
    assert (await _shown(kubectl))["spec"]["replicas"] == 5
    assert "serverside-applied" in await kubectl(*SERVER_SIDE, "--force-conflicts", given=WEB)
    taken = await _shown(kubectl)
    assert taken["spec"]["replicas"] == 2
    assert ("kubectl", "Update", "scale") not in _managers(taken)
    again = await kubectl(*SERVER_SIDE, given=WEB)
    assert "serverside-applied" in again
    assert (await _shown(kubectl))["metadata"]["managedFields"] == taken["metadata"]["managedFields"]


async def test_what_the_manifest_leaves_to_others_stays(kubectl: Kubectl) -> None:
    unsized = WEB.replace("  replicas: 2\n", "")
    await kubectl("create", "-f", "-", given=WEB)
    await kubectl("scale", "deployment/web", "--replicas=3")
    assert "serverside-applied" in await kubectl(*SERVER_SIDE, given=unsized)
    assert "serverside-applied" in await kubectl(*SERVER_SIDE, given=unsized)
    shown = await _shown(kubectl)
    assert shown["spec"]["replicas"] == 3
    assert _owned(shown, "kubectl", "Update", "scale") == {"f:spec": {"f:replicas": {}}}
    assert _owned(shown, "kubectl-create", "Update")["f:metadata"] == {"f:labels": {"f:gone": {}, "f:mine": {}}}


async def test_an_apply_of_another_name_has_no_part_in_the_annotation(kubectl: Kubectl) -> None:
    await kubectl("apply", "-f", "-", given=WEB)
    refused = await kubectl(*SERVER_SIDE, "--field-manager=robot", given=CHANGED, code=1)
    assert 'conflict with "kubectl-client-side-apply" using apps/v1' in refused


async def test_controllers_and_kubelets_own_the_statuses(kubectl: Kubectl) -> None:
    await kubectl("create", "-f", "-", given=WEB)
    await kubectl("rollout", "status", "deployment/web", "--timeout=40s")
    assert ("kube-controller-manager", "Update", "status") in _managers(await _shown(kubectl))
    pod = (await kubectl("get", "pods", "-o=name")).split()[0]
    shown = await _shown(kubectl, pod)
    assert _managers(shown) == {("kube-controller-manager", "Update", ""), ("kubelet", "Update", "status")}
    assert "f:nodeName" not in _owned(shown, "kube-controller-manager", "Update")["f:spec"]
    await kubectl(*SERVER_SIDE, given=WEB)
    await kubectl("scale", "deployment/web", "--replicas=3")
    await kubectl("rollout", "status", "deployment/web", "--timeout=40s")
    assert ("kube-controller-manager", "Update", "status") in _managers(await _shown(kubectl))


async def test_books_can_be_thrown_away(kubectl: Kubectl) -> None:
    await kubectl("create", "configmap", "c", "--from-literal=a=1")
    await kubectl("patch", "configmap/c", "--type=merge", '-p={"metadata":{"managedFields":[]}}')
    assert _managers(await _shown(kubectl, "configmap/c")) == {("kubectl-create", "Update", "")}
    await kubectl("patch", "configmap/c", "--type=merge", '-p={"metadata":{"managedFields":[{}]}}')
    assert "managedFields" not in (await _shown(kubectl, "configmap/c"))["metadata"]
    config = '{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "c"}, "data": {"a": "2"}}'
    refused = await kubectl(*SERVER_SIDE, given=config, code=1)
    assert 'conflict with "before-first-apply" using v1: .data.a' in refused
