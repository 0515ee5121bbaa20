"""Durations in Go's notation (``300ms``, ``1m30s``), to seconds and back, and in the short form of ``kubectl get``."""

from __future__ import annotations

import re
from decimal import Decimal

_SECONDS = {
    "ns": Decimal("1e-9"),
    "us": Decimal("1e-6"),
    "µs": Decimal("1e-6"),
    "ms": Decimal("1e-3"),
    "s": Decimal(1),
    "m": Decimal(60),
    "h": Decimal(3600),
}
_MINUTE, _HOUR, _DAY, _YEAR = 60, 3600, 86400, 365 * 86400
_LONGEST = Decimal(9_000_000_000)
"""The longest duration, 285 years: about Go's maximum, and exact as a float."""
_PART = re.compile(r"([0-9]+(?:\.[0-9]*)?|\.[0-9]+)(ns|us|µs|ms|s|m|h)")
_WHOLE = re.compile(rf"[+-]?(?:0|(?:{_PART.pattern})+)")


def parse_duration(text: str) -> float | None:
    """Seconds, to the nanosecond; None where the text is no duration. A number needs its unit, except zero."""
    if len(text) > 64 or not _WHOLE.fullmatch(text):
        return None
    seconds = sum((Decimal(number) * _SECONDS[unit] for number, unit in _PART.findall(text)), Decimal(0))
    if seconds > _LONGEST:
        return None
    return float(round(-seconds if text.startswith("-") else seconds, 9))


def format_duration(seconds: float) -> str:
    """The text that ``parse_duration`` reads as the same number of seconds, rounded to the nanosecond."""
    exact = round(Decimal(repr(float(seconds))), 9).normalize()
    return f"{exact:f}s"


def short_duration(seconds: float) -> str:
    """One or two units, as kubectl writes ages."""
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
