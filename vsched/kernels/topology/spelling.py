"""HyperNodes with names in place of patterns, for those who may not see the names that patterns were made for."""

from __future__ import annotations

from dataclasses import replace

from msgspec.structs import replace as with_fields

from vsched.kernels.topology.patterns import Matches, matches
from vsched.model.nodes.table import NodeStatics
from vsched.model.topology.hypernodes import HyperNode, Member, TopologyCatalogue


def without_patterns(catalogue: TopologyCatalogue, statics: NodeStatics) -> TopologyCatalogue:
    """The same HyperNodes; in place of each pattern, the names of the nodes that it is found in."""
    patterns = [member.pattern for one in catalogue.hypernodes for member in one.members if member.pattern]
    if not patterns:
        return catalogue
    found = matches(statics, list(dict.fromkeys(patterns)))
    return replace(catalogue, hypernodes=tuple(_spelt_out(one, found) for one in catalogue.hypernodes))


def _spelt_out(hypernode: HyperNode, found: Matches) -> HyperNode:
    members: list[Member] = []
    for member in hypernode.members:
        if member.pattern:
            rows = found.rows[member.pattern].tolist()
            members.extend(Member(True, name=found.names[row]) for row in rows)
        else:
            members.append(member)
    return with_fields(hypernode, members=tuple(members))
