"""Domains of label tiers: nodes with the same value of a label, and of all wider ones."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import NamedTuple

import numpy as np

from vsched.kernels.topology.patterns import Rows
from vsched.model.nodes.table import NO_DOMAIN, Mask, NodeStatics
from vsched.model.topology.tiers import LabelTier


class Domains(NamedTuple):
    """The domains of one level."""

    ids: Rows
    """intp[nodes]: position in ``names``, or ``NO_DOMAIN``."""
    names: list[str]


class _Values(NamedTuple):
    """What the labels of one level say."""

    ids: Rows
    """intp[nodes]: position in ``values``, or ``NO_DOMAIN`` where the node has no such label."""
    values: list[str]


def label_domains(
    label_tiers: Sequence[LabelTier], statics: NodeStatics, outside: Mask, taken: Collection[str]
) -> dict[int, Domains]:
    """By level, the domains of the nodes that are ``outside`` of all HyperNodes.

    Where several labels have one level, the first one that a node has counts. A domain whose name is ``taken``, by a
    HyperNode, is called ``key=value``.
    """
    found: dict[int, Domains] = {}
    chain, prefixes = np.zeros(len(statics), dtype=np.intp), [""]
    for level in sorted({tier.level for tier in label_tiers}, reverse=True):
        keys = [tier.key for tier in label_tiers if tier.level == level]
        values = _values(keys, statics, outside, () if found else taken)  # further names have a "/"
        both = chain * (len(values.values) + 1) + values.ids + 1
        distinct, inverse = np.unique(both, return_inverse=True)
        prefix, value = np.divmod(distinct, len(values.values) + 1)
        names = [
            prefixes[above] + (values.values[at - 1] if at else "")
            for above, at in zip(prefix.tolist(), value.tolist(), strict=True)
        ]
        chain, prefixes = inverse.astype(np.intp), [f"{name}/" for name in names]
        found[level] = _sorted_domains(chain, names, values.ids)
    return found


def _values(keys: Sequence[str], statics: NodeStatics, outside: Mask, taken: Collection[str]) -> _Values:
    ids = np.full(len(statics), NO_DOMAIN, dtype=np.intp)
    values: list[str] = []
    for key in keys:
        column = statics.label(key)
        given = np.array([*(value != "" for value in column.values), False])  # the last one: without the label
        take = outside & (ids == NO_DOMAIN) & given[column.ids]
        ids[take] = column.ids[take] + len(values)
        again = {*values, *taken} & {*column.values}
        values.extend(f"{key}={value}" if value in again else value for value in column.values)
    return _Values(ids, values)


def _sorted_domains(chain: Rows, names: Sequence[str], given: Rows) -> Domains:
    """The domains that have a value at this level, by name."""
    used = np.unique(chain[given != NO_DOMAIN]).tolist()
    order = sorted(used, key=lambda at: names[at])
    position = np.full(len(names) + 1, NO_DOMAIN, dtype=np.intp)
    position[order] = np.arange(len(order))
    ids = np.where(given == NO_DOMAIN, NO_DOMAIN, position[chain])
    return Domains(ids, [names[at] for at in order])
