"""Node selectors: the terms of node affinity, of volumes and of devices."""

from __future__ import annotations

from collections.abc import Mapping

from vsched.apimachinery.meta.kinds import Obj
from vsched.apimachinery.meta.label_selectors import requirement_holds


def matches_node_selector(selector: Obj | None, node: Obj) -> bool:
    """Whether one of the terms matches the node; a missing selector matches every node."""
    if selector is None:
        return True
    return any(_term_holds(term, node) for term in selector.get("nodeSelectorTerms") or ())


def _term_holds(term: Obj, node: Obj) -> bool:
    """An empty term matches nothing."""
    expressions, fields = term.get("matchExpressions") or (), term.get("matchFields") or ()
    if not expressions and not fields:
        return False
    metadata = node["metadata"]
    named = {"metadata.name": metadata["name"]}
    labels = metadata.get("labels") or {}
    return all(_holds(each, labels) for each in expressions) and all(_holds(each, named) for each in fields)


def _holds(requirement: Obj, labels: Mapping[str, str]) -> bool:
    """What the expressions of label selectors say, and ``Gt`` and ``Lt``."""
    operator = requirement.get("operator")
    if operator in ("Gt", "Lt"):
        values = requirement.get("values") or ("",)
        return _compares(operator, labels.get(requirement.get("key", "")), values[0])
    return requirement_holds(requirement, labels)


def _compares(operator: str, value: str | None, limit: str) -> bool:
    try:
        found, bound = int(value or ""), int(limit)
    except ValueError:
        return False
    return found > bound if operator == "Gt" else found < bound
