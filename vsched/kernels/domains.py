"""Counts pods by topology domain. A domain is the set of nodes with the same value of a label.

A ``LabelDomains`` numbers the domains of one label key. Sums by domain have one more element than there are domains:
the last one is for nodes without the label, and stays 0.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import repeat
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from vsched.model.nodes.table import NO_DOMAIN, Ints, Mask, NodeStatics

Rows = npt.NDArray[np.intp]

HOSTNAME = "kubernetes.io/hostname"


class LabelDomains(NamedTuple):
    """The domains of one label key over all nodes."""

    ids: Rows
    """intp[nodes]: the node's domain, ``size`` where it lacks the label."""
    size: int
    """How many domains there are."""
    present: Mask
    """bool[nodes]: nodes that have the label."""
    everywhere: bool
    """Whether every node has the label."""
    order: Rows
    """intp[nodes]: the node rows, grouped by domain."""
    starts: Rows
    """intp[size + 2]: domain ``d`` has the rows ``order[starts[d]:starts[d + 1]]``."""


def topology(statics: NodeStatics, key: str) -> LabelDomains:
    """The domains of a label key."""

    known = statics.known(key)

    def compute() -> LabelDomains:
        column = statics.label(known)
        ids = np.where(column.ids == NO_DOMAIN, column.count, column.ids).astype(np.intp)
        return _topology(ids, column.count)

    return statics.remember(("topology", known), compute)


def single_nodes(statics: NodeStatics) -> LabelDomains:
    """Every node as a domain of its own."""
    return statics.remember("single nodes", lambda: _topology(np.arange(len(statics), dtype=np.intp), len(statics)))


def labelled_nodes(statics: NodeStatics, key: str) -> LabelDomains:
    """Every node that has the label as a domain of its own."""

    def compute() -> LabelDomains:
        present, count = topology(statics, key).present, len(statics)
        return _topology(np.where(present, np.arange(count, dtype=np.intp), count), count)

    return statics.remember(("labelled nodes", key), compute)


def members(domains: LabelDomains, domain: int) -> Rows:
    """The node rows of one domain."""
    return domains.order[domains.starts[domain] : domains.starts[domain + 1]]


def tally(
    domains: LabelDomains,
    weighted: Iterable[tuple[Mapping[str, int], int]],
    row: Mapping[str, int],
    eligible: Mask | None,
) -> Ints:
    """int64[size + 1]: weighted pods by domain. ``weighted`` has counts of pods by node name, with a weight for each.

    Nodes that are not in ``row`` (row by node name), and rows that are not ``eligible``, do not count.
    """
    sums = np.zeros(domains.size + 1, dtype=np.int64)
    found: list[int] = []
    amounts: list[int] = []
    for by_node, weight in weighted:
        found.extend(map(row.get, by_node, repeat(-1)))
        amounts.extend(by_node.values() if weight == 1 else [weight * count for count in by_node.values()])
    rows = np.array(found, dtype=np.intp)
    known = rows >= 0
    if eligible is not None:
        known &= eligible[rows]
    np.add.at(sums, domains.ids[rows[known]], np.array(amounts, dtype=np.int64)[known])
    sums[domains.size] = 0
    return sums


def domains_with(domains: LabelDomains, eligible: Mask | None) -> Mask:
    """bool[size]: domains with an eligible node."""
    if eligible is None:
        return np.ones(domains.size, dtype=np.bool_)
    found = np.zeros(domains.size + 1, dtype=np.bool_)
    found[domains.ids[eligible]] = True
    return found[:-1]


def _topology(ids: Rows, count: int) -> LabelDomains:
    present: Mask = ids < count
    order = np.argsort(ids, kind="stable")
    starts = np.searchsorted(ids[order], np.arange(count + 2))
    return LabelDomains(ids, count, present, bool(present.all()), order, starts)
