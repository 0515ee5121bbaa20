"""``vsched bench --tiers``: gangs that have to be in one domain of a tree of HyperNodes, and the same gangs without.

Both cycles are measured in turn, in processor time, so that other programs on the machine do not blur the ratio.
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
from vsched.lab.bench.world import MirrorFeeder, World
from vsched.settings.built_in import REGISTRY

REPEATS = 7


def measure_tiers(world: World, policy: Policy) -> dict[str, float]:
    """The first cycle, which decides about everything, with tiers and without, in milliseconds."""
    worlds = world, msgspec.structs.replace(world, tiers=0)
    crowds = [MirrorFeeder(one) for one in worlds]
    for crowd in crowds:
        crowd.fill()
        run_cycle(crowd.mirror.snapshot(0.0), policy, REGISTRY)
    listed()
    seconds: tuple[list[float], list[float]] = ([], [])
    for _ in range(REPEATS):
        for crowd, found in zip(crowds, seconds, strict=True):
            start = process_time()
            run_cycle(crowd.mirror.snapshot(0.0), policy, REGISTRY)
            found.append(process_time() - start)
    with_tiers, plain = (round(float(np.median(found)) * 1000, 3) for found in seconds)
    return {"cycle_ms": with_tiers, "plain_cycle_ms": plain, "times_plain": round(with_tiers / plain, 2)}


def rows(result: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """The rows of the result's table."""
    if "tiers" in result:
        tiers = result["tiers"]
        yield words.GANGS_IN_DOMAINS, f"{tiers['cycle_ms']:,}"
        yield words.SAME_GANGS_WITHOUT, words.domains_take(tiers["plain_cycle_ms"], tiers["times_plain"])
