"""Node selectors and node affinity as masks over all nodes, by columns of node labels.

A requirement is evaluated once for each distinct value of a label. The result is then looked up for each node by the
number of its value. Masks are cached with the nodes' attributes, as long as no node changes.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import NamedTuple

import numpy as np

from vsched.model.nodes.table import Floats, Ints, Mask, NodeStatics
from vsched.model.pods.shape import NodeTerm, Requirement, Rules, as_int64

NAME_FIELD = "metadata.name"


def requirement_mask(requirement: Requirement, statics: NodeStatics) -> Mask:
    """bool[nodes]: where the node's label meets one requirement."""
    key, operator = requirement.key, requirement.operator
    column = statics.label(key)
    holds = np.zeros(len(column.values) + 1, dtype=np.bool_)  # nodes without the label have number -1: the last element
    if operator in ("In", "NotIn"):
        named = [position for value in requirement.values if (position := column.positions.get(value)) is not None]
        holds[:] = operator == "NotIn"
        holds[named] = operator == "In"
    elif operator in ("Exists", "DoesNotExist"):
        holds[:-1] = operator == "Exists"
        holds[-1] = operator == "DoesNotExist"
    elif requirement.values and (bound := as_int64(requirement.values[0])) is not None:
        numbers = _numbers(statics, key)
        above = numbers.values > bound if operator == "Gt" else numbers.values < bound
        holds[:-1] = numbers.known & above
    return holds[column.ids]


class Numbers(NamedTuple):
    """The distinct values of a label as numbers."""

    values: Ints
    known: Mask
    """Where the value is an integer."""


def _numbers(statics: NodeStatics, key: str) -> Numbers:
    known = statics.known(key)

    def compute() -> Numbers:
        found = [as_int64(value) for value in statics.label(known).values]
        numbers = np.array([value or 0 for value in found], dtype=np.int64)
        return Numbers(numbers, np.array([value is not None for value in found], dtype=np.bool_))

    return statics.remember(("numbers", known), compute)


def field_mask(requirement: Requirement, statics: NodeStatics) -> Mask:
    """bool[nodes]: where one requirement on a field of the node holds; ``metadata.name`` is the only field."""
    if requirement.key == NAME_FIELD and requirement.operator == "In":
        return _named(requirement.values, statics)
    if requirement.key == NAME_FIELD and requirement.operator == "NotIn":
        return ~_named(requirement.values, statics)
    return np.zeros(len(statics), dtype=np.bool_)


def node_mask(name: str, statics: NodeStatics) -> Mask:
    """bool[nodes]: True only for the node of that name."""
    return _named((name,), statics)


def term_mask(term: NodeTerm, statics: NodeStatics) -> Mask:
    """bool[nodes]: where a node meets all requirements of a term; an empty term matches no node."""
    if not term.expressions and not term.fields:
        return np.zeros(len(statics), dtype=np.bool_)
    mask = np.ones(len(statics), dtype=np.bool_)
    for expression in term.expressions:
        mask &= requirement_mask(expression, statics)
    for field in term.fields:
        mask &= field_mask(field, statics)
    return mask


def terms_mask(terms: tuple[NodeTerm, ...] | None, statics: NodeStatics) -> Mask | None:
    """bool[nodes]: where a node meets any one of the terms; None where there are none, which every node meets."""
    if terms is None:
        return None

    def compute() -> Mask:
        mask = np.zeros(len(statics), dtype=np.bool_)
        for term in terms:
            mask |= term_mask(term, statics)
        return mask

    return remembered(statics, ("terms", terms), compute)


def selector_mask(rules: Rules, statics: NodeStatics) -> Mask | None:
    """bool[nodes]: where node selector and required node affinity match; None where the pod has neither."""
    if not rules.node_selector and rules.required is None:
        return None
    return remembered(
        statics, ("selector", rules.node_selector, rules.required), lambda: _selector_mask(rules, statics)
    )


def affinity_mask(rules: Rules, statics: NodeStatics) -> Mask | None:
    """bool[nodes]: ``selector_mask`` and ``spec.nodeName``; None where neither restricts the pod."""
    selected = selector_mask(rules, statics)
    if not rules.node_name:
        return selected
    named = node_mask(rules.node_name, statics)
    return named if selected is None else selected & named


def preference(rules: Rules, statics: NodeStatics) -> Floats:
    """float64[nodes]: the sum of the weights of the preferred terms that match."""

    def compute() -> Floats:
        total = np.zeros(len(statics))
        for weight, term in rules.preferred:
            total += weight * term_mask(term, statics)
        total.flags.writeable = False
        return total

    return statics.remember(("preference", rules.preferred), compute)


def remembered(statics: NodeStatics, key: Hashable, compute: Callable[[], Mask]) -> Mask:
    """A read-only mask that is computed once and cached until the nodes' attributes change."""

    def made() -> Mask:
        mask = compute()
        mask.flags.writeable = False
        return mask

    return statics.remember(key, made)


def _selector_mask(rules: Rules, statics: NodeStatics) -> Mask:
    mask = np.ones(len(statics), dtype=np.bool_)
    for key, value in rules.node_selector:
        mask &= requirement_mask(Requirement(key, "In", (value,)), statics)
    required = terms_mask(rules.required, statics)
    return mask if required is None else mask & required


def _named(names: tuple[str, ...], statics: NodeStatics) -> Mask:
    mask = np.zeros(len(statics), dtype=np.bool_)
    for name in names:
        row = statics.row.get(name)
        if row is not None:
            mask[row] = True
    return mask
