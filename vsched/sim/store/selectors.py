"""The label and field selectors of a request. The table at the end has the fields that each kind can be selected by."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from vsched.apimachinery.meta.api_errors import bad_request
from vsched.apimachinery.meta.kinds import Kind, Obj
from vsched.apimachinery.meta.label_selectors import LabelRequirement, parse_labels

Matches = Callable[[Obj], bool]


@lru_cache(maxsize=512)
def parse_fields(text: str) -> tuple[tuple[str, bool, str], ...]:
    """The terms of a field selector as (path, equal, value), in the order of the checks."""
    terms: list[tuple[str, bool, str]] = []
    for part in sorted(text.split(",")):
        if not part:
            continue
        for operator in ("!=", "==", "="):
            sides = part.split(operator)
            if len(sides) == 2:
                terms.append((sides[0], operator != "!=", sides[1]))
                break
        else:
            raise bad_request(f"invalid selector: '{text}'; can't understand '{part}'")
    return tuple(terms)


@dataclass(frozen=True, slots=True)
class ObjectSelector:
    """A label and a field selector together."""

    labels: tuple[LabelRequirement, ...]
    fields: tuple[tuple[tuple[str, ...], bool, str], ...]

    @property
    def names_one(self) -> bool:
        """Whether it can match a single name only."""
        return any(path == ("metadata", "name") and equal for path, equal, _ in self.fields)

    def matches(self, obj: Obj) -> bool:
        for path, equal, value in self.fields:
            if (field_value(obj, path) == value) is not equal:
                return False
        if not self.labels:
            return True
        found = obj["metadata"].get("labels") or {}
        return all(term.matches(found) for term in self.labels)


def selector_for(kind: Kind, label_text: str, field_text: str) -> ObjectSelector | None:
    """The selector of a request; None selects everything."""
    if not label_text and not field_text:
        return None
    labels = parse_labels(label_text)
    fields = []
    for path, equal, value in parse_fields(field_text):
        _check_field(kind, path)
        shown = _EVENT_PATHS.get(path, path) if kind.storage == "/events" else path
        fields.append((tuple(shown.split(".")), equal, value))
    return ObjectSelector(labels, tuple(fields)) if labels or fields else None


def field_value(obj: Obj, path: tuple[str, ...]) -> str:
    """The field as text, as field selectors compare it; a missing field has the zero of its type."""
    value: Any = obj
    for step in path:
        value = value.get(step) if isinstance(value, dict) else None
    if path == ("status", "podIPs") and isinstance(value, list):
        return ",".join(each.get("ip", "") for each in value)
    if not value and path == _SOURCE:
        value = obj.get("reportingComponent")
    if value is None:
        return "false" if path[-1] in _BOOLEAN_FIELDS else ""
    return str(value).lower() if isinstance(value, bool) else str(value)


def _check_field(kind: Kind, path: str) -> None:
    own = _FIELDS.get(kind.storage if kind.stored else kind.resource, _FIELDS.get(kind.storage))
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
    "resource.k8s.io/resourceslices": ("spec.nodeName", "spec.driver"),
    "/events": (
        *(f"involvedObject.{field}" for field in _REFERENCE),
        "reason",
        "reportingComponent",
        "source",
        "type",
    ),
    "events.events.k8s.io": (
        *(f"regarding.{field}" for field in _REFERENCE),
        "reason",
        "reportingController",
        "type",
    ),
}
_SOURCE = ("source", "component")
_EVENT_PATHS = {
    **{f"regarding.{field}": f"involvedObject.{field}" for field in _REFERENCE},
    "reportingController": "reportingComponent",
    "source": ".".join(_SOURCE),
}
"""Both versions of the events API match the stored form."""
