"""Validation of events: the loose rules of the older API, and the strict ones for events with an eventTime."""

from __future__ import annotations

from typing import Any

from vsched.apimachinery.meta.conversion import EVENT_FIELDS
from vsched.apimachinery.meta.field_errors import Causes, invalid_value
from vsched.apimachinery.meta.kinds import Obj
from vsched.apimachinery.meta.name_formats import qualified_name_problems

_NEWER = "events.k8s.io/"
_NOTE_BYTES = 1024
_WORD_BYTES = 128
_FEWEST_IN_SERIES = 2
_SYSTEM_NAMESPACES = ("", "default")
_OLD_ONLY = ("firstTimestamp", "lastTimestamp", "count", "source")
"""Fields that events of the newer API must not set."""
_FIXED = (
    "involvedObject", "reason", "message", "source", "firstTimestamp", "lastTimestamp", "count", "type", "eventTime",
    "action", "related", "reportingComponent", "reportingInstance",
)  # fmt: skip


def _is_newer(obj: Obj) -> bool:
    return str(obj.get("apiVersion", "")).startswith(_NEWER)


def _read(obj: Obj, name: str) -> Any:
    return obj.get(EVENT_FIELDS.get(name, name) if _is_newer(obj) else name)


def check_event(obj: Obj, causes: Causes) -> None:
    """Checks a new event."""
    timed = obj.get("eventTime") is not None
    _check_namespace(obj, causes, timed=timed)
    if timed:
        _check_words(obj, causes)
    if not timed and not _is_newer(obj):
        return
    _check_series(obj.get("series"), causes)
    if not timed:
        causes.required("eventTime")
    type_ = obj.get("type") or ""
    if type_ not in ("Normal", "Warning"):
        causes.invalid("type", "", f"has invalid value: {type_}")
    if _is_newer(obj):
        unset = [name for name in _OLD_ONLY if obj.get(EVENT_FIELDS[name])]
        causes.extend(invalid_value(name, "", "needs to be unset") for name in unset)


def _check_namespace(obj: Obj, causes: Causes, *, timed: bool) -> None:
    namespace = (_read(obj, "involvedObject") or {}).get("namespace") or ""
    event_namespace = obj["metadata"].get("namespace") or ""
    if namespace:
        misplaced = not timed and namespace != event_namespace
    else:
        # Events of objects without a namespace are in the default one; the strict rules allow one more.
        misplaced = event_namespace not in (*_SYSTEM_NAMESPACES, *(["kube-system"] if timed else ()))
    if misplaced:
        causes.invalid("involvedObject.namespace", namespace, "does not match event.namespace")


def _check_words(obj: Obj, causes: Causes) -> None:
    """Checks the reporter, action, reason and message of an event with an eventTime."""
    where = "reportingController" if _is_newer(obj) else "reportingComponent"
    controller = _read(obj, "reportingComponent") or ""
    if not controller:
        causes.required(where)
    causes.check_format(controller, qualified_name_problems, where)
    for name in ("reportingInstance", "action", "reason"):
        value = obj.get(name) or ""
        if not value:
            causes.required(name)
        elif len(value.encode()) > _WORD_BYTES:
            causes.invalid(name, "", f"can have at most {_WORD_BYTES} characters")
    if len((_read(obj, "message") or "").encode()) > _NOTE_BYTES:
        causes.invalid("message", "", f"can have at most {_NOTE_BYTES} characters")


def _check_series(series: Obj | None, causes: Causes) -> None:
    if series is None:
        return
    if series.get("count", 0) < _FEWEST_IN_SERIES:
        causes.invalid("series.count", "", f"should be at least {_FEWEST_IN_SERIES}")
    if series.get("lastObservedTime") is None:
        causes.required("series.lastObservedTime")


def check_event_update(new: Obj, old: Obj, causes: Causes) -> None:
    """If eventTime is set, only the series may change."""
    timed = new.get("eventTime") is not None
    _check_namespace(new, causes, timed=timed)
    if timed:
        _check_words(new, causes)
    if not timed and old.get("eventTime") is None and not _is_newer(new):
        return
    if new.get("series") != old.get("series"):
        _check_series(new.get("series"), causes)
    for name in _FIXED:
        causes.check_immutable(_read(new, name), _read(old, name), name)
