"""The daemon at a cluster where every request may fail in every way, on a seed: all is bound, and once."""

from __future__ import annotations

from collections import defaultdict

from tests.support.running import gang, node, nodes_of, scheduling
from tests.support.waiting import until
from vsched.sim.api.fault_plan import FaultInjector, FaultKind, plan_of
from vsched.sim.cluster import Cluster

DELAYS = {FaultKind.SLOW: 50, FaultKind.TIMEOUT: 100, FaultKind.WATCH_CUT: 600, FaultKind.WATCH_EXPIRED: 600}
DELAYS |= {FaultKind.WATCH_SKIPS: 100, FaultKind.WATCH_LATE: 100, FaultKind.WEBHOOK_TIMEOUT: 100}
SPOILING = [
    {"fault": kind.value, "percent": 5, **({"delay_ms": DELAYS[kind]} if kind in DELAYS else {})}
    for kind in FaultKind
    if kind is not FaultKind.WATCH_SILENT
]
"""All but the watch that says nothing more, which takes minutes to be found out."""


async def test_everything_is_bound_once_though_every_request_may_fail() -> None:
    faults = FaultInjector(plan_of({"seed": 3, "rules": SPOILING}, "test"))
    placed: dict[str, set[str]] = defaultdict(set)
    async with Cluster([node(f"n{index}", cpu="16") for index in range(4)], faults=faults) as cluster:
        pods = cluster.client.kind("pods")
        changes = cluster.store.subscribe(pods)
        async with scheduling(cluster.url):
            for number in range(12):
                cluster.apply(gang(f"g{number}", 4))
            await until(lambda: len(nodes_of(cluster)) == 48)
        while events := changes.take():
            for event in events:
                if found := event.obj["spec"].get("nodeName"):
                    placed[event.key].add(found)
    assert len(placed) == 48
    assert all(len(nodes) == 1 for nodes in placed.values())
    hits = {tally.rule.fault for tally in faults.tallies() if tally.hits}
    assert len(hits) >= 8, hits
