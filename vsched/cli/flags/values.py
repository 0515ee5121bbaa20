"""Values of flags: lengths of time in seconds, or with units as Volcano and Kubernetes write them; percentages."""

from __future__ import annotations

import re
from typing import Any

import click

from vsched.cli.flags import words
from vsched.errors import BadQuantity

DAY_SECONDS = 86_400.0
LONGEST_PERIOD_SECONDS = 3600.0
LONGEST_SECONDS = 100 * 366 * 86400.0
"""The longest duration of a flag that has no bound of its own."""

_DAYS = re.compile(r"[0-9]{1,5}(\.[0-9]{1,3})?")


class Period(click.ParamType[float]):
    """A duration in seconds or with units: above zero, and up to an hour unless unbounded."""

    name = "duration"

    def __init__(self, *, zero: bool = False, bounded: bool = True) -> None:
        self._zero = zero
        """Whether zero is allowed, too."""
        self._bounded = bounded

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        """Seconds."""
        seconds = _seconds(value)
        longest = LONGEST_PERIOD_SECONDS if self._bounded else LONGEST_SECONDS
        if seconds is None or seconds > longest or not (seconds > 0 or (self._zero and seconds == 0)):
            least = "from 0 to" if self._zero else "between 0 and"
            kind = f"time {least} 1h" if self._bounded else "duration"
            self.fail(words.no_period(value, kind), param, ctx)
        return seconds


class TimeSpan(click.ParamType[float]):
    """A span of time that reaches back from now, in hours, days or any unit of a duration."""

    name = "duration"

    def __init__(self, longest_seconds: float) -> None:
        self._longest_seconds = longest_seconds

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        """Seconds."""
        days = str(value).strip().removesuffix("d") if str(value).strip().endswith("d") else ""
        seconds = float(days) * DAY_SECONDS if _DAYS.fullmatch(days) else _seconds(value)
        if seconds is None or not 0 < seconds <= self._longest_seconds:
            longest = f"{self._longest_seconds / DAY_SECONDS:g}d"
            self.fail(words.no_time_span(value, longest), param, ctx)
        return seconds


def _seconds(value: Any) -> float | None:
    try:
        return float(value)
    except ValueError:
        from vsched.model.amounts.durations import (
            parse_duration,
        )  # imported here, so that --help does not load the settings

        return parse_duration(value)


PERIOD = Period()

LEAST_BYTES = 1 << 20


class ByteSize(click.ParamType[int]):
    """An amount of bytes of at least a MiB, as ``512Mi``."""

    name = "size"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        """Bytes."""
        from vsched.model.amounts.quantity import parse_quantity  # imported here, as above

        try:
            found = value if isinstance(value, int) else parse_quantity(str(value))
        except BadQuantity:
            found = 0
        if found < LEAST_BYTES:
            self.fail(words.no_size(value, "1Mi"), param, ctx)
        return found


BYTES = ByteSize()


_PERCENT = re.compile(r"([0-9]{1,3}(?:\.[0-9]{1,4})?)%")


class Share(click.ParamType[float]):
    """A part of the whole, as ``1%`` or ``100%``; 0 for nothing."""

    name = "percentage"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        """The part, from 0 to 1."""
        found = _PERCENT.fullmatch(str(value).strip())
        share = float(found[1]) / 100 if found else 0.0
        if share > 1 or not (found or str(value).strip() == "0"):
            self.fail(words.no_percentage(value), param, ctx)
        return share


SHARE = Share()
