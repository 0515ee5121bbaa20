"""Plans and what-ifs know the parts of devices that nodes register and pods ask for."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml
from click.testing import CliRunner

from tests.support.deviceshare import IDS, asking, device_policy, devices, part, pods, vgpu_node
from tests.support.plans import policy_from
from tests.support.questions import Asker, recording_of
from vsched.cli import cli
from vsched.plugins.words import devices as devices_words

Obj = dict[str, Any]
POLICY = device_policy(actions="enqueue, allocate")
RUNNING = pods(
    "job ns/a min=0 phase=Running\npods ns/a 1 on=n1", asking(vgpu_number=1, vgpu_memory=60), **{IDS: part(0, 60, 0)}
)
WAITING = pods("job ns/j min=1 pods=1", asking(vgpu_number=1, vgpu_memory=80))
NODE = vgpu_node("n1", devices(1, memory=100))


def listed(*objects: Obj) -> str:
    """The objects as a file has them."""
    for one in objects:
        one.setdefault("apiVersion", "v1")
        for container in one.get("spec", {}).get("containers", ()):
            container["image"] = "busybox"
    return yaml.safe_dump_all(objects)


@pytest.fixture
def asker(tmp_path: Path) -> Asker:
    return Asker(tmp_path, recording_of("", NODE, *RUNNING, *WAITING, policy=policy_from(POLICY)))


def test_new_nodes_bring_their_devices(asker: Asker) -> None:
    changes = asker.changes("--add-nodes", "1", "--like", "n1")
    assert changes["binds"] == [{"pod": "ns/j.0", "job": "ns/j", "today": "", "then": "n1-new-1"}]


def test_a_node_that_is_taken_away_takes_its_devices(asker: Asker) -> None:
    then = asker.answer("--add-nodes", "1", "--like", "n1", "--remove-node", "n1-new-1", "--remove-node", "n1")["then"]
    assert "no nodes are known" in then["jobs"]["ns/j"]["message"]


def test_a_label_leaves_a_node_its_devices(asker: Asker) -> None:
    changes = asker.changes("--set", "node/n1.labels.rack=r1")
    assert changes["jobs"] == []


def test_pods_that_are_submitted_get_what_is_left(asker: Asker) -> None:
    small = asker.file("s.yaml", listed(*pods("job ns/s min=1 pods=1", asking(vgpu_number=1, vgpu_memory=40))))
    large = asker.file("l.yaml", listed(*pods("job ns/l min=1 pods=1", asking(vgpu_number=1, vgpu_memory=140))))
    found = {one["name"]: one for one in asker.changes("--submit", small, "--submit", large)["submitted"]}
    assert found["ns/s"]["nodes"] == {"n1": 1}
    assert f"no device with {devices_words.memory(140, 0)}" in found["ns/l"]["message"]


def test_manifests_of_nodes_bring_their_devices(tmp_path: Path) -> None:
    policy, manifests = tmp_path / "policy.yaml", tmp_path / "cluster.yaml"
    policy.write_text(POLICY)
    manifests.write_text(listed(NODE, vgpu_node("n2", devices(2, memory=200)), *RUNNING, *WAITING))
    found = CliRunner().invoke(cli, ["plan", "-f", str(manifests), "--config", str(policy), "-o", "json"])
    assert found.exit_code == 0, found.output
    [cycle, *_] = json.loads(found.stdout)["cycles"]
    assert [bind["node"] for bind in cycle["binds"]] == ["n2"]
