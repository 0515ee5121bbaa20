"""What events may say: the loose rules of the older API, and the strict ones that hold once eventTime is set."""

from __future__ import annotations

from typing import Any

from vsched.sim.field_checks import check_immutable, invalid_value, qualified_name_problems, required
from vsched.sim.status import Cause

Obj = dict[str, Any]

_NOTE_BYTES = 1024
_REASON_CHARS = 128
_REGARDING = ("involvedObject", "regarding")
_CONTROLLER = ("reportingComponent", "reportingController")
_NOTE = ("message", "note")


def _named(obj: Obj, names: tuple[str, str]) -> tuple[str, Any]:
    """A field that the two APIs call differently: what it is called in this object, and its value."""
    old, new = names
    name = new if obj.get("apiVersion", "").startswith("events.k8s.io/") else old
    return name, obj.get(name)


def check_event(obj: Obj, causes: list[Cause]) -> None:
    regarding, reference = _named(obj, _REGARDING)
    namespace = (reference or {}).get("namespace") or ""
    event_namespace = obj["metadata"].get("namespace") or ""
    # What has no namespace is spoken about in the default one.
    if namespace != event_namespace and (namespace or event_namespace not in ("", "default")):
        causes.append(invalid_value(f"{regarding}.namespace", namespace, "does not match event.namespace"))
    if obj.get("eventTime") is not None:
        _check_strictly(obj, causes)
    elif obj.get("apiVersion", "").startswith("events.k8s.io/"):
        causes.append(required("eventTime"))


def _check_strictly(obj: Obj, causes: list[Cause]) -> None:
    _, controller = _named(obj, _CONTROLLER)
    if not controller:
        causes.append(required("reportingController"))
    else:
        where = "reportingController"
        causes.extend(invalid_value(where, controller, problem) for problem in qualified_name_problems(controller))
    if not obj.get("reportingInstance"):
        causes.append(required("reportingInstance"))
    elif len(obj["reportingInstance"]) > _REASON_CHARS:
        why = f"can have at most {_REASON_CHARS} characters"
        causes.append(invalid_value("reportingInstance", "", why))
    for name in ("action", "reason"):
        value = obj.get(name) or ""
        if not value:
            causes.append(required(name))
        elif len(value) > _REASON_CHARS:
            causes.append(invalid_value(name, "", f"can have at most {_REASON_CHARS} characters"))
    _, note = _named(obj, _NOTE)
    if len((note or "").encode()) > _NOTE_BYTES:
        causes.append(invalid_value("message", "", f"can have at most {_NOTE_BYTES} characters"))
    if obj.get("type") not in ("Normal", "Warning"):
        causes.append(invalid_value("type", obj.get("type") or "", "has invalid value: " + (obj.get("type") or "")))
    series = obj.get("series")
    if series is not None and series.get("count", 0) < 2:
        causes.append(invalid_value("series.count", series.get("count", 0), "should be at least 2"))


def check_event_update(new: Obj, old: Obj, causes: list[Cause]) -> None:
    """Once eventTime is set only the series may change."""
    check_event(new, causes)
    if old.get("eventTime") is None and new.get("eventTime") is None:
        return
    for name in sorted((new.keys() | old.keys()) - {"metadata", "series", "kind", "apiVersion"}):
        check_immutable(new.get(name), old.get(name), name, causes)
