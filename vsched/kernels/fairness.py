"""Fair division among queues: dominant shares, and water-filling by weight with floors and limits."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from vsched.model.amounts.resources import PODS
from vsched.model.nodes.table import Floats, Mask

EPSILON = 0.1
"""Amounts that differ by less than this count as equal; smaller amounts count as nothing."""

ROUNDS_MAX = 1000
"""A safety bound. Water-filling ends long before: each round but the last satisfies a queue or uses up the rest."""


def dominant_share(held: Mapping[int, int], total: Sequence[int] | Mapping[int, float]) -> float:
    """The largest ``held / total`` over the resources of the cluster (Ghodsi et al., Dominant Resource Fairness)."""
    share = 0.0
    for column, value in held.items():
        if value:
            whole = total[column]
            part = value / whole if whole else 1.0
            if part > share:
                share = part
    return share


def ratio(part: float, whole: float) -> float:
    """``part / whole``; if ``whole`` is 0, the result is 0 for ``part`` 0 and 1 otherwise (Volcano's ``Share``)."""
    if whole == 0:
        return 0.0 if part == 0 else 1.0
    return part / whole


def weights_with_memory(weights: Floats, used: Floats, whole: float, strength: float) -> Floats:
    """float64[holder]: weights for a division that remembers what was used; they add up to 1, or are all 0.

    ``max(W + k (W - U), 0)``, normalised, as the time-based fair share of KAI: ``W`` are the weights as parts of their
    sum, ``U`` is what holders used as a part of ``whole``, or of all they used where that is more, and ``k`` is
    ``strength``. Who used its part keeps its weight; who used more gets less of the division, down to nothing.
    """
    parts = _parts(weights, float(weights.sum()))
    entitled = np.maximum(parts + strength * (parts - _parts(used, max(whole, float(used.sum())))), 0.0)
    return _parts(entitled, float(entitled.sum()))


def _parts(amounts: Floats, whole: float) -> Floats:
    return amounts / whole if whole > 0 else np.zeros_like(amounts)


class Demand(NamedTuple):
    """The queues among which resources are divided; arrays are ``float64[queue, resource]``, except the weights."""

    weights: Floats
    """float64[queue]."""
    request: Floats
    """What a queue holds and asks for; it deserves no more than that."""
    limit: Floats
    """The most a queue may hold; infinity where there is no limit."""
    floor: Floats
    """What a queue is guaranteed, even if it asks for less."""
    spare_weights: Floats | None = None
    """float64[queue]: how queues of weight 0 divide what the others leave; None where they get nothing."""


def water_fill(total: Floats, demand: Demand) -> Floats:
    """Divide ``total`` (float64[resource]) among queues by weight, with floors, limits and requests.

    Returns the deserved amounts, ``float64[queue, resource]``. Each round divides the remaining amounts by weight among
    the queues that are not satisfied yet. A queue is satisfied once it deserves all it asks for, or once a round does
    not change its amounts. What limits and requests cut off remains for the next round. What is left in
    the end is divided in the same way among queues of weight 0, by their spare weights.
    """
    deserved = np.zeros_like(demand.request)
    remaining = total.astype(np.float64)
    remaining = _fill(deserved, remaining, demand, demand.weights, np.ones(len(demand.weights), dtype=np.bool_))
    if demand.spare_weights is not None:
        _fill(deserved, remaining, demand, demand.spare_weights, demand.weights == 0)
    return deserved


def satisfied_at_once(total: Floats, demand: Demand) -> Floats | None:
    """What ``water_fill`` gives if its first round satisfies all queues; else None. ``float64[queue, resource]``.

    Where it does, none gets of what another one leaves, so that ``satisfied_row`` gives the same for each by itself.
    """
    if not demand.weights.all():
        return None
    part = np.outer(demand.weights / demand.weights.sum(), total)
    raised = np.minimum(np.minimum(part, demand.limit), demand.request)
    deserved = np.maximum(raised, demand.floor)
    is_satisfied = covers(demand.request, deserved) | (deserved == 0).all(axis=1)
    return deserved if is_satisfied.all() else None


def satisfied_row(
    total: Sequence[float], part: float, request: Sequence[float], limit: Sequence[float], floor: Sequence[float]
) -> list[float] | None:
    """The same for one queue, float by resource; ``part`` is its weight as a part of the sum of all weights.

    None where the first round does not satisfy it.
    """
    deserved: list[float] = []
    covered = True
    for whole, asked, most, least in zip(total, request, limit, floor, strict=True):
        amount = max(min(part * whole, most, asked), least)
        deserved.append(amount)
        covered = covered and asked < amount + EPSILON
    return deserved if covered or not any(deserved) else None


def _fill(deserved: Floats, remaining: Floats, demand: Demand, weights: Floats, open_queues: Mask) -> Floats:
    """Raise what the open queues deserve, round by round; returns what remains."""
    counted = np.arange(len(remaining)) != PODS  # leftover pod slots alone do not start another round
    for _ in range(ROUNDS_MAX):
        weight = weights[open_queues].sum()
        if weight == 0:
            break
        before = deserved.copy()
        part = np.outer(weights[open_queues] / weight, remaining)
        raised = np.minimum(deserved[open_queues] + part, demand.limit[open_queues])
        raised = np.minimum(raised, demand.request[open_queues])
        deserved[open_queues] = np.maximum(raised, demand.floor[open_queues])
        open_queues &= ~(covers(demand.request, deserved) | (deserved == before).all(axis=1))
        left = np.maximum(remaining - (deserved - before).sum(axis=0), 0.0)
        over = (left[counted] < EPSILON).all() or (left == remaining).all()
        remaining = left
        if over:
            break
    return remaining


def covers(inner: Floats, outer: Floats) -> Mask:
    """bool[row]: whether ``inner <= outer`` in every resource; amounts within ``EPSILON`` count as equal."""
    result: Mask = np.all(inner < outer + EPSILON, axis=-1)
    return result
