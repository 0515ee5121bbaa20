"""What admission adds to a new object or refuses it for, beyond what its own fields say.

Namespaces that are missing or going, priority classes, tolerations, the taint of new nodes, limits and quotas.
Reads other objects through ``Lookup``; writes nothing: quotas that a creation is charged to are handed back.
"""

from __future__ import annotations

from vsched.sim.admission.pod import admit_pod, apply_limit_ranges, topology_labels
from vsched.sim.admission.quota import charge
from vsched.sim.store.kinds import Kind, Obj
from vsched.sim.store.status import Cause, bad_request, forbidden, not_found
from vsched.sim.store.store import Store

__all__ = ["Lookup", "admit_create", "charge_quotas", "check_open", "topology_labels"]


NOT_READY = {"key": "node.kubernetes.io/not-ready", "effect": "NoSchedule"}
_DEFAULT_STORAGE_CLASS = "storageclass.kubernetes.io/is-default-class"


class Lookup:
    """A read-only view of what is stored."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def get(self, resource: str, namespace: str, name: str) -> Obj | None:
        """An object of a resource named ``pods`` or ``group/plural``."""
        record = self._store.get(self.kind(resource), namespace, name)
        return None if record is None else record.obj

    def list(self, resource: str, namespace: str = "") -> list[Obj]:
        return [record.obj for record in self._store.items(self.kind(resource), namespace)]

    def kind(self, resource: str) -> Kind:
        return self._store.registry.resource(resource)


def admit_create(kind: Kind, obj: Obj, lookup: Lookup, *, name: str = "") -> Obj:
    """The new object with what admission adds; raises Failure where it is refused.

    Refusals call the object by ``name`` where that is not its own: the server generates names only afterwards.
    """
    name = name or obj["metadata"].get("name", "")
    if kind.namespaced:
        _check_namespace(kind, obj["metadata"]["namespace"], name, lookup)
    if kind.custom:
        return obj
    if kind.storage == "/pods":
        namespace = obj["metadata"]["namespace"]
        ranges = lookup.list("limitranges", namespace)
        if ranges:
            obj = apply_limit_ranges(kind, obj, ranges, name)
        return admit_pod(kind, obj, lookup, name)
    if kind.storage == "/nodes":
        return _tainted(obj)
    if kind.storage == "/persistentvolumeclaims":
        return _with_storage_class(obj, lookup)
    return obj


def charge_quotas(kind: Kind, obj: Obj, lookup: Lookup) -> list[Obj]:
    """The quotas of the namespace with this object charged to them, to be stored; raises Failure if one is exceeded.

    Comes after validation and before the object is stored, which is why a name that turns out taken stays charged.
    """
    if not kind.namespaced or kind.storage in _FREE:
        return []
    quotas = lookup.list("resourcequotas", obj["metadata"]["namespace"])
    return charge(kind, obj, quotas) if quotas else []


_FREE = frozenset({"/events", "/bindings", "authorization.k8s.io/localsubjectaccessreviews"})
"""What no quota counts."""


def check_open(kind: Kind, namespace: str, metadata: Obj, lookup: Lookup, *, name: str) -> None:
    """Refuses what is created at an object that is there, such as a binding, in another or a closing namespace."""
    if metadata.get("namespace", namespace) != namespace:
        raise bad_request("the namespace of the provided object does not match the namespace sent on the request")
    _check_namespace(kind, namespace, name, lookup)


def _check_namespace(kind: Kind, namespace: str, name: str, lookup: Lookup) -> None:
    found = lookup.get("namespaces", "", namespace)
    if found is None:
        raise not_found(lookup.kind("namespaces"), namespace)
    if "deletionTimestamp" in found["metadata"]:
        cause = Cause("NamespaceTerminating", f"namespace {namespace} is being terminated", "metadata.namespace")
        why = f"unable to create new content in namespace {namespace} because it is being terminated"
        raise forbidden(kind, name, why, [cause])


def _tainted(obj: Obj) -> Obj:
    """A new node takes no pods until somebody vouches for it."""
    spec = obj.get("spec", {})
    taints = spec.get("taints") or []
    if any(taint.get("key") == NOT_READY["key"] and taint.get("effect") == NOT_READY["effect"] for taint in taints):
        return obj
    return {**obj, "spec": {**spec, "taints": [*taints, NOT_READY]}}


def _with_storage_class(obj: Obj, lookup: Lookup) -> Obj:
    """A claim that names no class gets the default one, if there is one."""
    spec = obj.get("spec", {})
    if "storageClassName" in spec:
        return obj
    for storage_class in lookup.list("storage.k8s.io/storageclasses"):
        annotations = storage_class["metadata"].get("annotations") or {}
        if annotations.get(_DEFAULT_STORAGE_CLASS) == "true":
            return {**obj, "spec": {**spec, "storageClassName": storage_class["metadata"]["name"]}}
    return obj
