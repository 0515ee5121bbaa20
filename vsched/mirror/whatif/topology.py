"""HyperNodes of a cluster on paper: as manifests, and with nodes that are added like others."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from msgspec.structs import replace as with_fields

from vsched.kernels.topology.patterns import found_in
from vsched.model.pods.shape import Selector
from vsched.model.topology.hypernodes import HyperNode, Member, TopologyCatalogue

Manifest = dict[str, Any]


def hypernode_manifest(hypernode: HyperNode) -> Manifest:
    """A HyperNode as its object states it."""
    spec: Manifest = {"tier": hypernode.tier, "members": [_member(member) for member in hypernode.members]}
    if hypernode.tier_name:
        spec["tierName"] = hypernode.tier_name
    return {
        "apiVersion": "topology.volcano.sh/v1alpha1",
        "kind": "HyperNode",
        "metadata": {"name": hypernode.name, "uid": hypernode.uid, "annotations": {}},
        "spec": spec,
    }


def with_alike(catalogue: TopologyCatalogue, like: str, names: Sequence[str]) -> TopologyCatalogue:
    """The catalogue with new nodes in the HyperNodes that list ``like`` by its name.

    Labels need nothing: new nodes have those of the node that they are like.
    """
    hypernodes = tuple(_joined(one, like, names) for one in catalogue.hypernodes)
    if all(made is one for made, one in zip(hypernodes, catalogue.hypernodes, strict=True)):
        return catalogue
    return replace(catalogue, hypernodes=hypernodes)


def _joined(hypernode: HyperNode, like: str, names: Sequence[str]) -> HyperNode:
    if not _names(hypernode, like):
        return hypernode
    new = tuple(Member(True, name=name) for name in names if not _names(hypernode, name))
    return with_fields(hypernode, members=(*hypernode.members, *new)) if new else hypernode


def _names(hypernode: HyperNode, node: str) -> bool:
    """Whether a member finds the node by its name."""
    return any(
        member.is_node and (member.name == node or bool(member.pattern and found_in(member.pattern, node)))
        for member in hypernode.members
    )


def _member(member: Member) -> Manifest:
    if member.pattern:
        selector: Manifest = {"regexMatch": {"pattern": member.pattern}}
    elif member.labels is not None:
        selector = {"labelMatch": _selector(member.labels)}
    else:
        selector = {"exactMatch": {"name": member.name}}
    return {"type": "Node" if member.is_node else "HyperNode", "selector": selector}


def _selector(selector: Selector) -> Manifest:
    return {
        "matchExpressions": [
            {"key": each.key, "operator": each.operator, "values": list(each.values)} for each in selector.requirements
        ]
    }
