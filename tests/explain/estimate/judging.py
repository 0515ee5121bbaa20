"""Whether a start came in the range that was told."""

from __future__ import annotations

from vsched.explain.records import Estimate

SLACK_SECONDS = 20.0
"""How much later starts come where each pod ends a little late, one after the other; far less than work takes here."""


def is_in_range(found: Estimate, came: float | None) -> bool:
    if came is None or found.earliest is None:
        return False
    return found.earliest - 1.0 <= came and (found.latest is None or came <= found.latest + SLACK_SECONDS)
