"""ResourceQuotas count what their namespaces hold, and bind who makes more."""

from __future__ import annotations

import pytest

from tests.support.running import Obj
from tests.support.waiting import until
from vsched.apimachinery.meta.api_errors import Failure
from vsched.sim.cluster import Cluster, ClusterSettings
from vsched.sim.controllers import ControllerSettings, PodTimes

QUICK = ClusterSettings(ControllerSettings(PodTimes(termination=0.02)))


def quota(**hard: str) -> Obj:
    metadata = {"name": "q", "namespace": "default"}
    named = {name.replace("__", "/").replace("_", "."): value for name, value in hard.items()}
    return {"apiVersion": "v1", "kind": "ResourceQuota", "metadata": metadata, "spec": {"hard": named}}


def pod(name: str, cpu: str = "1") -> Obj:
    containers = [{"name": "c", "image": "i", "resources": {"requests": {"cpu": cpu}, "limits": {"cpu": cpu}}}]
    spec = {"containers": containers, "schedulerName": "nobody"}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "namespace": "default"}, "spec": spec}


def used(cluster: Cluster) -> Obj:
    found = cluster.client.get("resourcequotas", "default", "q") or {}
    return dict((found.get("status") or {}).get("used") or {})


async def test_a_quota_counts_what_is_there_and_what_comes_and_goes() -> None:
    async with Cluster(settings=QUICK) as cluster:
        cluster.client.create("pods", pod("before"))
        cluster.client.create("resourcequotas", quota(requests_cpu="3", pods="10", count__configmaps="5"))
        await until(lambda: used(cluster) == {"requests.cpu": "1", "pods": "1", "count/configmaps": "0"})
        cluster.client.create("pods", pod("after", "1500m"))
        assert used(cluster)["requests.cpu"] == "2500m"  # at once: admission has charged it
        cluster.client.delete("pods", "default", "before")
        await until(lambda: used(cluster)["requests.cpu"] == "1500m" and used(cluster)["pods"] == "1")


async def test_a_quota_binds_who_makes_more() -> None:
    async with Cluster(settings=QUICK) as cluster:
        cluster.client.create("resourcequotas", quota(requests_cpu="2"))
        await until(lambda: used(cluster) == {"requests.cpu": "0"})
        cluster.client.create("pods", pod("a", "2"))
        with pytest.raises(Failure, match="exceeded quota: q, requested: "):
            cluster.client.create("pods", pod("b"))


async def test_a_quota_that_is_raised_says_so() -> None:
    async with Cluster(settings=QUICK) as cluster:
        cluster.client.create("resourcequotas", quota(pods="1"))
        await until(lambda: used(cluster) == {"pods": "0"})
        cluster.client.patch("resourcequotas", "default", "q", lambda obj: {**obj, "spec": {"hard": {"pods": "2"}}})

        def hard() -> Obj:
            found = cluster.client.get("resourcequotas", "default", "q") or {}
            return dict(found["status"]["hard"])

        await until(lambda: hard() == {"pods": "2"})
