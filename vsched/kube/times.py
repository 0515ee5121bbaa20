"""The time format of the Kubernetes API."""

from __future__ import annotations

from datetime import UTC, datetime


def time_stamp(now: float) -> str:
    """Seconds since the epoch in the API's time format."""
    return datetime.fromtimestamp(now, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
