"""Ages and durations in the short form of ``kubectl get``."""

from __future__ import annotations

from datetime import datetime

from vsched.apimachinery.meta.times import parse_time

_MINUTE, _HOUR, _DAY, _YEAR = 60, 3600, 86400, 365 * 86400


def age_of(text: str | None, now: datetime) -> str:
    """The age of a time stamp; ``<unknown>`` without one."""
    if not text:
        return "<unknown>"
    try:
        moment = parse_time(text)
    except ValueError:
        return "<invalid>"
    return short_duration((now - moment).total_seconds())


def short_duration(seconds: float) -> str:
    """One or two units, as kubectl writes durations."""
    whole = int(seconds)
    if whole < -1:
        return "<invalid>"
    if whole < 0:
        return "0s"
    if whole < 2 * _MINUTE:
        return f"{whole}s"
    if whole < 10 * _MINUTE:
        return _two(whole, _MINUTE, "m", 1, "s")
    if whole < 3 * _HOUR:
        return f"{whole // _MINUTE}m"
    if whole < 8 * _HOUR:
        return _two(whole, _HOUR, "h", _MINUTE, "m")
    if whole < 2 * _DAY:
        return f"{whole // _HOUR}h"
    if whole < 8 * _DAY:
        return _two(whole, _DAY, "d", _HOUR, "h")
    if whole < 2 * _YEAR:
        return f"{whole // _DAY}d"
    if whole < 8 * _YEAR:
        return _two(whole, _YEAR, "y", _DAY, "d")
    return f"{whole // _YEAR}y"


def _two(seconds: int, large: int, large_unit: str, small: int, small_unit: str) -> str:
    rest = seconds % large // small
    return f"{seconds // large}{large_unit}" + (f"{rest}{small_unit}" if rest else "")
