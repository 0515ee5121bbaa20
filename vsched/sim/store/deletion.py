"""How objects are deleted: preconditions, grace periods, finalizers and what happens to dependents.

``delete`` marks an object as deleted or removes it. Controllers do the rest: kubelets end the grace period of pods, the
garbage collector removes the finalizers that are set here, the namespace controller empties namespaces.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from vsched.apimachinery.meta.api_errors import Failure, FieldCause, forbidden, invalid_options, object_details, success
from vsched.apimachinery.meta.field_errors import invalid_value, not_supported
from vsched.apimachinery.meta.kinds import Kind, Obj
from vsched.apimachinery.meta.times import format_time, parse_time
from vsched.sim.store.store import Store, StoredObject

ORPHAN = "orphan"
FOREGROUND = "foregroundDeletion"
_PROPAGATION = ("Foreground", "Background", "Orphan")
_ORPHANS_BY_DEFAULT = frozenset({"batch/jobs", "/replicationcontrollers"})
_PROTECTED_NAMESPACES = frozenset({"default", "kube-system", "kube-public"})
_FINISHED = frozenset({"Succeeded", "Failed"})


@dataclass(frozen=True, slots=True)
class DeleteOptions:
    """The options of a deletion."""

    grace_seconds: int | None = None
    uid: str = ""
    resource_version: str = ""
    propagation: str = ""
    orphan_dependents: bool | None = None
    dry_run: bool = False

    @classmethod
    def of(cls, body: Obj) -> DeleteOptions:
        """The options as clients send them."""
        preconditions = body.get("preconditions") or {}
        return cls(
            grace_seconds=body.get("gracePeriodSeconds"),
            uid=preconditions.get("uid") or "",
            resource_version=preconditions.get("resourceVersion") or "",
            propagation=body.get("propagationPolicy") or "",
            orphan_dependents=body.get("orphanDependents"),
            dry_run=bool(body.get("dryRun")),
        )


@dataclass(frozen=True, slots=True)
class Deleted:
    """The object as the deletion left it, and whether it is gone."""

    obj: Obj
    gone: bool


def check_options(options: DeleteOptions, causes: Sequence[FieldCause] = ()) -> None:
    """Raises a Failure for options that contradict each other; ``causes`` are errors that were found before."""
    found: list[FieldCause] = []
    if options.propagation and options.orphan_dependents is not None:
        why = "orphanDependents and deletionPropagation cannot be both set"
        found.append(invalid_value("propagationPolicy", options.propagation, why))
    if options.propagation and options.propagation not in _PROPAGATION:
        found.append(not_supported("propagationPolicy", options.propagation, (*_PROPAGATION, "nil")))
    found.extend(causes)
    if found:
        raise invalid_options("DeleteOptions", found)


def delete(store: Store, kind: Kind, record: StoredObject, options: DeleteOptions, now: datetime) -> Deleted:
    """Deletes one object, or only marks it while its grace period runs or it has finalizers."""
    obj = record.obj
    check_preconditions(kind, obj, options)
    if kind.storage == "/namespaces":
        return _delete_namespace(store, kind, record, options, now)
    marked = _marked(kind, obj, options, now)
    keeps = bool(marked["metadata"].get("finalizers"))
    graceful = kind.storage == "/pods"
    remaining = marked["metadata"].get("deletionGracePeriodSeconds", 0)
    gone = not keeps and not (graceful and remaining)
    if options.dry_run:
        return Deleted(marked, gone)
    if not gone or graceful:
        marked = store.replace(kind, marked, record)
    if gone:
        metadata = obj["metadata"]
        removed = store.remove(kind, metadata.get("namespace", ""), metadata["name"])
        return Deleted(marked if graceful else removed, gone=True)
    return Deleted(marked, gone=False)


ORPHAN_WARNING = (
    "child pods are preserved by default when jobs are deleted; set propagationPolicy=Background to remove them or set"
    " propagationPolicy=Orphan to suppress this warning"
)


def warns_of_orphans(kind: Kind, options: DeleteOptions) -> bool:
    """Whether the deletion of a Job leaves its pods behind because the client chose no propagation policy."""
    return kind.storage == "batch/jobs" and not options.propagation and options.orphan_dependents is None


def answer(kind: Kind, deleted: Deleted, options: DeleteOptions) -> tuple[int, Obj]:
    """The HTTP code and body of a deletion."""
    metadata = deleted.obj["metadata"]
    if not deleted.gone:
        return (202 if options.orphan_dependents is False else 200), deleted.obj
    if kind.returns_deleted:
        return 200, deleted.obj
    return 200, success(details=object_details(kind, metadata["name"], uid=metadata.get("uid", "")))


def check_preconditions(kind: Kind, obj: Obj, options: DeleteOptions) -> None:
    metadata = obj["metadata"]
    if options.uid and options.uid != metadata.get("uid"):
        raise _precondition(
            kind,
            metadata["name"],
            f"the UID in the precondition ({options.uid}) does not match the UID in record ({metadata.get('uid')})."
            " The object might have been deleted and then recreated",
        )
    version = options.resource_version
    if version and version != metadata.get("resourceVersion"):
        raise _precondition(
            kind,
            metadata["name"],
            f"the ResourceVersion in the precondition ({version}) does not match the ResourceVersion in record"
            f" ({metadata.get('resourceVersion')}). The object might have been modified",
        )


def _precondition(kind: Kind, name: str, why: str) -> Failure:
    """The server's message has the kind here, and the resource in other conflicts."""
    details = object_details(kind, name)
    details["kind"] = kind.kind
    shown = kind.qualified_kind
    return Failure(409, "Conflict", f'Operation cannot be fulfilled on {shown} "{name}": {why}', details=details)


def is_finished_deleting(obj: Obj) -> bool:
    """Whether an object is marked as deleted, without grace period and finalizers: an update then removes it."""
    metadata = obj["metadata"]
    return bool(
        metadata.get("deletionTimestamp")
        and not metadata.get("finalizers")
        and not metadata.get("deletionGracePeriodSeconds")
        and not (obj["kind"] == "Namespace" and obj.get("spec", {}).get("finalizers"))
    )


def _marked(kind: Kind, obj: Obj, options: DeleteOptions, now: datetime) -> Obj:
    """The object with the deletion timestamp, grace period and finalizers of this deletion."""
    metadata = dict(obj["metadata"])
    finalizers = _finalizers(kind, metadata.get("finalizers") or [], options)
    if finalizers:
        metadata["finalizers"] = finalizers
    else:
        metadata.pop("finalizers", None)
    if metadata.get("deletionTimestamp"):
        _shorten(metadata, options, now)
    else:
        seconds = _grace_of_pod(obj, options) if kind.storage == "/pods" else 0
        metadata["deletionTimestamp"] = format_time(now + timedelta(seconds=seconds))
        metadata["deletionGracePeriodSeconds"] = seconds
        if metadata.get("generation"):
            metadata["generation"] += 1
    return {**obj, "metadata": metadata}


def _shorten(metadata: Obj, options: DeleteOptions, now: datetime) -> None:
    """A repeated deletion can shorten the grace period, not extend it."""
    current = metadata.get("deletionGracePeriodSeconds") or 0
    asked = options.grace_seconds
    if not current or asked is None:
        return
    seconds = 1 if asked < 0 else asked
    if seconds >= current:
        return
    end = parse_time(metadata["deletionTimestamp"]) - timedelta(seconds=current - seconds)
    if seconds and end < now:
        seconds, end = 1, now + timedelta(seconds=1)
    metadata["deletionTimestamp"] = format_time(end)
    metadata["deletionGracePeriodSeconds"] = seconds


def _grace_of_pod(pod: Obj, options: DeleteOptions) -> int:
    if not pod["spec"].get("nodeName") or pod.get("status", {}).get("phase") in _FINISHED:
        return 0
    asked = options.grace_seconds
    seconds = int(pod["spec"].get("terminationGracePeriodSeconds", 30) if asked is None else asked)
    return 1 if seconds < 0 else seconds


def _finalizers(kind: Kind, current: list[str], options: DeleteOptions) -> list[str]:
    """The finalizers, with the garbage collector's own for the wanted propagation policy."""
    rest = [name for name in current if name not in (ORPHAN, FOREGROUND)]
    if _orphans(kind, current, options):
        return [*rest, ORPHAN]
    if options.propagation == "Foreground" or (not options.propagation and FOREGROUND in current):
        return [*rest, FOREGROUND]
    return rest


def _orphans(kind: Kind, current: list[str], options: DeleteOptions) -> bool:
    if options.orphan_dependents is not None:
        return options.orphan_dependents
    if options.propagation:
        return options.propagation == "Orphan"
    if ORPHAN in current:
        return True
    return FOREGROUND not in current and kind.storage in _ORPHANS_BY_DEFAULT


def _delete_namespace(store: Store, kind: Kind, record: StoredObject, options: DeleteOptions, now: datetime) -> Deleted:
    obj = record.obj
    name = obj["metadata"]["name"]
    if name in _PROTECTED_NAMESPACES:
        raise forbidden(kind, name, "this namespace may not be deleted")
    if obj["metadata"].get("deletionTimestamp"):
        if not is_finished_deleting(obj):
            return Deleted(obj, gone=False)
        return Deleted(obj if options.dry_run else store.remove(kind, "", name), gone=True)
    metadata = {**obj["metadata"], "deletionTimestamp": format_time(now)}
    marked = {**obj, "metadata": metadata, "status": {**obj.get("status", {}), "phase": "Terminating"}}
    if options.dry_run:
        return Deleted(marked, gone=False)
    return Deleted(store.replace(kind, marked, record), gone=False)
