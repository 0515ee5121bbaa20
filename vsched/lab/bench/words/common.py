"""What several benches say."""

from __future__ import annotations

BUILT_IN_POLICY = "the built-in policy"
PEAK_MEMORY = "peak memory (MB)"


def not_bound(pods: int, seconds: float) -> str:
    return f"{pods} pods were not bound within {seconds:.0f} s"
