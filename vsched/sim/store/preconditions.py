"""Checks before the body of a write is looked at: its name and namespace, resourceVersion and uid."""

from __future__ import annotations

from vsched.apimachinery.meta.api_errors import (
    Failure,
    FieldCause,
    bad_request,
    conflict,
    invalid_named,
    storage_conflict,
)
from vsched.apimachinery.meta.kinds import Kind, Obj


def check_target(kind: Kind, namespace: str, name: str, obj: Obj) -> None:
    """The name and namespace of a body must be those of the URL."""
    metadata = obj.get("metadata") or {}
    given = metadata.get("name", "")
    if given != name:
        raise bad_request(
            f"the name of the object ({given}) does not match the name on the URL ({name})"
            if given
            else f"the name of the object ({name} based on URL) was undeterminable: name must be provided"
        )
    if kind.namespaced and metadata.get("namespace", namespace) != namespace:
        raise bad_request("the namespace of the provided object does not match the namespace sent on the request")


def check_version(kind: Kind, name: str, obj: Obj, old: Obj) -> None:
    """The resourceVersion of a body, if it has one, must be that of the stored object."""
    version = obj["metadata"].get("resourceVersion") or ""
    if version in ("", "0"):
        if not kind.unconditional_update:
            must = FieldCause(
                "FieldValueInvalid",
                f"Invalid value: {version or '0'}: must be specified for an update",
                "metadata.resourceVersion",
            )
            raise invalid_named(kind.resource, kind.group, kind.plural, name, [must])
        return
    if not version.isdecimal():
        raise Failure(500, "", f'strconv.ParseUint: parsing "{version}": invalid syntax')
    if version != old["metadata"]["resourceVersion"]:
        raise conflict(kind, name)


def check_uid(kind: Kind, namespace: str, name: str, obj: Obj, current: str) -> None:
    """The uid of a body, if it has one, must be that of the stored object; ``current`` is empty if there is none."""
    given = obj["metadata"].get("uid")
    if given and given != current:
        why = f"Precondition failed: UID in precondition: {given}, UID in object meta: {current}"
        raise storage_conflict(kind, namespace, name, why)
