"""Small pure functions that read Kubernetes objects: owners, conditions, readiness, times. They change no object."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any

import orjson

from vsched.apimachinery.meta.kinds import Obj
from vsched.apimachinery.meta.times import format_time, parse_time
from vsched.errors import BadInput, BadObject
from vsched.model.amounts.durations import parse_duration

TERMINAL = frozenset({"Succeeded", "Failed"})
SAFE_ALPHABET = "bcdfghjklmnpqrstvwxz2456789"
"""What generated names are made of."""


def split_key(key: str) -> tuple[str, str]:
    namespace, _, name = key.rpartition("/")
    return namespace, name


def controller_of(obj: Obj) -> Obj | None:
    """The owner reference marked as controller."""
    for reference in obj["metadata"].get("ownerReferences") or ():
        if reference.get("controller"):
            return dict(reference)
    return None


def controller_uid(obj: Obj) -> str:
    reference = controller_of(obj)
    return reference["uid"] if reference else ""


def reference_to(owner: Obj, api_version: str, kind: str) -> Obj:
    """The owner reference of objects that a controller makes."""
    meta = owner["metadata"]
    return {
        "apiVersion": api_version,
        "kind": kind,
        "name": meta["name"],
        "uid": meta["uid"],
        "controller": True,
        "blockOwnerDeletion": True,
    }


def is_deleting(obj: Obj) -> bool:
    return bool(obj["metadata"].get("deletionTimestamp"))


def is_finished(pod: Obj) -> bool:
    return pod.get("status", {}).get("phase") in TERMINAL


def is_active(pod: Obj) -> bool:
    """Whether a pod counts as a replica of its owner: it is neither finished nor being deleted."""
    return not is_finished(pod) and not is_deleting(pod)


def condition(obj: Obj, type_: str) -> Obj | None:
    for found in obj.get("status", {}).get("conditions") or ():
        if found.get("type") == type_:
            return dict(found)
    return None


def is_true(obj: Obj, type_: str) -> bool:
    found = condition(obj, type_)
    return found is not None and found.get("status") == "True"


def is_ready(pod: Obj) -> bool:
    return is_true(pod, "Ready")


def restarts_of(pod: Obj) -> int:
    """How often containers of a pod were started again."""
    return sum(each.get("restartCount", 0) for each in pod.get("status", {}).get("containerStatuses") or ())


def is_available(pod: Obj, min_ready_seconds: float, now: datetime) -> bool:
    """Whether a pod has been ready for so long."""
    found = condition(pod, "Ready")
    if found is None or found.get("status") != "True":
        return False
    since = found.get("lastTransitionTime")
    return not min_ready_seconds or not since or (now - parse_time(since)).total_seconds() >= min_ready_seconds


def seconds_since(text: str | None, now: datetime) -> float:
    """How long ago a time is; 0 if it is not given."""
    return max(0.0, (now - parse_time(text)).total_seconds()) if text else 0.0


def duration_seconds(text: str) -> float:
    """``30s``, ``1h30m``, ``500ms`` in seconds."""
    seconds = parse_duration(text.strip())
    if seconds is None or seconds < 0:
        raise BadInput(f"{text!r} is not a duration: expected something like 30s, 5m or 1h30m")
    return seconds


def whole_or_percent(value: int | str, total: int, *, round_up: bool) -> int:
    """An IntOrString as a count of ``total``."""
    if isinstance(value, int):
        return value
    if not value.endswith("%") or not value[:-1].isdecimal():
        raise BadObject(f"{value!r}: expected a number or a percentage")
    scaled = int(value[:-1]) * total
    return -(-scaled // 100) if round_up else scaled // 100


def tolerates(toleration: Obj, taint: Obj) -> bool:
    """Whether the toleration covers the taint, for whatever time."""
    if toleration.get("effect") not in (None, "", taint["effect"]):
        return False
    if toleration.get("operator", "Equal") == "Exists":
        return not toleration.get("key") or toleration["key"] == taint["key"]
    return toleration.get("key") == taint["key"] and (toleration.get("value") or "") == (taint.get("value") or "")


def template_hash(template: Obj) -> str:
    """A short name-safe hash of a pod template; equal templates give equal hashes whatever the order of their keys."""
    digest = hashlib.sha256(orjson.dumps(template, option=orjson.OPT_SORT_KEYS)).digest()
    return "".join(SAFE_ALPHABET[byte % len(SAFE_ALPHABET)] for byte in digest[:10])


def pod_from(template: Obj, namespace: str, owner: Obj, *, labels: Mapping[str, str] | None = None) -> Obj:
    """A pod of a workload's template, with its owner's reference; the caller names it."""
    meta = template.get("metadata") or {}
    made: Obj = {"namespace": namespace, "labels": {**(meta.get("labels") or {}), **(labels or {})}}
    if meta.get("annotations"):
        made["annotations"] = dict(meta["annotations"])
    if meta.get("finalizers"):
        made["finalizers"] = list(meta["finalizers"])
    made["ownerReferences"] = [owner]
    return {"apiVersion": "v1", "kind": "Pod", "metadata": made, "spec": template.get("spec") or {}}


def with_owners(obj: Obj, references: Sequence[Obj]) -> Obj:
    """A copy of the object with these owner references and no others."""
    meta = {key: value for key, value in obj["metadata"].items() if key != "ownerReferences"}
    if references:
        meta["ownerReferences"] = list(references)
    return {**obj, "metadata": meta}


def without_finalizer(obj: Obj, finalizer: str) -> Obj:
    """A copy of the object with one finalizer less."""
    meta = {key: value for key, value in obj["metadata"].items() if key != "finalizers"}
    if kept := [each for each in obj["metadata"].get("finalizers") or () if each != finalizer]:
        meta["finalizers"] = kept
    return {**obj, "metadata": meta}


def by_age(objects: Iterable[Obj]) -> list[Obj]:
    """Oldest first, then by name."""
    return sorted(objects, key=lambda obj: (obj["metadata"].get("creationTimestamp", ""), obj["metadata"]["name"]))


def replicas_of(obj: Obj, default: int = 1) -> int:
    value: Any = obj.get("spec", {}).get("replicas")
    return default if value is None else int(value)


def with_condition(conditions: Sequence[Obj] | None, new: Obj, now: datetime) -> list[Obj]:
    """The conditions with a new one, which replaces the old one of its type.

    Its transition time changes only when its status does.
    """
    kept = list(conditions or ())
    for index, old in enumerate(kept):
        if old.get("type") == new["type"]:
            moved = old.get("status") != new["status"]
            since = format_time(now) if moved else old.get("lastTransitionTime", format_time(now))
            kept[index] = {**new, "lastTransitionTime": since}
            return kept
    return [*kept, {**new, "lastTransitionTime": format_time(now)}]
