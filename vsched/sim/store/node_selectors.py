"""Node selectors: the terms of node affinity, of volumes and of devices."""

from __future__ import annotations

from collections.abc import Mapping

from vsched.sim.store.kinds import Obj


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
    value, values = labels.get(requirement.get("key", "")), requirement.get("values") or ()
    match requirement.get("operator"):
        case "In":
            return value in values
        case "NotIn":
            return value not in values
        case "Exists":
            return value is not None
        case "DoesNotExist":
            return value is None
        case "Gt" | "Lt" as operator:
            return _compares(operator, value, values[0] if values else "")
    return False


def _compares(operator: str, value: str | None, limit: str) -> bool:
    try:
        found, bound = int(value or ""), int(limit)
    except ValueError:
        return False
    return found > bound if operator == "Gt" else found < bound
