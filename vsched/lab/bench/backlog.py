"""The cost of cycles while many pods wait in vain: where nothing changes, and where one more pod comes.

They wait for room on full nodes, to be admitted, or for room in their queue.

Times are processor times, so that other programs on the machine do not blur them.
"""

from __future__ import annotations

from collections.abc import Callable
from time import process_time
from typing import Any

import numpy as np

from vsched.daemon.system.tuning import listed
from vsched.framework.cycle import run_cycle
from vsched.framework.policy import Policy
from vsched.lab.bench.report import pair
from vsched.lab.bench.victims import POOR, FullCluster, FullWorld
from vsched.lab.bench.words import core as words
from vsched.model.memo import Memo
from vsched.settings.installed import registry

RUNNING_ON_A_NODE = 10
NODES, ADMISSION, CAPABILITY = "nodes", "admission", "capability"
REASONS = (NODES, ADMISSION, CAPABILITY)
"""What the pods wait for."""
CYCLES = 15
LATER = "yet-another"
"""All pods are of one age here, and names decide: this one is after those that wait, as a new pod is."""


class WaitingCluster:
    """A full cluster in which pods wait in gangs; the last gang may be smaller."""

    def __init__(self, nodes: int, waiting: int, gang: int, reason: str) -> None:
        capability = max(1, waiting // 2) if reason == CAPABILITY else 0
        running = nodes * RUNNING_ON_A_NODE
        self._cluster = FullCluster(FullWorld(nodes=nodes, running=running, gang=gang, capability=capability))
        self._admitted = reason != ADMISSION
        self.mirror = self._cluster.mirror
        for first in range(0, waiting, gang):
            self.ask(f"waits-{first}", min(gang, waiting - first))

    def ask(self, name: str, size: int) -> None:
        """Create one more gang."""
        self._cluster.ask(name, POOR, size, admitted=self._admitted)


def measure_backlog(nodes: int, waiting: int, gang: int, policy: Policy, reason: str) -> dict[str, Any]:
    """The cycles, their snapshots included, with so many waiting pods in gangs."""
    cluster = WaitingCluster(nodes, waiting, gang, reason)
    listed()
    memo = Memo()

    def cycle() -> float:
        start = process_time()
        snapshot = cluster.mirror.snapshot(0.0)
        report = run_cycle(snapshot, policy, registry(), memo=memo)
        seconds = process_time() - start
        cluster.mirror.assumptions.assume(report)
        return seconds

    def cycles(before: Callable[[int], None]) -> dict[str, float]:
        seconds = []
        for number in range(CYCLES):
            before(number)
            seconds.append(cycle())
        return {f"p{part}": round(float(np.percentile(seconds, part)) * 1000, 3) for part in (50, 99)}

    first_ms = round(cycle() * 1000, 3)
    for _ in range(2):
        cycle()  # what the first one admits is assumed, so that the next one may see something new
    return {
        "waiting": waiting,
        "waiting_for": reason,
        "first_cycle_ms": first_ms,
        "unchanged_cycle_ms": cycles(lambda number: None),
        "one_pod_cycle_ms": cycles(lambda number: cluster.ask(f"{LATER}-{number:02}", 1)),
    }


def rows(result: dict[str, Any]) -> list[tuple[str, str]]:
    """The lines of the table; none where it was not measured."""
    found = result.get("backlog")
    if found is None:
        return []
    return [
        (words.waiting_first_cycle(found["waiting"], found["waiting_for"]), f"{found['first_cycle_ms']:,}"),
        (words.SAME_NOTHING_NEW, pair(found["unchanged_cycle_ms"])),
        (words.SAME_ONE_NEW_POD, pair(found["one_pod_cycle_ms"])),
    ]
