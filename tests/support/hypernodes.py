"""HyperNodes in a few words: as API objects, and as the model has them."""

from __future__ import annotations

from typing import Any

from tests.support.builders import merged
from vsched.model.pods.shape import Requirement, Selector
from vsched.model.topology.hypernodes import HyperNode, Member, TopologyCatalogue

Obj = dict[str, Any]
HYPERNODES = "topology.volcano.sh/hypernodes"


def hypernode_object(name: str, tier: int, *members: str, tier_name: str = "", **fields: Any) -> Obj:
    """A HyperNode. Of the members ``^…`` is a HyperNode, ``~…`` a pattern, ``key=value`` a label, others are nodes."""
    spec: Obj = {"tier": tier, "members": [_member(text) for text in members]}
    if tier_name:
        spec["tierName"] = tier_name
    base = {
        "apiVersion": "topology.volcano.sh/v1alpha1",
        "kind": "HyperNode",
        "metadata": {"name": name},
        "spec": spec,
    }
    return merged(base, fields)


def hypernode(name: str, tier: int, *members: str, tier_name: str = "") -> HyperNode:
    """The same in the model."""
    return HyperNode(name, tier=tier, tier_name=tier_name, members=tuple(_model(text) for text in members))


def catalogue(*hypernodes: HyperNode, **unread: str) -> TopologyCatalogue:
    """These HyperNodes, and why others cannot be read."""
    return TopologyCatalogue(tuple(sorted(hypernodes, key=lambda one: one.name)), unread)


def _member(text: str) -> Obj:
    kind = "HyperNode" if text.startswith("^") else "Node"
    if text.startswith("~"):
        selector: Obj = {"regexMatch": {"pattern": text[1:]}}
    elif "=" in text:
        selector = {"labelMatch": {"matchLabels": dict([text.split("=", 1)])}}
    else:
        selector = {"exactMatch": {"name": text.removeprefix("^")}}
    return {"type": kind, "selector": selector}


def _model(text: str) -> Member:
    if text.startswith("^"):
        return Member(False, name=text[1:])
    if text.startswith("~"):
        return Member(True, pattern=text[1:])
    if "=" in text:
        key, value = text.split("=")
        return Member(True, labels=Selector((Requirement(key, "In", (value,)),)))
    return Member(True, name=text)
