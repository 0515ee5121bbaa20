"""Storage and nodes: which nodes reach which volumes, zones of volumes, and scores by how full storage would be.

Volumes with equal node affinity form a group. A ``NodeReach`` lists the nodes of each group, so that the nodes of many
volumes are found with a few array operations, also where each volume belongs to one node.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from vsched.kernels.selectors import NAME_FIELD, requirement_mask, term_mask
from vsched.model.nodes.table import Floats, Ints, Mask, NodeStatics
from vsched.model.pods.shape import NodeTerm, Requirement

Rows = npt.NDArray[np.intp]
Terms = tuple[NodeTerm, ...] | None
"""Any one term must hold; None matches every node."""

ZONE, REGION = "topology.kubernetes.io/zone", "topology.kubernetes.io/region"
BETA_ZONE, BETA_REGION = "failure-domain.beta.kubernetes.io/zone", "failure-domain.beta.kubernetes.io/region"
ZONE_LABELS = {BETA_ZONE: ZONE, BETA_REGION: REGION, ZONE: ZONE, REGION: REGION}
"""Labels of volumes that name zones or regions, each with the present name of the label."""
SEPARATOR = "__"
"""Separates several zones in one label."""
FULL = 100
"""Per cent."""
SAFE_BITS = 56
"""Numbers of so many bits can be multiplied by ``FULL`` within int64."""
MANY = 2
NOTHING = np.iinfo(np.int64).max
"""Stands for "no volume" in ``least``."""


class NodeReach(NamedTuple):
    """Which nodes belong to which groups."""

    rows: Rows
    """The rows of the nodes of each group, group by group."""
    groups: Rows
    """The groups of each node, node by node."""
    group_starts: Rows
    """Where each group begins in ``rows``, and the end."""
    row_starts: Rows
    """Where each node begins in ``groups``, and the end."""
    disjoint: bool
    """Whether no node belongs to two groups."""

    @property
    def size(self) -> int:
        """The number of groups."""
        return len(self.group_starts) - 1

    @property
    def nodes(self) -> int:
        """The number of nodes."""
        return len(self.row_starts) - 1

    def rows_of(self, group: int) -> Rows:
        """The nodes of a group, ascending."""
        return self.rows[self.group_starts[group] : self.group_starts[group + 1]]

    def groups_at(self, row: int) -> Rows:
        """The groups of a node, ascending."""
        return self.groups[self.row_starts[row] : self.row_starts[row + 1]]


def reach(affinities: Sequence[Terms], statics: NodeStatics) -> NodeReach:
    """The nodes that meet each affinity."""
    found = [matching_rows(terms, statics) for terms in affinities]
    rows = np.concatenate(found) if found else np.empty(0, dtype=np.intp)
    groups = np.repeat(np.arange(len(found)), [len(rows) for rows in found])
    by_row = groups[np.argsort(rows, kind="stable")]
    each = np.bincount(rows, minlength=len(statics))
    return NodeReach(
        rows, by_row, starts([len(rows) for rows in found]), starts(each), bool(each.max(initial=0) < MANY)
    )


def starts(sizes: Sequence[int] | Ints) -> Rows:
    """Where each of several parts begins that follow each other, and where the last ends."""
    found = np.zeros(len(sizes) + 1, dtype=np.intp)
    np.cumsum(sizes, out=found[1:])
    return found


def matching_rows(terms: Terms, statics: NodeStatics) -> Rows:
    """The rows of the nodes that meet an affinity, ascending."""
    if terms is None:
        return np.arange(len(statics))
    if len(terms) == 1 and (rows := rows_named(terms[0], statics)) is not None:
        return rows
    return np.flatnonzero(terms_mask(terms, statics))


def terms_mask(terms: Terms, statics: NodeStatics) -> Mask:
    """bool[nodes]: the nodes that meet an affinity."""
    if terms is None:
        return np.ones(len(statics), dtype=np.bool_)
    mask = np.zeros(len(statics), dtype=np.bool_)
    for term in terms:
        mask |= term_mask(term, statics)
    return mask


def rows_named(term: NodeTerm, statics: NodeStatics) -> Rows | None:
    """The rows for a term that only names one value of a label, or a node, as local volumes do; None for others."""
    if len(term.expressions) + len(term.fields) != 1:
        return None
    only = (*term.expressions, *term.fields)[0]
    if only.operator != "In" or len(only.values) != 1:
        return None
    if term.fields:
        row = statics.row.get(only.values[0]) if only.key == NAME_FIELD else None
        return np.array([] if row is None else [row], dtype=np.intp)
    position = statics.label(only.key).positions.get(only.values[0])
    return np.empty(0, dtype=np.intp) if position is None else rows_by_value(statics, only.key)[position]


def rows_by_value(statics: NodeStatics, key: str) -> Sequence[Rows]:
    """For each value of a label, the rows of the nodes that have it."""
    known = statics.known(key)

    def compute() -> Sequence[Rows]:
        column = statics.label(known)
        order = np.argsort(column.ids, kind="stable")
        bounds = np.searchsorted(column.ids[order], np.arange(column.count + 1))
        return [order[bounds[value] : bounds[value + 1]] for value in range(column.count)]

    return statics.remember(("rows/value", known), compute)


def least(where: NodeReach, values: Ints) -> Ints:
    """int64[nodes]: the smallest value of the groups of each node, else ``NOTHING``; ``values`` is by group."""
    found = np.full(where.nodes, NOTHING, dtype=np.int64)
    if len(where.groups):
        there = np.diff(where.row_starts) > 0
        found[there] = np.minimum.reduceat(values[where.groups], where.row_starts[:-1][there])
    return found


def totals(where: NodeReach, values: Ints) -> Ints:
    """int64[nodes]: the sum of the values of the groups of each node."""
    sums = np.zeros(len(where.groups) + 1, dtype=np.int64)
    np.cumsum(values[where.groups], out=sums[1:])
    found: Ints = sums[where.row_starts[1:]] - sums[where.row_starts[:-1]]
    return found


def zone_mask(labels: Mapping[str, str], statics: NodeStatics) -> Mask:
    """bool[nodes]: the nodes that a volume with these labels allows by its zone or region.

    A node without any such label is allowed. Old names of the labels match the present ones on nodes, as Kubernetes has
    it.
    """
    mask = np.ones(len(statics), dtype=np.bool_)
    for key, present in ZONE_LABELS.items():
        values = tuple(value.strip() for value in labels[key].split(SEPARATOR)) if key in labels else ()
        if values and all(values):
            fits = requirement_mask(Requirement(key, "In", values), statics)
            if present != key:
                fits |= _lacking(key, statics) & requirement_mask(Requirement(present, "In", values), statics)
            mask &= fits
    if not mask.all():
        mask |= np.logical_and.reduce([_lacking(key, statics) for key in ZONE_LABELS])
    return mask


def _lacking(key: str, statics: NodeStatics) -> Mask:
    return requirement_mask(Requirement(key, "DoesNotExist"), statics)


def utilisation(requested: Ints, capacity: Ints) -> Ints:
    """How much of the capacity is requested, in whole per cent; 100 where it is not enough."""
    enough = (capacity > 0) & (requested <= capacity)
    wanted = np.where(enough, requested, 0)
    excess = max(int(wanted.max(initial=0)).bit_length() - SAFE_BITS, 0)  # keeps the product within int64
    return np.where(enough, (wanted >> excess) * FULL // np.maximum(capacity >> excess, 1), FULL)


def broken_line(shape: Sequence[tuple[int, int]], at: Ints) -> Ints:
    """The values of a line through points (x, y), ascending by x, for each x; flat before the first and after the last.

    Divisions cut off towards zero, as in Go.
    """
    result = np.full(len(at), shape[-1][1], dtype=np.int64)
    for (x0, y0), (x1, y1) in reversed(list(pairwise(shape))):
        step = (y1 - y0) * (at - x0)
        cut = np.sign(step) * (np.abs(step) // (x1 - x0))
        result = np.where(at <= x1, y0 + cut, result)
    return np.where(at <= shape[0][0], shape[0][1], result)


def rounded_mean(values: Sequence[Ints], counted: Sequence[Mask]) -> Floats:
    """The mean of the values that are counted, rounded half away from zero; 0 where none is counted."""
    total = np.sum([np.where(mask, value, 0) for value, mask in zip(values, counted, strict=True)], axis=0)
    number = np.sum(counted, axis=0)
    rounded: Floats = np.floor(total / np.maximum(number, 1) + 0.5)
    return rounded
