"""How the cost of a cycle grows with trees of queues, and with nodes that are nominated for pods.

Measured is the first cycle, which decides about everything. Its decisions are dropped, so each repeat decides the same
again. Times are processor times, so that other programs on the machine do not blur the ratios.
"""

from __future__ import annotations

from time import process_time
from typing import Any

import msgspec
import numpy as np

from vsched.daemon.system.tuning import listed
from vsched.framework.cycle import run_cycle
from vsched.framework.policy import Policy
from vsched.framework.trace import Trace
from vsched.lab import words as common
from vsched.lab.bench.words import core as words
from vsched.lab.bench.world import MirrorFeeder, World
from vsched.settings import load_text
from vsched.settings.built_in import REGISTRY

REPEATS = 5
CAPACITY = """
actions: "enqueue, allocate, reclaim, preempt, backfill"
tiers:
- plugins: [{{name: priority}}, {{name: gang, enablePreemptable: false}}, {{name: conformance}}]
- plugins:
  - name: overcommit
  - {{name: drf, enablePreemptable: false}}
  - name: predicates
  - {{name: capacity, enableHierarchy: {hierarchy}}}
  - name: nodeorder
  - name: binpack
"""


def capacity_policy(*, in_a_tree: bool) -> Policy:
    """The policy for trees of queues, unless the user names one."""
    return load_text(CAPACITY.format(hierarchy=str(in_a_tree).lower()), common.BUILT_IN_POLICY, REGISTRY).policy


def measure_tree(world: World, policy: Policy, flat: Policy) -> dict[str, float]:
    """The first cycle with queues in a tree, and with the same queues side by side."""
    tree_ms, _ = first_cycle(world, policy)
    flat_ms, _ = first_cycle(msgspec.structs.replace(world, queue_levels=1), flat)
    return {"cycle_ms": tree_ms, "flat_cycle_ms": flat_ms, "times_flat": round(tree_ms / flat_ms, 2)}


def measure_nominated(world: World, policy: Policy) -> dict[str, float]:
    """The first cycle with nodes nominated for pods, the part of backfill in it, and the same cycle without."""
    cycle_ms, backfill_ms = first_cycle(world, policy)
    plain_ms, _ = first_cycle(msgspec.structs.replace(world, nominated=0), policy)
    return {"cycle_ms": cycle_ms, "backfill_ms": backfill_ms, "plain_cycle_ms": plain_ms}


def first_cycle(world: World, policy: Policy) -> tuple[float, float]:
    """Medians in milliseconds of processor time: of the whole cycle with its snapshot, and of the action backfill."""
    crowd = MirrorFeeder(world)
    crowd.fill()
    listed()
    whole: list[float] = []
    backfill: list[float] = []
    for _ in range(REPEATS):
        trace = Trace(process_time)
        start = process_time()
        run_cycle(crowd.mirror.snapshot(0.0), policy, REGISTRY, trace)
        whole.append(process_time() - start)
        backfill.append(trace.seconds.get(("action", "backfill"), 0.0))
    return _milliseconds(whole), _milliseconds(backfill)


def rows(result: dict[str, Any]) -> list[tuple[str, str]]:
    """The rows of the result's table."""
    lines: list[tuple[str, str]] = []
    if "tree" in result:
        tree = result["tree"]
        lines += [
            (words.QUEUES_IN_A_TREE, f"{tree['cycle_ms']:,}"),
            (words.QUEUES_SIDE_BY_SIDE, words.tree_takes(tree["flat_cycle_ms"], tree["times_flat"])),
        ]
    if "nominated" in result:
        nominated = result["nominated"]
        lines += [
            (words.NODES_KEPT, f"{nominated['cycle_ms']:,}, backfill {nominated['backfill_ms']:,}"),
            (words.SAME_WITHOUT, f"{nominated['plain_cycle_ms']:,}"),
        ]
    return lines


def _milliseconds(seconds: list[float]) -> float:
    return round(float(np.median(seconds)) * 1000, 3)
