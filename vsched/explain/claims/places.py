"""Puts the nodes that can use a volume or a device into words: ``in zone a``, ``on node n1``."""

from __future__ import annotations

from collections.abc import Sequence

from vsched.explain.claims import words
from vsched.kernels.domains import HOSTNAME
from vsched.model.pods.shape import NodeTerm, Requirement

ZONES = ("topology.kubernetes.io/zone", "failure-domain.beta.kubernetes.io/zone")
REGIONS = ("topology.kubernetes.io/region", "failure-domain.beta.kubernetes.io/region")
NAMED_MAX = 3
"""A phrase has at most this many values, and counts the others."""
OPERATORS = {"Exists": "with label", "DoesNotExist": "without label", "Gt": ">", "Lt": "<"}


def places(terms: Sequence[NodeTerm] | None) -> str:
    """Where nodes are that meet any one of these terms; empty for all nodes."""
    if terms is None:
        return ""
    said = dict.fromkeys(_term(term) for term in terms)
    shown = list(said)[:NAMED_MAX]
    more = len(said) - len(shown)
    return " or ".join(shown) + (words.or_other_places(more) if more else "")


def _term(term: NodeTerm) -> str:
    return " ".join(map(_requirement, (*term.expressions, *term.fields))) or "nowhere"


def _requirement(one: Requirement) -> str:
    if one.operator == "In":
        values = " or ".join(one.values[:NAMED_MAX])
        values += f" or {len(one.values) - NAMED_MAX} more" if len(one.values) > NAMED_MAX else ""
        if one.key in ZONES:
            return words.in_zone(values)
        if one.key in REGIONS:
            return words.in_region(values)
        return words.on_node(values) if one.key in (HOSTNAME, "metadata.name") else f"where {one.key} is {values}"
    if one.operator == "NotIn":
        return words.where_not(one.key, " or ".join(one.values[:NAMED_MAX]))
    if one.operator in ("Gt", "Lt"):
        return f"where {one.key} {OPERATORS[one.operator]} {' '.join(one.values)}"
    return f"{OPERATORS.get(one.operator, one.operator)} {one.key}"
