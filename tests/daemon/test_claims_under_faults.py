"""Gangs with volumes and devices where every request may fail in every way, on a seed: no promise is broken."""

from __future__ import annotations

from typing import Any

from tests.support import devices, volumes
from tests.support.claiming import RESOURCE_CLAIMS, machine
from tests.support.killing import broken_promises, member, wrong
from tests.support.running import nodes_of, podgroup, scheduling
from tests.support.waiting import until
from vsched.sim.api.fault_plan import FaultInjector, FaultKind, plan_of
from vsched.sim.cluster import Cluster, ClusterSettings
from vsched.sim.controllers import ControllerSettings, PodTimes

Obj = dict[str, Any]
DELAYS = {FaultKind.SLOW: 50, FaultKind.TIMEOUT: 100, FaultKind.WATCH_CUT: 600, FaultKind.WATCH_EXPIRED: 600}
DELAYS |= {FaultKind.WATCH_SKIPS: 100, FaultKind.WATCH_LATE: 100, FaultKind.WEBHOOK_TIMEOUT: 100}
SPOILING = [
    {"fault": kind.value, "percent": 5, **({"delay_ms": DELAYS[kind]} if kind in DELAYS else {})}
    for kind in FaultKind
    if kind is not FaultKind.WATCH_SILENT
]
"""All but the watch that says nothing more, which takes minutes to be found out."""
GANGS, PODS = 8, 3
QUICK = ClusterSettings(ControllerSettings(pods=PodTimes(termination=0.0), provisioning=0.02))


def gang(number: int) -> list[Obj]:
    """A gang whose pods have a volume that is made and a device each."""
    name = f"g{number}"
    claims = [volumes.claim(f"{name}-{each}", namespace="default") for each in range(PODS)]
    members = [member(f"{name}-{each}", name, (f"{name}-{each}",), "gpus") for each in range(PODS)]
    return [*claims, podgroup(name, PODS), *members]


def plain(manifest: Obj) -> Obj:
    return {**manifest, "metadata": {key: value for key, value in manifest["metadata"].items() if key != "uid"}}


async def test_no_pod_is_without_its_claims_and_no_claim_is_reserved_for_nobody() -> None:
    faults = FaultInjector(plan_of({"seed": 5, "rules": SPOILING}, "test"))
    nodes = [machine(f"n{number}", zone="a") for number in range(4)]
    room = GANGS * PODS // len(nodes)
    fixed = [
        volumes.storage_class(),
        devices.device_class(),
        devices.claim_template("gpus", namespace="default"),
        devices.claim_template("all", devices.request(count=room), namespace="default"),
        *(devices.resource_slice(f"n{number}", room) for number in range(len(nodes))),
    ]
    async with Cluster(nodes, manifests=[plain(each) for each in fixed], settings=QUICK, faults=faults) as cluster:
        # It needs all devices of more nodes than there are: it never fits, and holds nothing.
        tall = [member(f"tall-{number}", "tall", (), "all") for number in range(len(nodes) + 1)]
        async with scheduling(cluster.url):
            cluster.apply([podgroup("tall", len(tall)), *tall])
            for number in range(GANGS):
                cluster.apply([plain(each) for each in gang(number)])
            await until(lambda: check(cluster) and running(cluster) == GANGS * PODS)
            await until(lambda: not broken_promises(cluster))
            for name in ("g0", "g1"):
                for number in range(PODS):
                    cluster.client.delete("pods", "default", f"{name}-{number}", grace_seconds=0)
            await until(lambda: check(cluster) and allocated(cluster) == (GANGS - 2) * PODS)
            await until(lambda: not broken_promises(cluster))
        assert not nodes_of(cluster, "tall")
    hits = {tally.rule.fault for tally in faults.tallies() if tally.hits}
    assert len(hits) >= 8, hits


def check(cluster: Cluster) -> bool:
    """Nothing is wrong at this moment."""
    assert wrong(cluster) == []
    return True


def running(cluster: Cluster) -> int:
    return sum(each["status"].get("phase") == "Running" for each in cluster.client.list("pods"))


def allocated(cluster: Cluster) -> int:
    return sum("allocation" in (each.get("status") or {}) for each in cluster.client.list(RESOURCE_CLAIMS))
