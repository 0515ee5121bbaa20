"""``vsched bench --rules``: gangs with rules about their own pods, and the same gangs without.

The first cycles, which decide about everything, are measured in turn, in processor time, so that other programs on the
machine do not blur the ratios.
"""

from __future__ import annotations

from collections.abc import Iterator
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

REPEATS = 5
PLAIN = ""
LABELS = {
    APART: words.ONE_A_HOST,
    SPREAD: words.SPREAD_OVER_ZONES,
    NEAR: words.CLOSE_BY_ZONE,
}


def measure_rules(world: World, policy: Policy) -> dict[str, Any]:
    """The first cycle of gangs with each rule and of gangs without, in milliseconds."""
    crowds = {rule: MirrorFeeder(msgspec.structs.replace(world, rule=rule)) for rule in (PLAIN, *RULES)}
    for crowd in crowds.values():
        crowd.fill()
    listed()
    seconds: dict[str, list[float]] = {rule: [] for rule in crowds}
    for _ in range(REPEATS):
        for rule, crowd in crowds.items():
            snapshot = crowd.mirror.snapshot(0.0)
            start = process_time()
            run_cycle(snapshot, policy, REGISTRY)
            seconds[rule].append(process_time() - start)
    cycle = {rule: round(float(np.median(found)) * 1000, 3) for rule, found in seconds.items()}
    ratios = {rule: {"cycle_ms": cycle[rule], "times_plain": round(cycle[rule] / cycle[PLAIN], 2)} for rule in RULES}
    return {"plain_cycle_ms": cycle[PLAIN], **ratios}


def rows(result: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """The rows of the result's table."""
    if "rules" in result:
        found = result["rules"]
        yield words.GANGS_WITHOUT_RULES, f"{found['plain_cycle_ms']:,}"
        for rule, label in LABELS.items():
            yield words.same_with(label), f"{found[rule]['cycle_ms']:,}, {found[rule]['times_plain']} times"
