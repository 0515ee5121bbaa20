"""Ages in the short form of ``kubectl get``."""

from __future__ import annotations

from datetime import datetime

from vsched.apimachinery.meta.times import parse_time
from vsched.model.amounts.durations import short_duration


def age_of(text: str | None, now: datetime) -> str:
    """The age of a time stamp; ``<unknown>`` without one."""
    if not text:
        return "<unknown>"
    try:
        moment = parse_time(text)
    except ValueError:
        return "<invalid>"
    return short_duration((now - moment).total_seconds())
