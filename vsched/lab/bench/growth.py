"""How the cost of a cycle grows: queues in a tree against the same side by side, and nodes that are kept for pods.

The first cycle of a world is measured: the one that decides about all there is. Its decisions are not carried out, so
that each repeat decides the same again. Times are of the processor: what else the machine does would blur a ratio.
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
    """What trees of queues are measured with where no other policy is named."""
    return load_text(CAPACITY.format(hierarchy=str(in_a_tree).lower()), "the built-in policy", REGISTRY).policy


def measure_tree(world: World, policy: Policy, flat: Policy) -> dict[str, float]:
    """The first cycle with queues in a tree, and with the same queues side by side."""
    tree_ms, _ = first_cycle(world, policy)
    flat_ms, _ = first_cycle(msgspec.structs.replace(world, queue_levels=1), flat)
    return {"cycle_ms": tree_ms, "flat_cycle_ms": flat_ms, "times_flat": round(tree_ms / flat_ms, 2)}


def measure_nominated(world: World, policy: Policy) -> dict[str, float]:
    """The first cycle with nodes that are kept for pods, what backfill takes of it, and the same cycle without."""
    cycle_ms, backfill_ms = first_cycle(world, policy)
    plain_ms, _ = first_cycle(msgspec.structs.replace(world, nominated=0), policy)
    return {"cycle_ms": cycle_ms, "backfill_ms": backfill_ms, "plain_cycle_ms": plain_ms}


def first_cycle(world: World, policy: Policy) -> tuple[float, float]:
    """Medians in milliseconds of processor time: of the whole cycle, snapshot included, and of the action backfill."""
    crowd = MirrorFeeder(world)
    crowd.fill()
    listed()
    whole: list[float] = []
    backfill: list[float] = []
    for _ in range(REPEATS):
        trace = Trace(process_time)
        start = process_time()
        run_cycle(crowd.cache.snapshot(0.0), policy, REGISTRY, trace)
        whole.append(process_time() - start)
        backfill.append(trace.seconds.get(("action", "backfill"), 0.0))
    return _milliseconds(whole), _milliseconds(backfill)


def rows(result: dict[str, Any]) -> list[tuple[str, str]]:
    """The figures for people."""
    told: list[tuple[str, str]] = []
    if "tree" in result:
        tree = result["tree"]
        told += [
            ("first cycle, queues in a tree (ms)", f"{tree['cycle_ms']:,}"),
            (
                "the same queues side by side (ms)",
                f"{tree['flat_cycle_ms']:,}, the tree takes {tree['times_flat']} times",
            ),
        ]
    if "nominated" in result:
        kept = result["nominated"]
        told += [
            ("first cycle, nodes kept for pods (ms)", f"{kept['cycle_ms']:,}, backfill {kept['backfill_ms']:,}"),
            ("the same without (ms)", f"{kept['plain_cycle_ms']:,}"),
        ]
    return told


def _milliseconds(seconds: list[float]) -> float:
    return round(float(np.median(seconds)) * 1000, 3)
