"""The chart, installed, upgraded and uninstalled by Helm in the embedded cluster."""

from __future__ import annotations

import copy
from functools import partial
from pathlib import Path

from tests.helm.releases import DEFINITIONS, HOOKS, Released, found, secret_of, there
from tests.support.charts import NAMESPACE, Obj
from tests.support.sharing import BUCKETS, bucket
from tests.support.waiting import until
from vsched.kube.auth.connection import Connection
from vsched.kube.client import ApiClient
from vsched.sim.cluster import Cluster, ClusterSettings


async def test_install_upgrade_uninstall(tmp_path: Path) -> None:
    async with Cluster(settings=ClusterSettings(None)) as cluster:
        release = Released(cluster, tmp_path)
        await release.install({"arbitration": {"enabled": True}})
        assert there(cluster, "apps/deployments", "vsched", NAMESPACE)["spec"]["replicas"] == 2
        assert found(cluster, HOOKS, "vsched")
        certificate = secret_of(cluster)
        done = await release.upgrade({"arbitration": {"enabled": True}, "replicas": 3})
        assert done["revision"] == 2
        assert there(cluster, "apps/deployments", "vsched", NAMESPACE)["spec"]["replicas"] == 3
        assert secret_of(cluster) == certificate

        await release.upgrade({"arbitration": {"enabled": False}})
        assert found(cluster, HOOKS, "vsched") is None
        await release.rollback(2)
        assert found(cluster, HOOKS, "vsched")
        assert there(cluster, "apps/deployments", "vsched", NAMESPACE)["spec"]["replicas"] == 3
        await release.uninstall()
        for name in ("vsched", "vsched-vcjobs"):
            assert found(cluster, "apps/deployments", name, NAMESPACE) is None
            assert found(cluster, "rbac.authorization.k8s.io/clusterroles", name) is None
        assert not cluster.client.list("rbac.authorization.k8s.io/rolebindings", "default")


async def test_an_edited_policy_survives_upgrades_and_roll_backs_until_it_is_deleted(tmp_path: Path) -> None:
    async with Cluster(settings=ClusterSettings(None)) as cluster:
        release = Released(cluster, tmp_path)
        await release.install({})
        first = policy_of(cluster)
        edited = first.replace("enqueue, allocate, backfill", "enqueue, allocate")
        await edit_policy(cluster, edited)
        await release.upgrade({"replicas": 3})
        assert policy_of(cluster) == edited
        assert there(cluster, "apps/deployments", "vsched", NAMESPACE)["spec"]["replicas"] == 3
        newer: Obj = {"text": "actions: allocate\n"}
        await release.upgrade({"policy": newer})
        assert policy_of(cluster) == edited
        await release.rollback(2)
        assert policy_of(cluster) == edited
        cluster.client.delete("configmaps", NAMESPACE, "vsched-policy")
        await release.upgrade({"policy": newer})
        assert policy_of(cluster) == newer["text"]
        await release.upgrade({"replicas": 2})
        assert policy_of(cluster) == first


def policy_of(cluster: Cluster) -> str:
    return str(there(cluster, "configmaps", "vsched-policy", NAMESPACE)["data"]["scheduler.yaml"])


async def edit_policy(cluster: Cluster, text: str) -> None:
    """Edit the policy as ``kubectl edit`` does: from then on, it is kubectl's field, and not Helm's."""
    path = f"/api/v1/namespaces/{NAMESPACE}/configmaps/vsched-policy?fieldManager=kubectl-edit"
    async with ApiClient(Connection(cluster.url)) as client:
        await client.patch(path, {"data": {"scheduler.yaml": text}})


async def test_definitions_of_others_are_left_alone_and_those_that_are_missing_are_made(tmp_path: Path) -> None:
    theirs, ours = "queues.scheduling.volcano.sh", "buckets.kube-arbitrator.incubator.k8s.io"
    async with Cluster(settings=ClusterSettings(None)) as cluster:
        cluster.client.patch(DEFINITIONS, "", theirs, partial(described, "as Volcano has it"))
        before = there(cluster, DEFINITIONS, theirs)
        cluster.client.delete(DEFINITIONS, "", ours)
        await until(lambda: found(cluster, DEFINITIONS, ours) is None)

        release = Released(cluster, tmp_path)
        await release.install({})
        cluster.client.create(BUCKETS, bucket("b", weight=1))
        cluster.client.patch(DEFINITIONS, "", ours, partial(described, "of an older release"))
        cluster.client.patch(DEFINITIONS, "", ours, as_helm_left_it)
        await release.upgrade({})
        assert "older" not in str(there(cluster, DEFINITIONS, ours))
        await release.upgrade({"definitions": {"install": False}})
        await release.uninstall()
        assert found(cluster, BUCKETS, "b")
        assert there(cluster, DEFINITIONS, theirs) == before


def as_helm_left_it(definition: Obj) -> Obj:
    """The definition, nobody but Helm having written it."""
    entries = [each for each in definition["metadata"]["managedFields"] if each["operation"] == "Apply"]
    return {**definition, "metadata": {**definition["metadata"], "managedFields": entries}}


def described(text: str, definition: Obj) -> Obj:
    """The definition, with other words."""
    changed = copy.deepcopy(definition)
    changed["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["description"] = text
    return changed
