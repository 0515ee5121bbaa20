"""``vsched bench --tiers`` and ``--rules``: gangs with constraints, and the same gangs without.

The first cycles, which decide about everything, are measured in turn, in processor time, so that other programs on the
machine do not blur the ratios.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from time import process_time
from typing import Any

import msgspec
import numpy as np

from vsched.daemon.system.tuning import listed
from vsched.framework.cycle import run_cycle
from vsched.framework.policy import Policy
from vsched.lab.bench.words import core as words
from vsched.lab.bench.world import APART, NEAR, RULES, SPREAD, MirrorFeeder, World
from vsched.settings.built_in import REGISTRY

REPEATS = 7
PLAIN = ""
TIERS = "tiers"
LABELS = {
    APART: words.ONE_A_HOST,
    SPREAD: words.SPREAD_OVER_ZONES,
    NEAR: words.CLOSE_BY_ZONE,
}


def measure_tiers(world: World, policy: Policy) -> dict[str, float]:
    """The first cycle of gangs that have to be in one domain of a tree of HyperNodes, and without, in milliseconds."""
    cycle = _cycles({TIERS: world, PLAIN: msgspec.structs.replace(world, tiers=0)}, policy)
    return {"cycle_ms": cycle[TIERS], "plain_cycle_ms": cycle[PLAIN], "times_plain": _ratio(cycle, TIERS)}


def measure_rules(world: World, policy: Policy) -> dict[str, Any]:
    """The first cycle of gangs with each rule about their own pods and of gangs without, in milliseconds."""
    cycle = _cycles({rule: msgspec.structs.replace(world, rule=rule) for rule in (PLAIN, *RULES)}, policy)
    ratios = {rule: {"cycle_ms": cycle[rule], "times_plain": _ratio(cycle, rule)} for rule in RULES}
    return {"plain_cycle_ms": cycle[PLAIN], **ratios}


def _cycles(worlds: Mapping[str, World], policy: Policy) -> dict[str, float]:
    """The median of the first cycle in each world, in milliseconds."""
    feeders = {name: MirrorFeeder(world) for name, world in worlds.items()}
    for feeder in feeders.values():
        feeder.fill()
    listed()
    seconds: dict[str, list[float]] = {name: [] for name in feeders}
    for _ in range(REPEATS):
        for name, feeder in feeders.items():
            snapshot = feeder.mirror.snapshot(0.0)
            start = process_time()
            run_cycle(snapshot, policy, REGISTRY)
            seconds[name].append(process_time() - start)
    return {name: round(float(np.median(found)) * 1000, 3) for name, found in seconds.items()}


def _ratio(cycle: Mapping[str, float], name: str) -> float:
    return round(cycle[name] / cycle[PLAIN], 2)


def rows(result: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """The rows of the result's table."""
    if TIERS in result:
        tiers = result[TIERS]
        yield words.GANGS_IN_DOMAINS, f"{tiers['cycle_ms']:,}"
        yield words.SAME_GANGS_WITHOUT, words.domains_take(tiers["plain_cycle_ms"], tiers["times_plain"])
    if "rules" in result:
        found = result["rules"]
        yield words.GANGS_WITHOUT_RULES, f"{found['plain_cycle_ms']:,}"
        for rule, label in LABELS.items():
            yield words.same_with(label), f"{found[rule]['cycle_ms']:,}, {found[rule]['times_plain']} times"
