"""The scores leastAllocated, mostAllocated and balancedAllocation of Kubernetes, by what a node holds with the pod.

Each score has a function for many nodes and one for a single node in plain numbers. Their results are equal bit for
bit, because both do the same operations on the same doubles in the same order. Kubernetes divides integers; here
``floor`` of a quotient of doubles gives the same result. The numerator is exact for amounts below 2**53/100 (about
80 TiB or 90 trillion milli-cores). For such integers the rounding error of the quotient is less than its distance from
the next whole number, so the floor is the integer quotient.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from vsched.model.nodes.table import Floats, Ints, Mask

MAX_SCORE = 100.0
HALF_SCORE = 50.0
EVEN = 150
"""Twice the balanced allocation of a node whose balance the pod does not change."""


class ScoredCapacity(NamedTuple):
    """The capacity of nodes in the scored resources, prepared once for many scores."""

    amounts: Floats
    """float64[resource, node], base units."""
    divisor: Floats
    """The amounts, with 1 in place of 0."""
    counted: Floats
    """float64[node]: how many of the resources the node has, at least 1."""
    complete: bool
    """Whether every node has all of the resources."""


def capacity_of(allocatable: Ints | Floats) -> ScoredCapacity:
    """Prepare the capacity from allocatable amounts (int64[resource, node], base units)."""
    amounts = np.ascontiguousarray(allocatable, dtype=np.float64)
    counted = np.count_nonzero(amounts, axis=0).astype(np.float64)
    return ScoredCapacity(
        amounts,
        np.where(amounts == 0.0, 1.0, amounts),
        np.maximum(counted, 1.0),
        bool((amounts != 0.0).all()),
    )


def capacity_at(capacity: ScoredCapacity, rows: slice | Sequence[int] | npt.NDArray[np.intp]) -> ScoredCapacity:
    """The capacity of some nodes."""
    return ScoredCapacity(
        capacity.amounts[:, rows], capacity.divisor[:, rows], capacity.counted[rows], capacity.complete
    )


def least_allocated(taken: Floats, capacity: ScoredCapacity) -> Floats:
    """0..100 per node, higher where less is taken.

    ``taken`` (float64[resource, node], base units) includes the pod. All resources have the same weight. A resource
    that a node does not have does not count there.
    """
    left = np.subtract(capacity.amounts, taken)
    left *= MAX_SCORE
    left /= capacity.divisor
    np.floor(left, out=left)
    np.maximum(left, 0.0, out=left)
    return _mean(left, capacity)


def least_allocated_row(taken: Sequence[int], capacity: Sequence[int]) -> float:
    """``least_allocated`` of one node."""
    total, counted = 0.0, 0
    for amount, has in zip(taken, capacity, strict=True):
        if has:
            counted += 1
            if amount <= has:
                total += math.floor((has - amount) * MAX_SCORE / has)
    return float(math.floor(total / counted)) if counted else 0.0


def most_allocated(taken: Floats, capacity: ScoredCapacity) -> Floats:
    """0..100 per node, higher where more is taken; arguments as for ``least_allocated``."""
    part = np.minimum(taken, capacity.amounts)
    part *= MAX_SCORE
    part /= capacity.divisor
    np.floor(part, out=part)
    return _mean(part, capacity)


def most_allocated_row(taken: Sequence[int], capacity: Sequence[int]) -> float:
    """``most_allocated`` of one node."""
    total, counted = 0.0, 0
    for amount, has in zip(taken, capacity, strict=True):
        if has:
            counted += 1
            total += math.floor(min(amount, has) * MAX_SCORE / has)
    return float(math.floor(total / counted)) if counted else 0.0


def balanced_allocation(
    held: Floats | Ints, asked: Floats, capacity: ScoredCapacity, now: Floats | None = None
) -> Floats:
    """50..100 per node, higher where the pod brings the taken fractions of its resources closer to each other.

    ``held``: what pods on the nodes take, [resource, node]; ``asked``: the request of the pod, [resource, 1]; ``now``:
    the ``balance`` of ``held`` where it is known already, float64[node]. The score is 75 plus half of the change in
    balance, rounded down; it is 75 where the pod changes nothing. (kube-scheduler does so since 1.36, so that an
    unbalanced node is no worse than an idle one if the pod improves its balance.)
    """
    score = balance(np.add(held, asked), capacity)
    score -= balance(held, capacity) if now is None else now
    score *= 0.5
    score += HALF_SCORE * 1.5
    np.floor(score, out=score)
    return score


def balance(taken: Floats | Ints, capacity: ScoredCapacity) -> Floats:
    """0..100 per node, higher where the taken fractions of its resources are closer to each other.

    The balance is 100 x (1 - standard deviation of the fractions), rounded down. For two fractions, the deviation is
    half their difference; for fewer it is 0. A resource that a node does not have does not count there.
    """
    fractions = np.divide(taken, capacity.divisor)
    np.minimum(fractions, 1.0, out=fractions)
    deviation: Floats
    if capacity.complete and len(fractions) == 2:
        deviation = np.subtract(fractions[0], fractions[1])
        np.abs(deviation, out=deviation)
        deviation /= 2.0
    else:
        deviation = _deviation(fractions, capacity.amounts != 0.0)
    np.subtract(1.0, deviation, out=deviation)
    deviation *= MAX_SCORE
    np.floor(deviation, out=deviation)
    return deviation


def balanced_allocation_row(held: Sequence[int], asked: Sequence[int], capacity: Sequence[int]) -> float:
    """``balanced_allocation`` of one node."""
    after = balance_row([amount + more for amount, more in zip(held, asked, strict=True)], capacity)
    return float(math.floor((after - balance_row(held, capacity)) * 0.5 + HALF_SCORE * 1.5))


def balance_row(taken: Sequence[int], capacity: Sequence[int]) -> float:
    """``balance`` of one node."""
    fractions = [min(amount / has, 1.0) for amount, has in zip(taken, capacity, strict=True) if has]
    count = len(fractions)
    deviation = 0.0
    if count == 2:
        deviation = abs(fractions[0] - fractions[1]) / 2.0
    elif count > 2:
        total = squares = 0.0
        for fraction in fractions:
            total += fraction
        mean = total / count
        for fraction in fractions:
            squares += (fraction - mean) * (fraction - mean)
        deviation = math.sqrt(squares / count)
    return float(math.floor((1.0 - deviation) * MAX_SCORE))


def least_and_balanced_row(
    scoring: tuple[int, int], held: tuple[int, int], asked: tuple[int, int], capacity: tuple[int, int]
) -> tuple[int, int]:
    """``least_allocated_row`` of ``scoring``, the pod included, and ``balanced_allocation_row``, of two resources.

    The node has both (``capacity`` above 0). It is the same arithmetic, in the third of the time.
    """
    one, other = capacity
    left, rest = one - scoring[0], other - scoring[1]
    least = (math.floor(left * MAX_SCORE / one) if left >= 0 else 0) + (
        math.floor(rest * MAX_SCORE / other) if rest >= 0 else 0
    )
    then = balance_of_two((held[0] + asked[0], held[1] + asked[1]), capacity)
    return least >> 1, (then - balance_of_two(held, capacity) + EVEN) >> 1


def balance_of_two(taken: tuple[int, int], capacity: tuple[int, int]) -> int:
    """``balance_row`` of two resources, both above 0 in ``capacity``."""
    one, other = taken[0] / capacity[0], taken[1] / capacity[1]
    if one > 1.0:
        one = 1.0
    if other > 1.0:
        other = 1.0
    return int((1.0 - abs(one - other) / 2.0) * MAX_SCORE)


def _mean(scores: Floats, capacity: ScoredCapacity) -> Floats:
    total: Floats = scores.sum(axis=0) if len(scores) != 2 else np.add(scores[0], scores[1])
    if capacity.complete and len(scores) == 2:
        total *= 0.5
    else:
        total /= capacity.counted
    np.floor(total, out=total)
    return total


def _deviation(fractions: Floats, present: Mask) -> Floats:
    """The standard deviation of the present fractions of each node; for two fractions, half their difference."""
    count = np.count_nonzero(present, axis=0)
    divisor = np.maximum(count, 1).astype(np.float64)
    fractions = np.where(present, fractions, 0.0)
    total = np.zeros(fractions.shape[1])
    for fraction in fractions:
        total += fraction
    mean = total / divisor
    squares = np.zeros(fractions.shape[1])
    for fraction, counts in zip(fractions, present, strict=True):
        squares += np.where(counts, (fraction - mean) * (fraction - mean), 0.0)
    most = np.where(present, fractions, -np.inf).max(axis=0)
    least = np.where(present, fractions, np.inf).min(axis=0)
    spread: Floats = np.sqrt(squares / divisor)
    with np.errstate(invalid="ignore"):
        half = (most - least) / 2.0
    return np.where(count == 2, half, np.where(count > 2, spread, 0.0))
