"""Nodes for which admission refuses bindings: pods go elsewhere, and what is refused is told."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.hooks import configuration, rule, webhook
from tests.support.running import WRITTEN_SOON, condition_of, gang, node, nodes_of, reasons_of, scheduling, status_of
from tests.support.shell import shell
from tests.support.waiting import until
from vsched.sim.cluster import Cluster

BINDINGS = rule("pods/binding", "CREATE")


@pytest.mark.parametrize("code", [403, 422])
async def test_a_gang_is_bound_where_admission_lets_it(code: int) -> None:
    async with webhook() as hook, Cluster([node(f"n{number}") for number in range(5)]) as cluster:
        hook.deny_bindings_to("n0", "n2", "n3", code=code)
        cluster.apply([configuration(hook, BINDINGS)])
        async with scheduling(cluster.url, writeback=WRITTEN_SOON) as daemon:
            cluster.apply(gang("g", 4, cpu="2"))
            await until(lambda: len(nodes_of(cluster, "g-")) == 4)
            assert sorted(nodes_of(cluster, "g-").values()) == ["n1", "n1", "n4", "n4"]
            await until(lambda: _scheduled(cluster, "g") == "True")
            await until(lambda: not daemon.mirror.describe()["assumed_tasks"])
            assert any("FailedBinding" in reasons_of(cluster, f"g-{number}") for number in range(4))


async def test_a_gang_of_which_a_part_is_bound_is_never_scheduled_and_says_what_admission_said() -> None:
    said = set[str]()
    async with webhook() as hook, Cluster([node("n1"), node("n2")]) as cluster:
        hook.deny_bindings_to("n2")
        cluster.apply([configuration(hook, BINDINGS)])
        async with scheduling(cluster.url, writeback=WRITTEN_SOON):
            cluster.apply(gang("g", 2, cpu="3"))

            def told() -> bool:
                said.add(_scheduled(cluster, "g"))
                return "n2 is not for such pods" in _waits(cluster, "g")

            await until(told)
            (bound,) = nodes_of(cluster, "g-")
            other = {"g-0": "g-1", "g-1": "g-0"}[bound]
            await until(lambda: "n2 is not for such pods" in _condition(cluster, other))
            assert "True" not in said
            cluster.apply([node("n3")])
            await until(lambda: nodes_of(cluster, "g-") == {bound: "n1", other: "n3"})
            await until(lambda: _scheduled(cluster, "g") == "True")


@pytest.mark.kubectl
async def test_what_admission_refuses_as_kubectl_shows_it(tmp_path: Path) -> None:
    async with webhook() as hook, Cluster([node("n1")]) as cluster, scheduling(cluster.url, writeback=WRITTEN_SOON):
        hook.deny_bindings_to("n1")
        cluster.apply([configuration(hook, BINDINGS)])
        cluster.apply(gang("g", 1))
        await until(lambda: "n1 is not for such pods" in _waits(cluster, "g"))
        await until(lambda: "n1 is not for such pods" in _condition(cluster, "g-0"))
        for asked in ("podgroup g", "pod g-0"):
            assert "n1 is not for such pods" in await shell(cluster, tmp_path, f"kubectl describe {asked}")
        await shell(cluster, tmp_path, "kubectl label node n1 for=such-pods")
        hook.deny_bindings_to()
        await shell(cluster, tmp_path, "kubectl wait pod/g-0 --for=condition=PodScheduled --timeout=30s")


def _scheduled(cluster: Cluster, name: str) -> str:
    return str(condition_of({"status": status_of(cluster, name)}, "Scheduled").get("status", ""))


def _waits(cluster: Cluster, name: str) -> str:
    return str(condition_of({"status": status_of(cluster, name)}, "Unschedulable").get("message", ""))


def _condition(cluster: Cluster, pod: str) -> str:
    return str(condition_of(cluster.client.get("pods", "default", pod), "PodScheduled").get("message", ""))
