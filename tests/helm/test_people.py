"""The roles of the chart that Kubernetes' own view, edit and admin take up."""

from __future__ import annotations

from typing import Any

import pytest

from tests.helm.accounts import connection, token_of
from tests.support.charts import NAMESPACE, RELEASE, objects_of
from vsched.cli.rbac.command import lacking
from vsched.daemon.permissions.needs import Right
from vsched.kube.client import ApiClient
from vsched.sim.cluster import Cluster, ClusterSettings

Obj = dict[str, Any]
RBAC = "rbac.authorization.k8s.io"
SEEN = (
    Right("list", "batch.volcano.sh", "jobs", "default"),
    Right("get", "scheduling.volcano.sh", "queues", "default"),
)
MADE = (
    Right("create", "scheduling.volcano.sh", "podgroups", "default"),
    Right("delete", "batch.volcano.sh", "jobs", "default"),
    Right("create", "bus.volcano.sh", "commands", "default"),
)
NOT_THEIRS = (
    Right("create", "scheduling.volcano.sh", "queues"),
    Right("patch", "kube-arbitrator.incubator.k8s.io", "consumers", "default"),
    Right("create", "scheduling.volcano.sh", "podgroups", "kube-system"),
    Right("update", "batch.volcano.sh", "jobs/status", "default"),
)


@pytest.mark.parametrize(
    ("role", "lacks"), [("view", (*MADE, *NOT_THEIRS)), ("edit", NOT_THEIRS), ("admin", NOT_THEIRS)]
)
async def test_whoever_has_a_role_of_kubernetes_in_a_namespace_has_that_of_the_chart(
    role: str, lacks: tuple[Right, ...]
) -> None:
    theirs = [each for each in objects_of({}) if each["metadata"]["name"] == f"{RELEASE}-{role}"]
    labels = {f"{RBAC}/aggregate-to-{role}": "true"}
    metadata: Obj = {"name": RELEASE, "namespace": NAMESPACE}
    made: list[Obj] = [
        {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}},
        {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": metadata},
        {
            "apiVersion": f"{RBAC}/v1",
            "kind": "ClusterRole",
            "metadata": {"name": role},
            "aggregationRule": {"clusterRoleSelectors": [{"matchLabels": labels}]},
            "rules": [],
        },
        {
            "apiVersion": f"{RBAC}/v1",
            "kind": "RoleBinding",
            "metadata": {"name": "ann", "namespace": "default"},
            "roleRef": {"apiGroup": RBAC, "kind": "ClusterRole", "name": role},
            "subjects": [{"kind": "ServiceAccount", **metadata}],
        },
    ]
    settings = ClusterSettings(None, authorization="rbac", tls=True)
    async with (
        Cluster(settings=settings, manifests=[*made, *theirs]) as cluster,
        ApiClient(connection(cluster, await token_of(cluster))) as client,
    ):
        assert await lacking(client, [*SEEN, *MADE, *NOT_THEIRS]) == list(lacks)
