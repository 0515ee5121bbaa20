"""Volumes and devices end to end, with kubectl at an embedded cluster: what people do, and what they see."""

from __future__ import annotations

import json
import re
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.support import devices, volumes
from tests.support.claiming import machine
from tests.support.kubectl import Kubectl
from tests.support.running import condition_of, gang, nodes_of, pod, scheduling, status_of
from tests.support.waiting import until, until_answered
from vsched.cel import words as cel_words
from vsched.framework.words import nodes as nodes_words
from vsched.sim.cluster import Cluster, ClusterSettings
from vsched.sim.controllers import ControllerSettings, PodTimes

pytestmark = pytest.mark.kubectl

Obj = dict[str, Any]
NS = "default"
VOLUME_CLAIMS, CLAIMS = "persistentvolumeclaims", "resourceclaims"
STORED_CLAIMS = f"resource.k8s.io/{CLAIMS}"
QUICK = ControllerSettings(PodTimes(termination=0.0), provisioning=0.0)
TWO_MODELS = """
- driver: gpu.example.com
  nodes: [n1]
  count: 4
  attributes: {model: h100}
- driver: gpu.example.com
  nodes: [n2]
  count: 4
  attributes: {model: a100}
  class: false
"""
TAINTED = TWO_MODELS + "  devices: [{name: gpu-3, taints: ['example.com/broken=yes:NoSchedule']}]\n"
OF_ONE_MODEL = [{"requests": ["gpu"], "matchAttribute": f"{devices.DRIVER}/model"}]


class Story:
    """A cluster, and what people type."""

    def __init__(self, cluster: Cluster, kubectl: Kubectl, devices_file: Path) -> None:
        self.cluster = cluster
        self.kubectl = kubectl
        self._devices_file = devices_file

    async def apply(self, *manifests: Obj, code: int = 0) -> str:
        """What kubectl says."""
        return await self.kubectl("apply", "-f", "-", given=yaml.safe_dump_all(map(_plain, manifests)), code=code)

    async def get(self, kind: str) -> list[Obj]:
        """What kubectl shows of a kind."""
        found: list[Obj] = json.loads(await self.kubectl("get", kind, "-o=json"))["items"]
        return found

    async def runs(self, count: int, prefix: str = "") -> dict[str, str]:
        """Wait until so many pods run whose names start so; their nodes."""

        async def running() -> dict[str, str]:
            pods = [one for one in await self.get("pods") if one["status"].get("phase") == "Running"]
            nodes = {one["metadata"]["name"]: one["spec"]["nodeName"] for one in pods}
            found = {name: node for name, node in nodes.items() if name.startswith(prefix)}
            return found if len(found) == count else {}

        return await until_answered(running)

    async def says(self, name: str, words: str) -> None:
        """Wait until a pod's condition has these words."""
        pods = self.cluster.client

        def told() -> bool:
            return words in condition_of(pods.get("pods", NS, name), "PodScheduled").get("message", "")

        try:
            await until(told)
        except TimeoutError:
            assert words in condition_of(pods.get("pods", NS, name), "PodScheduled").get("message", "")

    def describe_devices(self, text: str) -> None:
        """The devices of the nodes from now on."""
        self._devices_file.write_text(text, encoding="utf-8")


def _plain(manifest: Obj) -> Obj:
    """Without the uid and the status of the builders: the server gives its own."""
    metadata = {name: value for name, value in manifest["metadata"].items() if name != "uid"}
    return {**{key: value for key, value in manifest.items() if key != "status"}, "metadata": metadata}


@asynccontextmanager
async def story(tmp_path: Path, *nodes: Obj, described: str = "") -> AsyncIterator[Story]:
    path = tmp_path / "devices.yaml"
    path.write_text(described, encoding="utf-8")
    machines = list(nodes) or [machine("n1", zone="a"), machine("n2", zone="b")]
    async with (
        Cluster(machines, devices=path if described else None, settings=ClusterSettings(QUICK)) as cluster,
        scheduling(cluster.url),
    ):
        cluster.write_kubeconfig(tmp_path / "config")
        yield Story(cluster, Kubectl(tmp_path), path)


def with_volumes(manifest: Obj, *claims: str, **spec: Any) -> Obj:
    return {**manifest, "spec": {**manifest["spec"], "volumes": volumes.claim_volumes(*claims), **spec}}


def with_devices(manifest: Obj, source: str) -> Obj:
    return {**manifest, "spec": {**manifest["spec"], "resourceClaims": devices.pod_claims(gpu=source)}}


def training(size: int) -> Iterable[Obj]:
    """A gang whose pods have claims from the template ``gpus``."""
    group, *members = gang("g", size)
    return group, *(with_devices(member, "template/gpus") for member in members)


def devices_of(claims: Iterable[Obj]) -> list[tuple[str, str]]:
    """Pool and device of all results."""
    results = [one for claim in claims for one in claim["status"]["allocation"]["devices"]["results"]]
    return [(one["pool"], one["device"]) for one in results]


# -- volumes --------------------------------------------------------------------------------------------------------


async def test_a_stateful_set_has_a_volume_in_each_zone_and_its_pods_return_there(tmp_path: Path) -> None:
    zones = {f"n{number}": f"zone-{number}" for number in range(3)}
    labels = {"app": "db"}
    spread = {"maxSkew": 1, "topologyKey": volumes.ZONE, "whenUnsatisfiable": "DoNotSchedule"}
    claim = {"metadata": {"name": "data"}, "spec": volumes.claim()["spec"]}
    stateful_set = {
        "apiVersion": "apps/v1",
        "kind": "StatefulSet",
        "metadata": {"name": "db", "namespace": NS},
        "spec": {
            "replicas": 3,
            "serviceName": "db",
            "podManagementPolicy": "Parallel",
            "selector": {"matchLabels": labels},
            "template": {
                "metadata": {"labels": labels},
                "spec": {
                    **pod("db")["spec"],
                    "topologySpreadConstraints": [{**spread, "labelSelector": {"matchLabels": labels}}],
                },
            },
            "volumeClaimTemplates": [claim],
        },
    }
    nodes = [machine(name, zone=zone) for name, zone in zones.items()]
    async with story(tmp_path, *nodes) as told:
        await told.apply(volumes.storage_class(zones=tuple(zones.values())), stateful_set)
        placed = await told.runs(3, "db-")
        assert sorted(placed.values()) == sorted(zones)

        reach = {
            one["spec"]["claimRef"]["name"]: one["spec"]["nodeAffinity"]["required"]["nodeSelectorTerms"]
            for one in await told.get("persistentvolumes")
        }
        assert reach == {
            f"data-{name}": volumes.in_topology(volumes.ZONE, zones[node])["nodeSelectorTerms"]
            for name, node in placed.items()
        }
        assert {one["status"]["phase"] for one in await told.get(VOLUME_CLAIMS)} == {"Bound"}

        before = {one["metadata"]["name"]: one["metadata"]["uid"] for one in await told.get("pods")}
        # kubectl itself would wait for ever where the next pod of this name is there before it begins to watch.
        await told.kubectl("delete", "pod", "db-1", "--wait=false")

        def is_new() -> bool:
            found = told.cluster.client.get("pods", NS, "db-1")
            return found is not None and found["metadata"]["uid"] != before["db-1"]

        await until(is_new)
        again = await told.runs(3, "db-")
        assert again == placed
        after = {one["metadata"]["name"]: one["metadata"]["uid"] for one in await told.get("pods")}
        assert {name for name, uid in after.items() if before[name] != uid} == {"db-1"}


async def test_a_full_node_whose_volumes_are_at_the_limit_takes_one_more_when_one_has_left(tmp_path: Path) -> None:
    async with story(tmp_path, machine("n1")) as told:
        names = ("one", "two", "three")
        await told.apply(volumes.csi_node("n1", {volumes.DRIVER: 2}), volumes.storage_class())
        for name in names:
            await told.apply(volumes.claim(name, namespace=NS), with_volumes(pod(f"p-{name}"), name))
        running = await told.runs(2)
        (waiting,) = {f"p-{name}" for name in names} - set(running)
        await told.says(waiting, "0/1 nodes are available: 1 node(s) exceed max volume count")
        await told.kubectl("delete", "pod", min(running))
        assert waiting in await told.runs(2)


async def test_a_volume_of_another_zone_holds_up_its_pod_and_no_other(tmp_path: Path) -> None:
    async with story(tmp_path) as told:
        await told.apply(
            volumes.storage_class("manual", waits=False, provisioner=volumes.NO_PROVISIONER),
            volumes.volume("pv-b", zone="b", storage_class="manual"),
            volumes.claim("data", namespace=NS, storage_class="manual"),
            with_volumes(pod("here"), "data", nodeSelector={volumes.ZONE: "a"}),
            with_volumes(pod("there"), "data"),
        )
        assert await told.runs(1) == {"there": "n2"}
        await told.says("here", "1 node(s) didn't match PersistentVolume's node affinity")


# -- devices --------------------------------------------------------------------------------------------------------


async def test_a_gang_gets_two_devices_of_one_model_for_each_pod_and_gives_them_back(tmp_path: Path) -> None:
    async with story(tmp_path, described=TWO_MODELS) as told:
        template = devices.claim_template("gpus", devices.request("gpu", 2), namespace=NS, constraints=OF_ONE_MODEL)
        await told.apply(template, *training(4))
        placed = await told.runs(4, "g-")
        assert sorted(placed.values()) == ["n1", "n1", "n2", "n2"]

        claims = await told.get(CLAIMS)
        assert sorted(devices_of(claims)) == sorted(
            (node, f"gpu-{number}") for node in ("n1", "n2") for number in range(4)
        )
        for claim in claims:
            (consumer,) = claim["status"]["reservedFor"]
            assert {pool for pool, _ in devices_of([claim])} == {placed[consumer["name"]]}
        shown = await told.kubectl("get", CLAIMS)
        assert len(re.findall("allocated,reserved", shown)) == 4

        await told.kubectl("delete", "pods", "--all")
        await until(lambda: not told.cluster.client.list(STORED_CLAIMS, NS))


async def test_a_gang_waits_as_a_whole_while_one_device_is_tainted(tmp_path: Path) -> None:
    async with story(tmp_path, described=TAINTED) as told:
        template = devices.claim_template("gpus", devices.request("gpu", 2), namespace=NS, constraints=OF_ONE_MODEL)
        await told.apply(template, *training(4))
        await until(lambda: "the gang needs 4, 3 fit" in _message(told.cluster, "g"))
        assert nodes_of(told.cluster) == {}
        claims = await told.get(CLAIMS)
        assert len(claims) == 4
        assert not any(claim.get("status") for claim in claims), "nothing is reserved for a gang that cannot start"
        assert "the gang needs 4, 3 fit" in await told.kubectl("get", "pg", "g", "-o", "wide")

        told.describe_devices(TWO_MODELS)
        assert len(await told.runs(4, "g-")) == 4


def _message(cluster: Cluster, group: str) -> str:
    return " ".join(one.get("message", "") for one in status_of(cluster, group).get("conditions", ()))


# -- bad input ------------------------------------------------------------------------------------------------------


async def test_a_selector_that_fails_stops_its_pod_and_no_other(tmp_path: Path) -> None:
    async with story(tmp_path, described=TWO_MODELS) as told:
        missing = f"device.attributes['{devices.DRIVER}'].generation > 3"
        await told.apply(
            devices.resource_claim("broken", devices.request("gpu", 1, missing), namespace=NS),
            devices.resource_claim("good", namespace=NS),
            with_devices(pod("p-broken"), "broken"),
            with_devices(pod("p-good"), "good"),
        )
        assert list(await told.runs(1)) == ["p-good"]
        await told.says("p-broken", cel_words.no_such_key("generation"))


async def test_a_selector_that_is_no_cel_is_refused(tmp_path: Path) -> None:
    async with story(tmp_path) as told:
        claim = devices.resource_claim("broken", devices.request("gpu", 1, "device.driver == "), namespace=NS)
        assert "spec.devices.requests[0].exactly.selectors[0].cel.expression" in await told.apply(claim, code=1)


async def test_all_devices_of_a_pool_are_had_once_all_of_its_slices_are_there(tmp_path: Path) -> None:
    async with story(tmp_path) as told:
        first = devices.resource_slice("n1", [devices.device("gpu-0")], name="first", count=2)
        await told.apply(
            devices.device_class(),
            first,
            devices.resource_claim("all", devices.request("gpu", 0), namespace=NS),
            with_devices(pod("p-all"), "all"),
        )
        await told.says("p-all", nodes_words.TOO_FEW_DEVICES)
        second = devices.resource_slice("n1", [devices.device("gpu-1")], name="second", count=2)
        await told.apply(second)
        assert await told.runs(1) == {"p-all": "n1"}
        assert devices_of(await told.get(CLAIMS)) == [("n1", "gpu-0"), ("n1", "gpu-1")]


async def test_a_gang_whose_claim_is_deleted_while_it_is_being_bound_gives_everything_back(tmp_path: Path) -> None:
    async with story(tmp_path, described=TWO_MODELS) as told:
        slow = volumes.storage_class("slow", parameters={"provisioner.vsched.io/delay": "1h"})
        template = devices.claim_template("gpus", namespace=NS)
        group, first, second = training(2)
        await told.apply(slow, template, volumes.claim("data", namespace=NS, storage_class="slow"))
        await told.apply(group, with_volumes(first, "data"), second)

        def selected() -> bool:
            claim = told.cluster.client.get(VOLUME_CLAIMS, NS, "data")
            return volumes.SELECTED_NODE in claim["metadata"].get("annotations", {})

        await until(selected)
        await until(lambda: _allocated(told.cluster) == 2)
        await told.kubectl("delete", "pvc", "data", "--wait=false")
        await until(lambda: _allocated(told.cluster) == 0)
        assert nodes_of(told.cluster) == {}

        assert told.cluster.client.get(VOLUME_CLAIMS, NS, "data") is None
        await told.apply(volumes.storage_class(), volumes.claim("data", namespace=NS))
        assert len(await told.runs(2, "g-")) == 2


def _allocated(cluster: Cluster) -> int:
    """How many claims have devices."""
    return sum(1 for one in cluster.client.list(STORED_CLAIMS, NS) if (one.get("status") or {}).get("allocation"))
