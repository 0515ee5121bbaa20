"""Nodes that are ruled out by name, and nodes that are tried before all others."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from vsched.framework.codes import Code
from vsched.framework.points.nodes import Check
from vsched.framework.words import nodes as words
from vsched.model.nodes.masks import NodeMask, rows_of
from vsched.model.nodes.table import Mask, NodeStatics


class ShardMasks(NamedTuple):
    """The masks of a session, by rows of its nodes."""

    checks: Sequence[Check] = ()
    """What rules nodes out, for every task."""
    first: Mask | None = None
    """bool[nodes]: the nodes that are tried before all others; None where there are no such nodes."""
    ours: Mask | None = None
    """bool[nodes]: the only nodes that may be used; None where all may."""


ONE_SHARD = ShardMasks()
"""All nodes are ours."""


def shards_of(masks: Sequence[NodeMask], statics: NodeStatics) -> ShardMasks:
    """The masks by rows; no check where it would rule out nothing."""
    if not masks:
        return ONE_SHARD
    hard: Mask | None = None
    soft: Mask | None = None
    for mask in masks:
        rows = rows_of(mask, statics)
        if mask.hard:
            hard = rows if hard is None else hard & rows
        else:
            soft = rows if soft is None else soft & rows
    checks = () if hard is None or hard.all() else (Check(words.OTHER_SHARD, hard, code=Code.SHARD),)
    return ShardMasks(checks, None if soft is None or soft.all() or not soft.any() else soft, hard)


def admitted(refused: tuple[str, ...], statics: NodeStatics) -> Check:
    """Leaves out the nodes for which admission refused a pod's binding."""

    def compute() -> Mask:
        rows = np.ones(len(statics), dtype=np.bool_)
        rows[[row for name in refused if (row := statics.row.get(name)) is not None]] = False
        return rows

    return Check(words.REFUSED, statics.remember(("refused", refused), compute), code=Code.BINDING)
