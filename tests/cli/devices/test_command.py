"""``vsched devices``: the devices of nodes in a terminal."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from tests.support.deviceshare import IDS, asking, devices, part, pods, vgpu_node
from tests.support.questions import recording_of
from vsched.cli import cli
from vsched.model.dump.cycle import pack

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
    assert lines[-1] == "4 devices, 2 free, 1 unhealthy, 0 of 4 held of those only counted"


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
    assert asked(dump, "n3").stdout.strip() == "these nodes have no devices"


def test_a_node_that_is_not_there_is_refused(dump: Path) -> None:
    found = asked(dump, "n9")
    assert found.exit_code == 1
    assert "there is no node 'n9' in it" in str(found.exception)
