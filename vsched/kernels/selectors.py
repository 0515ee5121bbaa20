"""Node selectors and node affinity as masks over all nodes, through the columns of their labels.

A requirement is worked out once for each distinct value of a label, then spread over the nodes by their value's
number. Masks are remembered with the nodes' attributes, so they live as long as no node changes.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable

import numpy as np

from vsched.model.nodes import Floats, LabelColumn, Mask, NodeStatics
from vsched.model.shape import NodeTerm, Requirement, Rules, requirement_holds

NAME_FIELD = "metadata.name"


def requirement_mask(requirement: Requirement, column: LabelColumn) -> Mask:
    """bool[nodes]: where one requirement holds of the label in ``column``."""
    key, values = requirement.key, column.values
    holds = np.empty(len(values) + 1, dtype=np.bool_)
    if requirement.operator in ("In", "NotIn"):
        inside = requirement.operator == "In"
        named = [position for value in requirement.values if (position := column.positions.get(value)) is not None]
        holds[:-1] = not inside
        holds[named] = inside
    else:
        holds[:-1] = [requirement_holds(requirement, {key: value}) for value in values]
    holds[-1] = requirement_holds(requirement, {})
    return holds[column.ids]  # a node without the label has number -1: the last place


def field_mask(requirement: Requirement, statics: NodeStatics) -> Mask:
    """bool[nodes]: where one requirement on a field of the node holds; ``metadata.name`` is the only field."""
    if requirement.key == NAME_FIELD and requirement.operator == "In":
        return _named(requirement.values, statics)
    if requirement.key == NAME_FIELD and requirement.operator == "NotIn":
        return ~_named(requirement.values, statics)
    return np.zeros(len(statics), dtype=np.bool_)


def node_mask(name: str, statics: NodeStatics) -> Mask:
    """bool[nodes]: the node of that name alone."""
    return _named((name,), statics)


def term_mask(term: NodeTerm, statics: NodeStatics) -> Mask:
    """bool[nodes]: where all of a term holds; an empty term holds nowhere."""
    if not term.expressions and not term.fields:
        return np.zeros(len(statics), dtype=np.bool_)
    mask = np.ones(len(statics), dtype=np.bool_)
    for expression in term.expressions:
        mask &= requirement_mask(expression, statics.label(expression.key))
    for field in term.fields:
        mask &= field_mask(field, statics)
    return mask


def selector_mask(rules: Rules, statics: NodeStatics) -> Mask | None:
    """bool[nodes]: node selector and required node affinity; None where there is neither."""
    if not rules.node_selector and rules.required is None:
        return None
    return remembered(
        statics, ("selector", rules.node_selector, rules.required), lambda: _selector_mask(rules, statics)
    )


def affinity_mask(rules: Rules, statics: NodeStatics) -> Mask | None:
    """bool[nodes]: ``selector_mask`` and the pinned node; None where the pod may go anywhere."""
    selected = selector_mask(rules, statics)
    if not rules.node_name:
        return selected
    named = node_mask(rules.node_name, statics)
    return named if selected is None else selected & named


def preference(rules: Rules, statics: NodeStatics) -> Floats:
    """float64[nodes]: summed weights of the preferred terms that hold."""

    def compute() -> Floats:
        total = np.zeros(len(statics))
        for weight, term in rules.preferred:
            total += weight * term_mask(term, statics)
        total.flags.writeable = False
        return total

    return statics.remember(("preference", rules.preferred), compute)


def remembered(statics: NodeStatics, key: Hashable, compute: Callable[[], Mask]) -> Mask:
    """A mask that is worked out once while the nodes' attributes stay as they are, and cannot be written to."""

    def made() -> Mask:
        mask = compute()
        mask.flags.writeable = False
        return mask

    return statics.remember(key, made)


def _selector_mask(rules: Rules, statics: NodeStatics) -> Mask:
    mask = np.ones(len(statics), dtype=np.bool_)
    for key, value in rules.node_selector:
        mask &= requirement_mask(Requirement(key, "In", (value,)), statics.label(key))
    if rules.required is not None:
        any_term = np.zeros(len(statics), dtype=np.bool_)
        for term in rules.required:
            any_term |= term_mask(term, statics)
        mask &= any_term
    return mask


def _named(names: tuple[str, ...], statics: NodeStatics) -> Mask:
    mask = np.zeros(len(statics), dtype=np.bool_)
    for name in names:
        row = statics.row.get(name)
        if row is not None:
            mask[row] = True
    return mask
