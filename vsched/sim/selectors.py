"""Label and field selectors: parsed once, then a plain function from an object to yes or no.

Which fields a kind may be selected by is the table at the end.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from vsched.sim.kinds import Kind, Obj
from vsched.sim.status import bad_request

Matches = Callable[[Obj], bool]

_KEY = r"(?:[A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?/)?[A-Za-z0-9](?:[-A-Za-z0-9_.]*[A-Za-z0-9])?"
_SET = re.compile(rf"\s*(?P<key>{_KEY})\s+(?P<operator>in|notin)\s*\((?P<values>[^()]*)\)\s*")
_COMPARE = re.compile(rf"\s*(?P<key>{_KEY})\s*(?P<operator>==|=|!=|>|<)\s*(?P<value>[^,()=!<>\s]*)\s*")
_EXISTS = re.compile(rf"\s*(?P<not>!)?\s*(?P<key>{_KEY})\s*")
_VALUE = re.compile(r"(?:[A-Za-z0-9](?:[-A-Za-z0-9_.]*[A-Za-z0-9])?)?")


@dataclass(frozen=True, slots=True)
class LabelRequirement:
    """One term of a label selector."""

    key: str
    operator: str
    values: tuple[str, ...] = ()

    def matches(self, labels: dict[str, str]) -> bool:
        value = labels.get(self.key)
        match self.operator:
            case "in":
                return value in self.values
            case "notin":
                return value not in self.values
            case "exists":
                return value is not None
            case "!":
                return value is None
            case _:
                return value is not None and self._compares(value)

    def _compares(self, value: str) -> bool:
        if not re.fullmatch(r"-?\d+", value):
            return False
        limit = int(self.values[0])
        return int(value) > limit if self.operator == ">" else int(value) < limit


@lru_cache(maxsize=512)
def parse_labels(text: str) -> tuple[LabelRequirement, ...]:
    """The terms of a label selector; a syntax error is a 400."""
    terms: list[LabelRequirement] = []
    position = 0
    while position < len(text):
        term, position = _label_term(text, position)
        terms.append(term)
        if position < len(text):
            if text[position] != ",":
                raise _unparsable(text, position)
            position += 1
            if position == len(text):
                raise _unparsable(text, position)
    return tuple(terms)


def _label_term(text: str, position: int) -> tuple[LabelRequirement, int]:
    if match := _SET.match(text, position):
        values = tuple(value.strip() for value in match["values"].split(",")) if match["values"].strip() else ()
        _check_values(text, values)
        return LabelRequirement(match["key"], match["operator"], values), match.end()
    if match := _COMPARE.match(text, position):
        operator, value = match["operator"], match["value"]
        _check_values(text, (value,))
        if operator in "<>" and not re.fullmatch(r"-?\d+", value):
            raise bad_request(f"unable to parse requirement: values[0]: Invalid value: \"{value}\": for 'Gt', 'Lt' "
                              "operators, the value must be an integer")  # fmt: skip
        named = {"=": "in", "==": "in", "!=": "notin"}.get(operator, operator)
        return LabelRequirement(match["key"], named, (value,)), match.end()
    if match := _EXISTS.match(text, position):
        return LabelRequirement(match["key"], "!" if match["not"] else "exists"), match.end()
    raise _unparsable(text, position)


def _check_values(text: str, values: Sequence[str]) -> None:
    for value in values:
        if not _VALUE.fullmatch(value) or len(value) > 63:
            raise bad_request(f'unable to parse requirement: values[0]: Invalid value: "{value}" in "{text}"')


def _unparsable(text: str, position: int) -> Exception:
    found = text[position : position + 1]
    return bad_request(
        f"unable to parse requirement: found '{found}', expected: an operator, ',' or the end of '{text}'"
    )


@lru_cache(maxsize=512)
def parse_fields(text: str) -> tuple[tuple[str, bool, str], ...]:
    """The terms of a field selector as (path, equal, value)."""
    terms: list[tuple[str, bool, str]] = []
    for part in text.split(","):
        if not part:
            continue
        for operator in ("!=", "==", "="):
            path, found, value = part.partition(operator)
            if found:
                terms.append((path, operator != "!=", value))
                break
        else:
            raise bad_request(f"invalid selector: '{text}'; can't understand '{part}'")
    return tuple(terms)


@dataclass(frozen=True, slots=True)
class Selector:
    """A label and a field selector together."""

    labels: tuple[LabelRequirement, ...]
    fields: tuple[tuple[tuple[str, ...], bool, str], ...]

    def matches(self, obj: Obj) -> bool:
        found = obj["metadata"].get("labels") or {}
        if not all(term.matches(found) for term in self.labels):
            return False
        return all((field_value(obj, path) == value) is equal for path, equal, value in self.fields)


def selector_for(kind: Kind, label_text: str, field_text: str) -> Selector | None:
    """The selector of a request; None selects everything."""
    if not label_text and not field_text:
        return None
    labels = parse_labels(label_text)
    fields = []
    for path, equal, value in parse_fields(field_text):
        _check_field(kind, path)
        shown = _ALIASES.get(path, path) if kind.storage == "/events" else path
        fields.append((tuple(shown.split(".")), equal, value))
    return Selector(labels, tuple(fields)) if labels or fields else None


def field_value(obj: Obj, path: tuple[str, ...]) -> str:
    """The field as field selectors compare it: text, with the field's zero where it is missing."""
    value: Any = obj
    for step in path:
        value = value.get(step) if isinstance(value, dict) else None
    if path == ("status", "podIPs") and isinstance(value, list):
        return ",".join(each.get("ip", "") for each in value)
    if value is None:
        return "false" if path[-1] in _BOOLEAN_FIELDS else ""
    return str(value).lower() if isinstance(value, bool) else str(value)


def _check_field(kind: Kind, path: str) -> None:
    own = _FIELDS.get(kind.storage)
    if path == "metadata.name" or path in (own or ()) or path in kind.selectable_fields:
        return
    if path == "metadata.namespace" and (kind.namespaced or (own is None and not kind.custom)):
        return
    if own is None and not kind.custom:
        raise bad_request(f'"{path}" is not a known field selector: only "metadata.name", "metadata.namespace"')
    raise bad_request(f"field label not supported: {path}")


_BOOLEAN_FIELDS = frozenset({"hostNetwork", "unschedulable"})
_REFERENCE = ("kind", "namespace", "name", "uid", "apiVersion", "resourceVersion", "fieldPath")
_FIELDS: dict[str, tuple[str, ...]] = {
    "/pods": (
        "spec.nodeName",
        "spec.restartPolicy",
        "spec.schedulerName",
        "spec.serviceAccountName",
        "spec.hostNetwork",
        "status.phase",
        "status.podIP",
        "status.podIPs",
        "status.nominatedNodeName",
    ),
    "/nodes": ("spec.unschedulable",),
    "/namespaces": ("status.phase",),
    "/secrets": ("type",),
    "/replicationcontrollers": ("status.replicas",),
    "/services": ("spec.clusterIP", "spec.type"),
    "apps/replicasets": ("status.replicas",),
    "batch/jobs": ("status.successful",),
    "certificates.k8s.io/certificatesigningrequests": ("spec.signerName",),
    "resource.k8s.io/resourceslices": ("spec.nodeName", "spec.driver"),
    "/events": (
        *(f"involvedObject.{field}" for field in _REFERENCE),
        *(f"regarding.{field}" for field in _REFERENCE),
        "reason",
        "reportingComponent",
        "reportingController",
        "source",
        "type",
    ),
}
_ALIASES = {
    **{f"regarding.{field}": f"involvedObject.{field}" for field in _REFERENCE},
    "reportingController": "reportingComponent",
    "source": "source.component",
}
"""Events are matched as they are stored, whichever version names the field."""


def matches_label_selector(selector: Obj | None, labels: dict[str, str]) -> bool:
    """Whether a LabelSelector of an object's spec matches; an empty one matches all, a missing one nothing."""
    if selector is None:
        return False
    if any(labels.get(key) != value for key, value in (selector.get("matchLabels") or {}).items()):
        return False
    operators = {"In": "in", "NotIn": "notin", "Exists": "exists", "DoesNotExist": "!"}
    return all(
        LabelRequirement(each["key"], operators[each["operator"]], tuple(each.get("values") or ())).matches(labels)
        for each in selector.get("matchExpressions") or ()
    )
