"""Writes of objects as webhooks are told of them."""

from __future__ import annotations

from vsched.apimachinery.meta import conversion
from vsched.apimachinery.meta.kinds import Kind, Obj
from vsched.sim.store.deletion import DeleteOptions
from vsched.sim.store.store import StoredObject
from vsched.sim.webhooks.validating import ReviewedWrite


def change_of(
    operation: str, kind: Kind, name: str, obj: Obj, old: Obj | None, options: Obj, part: str, dry_run: bool
) -> ReviewedWrite:
    """A creation or an update; ``part`` is its subresource, empty for none."""
    namespace = obj["metadata"].get("namespace", "")
    return ReviewedWrite(operation, kind, namespace, name, obj, old, options, part, dry_run)


def deletion_of(kind: Kind, record: StoredObject, options: DeleteOptions) -> ReviewedWrite:
    """A deletion."""
    old = conversion.to_served(kind, record.obj)
    metadata = old["metadata"]
    given: Obj = {"propagationPolicy": options.propagation, "gracePeriodSeconds": options.grace_seconds}
    given = {field: value for field, value in given.items() if value not in ("", None)}
    given = {"kind": "DeleteOptions", "apiVersion": "meta.k8s.io/v1", **given}
    namespace, name = metadata.get("namespace", ""), metadata["name"]
    return ReviewedWrite("DELETE", kind, namespace, name, None, old, given, dry_run=options.dry_run)
