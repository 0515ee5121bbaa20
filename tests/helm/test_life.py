"""The chart, installed, upgraded and uninstalled by Helm in the embedded cluster."""

from __future__ import annotations

import copy
from functools import partial
from pathlib import Path

from tests.helm.releases import DEFINITIONS, HOOKS, Released, found, secret_of, there
from tests.support.charts import NAMESPACE, Obj
from tests.support.sharing import BUCKETS, bucket
from tests.support.waiting import until
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
        await release.uninstall()
        assert found(cluster, "apps/deployments", "vsched", NAMESPACE) is None
        assert found(cluster, "rbac.authorization.k8s.io/clusterroles", "vsched") is None


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
