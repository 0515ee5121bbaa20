"""``vsched devices``: the devices of nodes in a terminal."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result
from rich.console import Console

from tests.support.deviceshare import IDS, asking, devices, part, pods, vgpu_node
from tests.support.plans import NOW, manifests, mirror
from tests.support.questions import recording_of
from vsched.cli import cli
from vsched.cli.devices import words
from vsched.cli.devices.view import device_page
from vsched.cli.show.drawing import look_for
from vsched.model.dump.cycle import pack
from vsched.web.overview.devices import DeviceHolderShown, DeviceShown, DevicesShown, NodeDevicesShown, devices_shown

Obj = dict[str, Any]


def holding(name: str, ids: str) -> list[Obj]:
    line = f"job ns/{name} min=0 phase=Running\npods ns/{name} 1 on=n1"
    return pods(line, asking(vgpu_number=1), **{IDS: ids})


@pytest.fixture
def dump(tmp_path: Path) -> Path:
    """Two nodes with devices, one of them in use, and one without."""
    first = vgpu_node(
        "n1",
        devices(2, memory=1000) + "GPU-9,4,1000,T4,false,hami-core:",
        status={"allocatable": {"nvidia.com/gpu": "4"}},
    )
    held = [one for name in "abc" for one in holding(name, part(0, 100, 10))]
    path = tmp_path / "session.json.gz"
    path.write_bytes(pack(recording_of("node n3", first, vgpu_node("n2", devices(1)), *held)))
    return path


def asked(dump: Path, *flags: str) -> Result:
    return CliRunner().invoke(cli, ["devices", "--from", str(dump), *flags], env={"COLUMNS": "200"})


def rows(found: Result) -> list[list[str]]:
    assert found.exit_code == 0, found.output
    return [line.split() for line in found.stdout.splitlines()]


def test_a_line_for_each_device(dump: Path) -> None:
    lines = asked(dump).stdout.splitlines()

    assert lines[0].split() == ["node", "device", "model", "taken", "memory", "cores", "state", "held", "by"]
    assert "GPU-0" in lines[1]
    assert "300/1000 MiB  30/100%  in use" in lines[1]
    assert "ns/a.0 (100 MiB, 10%), ns/b.0 (100 MiB, 10%) and 1 more" in lines[1]
    assert "free" in lines[2]
    assert "unhealthy" in lines[3]
    assert "nvidia.com/gpu" in lines[4]
    assert "0 of 4 held" in lines[4]
    assert lines[-1] == "4 devices, 2 free, 1 unhealthy, " + words.held_of_counted(0, 4)


def test_a_wide_table_has_all_pods(dump: Path) -> None:
    found = asked(dump, "n1", "-o", "wide").stdout
    assert "ns/c.0 (100 MiB, 10%)" in found
    assert "hami-core  3 of 10" in found
    assert "n2" not in found


def test_the_same_for_programs(dump: Path) -> None:
    document = json.loads(asked(dump, "n2", "-o", "json").stdout)
    assert [(one["node"], len(one["devices"])) for one in document["nodes"]] == [("n2", 1)]
    assert document["nodes"][0]["devices"][0]["memory"] == 32768


def test_nodes_without_devices_say_so(dump: Path) -> None:
    assert asked(dump, "n3").stdout.strip() == words.NO_DEVICES_ON_THESE


def test_a_node_that_is_not_there_is_refused(dump: Path) -> None:
    found = asked(dump, "n9")
    assert found.exit_code == 1
    assert "it has no node 'n9'" in str(found.exception)


HELD = """
node node-of-a-long-name-1 cpu=8 nvidia=4
queue research
job team-a/training min=2 queue=research phase=Running
pods team-a/training 2 cpu=1 nvidia=1 on=node-of-a-long-name-1
"""


def test_on_80_columns_devices_that_are_only_counted_fit_with_who_holds_each_resource() -> None:
    found = devices_shown(mirror(manifests(HELD)).snapshot(NOW))
    console = Console(width=80)
    with console.capture() as shown:
        console.print(device_page(found, look_for(80, wide=False, unicode=True)))
    lines = shown.get().splitlines()
    assert lines[0].split() == ["node", "device", "taken", "state", "held", "by"]
    assert "".join(line.split("  ")[0].strip() for line in lines[1 : lines.index("")]) == "node-of-a-long-name-1"
    assert "2 of 4 held" in lines[1]
    told = [" ".join(line.split()) for line in lines[lines.index("") :]]
    assert told[1:3] == ["nvidia.com/gpu: 2 of 4 held", "2 team-a/training in queue research"]
    assert told[4:6] == ["cpu: 2 of 8 held", "2 team-a/training in queue research"]


def test_on_80_columns_names_wrap_and_figures_stay_whole() -> None:
    holder = DeviceHolderShown(name="team-a/training-run-worker-0", memory=20_000, cores=30.0, leaving=False)
    device = DeviceShown(
        "nvidia.com/gpu", "GPU-8dcd427f-483b", memory=81_920, memory_held=20_000, cores_held=30.0, holders=(holder,)
    )
    node = NodeDevicesShown(node="gpu-node-pool-a-0001", devices=(device,), counted=())
    console = Console(width=80)
    with console.capture() as shown:
        console.print(device_page(DevicesShown(1e9, (node,), 1), look_for(80, wide=False, unicode=True)))
    lines = shown.get().splitlines()
    told = lines[1 : lines.index("")]
    assert "".join(line.split("  ")[0].strip() for line in told) == node.node
    assert {"20000/81920 MiB", "30/100%"} <= {cell.strip() for cell in told[0].split("  ")}
