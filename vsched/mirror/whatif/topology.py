"""HyperNodes of a cluster on paper: as manifests, and which of them list a node."""

from __future__ import annotations

from typing import Any

from vsched.kernels.topology.patterns import found_in
from vsched.model.nodes.table import NodeAttributes
from vsched.model.pods.shape import Selector
from vsched.model.topology.hypernodes import HyperNode, Member

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


def lists(hypernode: HyperNode, node: NodeAttributes) -> bool:
    """Whether a member finds the node: by its name, a pattern of names, or its labels."""
    return any(
        member.is_node
        and (
            member.name == node.name
            or bool(member.pattern and found_in(member.pattern, node.name))
            or (member.labels is not None and member.labels.matches(node.labels))
        )
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
