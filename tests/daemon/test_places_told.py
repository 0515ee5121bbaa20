"""A gang in one rack, end to end: its PodGroup, metrics and pages say which rack, and what a second gang waits for."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import aiohttp
import pytest

from tests.support.hypernodes import hypernode_object
from tests.support.running import gang, node, nodes_of, scheduling
from tests.support.shell import shell
from tests.support.waiting import until, until_answered
from vsched.explain.words.edits import end_of
from vsched.sim.cluster import Cluster
from vsched.writes.status.domains import ALLOCATED_HYPERNODE

Obj = dict[str, Any]
PODGROUPS = "scheduling.volcano.sh/podgroups"
TREE = [
    hypernode_object("r1", 1, "n1", "n2", tier_name="rack"),
    hypernode_object("r2", 1, "n3", tier_name="rack"),
    hypernode_object("r3", 1, "n4", tier_name="rack"),
    hypernode_object("spine", 2, "^r1", "^r2", "^r3"),
]


def close(name: str, size: int) -> list[Obj]:
    made = gang(name, size, cpu="3")
    made[0]["spec"]["networkTopology"] = {"mode": "hard", "highestTierAllowed": 1}
    return made


def shown(cluster: Cluster, name: str) -> str:
    found = cluster.client.get(PODGROUPS, "default", name) or {}
    return str((found["metadata"].get("annotations") or {}).get(ALLOCATED_HYPERNODE, ""))


async def test_the_rack_of_a_gang_is_told_everywhere() -> None:
    nodes = [node(name, cpu="4") for name in ("n1", "n2", "n3", "n4")]
    async with (
        Cluster(nodes, manifests=TREE) as cluster,
        scheduling(cluster.url, listen_address="127.0.0.1:0") as daemon,
        aiohttp.ClientSession() as http,
    ):
        await until(lambda: "--listen-address" in daemon.ports)
        url = f"http://127.0.0.1:{daemon.ports['--listen-address']}"

        async def get(path: str) -> Any:
            async with http.get(f"{url}{path}") as response:
                return await response.json()

        async def metrics() -> list[str]:
            async with http.get(f"{url}/metrics") as response:
                lines = (await response.text()).splitlines()
            return [line for line in lines if line.startswith("vsched_topology")]

        cluster.apply(close("one", 2))
        await until(lambda: sorted(nodes_of(cluster, "one").values()) == ["n1", "n2"])
        await until(lambda: shown(cluster, "one") == "r1")
        cluster.apply(close("two", 2))
        told: Obj = {}

        async def waits() -> bool:
            told.update((await get("/jobs")).get("default/two", {}))
            return told.get("code") == "Topology"

        await until_answered(waits)
        assert "room for 1 of 2" in told["message"]
        assert (told["domain"], told["tier"]) == ("", None)
        one = (await get("/jobs"))["default/one"]
        assert (one["domain"], one["tier"]) == ("r1", 1)
        assert await metrics() == ['vsched_topology_jobs{tier="1"} 1.0', "vsched_topology_waiting_jobs 1.0"]
        found = await get("/explain/default/two?kind=PodGroup&seconds=20")
        rooms = {each["name"]: each["room"] for each in found["places"]["domains"]}
        assert (rooms["r1"], rooms["r2"]) == (0, 1)
        assert {each["domain"] for each in found["changes"]} <= {"r1", "r2", "r3", "spine"}
        assert any(each["message"].startswith(end_of("job default/one, in r1")) for each in found["changes"])


@pytest.mark.kubectl
async def test_a_gang_starts_with_the_command_that_was_suggested(tmp_path: Path) -> None:
    nodes = [node(name, cpu="4") for name in ("n1", "n3")]
    async with (
        Cluster(nodes, manifests=TREE) as cluster,
        scheduling(cluster.url, listen_address="127.0.0.1:0") as daemon,
        aiohttp.ClientSession() as http,
    ):
        await until(lambda: "--listen-address" in daemon.ports)
        cluster.apply(close("wide", 2))

        async def suggested() -> Obj:
            url = f"http://127.0.0.1:{daemon.ports['--listen-address']}/explain/default/wide?seconds=20"
            async with http.get(url) as response:
                changes = (await response.json()).get("changes", []) if response.status == 200 else []
            return next((one for one in changes if one["message"].startswith("highestTierAllowed")), {})

        change = await until_answered(suggested)
        assert change["message"] == "highestTierAllowed 2 (now 1), in spine of tier 2"
        await shell(cluster, tmp_path, change["command"])
        await until(lambda: sorted(nodes_of(cluster, "wide").values()) == ["n1", "n3"])
        await until(lambda: shown(cluster, "wide") == change["domain"] == "spine")
