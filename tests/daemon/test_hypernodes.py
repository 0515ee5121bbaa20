"""HyperNodes end to end: made with kubectl, counted and judged by the daemon, and kept in nothing but the objects."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import orjson
import pytest

from tests.support.builders import merged
from tests.support.fault_proxy import faulty
from tests.support.hypernodes import HYPERNODES, hypernode_object
from tests.support.kubectl import Kubectl
from tests.support.running import WRITTEN_SOON, condition_of, gang, node, nodes_of, reasons_of, scheduling, status_of
from tests.support.waiting import until
from vsched.kernels.topology import words
from vsched.sim.cluster import Cluster

Obj = dict[str, Any]


def racked(name: str, rack: str) -> Obj:
    made = node(name)
    made["metadata"]["labels"] = {"rack": rack}
    return made


def shown(cluster: Cluster, name: str) -> tuple[int | None, str, str]:
    """The number of nodes that a HyperNode shows, and status and message of its condition."""
    found = cluster.client.get(HYPERNODES, "", name)
    ready = condition_of(found, "Ready")
    status = (found or {}).get("status") or {}
    return status.get("nodeCount"), ready.get("status", ""), ready.get("message", "")


def patch(cluster: Cluster, resource: str, name: str, fields: Obj) -> None:
    cluster.client.patch(resource, "", name, lambda found: merged(found, fields))


async def until_shown(cluster: Cluster, **expected: tuple[int | None, str, str]) -> None:
    await until(lambda: {name: shown(cluster, name) for name in expected} == expected)


RACKS = [hypernode_object(name, 1, f"rack={name}", tier_name="rack") for name in ("r1", "r2")]
SPINE = hypernode_object("spine", 2, "^r1", "^r2", "^r3")
FINE = (2, "True", "")


@pytest.mark.kubectl
async def test_kubectl_shows_what_the_daemon_found_out(tmp_path: Path) -> None:
    async with Cluster([racked(f"n{at}", f"r{at % 2 + 1}") for at in range(4)]) as cluster:
        cluster.write_kubeconfig(tmp_path / "config")
        kubectl = Kubectl(tmp_path)
        async with scheduling(cluster.url, writeback=WRITTEN_SOON):
            (tmp_path / "racks.yaml").write_bytes(b"\n".join(map(orjson.dumps, [*RACKS, SPINE])))
            await kubectl("apply", "-f", str(tmp_path / "racks.yaml"))
            await until_shown(cluster, r1=FINE, r2=FINE, spine=(4, "True", words.missing(["HyperNode r3"], 0)))
            printed = (await kubectl("get", "hn")).splitlines()
            assert printed[0].split() == ["NAME", "TIER", "TIERNAME", "NODECOUNT", "AGE"]
            assert [line.split()[:4] for line in printed[1:3]] == [["r1", "1", "rack", "2"], ["r2", "1", "rack", "2"]]
            assert words.missing(["HyperNode r3"], 0) in await kubectl("get", "hn", "spine", "-o", "wide")


async def test_a_broken_tree_says_why_and_the_others_work() -> None:
    machines = [racked(f"n{at}", f"r{at}") for at in (1, 2, 3)]
    async with Cluster(machines) as cluster, scheduling(cluster.url, writeback=WRITTEN_SOON):
        cluster.apply([*RACKS, hypernode_object("r3", 1, "n3"), hypernode_object("up", 1, "^r2", "^r1")])
        why = "; ".join(words.not_below(name, 1, "up", 1) for name in ("r1", "r2"))
        left_out = (None, "False", why)
        await until_shown(cluster, r1=left_out, r2=left_out, up=left_out, r3=(1, "True", ""))
        await until(lambda: "TreeBroken" in reasons_of(cluster, "up"))
        patch(cluster, HYPERNODES, "up", {"spec": {"tier": 2}})
        await until_shown(cluster, r1=(1, "True", ""), r2=(1, "True", ""), up=(2, "True", ""), r3=(1, "True", ""))


def close(objects: list[Obj]) -> list[Obj]:
    """A gang that has to be in one rack."""
    group, *pods = objects
    return [merged(group, {"spec": {"networkTopology": {"mode": "hard", "highestTierName": "rack"}}}), *pods]


async def test_a_label_moves_a_node_to_another_rack_while_its_pods_run() -> None:
    async with Cluster([racked(name, rack) for name, rack in (("n1", "r1"), ("n2", "r1"), ("n3", "r2"))]) as cluster:
        cluster.apply([*RACKS, *close(gang("g", 2, cpu="3"))])
        async with scheduling(cluster.url, writeback=WRITTEN_SOON):
            await until(lambda: len(nodes_of(cluster, "g")) == 2)
            placed = nodes_of(cluster, "g")
            assert set(placed.values()) == {"n1", "n2"}
            await until_shown(cluster, r1=(2, "True", ""), r2=(1, "True", ""))
            cluster.apply(close(gang("h", 5, cpu="1")))  # r2 has room for 4 of them
            await until(lambda: "r2 of tier 1 (rack) has room for 4" in told(cluster, "h"))
            patch(cluster, "nodes", "n2", {"metadata": {"labels": {"rack": "r2"}}})
            await until(lambda: len(nodes_of(cluster, "h")) == 5)
            assert set(nodes_of(cluster, "h").values()) == {"n2", "n3"}
            await until_shown(cluster, r1=(1, "True", ""), r2=(2, "True", ""))
            assert nodes_of(cluster, "g") == placed


def told(cluster: Cluster, name: str) -> str:
    """What the conditions of a PodGroup say."""
    return " ".join(each["message"] for each in status_of(cluster, name).get("conditions") or [])


async def test_a_broken_tree_holds_its_own_gangs_alone() -> None:
    racks = [hypernode_object(name, 1, name, tier_name="rack") for name in ("n1", "n2")]
    claims_too = hypernode_object("more", 1, "n1")
    async with Cluster([node("n1"), node("n2")]) as cluster, scheduling(cluster.url, writeback=WRITTEN_SOON):
        cluster.apply([*racks, claims_too])
        await until_shown(cluster, n2=(1, "True", ""))
        cluster.apply([*close(gang("a", 4)), *close(gang("b", 4))])
        await until(lambda: len(nodes_of(cluster)) == 4)
        [waits] = {"a", "b"} - {name.rpartition("-")[0] for name in nodes_of(cluster)}
        assert set(nodes_of(cluster).values()) == {"n2"}
        await until(lambda: "2 HyperNodes are left out, such as more: node n1 is in" in told(cluster, waits))
        cluster.client.delete(HYPERNODES, "", "more")
        await until(lambda: set(nodes_of(cluster, waits).values()) == {"n1"})


async def test_a_daemon_that_starts_again_writes_nothing_that_is_there_and_everything_that_is_not() -> None:
    async with Cluster([racked("n1", "r1"), racked("n2", "r2")]) as cluster:
        cluster.apply([*RACKS, hypernode_object("loop", 1, "^loop")])
        looped = (None, "False", words.circle(["loop", "loop"]))
        async with scheduling(cluster.url, writeback=WRITTEN_SOON):
            await until_shown(cluster, r1=(1, "True", ""), loop=looped)
            await until(lambda: "TreeBroken" in reasons_of(cluster, "loop"))
        before = {name: cluster.client.get(HYPERNODES, "", name) for name in ("r1", "loop")}
        patch(cluster, "nodes", "n2", {"metadata": {"labels": {"rack": "elsewhere"}}})
        async with scheduling(cluster.url, writeback=WRITTEN_SOON):
            await until_shown(cluster, r2=(0, "True", ""))
            assert {name: cluster.client.get(HYPERNODES, "", name) for name in before} == before
            told = [each for each in cluster.client.list("events", "default") if each["reason"] == "TreeBroken"]
            assert len(told) == 1


async def test_a_hypernode_with_a_bad_member_breaks_its_tree_alone() -> None:
    bad = hypernode_object("r1", 1, "~(n")
    async with Cluster([racked("n1", "r1"), racked("n2", "r2")]) as cluster:
        cluster.apply([bad, RACKS[1], hypernode_object("top", 2, "^r1")])
        field = "spec.members[0].selector.regexMatch.pattern: missing ): (n"
        why = words.unread("r1", f"{field} (expected a regular expression in the syntax of RE2)")
        async with scheduling(cluster.url, writeback=WRITTEN_SOON):
            await until_shown(cluster, r1=(None, "False", why), top=(None, "False", why), r2=(1, "True", ""))
            await until(lambda: "BadObject" in reasons_of(cluster, "r1"))
            patch(cluster, HYPERNODES, "r1", {"spec": hypernode_object("r1", 1, "~^n1$")["spec"]})
            await until_shown(cluster, r1=(1, "True", ""), top=(1, "True", ""))


@pytest.mark.parametrize(
    ("code", "why"),
    [
        pytest.param(403, "no tiers are known: HyperNodes cannot be read", id="may not be read"),
        pytest.param(404, "no tiers are known: there are no usable HyperNodes", id="are not served"),
    ],
)
async def test_without_hypernodes_a_hard_gang_waits_and_others_do_not(code: int, why: str) -> None:
    async with Cluster([racked("n1", "r1"), racked("n2", "r1")]) as cluster, faulty(cluster.url) as proxy:
        cluster.apply([*RACKS, *close(gang("g", 2)), *gang("h", 2)])
        proxy.spoil("GET", "/apis/topology.volcano.sh/.*", code, times=1000, message="not for you")
        async with scheduling(proxy.url, writeback=WRITTEN_SOON) as daemon:
            await until(lambda: len(nodes_of(cluster, "h")) == 2)
            await until(lambda: why in told(cluster, "g"))
            assert "not for you" in daemon.health.ready().details["absent"]["HyperNode"]
            proxy.mend()
            await until(lambda: len(nodes_of(cluster, "g")) == 2)
            await until_shown(cluster, r1=FINE)
