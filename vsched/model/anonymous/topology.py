"""Makes a catalogue of HyperNodes with pseudonyms."""

from __future__ import annotations

from msgspec.structs import replace

from vsched.model.anonymous.rules import Renaming, Rule, each, name, node, pairs, parts, sentence, text, uid
from vsched.model.topology.constraints import MemberGroup, NetworkTopology, SubGroupPolicy
from vsched.model.topology.hypernodes import HyperNode, Member, TopologyCatalogue

TOPOLOGY_RULES: dict[type, dict[str, Rule]] = {
    HyperNode: {"name": name, "uid": uid, "tier_name": name, "members": parts},
    Member: {"name": name, "pattern": text, "labels": parts},
    NetworkTopology: {"tier_name": name, "key": name},
    SubGroupPolicy: {
        "name": name,
        "selector": parts,
        "match_keys": each(name),
        "groups": parts,
        "topology": parts,
        "together": parts,
    },
    MemberGroup: {"name": name, "topology": parts},
}


def renamed_topology(renaming: Renaming, found: TopologyCatalogue) -> TopologyCatalogue:
    """The same catalogue with pseudonyms."""
    return TopologyCatalogue(
        tuple(sorted((_hypernode(renaming, one) for one in found.hypernodes), key=lambda one: one.name)),
        pairs(name, sentence)(renaming, found.unread),
        sentence(renaming, found.problem),
    )


def _hypernode(renaming: Renaming, original: HyperNode) -> HyperNode:
    renamed = renaming.record(original)
    members = tuple(
        replace(made, name=node(renaming, member.name)) if member.is_node and member.name else made
        for member, made in zip(original.members, renamed.members, strict=True)
    )
    return replace(renamed, members=members)
