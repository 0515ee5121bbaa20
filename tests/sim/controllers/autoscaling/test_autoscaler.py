"""The stand-in autoscaler at an embedded cluster without a scheduler: the conditions of pods are written by hand."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from tests.support.waiting import until
from vsched.apimachinery.manifests.node_groups import FleetGroup
from vsched.sim.cluster import Cluster
from vsched.sim.controllers import PoolDescription
from vsched.sim.controllers.autoscaling.requests import ATOMIC_SCALE_UP, CHECK_CAPACITY, CONSUMES, REQUESTS
from vsched.sim.fleet.nodes import fleet

Obj = dict[str, Any]


def pool(name: str = "big", most: int = 10, cpu: int = 8, **more: Any) -> PoolDescription:
    labels = more.pop("labels", {})
    (template,) = fleet([FleetGroup(1, capacity={"cpu": str(cpu)}, labels=labels, taints=more.pop("taints", []))])
    status = {key: template["status"][key] for key in ("capacity", "allocatable")}
    return PoolDescription(name, ({**template, "status": status},), most=most, **more)


def spec(cpu: int = 1, **more: Any) -> Obj:
    return {"containers": [{"name": "c", "image": "i", "resources": {"requests": {"cpu": str(cpu)}}}], **more}


def pod(name: str, **more: Any) -> Obj:
    metadata = {"name": name, "namespace": "default", "annotations": more.pop("annotations", {})}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": {"schedulerName": "x", **spec(**more)}}


def say(cluster: Cluster, name: str, reason: str) -> None:
    condition = {"type": "PodScheduled", "status": "False", "reason": reason, "message": ""}
    cluster.client.patch_status(
        "pods", "default", name, lambda found: {**found, "status": {**found["status"], "conditions": [condition]}}
    )


def added(cluster: Cluster) -> list[str]:
    return sorted(found["metadata"]["name"] for found in cluster.client.list("nodes"))


def request(name: str, count: int, kind: str = ATOMIC_SCALE_UP, cpu: int = 1, **parameters: str) -> list[Obj]:
    metadata = {"name": name, "namespace": "default"}
    template = {"metadata": {}, "spec": spec(cpu)}
    pod_sets = [{"podTemplateRef": {"name": name}, "count": count}]
    asked = {"provisioningClassName": kind, "podSets": pod_sets, **({"parameters": parameters} if parameters else {})}
    return [
        {"apiVersion": "v1", "kind": "PodTemplate", "metadata": metadata, "template": template},
        {"apiVersion": "autoscaling.x-k8s.io/v1", "kind": "ProvisioningRequest", "metadata": metadata, "spec": asked},
    ]


def conditions(cluster: Cluster, name: str) -> dict[str, str]:
    found = cluster.client.get(REQUESTS, "default", name) or {}
    return {one["type"]: one["status"] for one in (found.get("status") or {}).get("conditions") or ()}


@pytest.mark.parametrize(
    ("pools", "pods", "expected"),
    [
        pytest.param([pool()], [pod(f"p{n}") for n in range(16)], ["big-0", "big-1"], id="as many as they need"),
        pytest.param([pool(most=1)], [pod(f"p{n}") for n in range(16)], ["big-0"], id="no more than the most"),
        pytest.param([pool(cpu=2)], [pod("p", cpu=3)], [], id="none that would not take the pod"),
        pytest.param(
            [pool("dear", price=2.0), pool("cheap", price=1.0)], [pod("p")], ["cheap-0"], id="of the cheapest pool"
        ),
        pytest.param(
            [pool("one"), pool("two", labels={"a": "b"})],
            [pod("p", nodeSelector={"a": "b"})],
            ["two-0"],
            id="with the labels that it asks for",
        ),
        pytest.param(
            [pool("one", taints=[{"key": "k", "effect": "NoSchedule"}]), pool("two")],
            [pod("p")],
            ["two-0"],
            id="without taints that it does not tolerate",
        ),
        pytest.param([pool(out_of_stock="none left")], [pod("p")], [], id="none where there are none"),
        pytest.param([pool(least=2)], [], ["big-0", "big-1"], id="what a pool always has"),
        pytest.param([pool()], [pod("p", annotations={CONSUMES: "r"})], [], id="not what a request is there for"),
    ],
)
async def test_nodes_are_added_for_pods_that_say_unschedulable(
    pools: Sequence[PoolDescription], pods: list[Obj], expected: list[str]
) -> None:
    marker = pool("marker", labels={"marker": "yes"}, price=9.0, taints=[{"key": "marker", "effect": "NoSchedule"}])
    async with Cluster(0, pools=[*pools, marker]) as cluster:
        cluster.apply(pods)
        for one in pods:
            say(cluster, one["metadata"]["name"], "Unschedulable")
        # A pod that surely gets a node shows that the others were looked at.
        cluster.apply([pod("last", nodeSelector={"marker": "yes"}, tolerations=[{"operator": "Exists"}])])
        say(cluster, "last", "Unschedulable")
        await until(lambda: added(cluster) == sorted([*expected, "marker-0"]))


async def test_no_node_is_added_for_pods_with_another_reason() -> None:
    async with Cluster(0, pools=[pool()]) as cluster:
        cluster.apply([pod("waits", cpu=8), pod("other")])
        say(cluster, "other", "QueueCapability")
        say(cluster, "waits", "Unschedulable")
        await until(lambda: added(cluster) == ["big-0"])


async def test_a_node_without_pods_goes_after_a_while() -> None:
    async with Cluster(0, pools=[pool(idle=0.3)]) as cluster:
        cluster.apply([pod("p")])
        say(cluster, "p", "Unschedulable")
        await until(lambda: added(cluster) == ["big-0"])
        cluster.client.delete("pods", "default", "p", grace_seconds=0)
        await until(lambda: added(cluster) == [])


async def test_a_request_gets_nodes_for_all_of_its_pods_once() -> None:
    async with Cluster(0, pools=[pool(delay=0.3)]) as cluster:
        cluster.apply(request("r", 16))
        await until(lambda: conditions(cluster, "r") == {"Accepted": "True", "Provisioned": "False"})
        assert added(cluster) == []
        await until(lambda: conditions(cluster, "r") == {"Accepted": "True", "Provisioned": "True"})
        assert added(cluster) == ["big-0", "big-1"]


async def test_what_is_kept_for_a_request_is_not_given_to_other_pods() -> None:
    async with Cluster(0, pools=[pool()]) as cluster:
        cluster.apply(request("r", 8))
        await until(lambda: conditions(cluster, "r").get("Provisioned") == "True")
        cluster.apply([pod("p")])
        say(cluster, "p", "Unschedulable")
        await until(lambda: added(cluster) == ["big-0", "big-1"])


@pytest.mark.parametrize(
    ("pools", "objects"),
    [
        pytest.param([pool(most=1)], request("r", 16), id="a pool is too small: and not even one node is added"),
        pytest.param([pool(out_of_stock="none left")], request("r", 1), id="none can be had"),
        pytest.param([pool()], request("r", 1)[1:], id="its PodTemplate does not exist"),
    ],
)
async def test_a_request_that_cannot_be_met_fails(pools: Sequence[PoolDescription], objects: list[Obj]) -> None:
    async with Cluster(0, pools=pools) as cluster:
        cluster.apply(objects)
        await until(lambda: conditions(cluster, "r").get("Failed") == "True")
        assert added(cluster) == []


async def test_a_request_for_room_that_is_there_waits_for_it_and_adds_none() -> None:
    async with Cluster(1, pools=[pool()]) as cluster:
        cluster.apply([*request("r", 8, CHECK_CAPACITY), *request("large", 64, CHECK_CAPACITY)])
        await until(lambda: conditions(cluster, "r").get("Provisioned") == "True")
        await until(lambda: conditions(cluster, "large") == {"Accepted": "True", "Provisioned": "False"})
        assert added(cluster) == ["node-0"]


async def test_a_request_of_another_class_is_left_to_others() -> None:
    async with Cluster(0, pools=[pool()]) as cluster:
        cluster.apply([*request("theirs", 8, "example.com/theirs"), *request("r", 8)])
        await until(lambda: conditions(cluster, "r").get("Provisioned") == "True")
        assert conditions(cluster, "theirs") == {}
