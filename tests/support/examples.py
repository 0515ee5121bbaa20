"""How many examples a property draws: in CI, where they are always the same, an eighth of what a person's run draws."""

from __future__ import annotations

import os

IN_CI = bool(os.environ.get("CI"))


def examples(most: int) -> int:
    """The number of examples of a property that draws ``most`` outside of CI."""
    return max(most // 8, 5) if IN_CI else most
