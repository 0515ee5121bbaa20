"""The pretended driver: what it publishes for nodes, how it follows changes, and how binding conditions come true."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.sim.controllers.claimed import allocate, cluster, node, resource_claim
from tests.support import devices
from tests.support.waiting import until
from vsched.sim.cluster import Cluster
from vsched.sim.controllers.devices.pools import DriverDevices, slices_on

Obj = dict[str, Any]
SLICES, NODES = "resource.k8s.io/resourceslices", ("a1", "a2", "b1")
DRIVER = "gpu.example.com"


def some(count: int, **more: Any) -> tuple[Obj, ...]:
    return tuple(devices.device(f"gpu-{number}", **more) for number in range(count))


@asynccontextmanager
async def publishing(folder: Path, text: str) -> AsyncIterator[Cluster]:
    """A cluster of three nodes whose devices a file describes."""
    path = folder / "devices.yaml"
    path.write_text(text)
    async with cluster([node(name) for name in NODES], devices_file=path) as running:
        yield running


def slices(running: Cluster) -> dict[str, Obj]:
    return {each["metadata"]["name"]: each["spec"] for each in running.client.list(SLICES)}


def published(running: Cluster) -> dict[str, list[str]]:
    """The names of the devices in each pool."""
    found: dict[str, list[str]] = {}
    for spec in slices(running).values():
        found.setdefault(spec["pool"]["name"], []).extend(each["name"] for each in spec.get("devices") or ())
    return found


async def test_each_node_has_a_pool_of_its_devices(tmp_path: Path) -> None:
    text = f"""
    - {{driver: {DRIVER}, nodes: ["a*"], count: 2, attributes: {{model: h100, node: "{{node}}", n: "{{n}}"}}}}
    - {{driver: {DRIVER}, nodes: [b1], count: 1, prefix: card-, capacity: {{memory: 80Gi}}, taints: ["x=y:NoSchedule"]}}
    - {{driver: nic.example.com, shared: true, pool: fabric, count: 1, prefix: nic-}}
    """
    async with publishing(tmp_path, text) as running:
        expected = {"a1": ["gpu-0", "gpu-1"], "a2": ["gpu-0", "gpu-1"], "b1": ["card-0"], "fabric": ["nic-0"]}
        await until(lambda: published(running) == expected)
        spec = slices(running)[f"a2-{DRIVER}-0"]
        assert (spec["nodeName"], spec["pool"]) == ("a2", {"name": "a2", "generation": 1, "resourceSliceCount": 1})
        assert spec["devices"][1]["attributes"] == {
            "model": {"string": "h100"},
            "node": {"string": "a2"},
            "n": {"string": "1"},
        }
        card = slices(running)[f"b1-{DRIVER}-0"]["devices"][0]
        assert card["capacity"] == {"memory": {"value": "80Gi"}}
        assert {**card["taints"][0], "timeAdded": ""} == {
            "key": "x",
            "value": "y",
            "effect": "NoSchedule",
            "timeAdded": "",
        }
        assert slices(running)["nic.example.com-fabric-0"]["allNodes"] is True
        classes = {each["metadata"]["name"] for each in running.client.list("resource.k8s.io/deviceclasses")}
        assert classes == {DRIVER, "nic.example.com"}


async def test_slices_come_and_go_with_their_nodes(tmp_path: Path) -> None:
    async with publishing(tmp_path, f"[{{driver: {DRIVER}, count: 1}}]") as running:
        await until(lambda: published(running).keys() == set(NODES))
        running.client.delete("nodes", "", "a1")
        await until(lambda: published(running).keys() == {"a2", "b1"})
        running.apply([node("a1"), node("c1")])
        await until(lambda: published(running).keys() == {*NODES, "c1"})


async def test_a_slice_that_somebody_deletes_is_published_again(tmp_path: Path) -> None:
    async with publishing(tmp_path, f"[{{driver: {DRIVER}, count: 1}}]") as running:
        await until(lambda: published(running).keys() == set(NODES))
        running.client.delete(SLICES, "", f"a1-{DRIVER}-0")
        assert published(running).keys() == {"a2", "b1"}
        await until(lambda: published(running).keys() == set(NODES))


@pytest.mark.real_time
async def test_a_change_of_the_file_is_published_under_the_next_generation(tmp_path: Path) -> None:
    text = f"""
    - {{driver: {DRIVER}, count: 2, taints: ["a=b:NoSchedule"]}}
    - {{kind: DeviceClass, metadata: {{name: mine}}, spec: {{}}}}
    """
    async with publishing(tmp_path, text) as running:
        await until(lambda: len(slices(running)) == 3)
        since = slices(running)[f"b1-{DRIVER}-0"]["devices"][0]["taints"][0]["timeAdded"]
        running.client.patch(SLICES, "", f"a1-{DRIVER}-0", _tainted)
        changed = f'[{{driver: {DRIVER}, nodes: [b1], count: 3, taints: ["a=b:NoSchedule", "c:NoExecute"]}}]'
        (tmp_path / "devices.yaml").write_text(changed)
        await until(lambda: published(running) == {"b1": ["gpu-0", "gpu-1", "gpu-2"]})
        spec = slices(running)[f"b1-{DRIVER}-0"]
        assert spec["pool"]["generation"] == 2
        assert spec["devices"][0]["taints"][0]["timeAdded"] == since
        assert not running.client.get("resource.k8s.io/deviceclasses", "", "mine")


def _tainted(slice_: Obj) -> Obj:
    bad = {"key": "broken", "effect": "NoSchedule"}
    listed = [{**each, "taints": [*each.get("taints", ()), bad]} for each in slice_["spec"]["devices"]]
    return {**slice_, "spec": {**slice_["spec"], "devices": listed}}


async def test_a_change_by_hand_stays(tmp_path: Path) -> None:
    async with publishing(tmp_path, f"[{{driver: {DRIVER}, count: 1}}]") as running:
        await until(lambda: len(slices(running)) == 3)
        running.client.patch(SLICES, "", f"a1-{DRIVER}-0", _tainted)
        assert await running.settle()
        assert slices(running)[f"a1-{DRIVER}-0"]["devices"][0]["taints"]


@pytest.mark.real_time
async def test_a_bad_file_changes_nothing_and_is_told(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    async with publishing(tmp_path, f"[{{driver: {DRIVER}, count: 1}}]") as running:
        await until(lambda: len(slices(running)) == 3)
        (tmp_path / "devices.yaml").write_text("[{driver: x, count: many}]")
        await until(lambda: "devices.yaml, line 1: [0].count: must be an integer" in caplog.text)
        assert await running.settle()
        assert len(slices(running)) == 3


@given(st.integers(0, 300), st.booleans(), st.booleans())
def test_slices_have_no_more_devices_than_the_api_allows(count: int, tainted: bool, counted: bool) -> None:
    taints = ["a=b:NoSchedule"] if tainted else []
    counters = ({"name": "c", "counters": {"x": {"value": "1"}}},) if counted else ()
    pools: Sequence[DriverDevices] = [DriverDevices(DRIVER, devices=some(count, taints=taints), counters=counters)]
    (found,) = slices_on(pools, "n1")
    assert [each["name"] for spec in found.specs for each in spec.get("devices") or ()] == [
        f"gpu-{number}" for number in range(count)
    ]
    assert all(len(spec.get("devices") or ()) <= (64 if tainted else 128) for spec in found.specs)
    assert all(("devices" in spec) != ("sharedCounters" in spec) for spec in found.specs)
    assert len({found.content(number) for number in range(len(found.specs))}) == len(found.specs)
    assert len({found.name(number, "n1") for number in range(len(found.specs))}) == len(found.specs)


@pytest.mark.parametrize(
    ("more", "condition", "message"),
    [
        pytest.param("bindingDelay: 10ms", "attached", "the device is ready", id="come true"),
        pytest.param("bindingFailure: no path, bindingDelay: 0s", "failed", "no path", id="fail"),
    ],
)
async def test_binding_conditions(tmp_path: Path, more: str, condition: str, message: str) -> None:
    device = "{bindingConditions: [attached], bindingFailureConditions: [failed]}"
    async with publishing(tmp_path, f"[{{driver: {DRIVER}, count: 1, device: {device}, {more}}}]") as running:
        running.apply([devices.resource_claim(namespace="default")])
        conditions = {"bindingConditions": ["attached"], "bindingFailureConditions": ["failed"]}
        allocate(running, "gpus", "a1", "gpu-0", pods=[], result=conditions)
        await until(lambda: resource_claim(running)["status"].get("devices"))
        (found,) = resource_claim(running)["status"]["devices"]
        assert (found["driver"], found["pool"], found["device"]) == (DRIVER, "a1", "gpu-0")
        (only,) = found["conditions"]
        assert (only["type"], only["status"], only["message"]) == (condition, "True", message)
