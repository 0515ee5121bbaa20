"""How numbers, names and times are written in sentences."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime

LISTED_MAX = 2
"""How many names a list shows before it goes on with ``and N more``."""


def counted(count: int, one: str, many: str) -> str:
    """``1 node has …``, ``2 nodes have …``."""
    return f"{count} {one if count == 1 else many}"


def rounded(count: int) -> str:
    """A count as text that does not change in every session: exact up to 20, then in steps."""
    if count <= 20:
        return str(count)
    step = next(step for step in (1000, 500, 200, 100, 50, 20) if count > step)
    return f"more than {step}"


def listed(noun: str, names: Sequence[str]) -> str:
    """``queue a``, ``queues a and b``, ``queues a, b and 3 more``."""
    if len(names) == 1:
        return f"{noun} {names[0]}".lstrip()
    shown, more = names[:LISTED_MAX], len(names) - LISTED_MAX
    last = f"{more} more" if more > 0 else shown[-1]
    text = f"{', '.join(shown if more > 0 else shown[:-1])} and {last}"
    return f"{noun}s {text}" if noun else text


def listed_jobs(called: Sequence[str]) -> str:
    """``job default/a``, ``jobs default/a and default/b``; names with a kind go without the noun."""
    return listed("job", called) if not any(" " in one for one in called) else listed("", called)


def clock_time(moment: float) -> str:
    """The time of day, such as ``14:05:30 UTC``."""
    return datetime.fromtimestamp(moment, UTC).strftime("%H:%M:%S UTC")
