"""What is said of moves that somebody asks about."""

from __future__ import annotations

WAITS_FOR_NOTHING = "it waits for nothing"
NEEDS_NO_MOVES = "it has room without any move"


def no_moves(why: str) -> str:
    """``why`` is what the job waits for."""
    return f"no moves were found that would make room for it: {why}" if why else "no moves were found for it"
