"""Files of devices: what they mean, and what is wrong with bad ones."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from vsched.errors import BadInput
from vsched.sim.controllers.devices.plugins import PluginDevices
from vsched.sim.fleet.devices import DeviceDescription, read_devices

Obj = dict[str, Any]


def read(folder: Path, text: str) -> DeviceDescription:
    path = folder / "devices.yaml"
    path.write_text(text)
    return read_devices(path)


def devices(folder: Path, text: str) -> list[Obj]:
    """The devices of the only pool."""
    (pool,) = read(folder, text).pools
    return list(pool.devices)


def test_attributes_have_the_types_of_their_values(tmp_path: Path) -> None:
    attributes = "{model: h100, numa: 1, ready: true, driver: {version: 1.2.3}, uuid: 'u-{n}'}"
    text = f"{{driver: d, count: 1, attributes: {attributes}}}"
    (device,) = devices(tmp_path, text)
    assert device == {
        "name": "gpu-0",
        "attributes": {
            "model": {"string": "h100"},
            "numa": {"int": 1},
            "ready": {"bool": True},
            "driver": {"version": "1.2.3"},
            "uuid": {"string": "u-0"},
        },
    }


def test_some_devices_differ_and_there_may_be_more_of_them(tmp_path: Path) -> None:
    text = """
    driver: d
    count: 2
    attributes: {model: h100}
    capacity: {memory: 80Gi}
    devices:
    - {name: gpu-1, taints: [broken:NoExecute], attributes: {slot: 7}}
    - {name: extra, capacity: {memory: 40Gi}}
    """
    plain, tainted, extra = devices(tmp_path, text)
    assert (plain["name"], plain["attributes"], plain["capacity"]) == (
        "gpu-0",
        {"model": {"string": "h100"}},
        {"memory": {"value": "80Gi"}},
    )
    assert tainted["taints"] == [{"key": "broken", "effect": "NoExecute"}]
    assert tainted["attributes"] == {"model": {"string": "h100"}, "slot": {"int": 7}}
    assert (extra["name"], extra["capacity"]) == ("extra", {"memory": {"value": "40Gi"}})


def test_partitions_take_from_shared_counters(tmp_path: Path) -> None:
    text = """
    driver: d
    sharedCounters: {card-0: {memory: 80Gi, slices: 7}}
    devices:
    - {name: whole, consumesCounters: [{counterSet: card-0, counters: {memory: {value: 80Gi}}}]}
    """
    (pool,) = read(tmp_path, text).pools
    assert pool.counters == ({"name": "card-0", "counters": {"memory": {"value": "80Gi"}, "slices": {"value": "7"}}},)
    assert pool.devices[0]["consumesCounters"][0]["counterSet"] == "card-0"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param("{driver: d, count: 1}", ["d"], id="called as the driver"),
        pytest.param("{driver: d, count: 1, class: big}", ["big"], id="of another name"),
        pytest.param("{driver: d, count: 1, class: false}", [], id="none"),
        pytest.param(
            "[{driver: d, count: 1}, {kind: DeviceClass, metadata: {name: d}, spec: {}}]", ["d"], id="given in the file"
        ),
    ],
)
def test_the_class_of_a_pool(tmp_path: Path, text: str, expected: list[str]) -> None:
    assert [each.obj["metadata"]["name"] for each in read(tmp_path, text).manifests] == expected


def test_a_class_may_serve_an_extended_resource(tmp_path: Path) -> None:
    (made,) = read(tmp_path, "{driver: d, count: 1, extendedResourceName: nvidia.com/gpu}").manifests
    assert made.obj["spec"]["extendedResourceName"] == "nvidia.com/gpu"


def test_devices_of_plugins_stand_beside_those_of_drivers(tmp_path: Path) -> None:
    found = read(tmp_path, "[{driver: d, count: 1}, {plugin: vgpu, count: 2, memory: 1000, nodes: [a]}]")
    assert ([each.driver for each in found.pools], found.plugins) == (
        ["d"],
        [PluginDevices("vgpu", ("a",), count=2, memory=1000)],
    )


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("{driver: d, count: 1}\n---\n{driver: e, count: 1}", id="several documents"),
        pytest.param("pools: [{driver: d, count: 1}, {driver: e, count: 1}]", id="a mapping with pools"),
        pytest.param("[{driver: d, count: 1}, {driver: e, count: 1}]", id="a list"),
    ],
)
def test_forms(tmp_path: Path, text: str) -> None:
    assert [each.driver for each in read(tmp_path, text).pools] == ["d", "e"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        pytest.param("# nothing", r"devices.yaml: nothing in it \(expected pools of devices", id="an empty file"),
        pytest.param(
            "- driver: d\n  count: many", r"devices.yaml, line 2: \[0\].count: must be an integer", id="a count"
        ),
        pytest.param("- {driver: d}", r"line 1: \[0\]: a pool without devices", id="no devices"),
        pytest.param("- count: 1", r"line 1: \[0\]: Object missing required field `driver`", id="no driver"),
        pytest.param(
            "- driver: d\n  count: 1\n  model: x", r"\[0\]: Object contains unknown field `model`", id="a key"
        ),
        pytest.param(
            "pools:\n- driver: d\n  count: 1\n  taints: [broken]",
            r"line 4: pools\[0\].taints: 'broken': expected key=value:Effect",
            id="a taint",
        ),
        pytest.param(
            "- driver: d\n  devices:\n  - {name: a}\n  - {name: a}",
            r"line 4: \[0\].devices\[1\]: two",
            id="a name twice",
        ),
        pytest.param("- {driver: d, devices: [{}]}", r"devices\[0\]: a device without a name", id="no name"),
        pytest.param(
            "- driver: d\n  count: 1\n  bindingDelay: soon", r"line 3: \[0\].bindingDelay: 'soon' is not", id="a time"
        ),
        pytest.param(
            "- {driver: d, count: 1, shared: true,\n   nodes: [a]}",
            r"line 2: \[0\].nodes: expected without shared",
            id="both",
        ),
        pytest.param("kind: Pod", "line 1: kind: 'Pod' is not of devices: expected DeviceClass", id="another kind"),
        pytest.param(
            "---\n- {driver: d, count: 1}\n---\nkind: DeviceClass", "line 4: a DeviceClass without", id="no name"
        ),
        pytest.param("pools: []\nmore: 1", "document 1: unknown key 'more': expected pools", id="a key besides pools"),
        pytest.param("- {driver: d\n", "document 1, line 2", id="broken YAML"),
        pytest.param("- 7", r"line 1: \[0\]: must be an object, is an integer", id="something else altogether"),
        pytest.param(
            "- {plugin: gpus}", r"\[0\].plugin: 'gpus': expected vgpu, gpu, a model of NPUs", id="no such plugin"
        ),
        pytest.param(
            "- plugin: vgpu\n  count: 65", r"line 2: \[0\].count: must be an integer <= 64", id="too many devices"
        ),
        pytest.param("- {plugin: vgpu, share: 2}", r"unknown field `share`", id="a key of a plugin"),
        pytest.param(
            "- {plugin: gpu, memory: 1,\n   mode: mps}",
            r"line 2: \[0\].mode: expected with the plugin vgpu",
            id="a mode",
        ),
        pytest.param("- {plugin: gpu}", r"\.memory: devices without memory: expected how", id="GPUs without memory"),
        pytest.param(
            "- {plugin: nvidia.com/gpu, memory: 5}", r"\.memory: expected with vgpu, gpu and NPUs only", id="whole"
        ),
        pytest.param("- {plugin: vgpu, type: 'A,B'}", r"\.type: 'A,B': expected some letters", id="a type"),
    ],
)
def test_bad_files(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(BadInput, match=message):
        read(tmp_path, text)
