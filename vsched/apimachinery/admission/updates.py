"""Updates: the object to store, from the object that was sent and the stored one. Pure.

An update of the object does not change its status, and one of a subresource changes nothing else. Clients cannot change
the identity, the creation time and the deletion marks.
"""

from __future__ import annotations

from vsched.apimachinery.admission.pod import with_default_tolerations
from vsched.apimachinery.meta.kinds import Kind, Obj

_KEPT = ("name", "namespace", "creationTimestamp", "generation", "selfLink")
"""Fields that clients cannot change."""
_FIXED = ("uid", "deletionGracePeriodSeconds")
"""Fields that clients may leave out; validation rejects other values."""
_ADMITTED = ("priority", "preemptionPolicy")
_STATUS_ALONE = frozenset({"resource.k8s.io/resourceclaims"})
"""Built-in resources whose status is written without labels, annotations and finalizers."""
_NOT_WANTED = frozenset({"metadata", "status", "kind", "apiVersion"})


def merge_update(kind: Kind, new: Obj, old: Obj, subresource: str) -> Obj:
    """The object to store when ``new`` is sent to the object or a subresource of it."""
    if subresource == "status":
        return _status(kind, new, old)
    if not subresource:
        obj = {**new, "metadata": _metadata(new, old)}
        if kind.has_status:
            _take(obj, "status", old)
        if kind.storage == "/pods":
            obj["spec"] = _admitted(obj.get("spec") or {}, old["spec"])
    else:
        obj = _part(new, old, subresource)
    return obj


def count_generation(kind: Kind, obj: Obj, old: Obj) -> Obj:
    """The object with the next generation if anything but metadata and status changed."""
    if not kind.counts_generation or _wants(kind, obj) == _wants(kind, old):
        return obj
    generation = old["metadata"].get("generation", 0) + 1
    return {**obj, "metadata": {**obj["metadata"], "generation": generation}}


def _status(kind: Kind, new: Obj, old: Obj) -> Obj:
    """The status of most built-in kinds is written with labels, annotations and finalizers; that of others alone."""
    obj = dict(old)
    _take(obj, "status", new)
    if not kind.custom and kind.storage not in _STATUS_ALONE:
        obj["metadata"] = _metadata(new, old)
        _take(obj["metadata"], "ownerReferences", old["metadata"])
    return obj


def _part(new: Obj, old: Obj, subresource: str) -> Obj:
    """finalize, ephemeralcontainers and resize change one part of the spec."""
    spec = dict(old.get("spec", {}))
    wanted = new.get("spec") or {}
    if subresource == "finalize":
        _take(spec, "finalizers", wanted)
    elif subresource == "ephemeralcontainers":
        _take(spec, "ephemeralContainers", wanted)
    elif subresource == "resize":
        for field in ("containers", "initContainers"):
            resources = {each.get("name"): each for each in wanted.get(field) or ()}
            if field in spec:
                spec[field] = [_resized(each, resources.get(each["name"])) for each in spec[field]]
    return {**old, "metadata": _metadata(new, old), "spec": spec}


def _admitted(spec: Obj, old: Obj) -> Obj:
    """The spec of a pod with what admission has set."""
    kept = {field: old[field] for field in _ADMITTED if field in old and spec.get(field) is None}
    tolerations = with_default_tolerations(spec.get("tolerations"))
    if tolerations is not spec.get("tolerations"):
        kept["tolerations"] = tolerations
    return {**spec, **kept} if kept else spec


def _resized(container: Obj, wanted: Obj | None) -> Obj:
    if wanted is None:
        return container
    resized = dict(container)
    for field in ("resources", "resizePolicy"):
        _take(resized, field, wanted)
    return resized


def _metadata(new: Obj, old: Obj) -> Obj:
    was = old["metadata"]
    metadata = dict(new["metadata"])
    for field in _KEPT:
        _take(metadata, field, was)
    for field in _FIXED:
        if not metadata.get(field):
            _take(metadata, field, was)
    if was.get("deletionTimestamp"):
        metadata["deletionTimestamp"] = was["deletionTimestamp"]
    metadata["resourceVersion"] = was["resourceVersion"]
    for field in ("labels", "annotations", "finalizers", "ownerReferences"):
        if field in metadata and not metadata[field]:
            del metadata[field]
    # Clients that do not know the field send an empty list; only a list with one empty entry resets it.
    if not metadata.get("managedFields"):
        _take(metadata, "managedFields", was)
    elif is_reset(new):
        del metadata["managedFields"]
    return metadata


def is_reset(body: Obj) -> bool:
    """Whether the body asks to forget who owns the fields."""
    return bool(body["metadata"].get("managedFields") == [{}])


def _take(target: Obj, field: str, source: Obj) -> None:
    if field in source:
        target[field] = source[field]
    else:
        target.pop(field, None)


def _wants(kind: Kind, obj: Obj) -> Obj:
    """The fields whose changes count as a generation; with the status for custom kinds without the subresource."""
    skipped = _NOT_WANTED - {"status"} if kind.custom and not kind.has_status else _NOT_WANTED
    return {field: value for field, value in obj.items() if field not in skipped}
