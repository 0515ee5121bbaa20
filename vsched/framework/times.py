"""Moments and lengths of time for people."""

from __future__ import annotations

from datetime import UTC, datetime
from math import floor

SOON_SECONDS = 120.0
"""Ranges that end sooner than this have clock times with seconds."""
DAY_SECONDS = 86_400.0


def at_and_in(moment: float, now: float) -> str:
    """``14:05:10 UTC (in 40s)``."""
    left = max(0.0, moment - now)
    return f"{clock(moment, now, left < SOON_SECONDS)} UTC (in {length(left)})"


def next_day(now: float) -> float:
    """Until when ``clock`` says the same of each moment as at ``now``: it says the date of other days."""
    return (now // DAY_SECONDS + 1.0) * DAY_SECONDS


def told_until(moment: float, now: float) -> float:
    """Until when ``at_and_in`` says the same of a moment as at ``now``, on the same day."""
    left = moment - now
    soon = left < SOON_SECONDS
    unit, least = (1.0, 0.0) if soon else (60.0, SOON_SECONDS)
    return moment - max(least, (floor(left / unit - 0.5) + 0.5) * unit)


def clock(moment: float, now: float, seconds: bool) -> str:
    """The time of day in UTC, with the date if it is another day."""
    found = datetime.fromtimestamp(moment, UTC)
    same_day = found.date() == datetime.fromtimestamp(now, UTC).date()
    return found.strftime(("" if same_day else "%Y-%m-%d ") + ("%H:%M:%S" if seconds else "%H:%M"))


def length(seconds: float) -> str:
    """A duration with its two largest units, rounded: ``45s``, ``12m``, ``2h30m``, ``3d4h``."""
    if seconds < SOON_SECONDS:
        return f"{seconds:.0f}s"
    minutes = round(seconds / 60)
    if seconds < DAY_SECONDS:
        return _two(minutes, 60, "h", "m")
    return _two(round(minutes / 60), 24, "d", "h")


def _two(value: int, per: int, large: str, small: str) -> str:
    whole, rest = divmod(value, per)
    return "".join(f"{number}{unit}" for number, unit in ((whole, large), (rest, small)) if number)
