"""Which nodes are in which HyperNodes, and HyperNodes that claim the same node without containing each other."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from vsched.kernels.domains import members, topology
from vsched.kernels.selectors import requirement_mask
from vsched.kernels.topology import words
from vsched.kernels.topology.forest import NONE, Forest, forest_of, told
from vsched.kernels.topology.kept import kept
from vsched.kernels.topology.patterns import Matches, Rows, matches
from vsched.model.nodes.table import NodeStatics
from vsched.model.pods.shape import Selector
from vsched.model.topology.hypernodes import HyperNode, TopologyCatalogue

LISTED_MAX = 64
"""How many HyperNodes that list one node are compared with each other; trees of real networks are a few tiers high."""


class HyperNodeMembers(NamedTuple):
    """The nodes of HyperNodes, without the trees that have a fault."""

    forest: Forest
    lowest: Rows
    """intp[nodes]: the position in ``forest`` of the smallest HyperNode that the node is in, or ``NONE``."""
    problems: dict[str, str]
    """By name of a HyperNode: why its tree is left out."""


@dataclass(slots=True)
class _Claims:
    """Nodes that HyperNodes list: ``owners[i]`` lists ``rows[i]``. Sorted by tree, then row, then owner."""

    roots: Rows
    rows: Rows
    owners: Rows
    faults: dict[int, list[str]] = field(default_factory=dict)
    """By root."""


def membership(catalogue: TopologyCatalogue, statics: NodeStatics) -> HyperNodeMembers:
    """Which nodes are in which HyperNodes; kept while neither HyperNodes nor names and labels of nodes change."""

    def compute() -> HyperNodeMembers:
        forest = forest_in(catalogue, statics)
        return kept(statics, "hypernodes", (catalogue,), forest.keys, lambda: _membership(forest, statics))

    return statics.remember(("hypernodes", catalogue), compute)


def _membership(forest: Forest, statics: NodeStatics) -> HyperNodeMembers:
    claims = _claims(forest, statics)
    _shared_within(claims, forest, statics)
    _shared_between(claims, forest, statics)
    lowest = np.full(len(statics), NONE, dtype=np.intp)
    sound = ~np.isin(claims.roots, list(claims.faults))
    # Smaller HyperNodes come first among the claims of one tree, and have to be written last.
    lowest[claims.rows[sound][::-1]] = claims.owners[sound][::-1]
    broken = {
        one.name: told(claims.faults[root])
        for one, root in zip(forest.hypernodes, forest.roots, strict=True)
        if root in claims.faults
    }
    return HyperNodeMembers(forest, lowest, {**forest.problems, **broken})


def forest_in(catalogue: TopologyCatalogue, statics: NodeStatics) -> Forest:
    """The trees, kept while the catalogue does not change, whatever nodes do."""
    return statics.memo.of("topology", "forest", (catalogue,), forest_of)


def _claims(forest: Forest, statics: NodeStatics) -> _Claims:
    patterns = [member.pattern for one in forest.hypernodes for member in one.members if member.pattern]
    found = matches(statics, list(dict.fromkeys(patterns))) if patterns else None
    crowd = _Crowd(forest, statics)
    listed = [
        crowd.admitted(position, listed_rows(one, statics, found)) for position, one in enumerate(forest.hypernodes)
    ]
    rows = np.concatenate([*listed, np.empty(0, dtype=np.intp)])
    owners = np.repeat(np.arange(len(listed), dtype=np.intp), [len(each) for each in listed])
    roots = np.array(forest.roots, dtype=np.intp)[owners]
    order = np.lexsort((owners, rows, roots))
    return _Claims(roots[order], rows[order], owners[order], crowd.faults)


class _Crowd:
    """Bounds how many HyperNodes are remembered to list one node, so that patterns found in all names cost little."""

    def __init__(self, forest: Forest, statics: NodeStatics) -> None:
        self._forest = forest
        self._statics = statics
        self._first = np.full(len(statics), NONE, dtype=np.intp)
        self._counts = np.zeros(len(statics), dtype=np.int64)
        self.faults: dict[int, list[str]] = {}

    def admitted(self, position: int, rows: Rows) -> Rows:
        """The rows that a HyperNode lists, without those that enough others list; these are faults."""
        full = self._counts[rows] >= LISTED_MAX
        if full.any():
            row = int(rows[full][0])
            self._refuse(int(self._first[row]), position, row)
            rows = rows[~full]
        self._counts[rows] += 1
        self._first[rows[self._first[rows] == NONE]] = position
        return rows

    def _refuse(self, first: int, position: int, row: int) -> None:
        if position not in self._forest.ancestors(first):
            fault = _fault(self._forest, self._statics.names[row], first, position)
            for one in (first, position):
                self.faults.setdefault(self._forest.roots[one], []).append(fault)


def listed_rows(hypernode: HyperNode, statics: NodeStatics, found: Matches | None) -> Rows:
    """The rows of the nodes that a HyperNode itself lists, each once."""
    named: list[int] = []
    sets: list[Rows] = []
    for member in hypernode.members:
        if not member.is_node:
            continue
        if member.pattern:
            if found is not None:
                sets.append(found.rows[member.pattern])
        elif member.labels is not None:
            sets.append(_labelled(member.labels, statics))
        elif (row := statics.row.get(member.name)) is not None:
            named.append(row)
    if len(sets) == 1 and not named:
        return sets[0]
    return np.unique(np.concatenate([np.array(named, dtype=np.intp), *sets]))


def _labelled(selector: Selector, statics: NodeStatics) -> Rows:
    """The rows of the nodes that a selector selects. With an ``In`` the other nodes are not even looked at."""
    named = next((one for one in selector.requirements if one.operator == "In"), None)
    if named is None:
        mask = np.ones(len(statics), dtype=np.bool_)
        for requirement in selector.requirements:
            mask &= requirement_mask(requirement, statics)
        return np.flatnonzero(mask)
    domains, positions = topology(statics, named.key), statics.label(named.key).positions
    rows = [members(domains, positions[value]) for value in dict.fromkeys(named.values) if value in positions]
    found = np.concatenate([*rows, np.empty(0, dtype=np.intp)])
    if len(selector.requirements) == 1:
        return found
    holds = [selector.matches(statics.attributes[row].labels) for row in found.tolist()]
    return found[np.array(holds, dtype=np.bool_)]


def _shared_within(claims: _Claims, forest: Forest, statics: NodeStatics) -> None:
    """Nodes that two HyperNodes of one tree list, of which neither contains the other."""
    same = (claims.roots[1:] == claims.roots[:-1]) & (claims.rows[1:] == claims.rows[:-1])
    at = np.flatnonzero(same)
    for first, one, other in _pairs(claims.owners[at], claims.owners[at + 1]):
        if other not in forest.ancestors(one):
            root = forest.roots[one]
            claims.faults.setdefault(root, []).append(_shared(claims, forest, statics, int(at[first]), one, other))


def _shared_between(claims: _Claims, forest: Forest, statics: NodeStatics) -> None:
    """Nodes that two trees list, both without faults of their own."""
    sound = np.flatnonzero(~np.isin(claims.roots, list(claims.faults)))
    order = sound[np.lexsort((claims.owners[sound], claims.rows[sound]))]
    rows, roots = claims.rows[order], claims.roots[order]
    at = np.flatnonzero((rows[1:] == rows[:-1]) & (roots[1:] != roots[:-1]))
    for first, one, other in _pairs(claims.owners[order[at]], claims.owners[order[at + 1]]):
        fault = _shared(claims, forest, statics, int(order[at[first]]), one, other)
        for position in (one, other):
            claims.faults.setdefault(forest.roots[position], []).append(fault)


def _pairs(ones: Rows, others: Rows) -> Iterable[tuple[int, int, int]]:
    """Each distinct pair, and the first place where it is found."""
    if not len(ones):
        return
    width = int(others.max()) + 1
    pairs, first = np.unique(ones * width + others, return_index=True)
    for pair, place in zip(pairs.tolist(), first.tolist(), strict=True):
        yield place, *divmod(pair, width)


def _shared(claims: _Claims, forest: Forest, statics: NodeStatics, at: int, one: int, other: int) -> str:
    return _fault(forest, statics.names[int(claims.rows[at])], one, other)


def _fault(forest: Forest, node: str, one: int, other: int) -> str:
    names = forest.hypernodes[one].name, forest.hypernodes[other].name
    return words.node_in_two(node, min(names), max(names))


def counts(found: HyperNodeMembers) -> dict[str, int]:
    """By name of a HyperNode whose tree has no fault: how many nodes are in it."""
    forest = found.forest
    sums = np.bincount(found.lowest[found.lowest >= 0], minlength=len(forest.hypernodes)).tolist()
    for position, parent in enumerate(forest.parents):  # children come before their parents
        if parent != NONE:
            sums[parent] += sums[position]
    return {
        one.name: count for one, count in zip(forest.hypernodes, sums, strict=True) if one.name not in found.problems
    }
