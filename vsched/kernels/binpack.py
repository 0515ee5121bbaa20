"""Binpack: scores nodes by how full (or how free) they would be in the requested resources.

There is a function for many nodes and one for a single node in plain numbers. Their results are equal bit for bit,
because both do the same operations on the same doubles in the same order. Doubles hold amounts below 2**53 exactly.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
import numpy as np

from vsched.model.nodes.table import Floats, Ints, Mask


class PackedResource(msgspec.Struct, frozen=True):
    """One requested resource that counts for the score."""

    column: int
    amount: int
    """What the pod asks for, base units."""
    weight: int
    """Above 0."""
    free: bool = False
    """Whether the free amount counts instead of the used amount."""


def binpack(
    wishes: Sequence[PackedResource],
    idle: Floats | Ints,
    allocatable: Floats,
    weight_sum: int,
    scale: float,
    some_lack: Sequence[bool],
    *,
    lacking_holds: bool = True,
) -> Floats:
    """Scores by node: ``scale`` times the weighted mean of the used (or free) fractions; 0 where a resource is short.

    ``idle`` and ``allocatable`` are [resource, node], float64 for speed. ``some_lack`` says for each wish whether some
    node has none of the resource at all. On such a node the resource counts 0, but its weight is still in the divisor:
    filters have let the node pass. Where they have not looked, ``lacking_holds`` is false, and the node scores 0.
    """
    total: Floats | None = None
    enough = None
    for wish, lacking in zip(wishes, some_lack, strict=True):
        left = idle[wish.column] - wish.amount
        has = allocatable[wish.column]
        holds = left >= 0
        full = left.astype(np.float64) if wish.free else np.subtract(has, left)
        if wish.weight != 1:
            full *= float(wish.weight)
        if lacking:
            absent = has == 0.0
            holds = holds | absent if lacking_holds else holds & ~absent
            full = np.divide(full, has, out=np.zeros_like(full), where=~absent)
        else:
            full /= has
        total = full if total is None else np.add(total, full, out=total)
        enough = holds if enough is None else np.logical_and(enough, holds, out=enough)
    if total is None or enough is None:
        return np.zeros(idle.shape[1])
    total /= float(weight_sum)
    total *= scale
    if not enough.all():
        np.multiply(total, enough, out=total)
    return total


def binpack_by_used(
    wishes: Sequence[PackedResource],
    used: Floats,
    allocatable: Floats,
    weight_sum: int,
    scale: float,
    may_lack: Sequence[bool],
) -> Floats:
    """``binpack`` of wishes for used amounts, where every node has the resources; ``used`` is what is not idle.

    ``may_lack`` says for each wish whether some node may have too little left of it; none has where it is empty.
    """
    total: Floats | None = None
    lacks: Mask | None = None
    for at, wish in enumerate(wishes):
        full = np.add(used[wish.column], float(wish.amount))
        if may_lack and may_lack[at]:
            short = np.greater(full, allocatable[wish.column])
            lacks = short if lacks is None else np.logical_or(lacks, short, out=lacks)
        if wish.weight != 1:
            full *= float(wish.weight)
        full /= allocatable[wish.column]
        total = full if total is None else np.add(total, full, out=total)
    if total is None:
        return np.zeros(used.shape[1])
    if weight_sum & (weight_sum - 1):
        total /= float(weight_sum)
        total *= scale
    else:  # powers of two change no rounding
        total *= scale / weight_sum
    if lacks is not None:
        np.copyto(total, 0.0, where=lacks)
    return total


def binpack_row(
    wishes: Sequence[PackedResource], idle: memoryview, allocatable: memoryview, row: int, weight_sum: int, scale: float
) -> float:
    """``binpack`` of one node; ``idle`` and ``allocatable`` are views on int64[resource, node]."""
    total = 0.0
    for wish in wishes:
        column = wish.column
        has = allocatable[column, row]
        if has == 0:
            continue
        left = idle[column, row] - wish.amount
        if left < 0:
            return 0.0
        total += (left if wish.free else has - left) * float(wish.weight) / has
    return total / float(weight_sum) * scale if wishes else 0.0
