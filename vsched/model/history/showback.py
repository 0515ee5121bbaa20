"""Showback: the resource-hours that queues, namespaces and users have used within a span of time."""

from __future__ import annotations

from collections.abc import Collection

import msgspec
import numpy as np

from vsched.model.amounts.resources import scale_of
from vsched.model.history.records import CLUSTER, HOUR_SECONDS, WEEK_HOURS, UsageHistory
from vsched.model.nodes.table import Floats

DIMENSIONS = ("queue", "namespace", "user")
"""What use can be grouped by."""
SPAN_SECONDS_MAX = WEEK_HOURS * HOUR_SECONDS
"""The longest span: so much is known."""
DIGITS = 6
_GIB = 1 << 30


class UsageRow(msgspec.Struct, frozen=True):
    """What one of those that are told apart has used."""

    queue: str
    """Empty where use is not grouped by queue; the same for the next two."""
    namespace: str
    user: str
    """Empty for pods that name no user, too."""
    share: float
    """Dominant share: the largest part of what the cluster had of any resource."""
    used: dict[str, float]
    """Resource-hours by resource; memory in GiB-hours."""


class Showback(msgspec.Struct, frozen=True):
    """Who has used how much within a span."""

    at: float
    """The end of the span, seconds since the epoch."""
    span_seconds: float
    """How long the span is."""
    counted_seconds: float
    """How much of the span was counted: less where counting began later, or paused."""
    by: tuple[str, ...]
    """Some of ``DIMENSIONS``."""
    resources: tuple[str, ...]
    had: dict[str, float]
    """Resource-hours that the nodes of the cluster had, by resource."""
    rows: tuple[UsageRow, ...]
    """Those that used something; the largest share first."""


def showback(history: UsageHistory, seconds: float, by: Collection[str] = DIMENSIONS) -> Showback:
    """Who has used how much within the last seconds; of an hour that began earlier, as if its use had been even."""
    dimensions = tuple(name for name in DIMENSIONS if name in by)
    sums, counted_seconds = used_within(history, seconds)
    used = sums / np.array([_hour_of(name) for name in history.resources]).reshape(1, -1)
    had = used[0] if len(used) else np.zeros(len(history.resources))
    grouped: dict[tuple[str, str, str], Floats] = {}
    for row, holder in enumerate(history.holders):
        if holder != CLUSTER and used[row].any():
            queue, namespace, user = (getattr(holder, name) if name in dimensions else "" for name in DIMENSIONS)
            key = queue, namespace, user
            grouped[key] = grouped[key] + used[row] if key in grouped else used[row]
    rows = [
        UsageRow(*key, round(dominant(amounts, had), DIGITS), _named(history.resources, amounts))
        for key, amounts in grouped.items()
    ]
    rows.sort(key=lambda row: (-row.share, row.queue, row.namespace, row.user))
    return Showback(
        at=history.at,
        span_seconds=seconds,
        counted_seconds=round(counted_seconds, 1),
        by=dimensions,
        resources=history.resources,
        had=_named(history.resources, had),
        rows=tuple(rows),
    )


def used_within(history: UsageHistory, seconds: float) -> tuple[Floats, float]:
    """``float64[holders, resources]`` of base units times seconds, and how many of the last seconds were counted."""
    present = _part(0.0, history.present_seconds, seconds)
    sums: Floats = history.present * present
    counted = history.present_seconds * present
    for hour, (end, length) in enumerate(zip(history.ends.tolist(), history.lengths.tolist(), strict=True)):
        part = _part(history.at - end, length, seconds)
        if part:
            sums = sums + history.hours[hour] * part
            counted += length * part
    return sums, counted


def _part(age: float, length: float, seconds: float) -> float:
    """Which part of a time lies within the last seconds: it is ``length`` long, and ended ``age`` seconds ago."""
    return min(1.0, max(0.0, seconds - age) / length) if length > 0 else 0.0


def dominant(amounts: Floats, had: Floats) -> float:
    """The largest part of what there was of any resource."""
    there = had > 0
    return float((amounts[there] / had[there]).max(initial=0.0))


def _hour_of(name: str) -> float:
    """Base units times seconds in one resource-hour."""
    return HOUR_SECONDS * (_GIB if name == "memory" else scale_of(name))


def _named(names: tuple[str, ...], amounts: Floats) -> dict[str, float]:
    return {name: round(amount, DIGITS) for name, amount in zip(names, amounts.tolist(), strict=True) if amount > 0}
