"""Fair division: dominant shares, and water-filling by weight with floors and caps."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from vsched.model.amounts.resources import PODS
from vsched.model.nodes.table import Floats, Mask

EPSILON = 0.1
"""Amounts closer than this count as equal, less than this as nothing (reference 0.1)."""

ROUNDS_MAX = 1000
"""Water-filling ends long before: every round but the last meets a queue or empties the rest."""


def dominant_share(held: Mapping[int, int], total: Sequence[int] | Mapping[int, float]) -> float:
    """The largest ``held / total`` over the resources of the cluster (Ghodsi et al., Dominant Resource Fairness)."""
    share = 0.0
    for column, value in held.items():
        if value:
            share = max(share, ratio(value, total[column]))
    return share


def ratio(part: float, whole: float) -> float:
    """``part / whole``; of nothing, nothing is 0 and anything is 1 (reference 0.2, Share)."""
    if whole == 0:
        return 0.0 if part == 0 else 1.0
    return part / whole


class Demand(NamedTuple):
    """What the queues of a division bring along; all arrays ``float64[queue, resource]`` but the weights."""

    weights: Floats
    """float64[queue]."""
    request: Floats
    """What a queue holds and asks for: it deserves no more."""
    limit: Floats
    """What a queue may hold at most; infinity where there is no limit."""
    floor: Floats
    """What a queue is guaranteed whatever it asks for."""


def water_fill(total: Floats, demand: Demand) -> Floats:
    """Divide ``total`` (float64[resource]) among queues by weight, at least their floor, at most limit and request.

    Returns deserved, ``float64[queue, resource]``. In rounds: what remains is dealt out by weight among the queues
    that are not met yet; a queue is met once it deserves all it asks for, or once a round leaves it unchanged. What
    limits and requests cut off remains for the next round (reference 4.5).
    """
    deserved = np.zeros_like(demand.request)
    open_queues: Mask = np.ones(len(demand.weights), dtype=np.bool_)
    remaining = total.astype(np.float64)
    counted = np.arange(len(total)) != PODS  # pod slots left over are no reason for another round (reference 0.1)
    for _ in range(ROUNDS_MAX):
        weight = demand.weights[open_queues].sum()
        if weight == 0:
            break
        before = deserved.copy()
        part = np.outer(demand.weights[open_queues] / weight, remaining)
        raised = np.minimum(deserved[open_queues] + part, demand.limit[open_queues])
        raised = np.minimum(raised, demand.request[open_queues])
        deserved[open_queues] = np.maximum(raised, demand.floor[open_queues])
        open_queues &= ~(covers(demand.request, deserved) | (deserved == before).all(axis=1))
        left = np.maximum(remaining - (deserved - before).sum(axis=0), 0.0)
        if (left[counted] < EPSILON).all() or (left == remaining).all():
            break
        remaining = left
    return deserved


def covers(inner: Floats, outer: Floats) -> Mask:
    """Whether ``inner <= outer`` in every resource, closer than ``EPSILON`` counting as equal; one answer a row."""
    result: Mask = np.all(inner < outer + EPSILON, axis=-1)
    return result
