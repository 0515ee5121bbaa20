"""How many examples a property draws, and from which seed: another one in each run, the same for all of its tests."""

from __future__ import annotations

import os
from random import Random

LEAST = 10
"""So many examples each property draws in a run that is not thorough: many runs with other seeds see more than one."""
THOROUGH = bool(os.environ.get("THOROUGH"))


class Run:
    """What is drawn in this run comes from this number: ``--hypothesis-seed``, or one that nobody chose."""

    seed = "0"


def examples(most: int) -> int:
    """The number of examples of a property that draws ``most`` in a thorough run."""
    return max(most, LEAST) if THOROUGH else LEAST


def seeds(count: int, of: str) -> list[int]:
    """Numbers for tests that draw by themselves, others in each run; ``of`` names the test."""
    return Random(f"{Run.seed} {of}").sample(range(1 << 32), count)
