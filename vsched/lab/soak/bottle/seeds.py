"""Bottles of many seeds, a process a core."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from multiprocessing import get_context
from typing import Any

import msgspec

from vsched.lab.soak.bottle.run import Bottle
from vsched.lab.soak.bottle.settings import BottleSettings

RUNS_OF_A_PROCESS = 100
"""So that what a run leaves in memory does not add up."""


def run_seeds(
    settings: BottleSettings, count: int, told: Callable[[Mapping[str, Any]], None] = lambda result: None
) -> list[Mapping[str, Any]]:
    """Run so many seeds, from the one given on; ``told`` is called with the result of each, in order."""
    processes = min(count, len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1)
    found: list[Mapping[str, Any]] = []
    with get_context("spawn").Pool(processes, maxtasksperchild=RUNS_OF_A_PROCESS) as pool:
        seeds = range(settings.seed, settings.seed + count)
        for result in pool.imap(_run, [msgspec.structs.replace(settings, seed=seed) for seed in seeds]):
            found.append(result)
            told(result)
    return found


def _run(settings: BottleSettings) -> Mapping[str, Any]:
    return Bottle(settings).run()
