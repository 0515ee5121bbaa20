"""The requests about Consumers, Allocations and Buckets for the API server: paths, objects and patches. Pure.

What an object is to say replaces what it says: a JSON patch sets ``spec`` or ``status`` as a whole, so that a resource
that is no longer named is gone. It names the version it was decided on, and is refused over any other.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from typing import Any

import orjson

from vsched.api.resources import RESOURCES
from vsched.arbitrator.effects import DropAllocation, MakeConsumer, WriteAllocation
from vsched.kube.client import JSON_PATCH
from vsched.model.arbitration.records import ARBITRATOR_VERSION, DEFAULT_CONSUMER, ArbitrationCondition
from vsched.writes.bodies import ObjectReference
from vsched.writes.writer import Write

CONSUMER, ALLOCATION, BUCKET = "Consumer", "Allocation", "Bucket"
MANAGED_BY = "app.kubernetes.io/managed-by"
"""Label of the objects created here."""


def about(kind: str, namespace: str, name: str, uid: str) -> ObjectReference:
    """The object reference for Events about one of these objects."""
    return ObjectReference(ARBITRATOR_VERSION, kind, namespace, name, uid)


def consumer_create(effect: MakeConsumer) -> Write:
    """Create a Consumer without limits and reservations."""
    return _create(CONSUMER, effect.namespace, DEFAULT_CONSUMER, {"spec": {"hard": {}, "reserved": {}}})


def allocation_create(effect: WriteAllocation) -> Write:
    """Create an Allocation that its Consumer owns; its status is a separate write."""
    owner, uid = effect.owner
    reference = {"apiVersion": ARBITRATOR_VERSION, "kind": CONSUMER, "name": owner, "uid": uid, "controller": True}
    owners = [reference] if uid else []
    return _create(ALLOCATION, effect.namespace, effect.name, {"spec": _plain(effect.spec)}, owners)


def allocation_delete(effect: DropAllocation) -> Write:
    """Delete this Allocation, but no newer one of the same name."""
    body = {"apiVersion": "v1", "kind": "DeleteOptions", "preconditions": {"uid": effect.uid}}
    return Write(_word(ALLOCATION), "DELETE", _path(ALLOCATION, effect.namespace, effect.name), orjson.dumps(body))


def spec_write(kind: str, namespace: str, name: str, version: str, spec: Mapping[str, Any]) -> Write:
    """Set the spec of an object, only over this version."""
    return Write(_word(kind), "PATCH", _path(kind, namespace, name), _set("spec", version, spec), JSON_PATCH)


def status_write(kind: str, namespace: str, name: str, version: str, status: Mapping[str, Any]) -> Write:
    """Set the status of an object, only over this version; conditions are given as ``ArbitrationCondition``."""
    path = _path(kind, namespace, name, "status")
    return Write(_word(kind), "PATCH", path, _set("status", version, status), JSON_PATCH)


def rfc3339(seconds: float) -> str:
    """Seconds since the epoch in the format of the API, with milliseconds, because grace periods need them."""
    text = datetime.fromtimestamp(round(seconds, 3), UTC).isoformat(timespec="milliseconds")
    return text.replace(".000", "").replace("+00:00", "Z")


def _create(
    kind: str, namespace: str, name: str, content: Mapping[str, Any], owners: Iterable[Mapping[str, Any]] = ()
) -> Write:
    metadata = {"namespace": namespace, "name": name, "labels": {MANAGED_BY: "vsched"}, "ownerReferences": list(owners)}
    body = {"apiVersion": ARBITRATOR_VERSION, "kind": kind, "metadata": metadata, **content}
    return Write(_word(kind), "POST", _path(kind, namespace), orjson.dumps(body))


def _set(field: str, version: str, content: Mapping[str, Any]) -> bytes:
    """A patch that replaces one field; refused (409) if the object has another version than this."""
    over = [{"op": "replace", "path": "/metadata/resourceVersion", "value": version}] if version else []
    return orjson.dumps([*over, {"op": "add", "path": f"/{field}", "value": _plain(content)}])


def _path(kind: str, namespace: str, name: str = "", subresource: str = "") -> str:
    return RESOURCES[kind].path(namespace, name, subresource)


def _word(kind: str) -> str:
    """The name of the kind in the metrics of writes."""
    return kind.lower()


def _plain(value: Any) -> Any:
    """Content as JSON has it; conditions that have no generation of their own are about that of the status."""
    if isinstance(value, Mapping):
        plain = {key: _plain(each) for key, each in value.items()}
        if "observedGeneration" in plain:
            for condition in plain.get("conditions") or ():
                condition.setdefault("observedGeneration", plain["observedGeneration"])
        return plain
    if isinstance(value, ArbitrationCondition):
        return {
            "type": value.kind,
            "status": value.status,
            "reason": value.reason,
            "message": value.message,
            "lastTransitionTime": rfc3339(value.since),
        }
    return [_plain(each) for each in value] if isinstance(value, list | tuple) else value
