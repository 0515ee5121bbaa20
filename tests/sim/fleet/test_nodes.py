"""Fleets from a number or a file, and what is wrong with bad ones."""

from __future__ import annotations

from pathlib import Path

import pytest

from vsched.apimachinery.manifests.node_groups import FleetGroup
from vsched.errors import BadInput
from vsched.sim.controllers.nodes.node_status import is_node_ready
from vsched.sim.fleet.nodes import fleet, read_fleet, uniform_fleet

FLEET = """
- count: 2
  prefix: cpu-
  capacity: {cpu: 64, memory: 256Gi}
  labels: {pool: batch, spot: true}
- count: 2
  prefix: gpu-
  start: 7
  capacity: {nvidia.com/gpu: 8}
  volumes: {csi.example.com: 8, other.example.com: 0}
  allocatable: {cpu: 30}
  taints: ["nvidia.com/gpu=present:NoSchedule", {key: k, effect: NoExecute}]
  zones: [left]
- apiVersion: v1
  kind: Node
  metadata: {name: own}
"""


def write(folder: Path, text: str) -> Path:
    path = folder / "fleet.yaml"
    path.write_text(text)
    return path


def test_a_number_gives_so_many_default_nodes() -> None:
    nodes = uniform_fleet(5)
    assert [node["metadata"]["name"] for node in nodes] == [f"node-{index}" for index in range(5)]
    assert nodes[0]["status"]["capacity"] == {
        "cpu": "32",
        "memory": "128Gi",
        "ephemeral-storage": "512Gi",
        "pods": "110",
    }
    zones = [node["metadata"]["labels"]["topology.kubernetes.io/zone"] for node in nodes]
    assert zones == ["zone-a", "zone-b", "zone-c", "zone-a", "zone-b"]
    assert all(is_node_ready(node) for node in nodes)
    assert nodes[3]["metadata"]["labels"]["kubernetes.io/hostname"] == "node-3"


def test_every_node_has_an_address_of_its_own() -> None:
    addresses = {node["status"]["addresses"][0]["address"] for node in uniform_fleet(3000)}
    assert len(addresses) == 3000


def test_a_file_of_groups_and_nodes(tmp_path: Path) -> None:
    nodes = {node["metadata"]["name"]: node for node in read_fleet(write(tmp_path, FLEET))}
    assert list(nodes) == ["cpu-0", "cpu-1", "gpu-7", "gpu-8", "own"]
    assert nodes["cpu-0"]["status"]["capacity"]["cpu"] == "64"
    assert nodes["cpu-0"]["metadata"]["labels"]["spot"] == "true"
    gpu = nodes["gpu-8"]
    assert gpu["status"]["capacity"]["nvidia.com/gpu"] == "8"
    assert (gpu["status"]["capacity"]["cpu"], gpu["status"]["allocatable"]["cpu"]) == ("32", "30")
    assert gpu["metadata"]["labels"]["topology.kubernetes.io/zone"] == "left"
    assert gpu["spec"]["taints"] == [
        {"key": "nvidia.com/gpu", "value": "present", "effect": "NoSchedule"}, {"key": "k", "effect": "NoExecute"}
    ]  # fmt: skip
    assert gpu["metadata"]["annotations"] == {"vsched.io/volume-limits": "csi.example.com=8,other.example.com=0"}
    assert nodes["own"] == {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "own"}, "spec": {}}


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("count: 1\n---\ncount: 1\nprefix: b-\n", id="several documents"),
        pytest.param("groups: [{count: 1}, {count: 1, prefix: b-}]", id="a mapping with groups"),
        pytest.param(
            "{kind: List, items: [{kind: Node, metadata: {name: a}}, {kind: Node, metadata: {name: b}}]}", id="a List"
        ),
    ],
)
def test_other_forms(tmp_path: Path, text: str) -> None:
    assert len(read_fleet(write(tmp_path, text))) == 2


@pytest.mark.parametrize(
    ("text", "message"),
    [
        pytest.param(
            "# nothing\n", r"fleet.yaml: nothing in it \(expected groups of nodes, or Nodes\)", id="an empty file"
        ),
        pytest.param("- count: many", r"document 1\[0\]: count is 'many'", id="a count that is no number"),
        pytest.param("- count: true", "count is True", id="a truth is no number"),
        pytest.param("- {count: 1, zone: a}", "unknown key 'zone'", id="an unknown key"),
        pytest.param(
            "- {count: 1, taints: [broken]}", r"taints\[0\]: 'broken': expected key=value:Effect", id="a bad taint"
        ),
        pytest.param("- {count: 1, labels: [a]}", "labels: expected a mapping", id="labels that are a list"),
        pytest.param(
            "- {count: 1, annotations: {vsched.io/cpu-usage: much}}",
            "document 1.0.: annotation vsched.io/cpu-usage: 'much': expected a quantity",
            id="usage that is no quantity",
        ),
        pytest.param("- {count: 1, volumes: {d: many}}", "volumes: d is 'many': expected a number", id="volumes"),
        pytest.param(
            "- {count: 1, annotations: {vsched.io/volume-limits: many}}",
            "annotation vsched.io/volume-limits: 'many': expected drivers and counts",
            id="volume limits that are none",
        ),
        pytest.param("- {count: 1, zones: a}", "zones is 'a': expected a list", id="zones that are no list"),
        pytest.param("- {count: 1}\n- {count: 1}", "two nodes are called 'node-0'", id="names given twice"),
        pytest.param("- 7", "expected a group of nodes", id="something else altogether"),
        pytest.param("- {kind: Node}", "a Node without metadata.name", id="a node without a name"),
        pytest.param("- {count: 1\n", "document 1, line 2", id="broken YAML"),
    ],
)
def test_bad_files(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(BadInput, match=message):
        read_fleet(write(tmp_path, text))


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match=r"nope.yaml: cannot be read: No such file"):
        read_fleet(tmp_path / "nope.yaml")


def test_too_many_nodes_are_refused() -> None:
    with pytest.raises(BadInput, match="expected 0 to 100000"):
        uniform_fleet(100_001)


def test_groups_go_on_counting_addresses() -> None:
    nodes = fleet([FleetGroup(1, "a-"), FleetGroup(1, "b-")])
    assert nodes[0]["status"]["addresses"] != nodes[1]["status"]["addresses"]
