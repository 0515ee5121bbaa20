"""How each HyperNode stands: how many nodes it has, and why its tree is left out if it is."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from vsched.kernels.topology import words
from vsched.kernels.topology.forest import children_of
from vsched.kernels.topology.membership import counts, membership
from vsched.model.nodes.table import NodeStatics
from vsched.model.topology.hypernodes import HyperNode, TopologyCatalogue

_MOST = 3
"""How many missing members are named."""


class Standing(NamedTuple):
    """How one HyperNode stands."""

    nodes: int | None
    """The number of its nodes; None where its tree is left out."""
    problem: str
    """Why its tree is left out; empty where it is not."""
    missing: str
    """The members that do not exist, as one sentence; empty where all do."""


def standings(catalogue: TopologyCatalogue, statics: NodeStatics) -> Mapping[str, Standing]:
    """By name of a HyperNode, also of those that cannot be read."""
    found = membership(catalogue, statics)
    sums = counts(found)
    names = {one.name for one in catalogue.hypernodes} | catalogue.unread.keys()
    missing = {one.name: _missing(one, names, statics) for one in catalogue.hypernodes}
    return {
        name: Standing(sums.get(name), found.problems.get(name, ""), missing.get(name, "")) for name in sorted(names)
    }


def _missing(one: HyperNode, hypernodes: Iterable[str], statics: NodeStatics) -> str:
    nodes = {member.name for member in one.members if member.is_node and member.name}
    absent = [f"HyperNode {name}" for name in children_of(one) if name not in hypernodes]
    absent += [f"node {name}" for name in sorted(nodes) if name not in statics.row]
    return words.missing(absent[:_MOST], max(0, len(absent) - _MOST)) if absent else ""
