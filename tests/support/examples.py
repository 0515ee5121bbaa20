"""How many examples a property draws: a quarter of what it could, all where THOROUGH is set, and an eighth in CI.

In CI they are always the same. Everywhere else each run draws new ones: many short runs see more than a long one.
"""

from __future__ import annotations

import os

IN_CI = bool(os.environ.get("CI"))
SHARE = 8 if IN_CI else 1 if os.environ.get("THOROUGH") else 4


def examples(most: int) -> int:
    """The number of examples of a property that draws ``most`` in a thorough run."""
    return max(most // SHARE, min(most, 5))
