"""Extended resources that devices serve: the claim for them is made, survives a kill, and is deleted when in vain."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support import devices
from tests.support.builders import merged
from tests.support.claiming import NS, RESOURCE_CLAIMS, cluster_with
from tests.support.killing import broken_promises, killed_after
from tests.support.running import nodes_of, pod, podgroup, scheduling
from tests.support.waiting import until
from vsched.sim.cluster import Cluster

RESOURCE = "example.com/gpu"
WRITES = 8
"""For each of two pods a claim, its finalizer, its status, and the binding; the pods' statuses are not counted."""
WHAT = r"(PATCH|POST|DELETE) (/apis/resource\.k8s\.io/.*|/api/v1/namespaces/[^/]+/pods/[^/]+/binding)"
MANIFESTS = (
    devices.device_class(spec={"extendedResourceName": RESOURCE}),
    devices.resource_slice("n1", 4),
    devices.resource_slice("n2", 4),
)


def asking(name: str) -> dict[str, Any]:
    asked = {"cpu": "1", RESOURCE: "2"}
    container = {"name": "main", "image": "busybox", "resources": {"requests": asked, "limits": {RESOURCE: "2"}}}
    return merged(pod(name, "g"), {"spec": {"containers": [container]}})


GANG = [podgroup("g", 2), asking("g-0"), asking("g-1")]


def named(cluster: Cluster) -> dict[str, str]:
    """The claims that pods name, by pod."""
    statuses = {each["metadata"]["name"]: each["status"] for each in cluster.client.list("pods", NS)}
    return {
        name: status["extendedResourceClaimStatus"]["resourceClaimName"]
        for name, status in statuses.items()
        if "extendedResourceClaimStatus" in status
    }


def running(cluster: Cluster) -> int:
    return sum(each["status"].get("phase") == "Running" for each in cluster.client.list("pods"))


@pytest.mark.parametrize("count", [1, 2, 3, 5, WRITES - 1])
async def test_the_next_daemon_goes_on_with_claims_that_were_made(count: int) -> None:
    async with cluster_with(*MANIFESTS) as cluster:
        cluster.apply(GANG)
        assert await killed_after(cluster, WHAT, count)
        async with scheduling(cluster.url):
            await until(lambda: running(cluster) == 2)
            await cluster.settle()
            assert broken_promises(cluster) == []
            claims = {each["metadata"]["name"]: each for each in cluster.client.list(RESOURCE_CLAIMS)}
            assert sorted(named(cluster).values()) == sorted(claims)
            for name, claim in named(cluster).items():
                status = claims[claim]["status"]
                assert [each["name"] for each in status["reservedFor"]] == [name]
                assert len(status["allocation"]["devices"]["results"]) == 2


@pytest.mark.parametrize("count", [4, 6])
async def test_the_next_daemon_deletes_claims_that_are_in_vain(count: int) -> None:
    async with cluster_with(*MANIFESTS) as cluster:
        cluster.apply(GANG)
        assert await killed_after(cluster, WHAT, count)
        for name in ("n1", "n2"):
            cluster.client.patch("nodes", "", name, lambda node: {**node, "spec": {"unschedulable": True}})
        async with scheduling(cluster.url):
            await until(lambda: not any(each.get("status") for each in cluster.client.list(RESOURCE_CLAIMS)))
            assert nodes_of(cluster) == {}
            assert broken_promises(cluster) == []
