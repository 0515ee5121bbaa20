"""Fair division among queues: dominant shares, and water-filling by weight with floors and limits."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from vsched.model.nodes.table import Floats, Ints

WEIGHTS_MAX = (1 << 31) - 1
"""The largest sum of weights that are exact in a division: products with what a division leaves then fit int64."""


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
    """The queues among which resources are divided; amounts are ``int64[queue, resource]``."""

    weights: Floats
    """float64[queue]."""
    floor: Ints
    """What a queue is guaranteed, even if it asks for less."""
    most: Ints
    """What a queue holds and asks for, as far as its limits allow; it deserves no more than that, or its floor."""
    spare_weights: Floats | None = None
    """float64[queue]: how queues of weight 0 divide what the others leave; None where they get nothing."""


def water_fill(total: Sequence[int], demand: Demand) -> Ints:
    """Divide ``total`` (by resource) among queues by weight, with floors and limits: what each deserves.

    Each queue gets the same amount for each unit of its weight, but no less than its floor and no more than it may use.
    So the sum is ``total``, unless all queues get the most they may use, or floors alone take more. What is left in the
    end is divided in the same way among queues of weight 0, by their spare weights.

    Amounts are whole: units that cannot be divided go to the largest remainders, and to the first of equal ones.
    """
    deserved, most = demand.floor.copy(), np.maximum(demand.floor, demand.most)
    for rows, weights in ((demand.weights > 0, demand.weights), (demand.weights == 0, demand.spare_weights)):
        if weights is None or not rows.any():
            continue
        weighty, floor, others = weights[rows], demand.floor[rows], _sums(deserved[~rows])
        wanted = np.where(weighty[:, None] > 0, most[rows], floor)
        divided = wanted.copy()
        for column, asked in enumerate(_sums(wanted)):
            left = total[column] - others[column]
            if asked > left:
                divided[:, column] = _divide(left, _whole(weighty), floor[:, column], wanted[:, column])
        deserved[rows] = divided
    return deserved


def _sums(amounts: Ints) -> list[int]:
    """The sum by column, which may be more than an int64 takes."""
    return [*map(sum, amounts.T.tolist())]


def _whole(weights: Floats) -> Ints:
    """The weights as whole numbers; fractions and very large weights are scaled to a sum of about ``WEIGHTS_MAX``."""
    found = weights.astype(np.int64)
    whole = float(weights.sum())
    if whole <= WEIGHTS_MAX and (found == weights).all():
        return found
    scaled: Ints = np.maximum(weights * ((WEIGHTS_MAX - len(weights)) / whole), weights > 0).astype(np.int64)
    return scaled


def _divide(whole: int, weights: Ints, floor: Ints, most: Ints) -> Ints:
    """``whole``, which is less than all want, divided by weight, each part within its bounds (int64[queue]).

    A round divides what is left among the open parts. Where their bounds cut off more than they add, those at their
    upper bound keep it from then on, else those at their lower one. No other order reaches the same level for all.
    """
    parts, rows = floor.copy(), np.flatnonzero(weights)
    left = whole - sum(parts.tolist()) + sum(parts[rows].tolist())
    while len(rows):
        low, high, weight = floor[rows], most[rows], weights[rows]
        heavy = int(weight.sum())
        share, rest = divmod(max(left, 0), heavy)
        part, remainder = share * weight + rest * weight // heavy, rest * weight % heavy
        over, under = part >= high, part + (remainder > 0) <= low
        cut = heavy * sum((part - high)[over].tolist()) + sum(remainder[over].tolist())
        added = heavy * sum((low - part)[under].tolist()) - sum(remainder[under].tolist())
        parts[rows] = np.clip(part, low, high)
        if cut == added:
            units = left - sum(parts[rows].tolist())
            largest = np.argsort(np.where(over | under, 0, -remainder), kind="stable")
            parts[rows[largest[: max(units, 0)]]] += 1
            break
        settled = over if cut > added else under
        left -= sum(parts[rows[settled]].tolist())
        rows = rows[~settled]
    return parts
