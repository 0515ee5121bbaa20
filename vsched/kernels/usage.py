"""How loaded nodes are: what was measured, what was placed since and is not measured yet, and scores by both.

Loads are [dimension, node] with cpu first, memory second, as parts of 1. What is done for one row in plain numbers
gives what the arrays give, bit for bit.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from vsched.model.nodes.table import Floats, Ints, Mask
from vsched.model.nodes.usage import UsageTable

View = Any
"""The ``data`` of an array of two dimensions: a memoryview, whose type knows of whole numbers only."""
DIMENSIONS = 2
LEFT_AT_PEAKS = 0.01
"""How much of what a node has left on average counts as left even where its peaks take all of it."""


class Risk(NamedTuple):
    """When load that is estimated counts for more than it is (reference 4.11)."""

    cpu: float
    """What cpu weighs in how loaded a node is."""
    memory: float
    threshold: float
    """The load from which on nodes are at risk, times both weights."""


def figures(table: UsageTable, period: str, resource: str, now: float, stale_seconds: float) -> tuple[Floats, Floats]:
    """Averages and spreads in percent by node, NaN where unknown, no number, or older than ``stale_seconds``."""
    columns = table.cpu if resource == "cpu" else table.memory
    column = columns.get(period)
    if column is None:
        unknown = np.full(len(table.measured), np.nan)
        return unknown, unknown
    fresh = now - table.measured <= stale_seconds
    average = np.where(fresh & np.isfinite(column.average), column.average, np.nan)
    return average, np.where(np.isfinite(column.spread), column.spread, 0.0)


def pressing(average: Floats, spread: Floats, factor: float) -> Floats:
    """The load to reckon with as a part of 1, NaN where unknown: the average and ``factor`` times what it varies by.

    A node cannot be more than full, but one that is full at its peaks only is less loaded than one that always is: a
    little of what it has left on average tells them apart.
    """
    steady = np.clip(average / 100.0, 0.0, 1.0)
    peak = np.maximum((average + factor * np.maximum(spread, 0.0)) / 100.0, 0.0)
    load: Floats = np.minimum(peak, 1.0 - LEFT_AT_PEAKS * (1.0 - steady))
    return load


def lacking(started: Floats, measured: Floats, window_seconds: float) -> Floats:
    """Which part of a load that began at ``started`` an average over the window before ``measured`` lacks."""
    part: Floats = np.clip((started - (measured - window_seconds)) / window_seconds, 0.0, 1.0)
    return part


def filled(amounts: Ints, has: Ints) -> Floats:
    """Amounts as parts of what nodes have, 1 at most and where a node has none."""
    parts = np.divide(amounts, has, out=np.ones(amounts.shape), where=has > 0)
    return np.minimum(1.0, parts, out=parts)


def loads(measured: Floats, coming: Ints, has: Ints, requested: Ints, risk: Risk) -> Floats:
    """How loaded nodes are: measured plus what is coming; by requests where nothing is known of a dimension.

    What is measured and coming together may be more than 1: of two nodes that are too full one is fuller.

    ``coming`` is [4, node]: cpu and memory as estimated, then the same for nodes at risk.
    """
    known: Mask = ~np.isnan(measured)
    by_request = filled(requested, has)
    calm = np.where(known, measured + filled(coming[:DIMENSIONS], has), by_request)
    at_most = np.minimum(1.0, calm)
    at_risk = at_most[0] * risk.cpu + at_most[1] * risk.memory >= risk.threshold
    if not at_risk.any():
        return calm
    tense = np.where(known, measured + filled(coming[DIMENSIONS:], has), by_request)
    return np.where(at_risk, tense, calm)


def loads_row(measured: View, coming: View, has: View, requested: View, risk: Risk, row: int) -> tuple[float, float]:
    """``loads`` of one node; of each array its ``data``, elements of which cost a third of numpy's own."""
    cpu, memory = (
        _load_row(measured, coming, has, requested, 0, 0, row),
        _load_row(measured, coming, has, requested, 1, 1, row),
    )
    if min(1.0, cpu) * risk.cpu + min(1.0, memory) * risk.memory < risk.threshold:
        return cpu, memory
    return _load_row(measured, coming, has, requested, 0, 2, row), _load_row(
        measured, coming, has, requested, 1, 3, row
    )


def _load_row(measured: View, coming: View, has: View, requested: View, dimension: int, kind: int, row: int) -> float:
    of, load = has[dimension, row], measured[dimension, row]
    if load == load:
        total: float = load + (min(1.0, coming[kind, row] / of) if of > 0 else 1.0)
        return total
    load = requested[dimension, row] / of if of > 0 else 1.0  # unknown
    return load if load < 1.0 else 1.0


def idleness(load: Floats, cpu: float, memory: float, scale: float) -> Floats:
    """Scores: ``scale`` times what is not used of both, by weights that add up to 1; negative where more than full."""
    scores: Floats = ((1.0 - load[0]) * cpu + (1.0 - load[1]) * memory) * scale
    return scores


def idleness_row(load: tuple[float, float], cpu: float, memory: float, scale: float) -> float:
    """``idleness`` of one node."""
    return ((1.0 - load[0]) * cpu + (1.0 - load[1]) * memory) * scale
