"""What is predicted of pods with volumes and devices is what a daemon then does at an embedded cluster."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import aiohttp
import pytest
import yaml

from tests.support import devices, volumes
from tests.support.claiming import machine
from tests.support.running import digested, gang, nodes_of, pod, scheduling
from tests.support.waiting import until
from vsched.cli.plan.live import WhatIf, what_if
from vsched.cli.plan.nodes import Add
from vsched.cli.plan.submit import submit_of
from vsched.daemon.app import Daemon
from vsched.model.dump.cycle import Recording, decode
from vsched.sim.cluster import Cluster, ClusterSettings
from vsched.sim.controllers import ControllerSettings, PodTimes

Obj = dict[str, Any]
QUICK = ControllerSettings(PodTimes(termination=0.0), provisioning=0.0)
DESCRIBED = """
- driver: gpu.example.com
  nodes: [n1]
  count: 2
- driver: gpu.example.com
  nodes: [n2]
  count: 4
  class: false
"""


def plain(manifest: Obj) -> Obj:
    """Without what the server gives."""
    metadata = {"namespace": "default", **manifest["metadata"]}
    metadata = {name: value for name, value in metadata.items() if name != "uid"}
    return {**{key: value for key, value in manifest.items() if key != "status"}, "metadata": metadata}


def training(name: str, size: int, count: int) -> list[Obj]:
    """A gang whose pods ask for so many devices each, by a template."""
    group, *pods = gang(name, size)
    template = devices.claim_template(name, devices.request("gpus", count), namespace="default")
    for one in pods:
        one["spec"]["resourceClaims"] = devices.pod_claims(gpu=f"template/{name}")
    return [plain(template), group, *pods]


def database(name: str, zone: str) -> list[Obj]:
    """A pod whose volume can only be made in one zone."""
    kind = volumes.storage_class(f"zone-{zone}", zones=(zone,))
    asked = volumes.claim(f"data-{name}", storage_class=f"zone-{zone}", namespace="default")
    kind["metadata"] = {"name": f"zone-{zone}"}
    one = pod(name)
    one["spec"]["volumes"] = volumes.claim_volumes(f"data-{name}")
    return [kind, plain(asked), one]


async def dumped(daemon: Daemon) -> Recording:
    """The next session of the daemon."""
    async with (
        aiohttp.ClientSession() as session,
        session.get(f"http://127.0.0.1:{daemon.ports['--listen-address']}/dump") as answer,
    ):
        assert answer.status == 200, await answer.text()
        return decode(await answer.read())


def placed(found: WhatIf) -> dict[str, str]:
    """Where the pods go."""
    return {bind.name: bind.node for report in found.then.reports for bind in report.binds}


@pytest.mark.parametrize(
    ("objects", "starts"),
    [
        pytest.param(training("t", 3, 2), 3, id="a gang that fits exactly"),
        pytest.param(training("t", 2, 3), 0, id="a gang for which only one node has enough"),
        pytest.param(database("db", "b"), 1, id="a volume that can be made in one zone"),
        pytest.param(database("db", "c"), 0, id="a volume that can be made where no node is"),
    ],
)
async def test_what_is_submitted_goes_where_it_was_predicted(tmp_path: Path, objects: list[Obj], starts: int) -> None:
    described, file = tmp_path / "devices.yaml", tmp_path / "new.yaml"
    described.write_text(DESCRIBED, encoding="utf-8")
    file.write_text(yaml.safe_dump_all(objects), encoding="utf-8")
    machines = [machine("n1", zone="a"), machine("n2", zone="b")]
    async with (
        Cluster(machines, devices=described, settings=ClusterSettings(QUICK)) as cluster,
        scheduling(cluster.url, listen_address="127.0.0.1:0") as daemon,
    ):
        await until(lambda: daemon.mirror.describe()["slices"] == 2)
        predicted = what_if(await dumped(daemon), [submit_of(str(file))])
        assert len(placed(predicted)) == starts, predicted.notes
        cluster.apply(objects)
        await until(lambda: len(nodes_of(cluster)) == starts)
        await digested(cluster, daemon)
        assert nodes_of(cluster) == placed(predicted)


async def test_a_node_like_another_has_its_devices_and_the_gang_would_start(tmp_path: Path) -> None:
    described = tmp_path / "devices.yaml"
    described.write_text(DESCRIBED, encoding="utf-8")
    machines = [machine("n1", zone="a"), machine("n2", zone="b")]
    async with (
        Cluster(machines, devices=described, settings=ClusterSettings(QUICK)) as cluster,
        scheduling(cluster.url, listen_address="127.0.0.1:0") as daemon,
    ):
        cluster.apply(training("t", 2, 4))
        await until(lambda: len(cluster.client.list("resource.k8s.io/resourceclaims", "default")) == 2)
        await digested(cluster, daemon)
        recording = await dumped(daemon)
        assert placed(what_if(recording, [Add(1, "n1")])) == {}
        assert set(placed(what_if(recording, [Add(1, "n2")])).values()) == {"n2", "n2-new-1"}
