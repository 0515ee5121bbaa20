"""PATCH requests: by their content type, makes a function that changes an object, and writes the result."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from vsched.apimachinery.meta.api_errors import (
    Failure,
    FieldCause,
    bad_request,
    invalid_options,
    unsupported_media_type,
)
from vsched.apimachinery.meta.kinds import Kind, Obj
from vsched.apimachinery.objects import request_bodies
from vsched.sim.apply import patches
from vsched.sim.requests.request import ApiRequest, media_type, read_patch
from vsched.sim.store.managed_fields import with_entries
from vsched.sim.store.store import StoredObject
from vsched.sim.writer import ObjectWriter, WriteOutcome

JSON_PATCH = "application/json-patch+json"
MERGE_PATCH = "application/merge-patch+json"
STRATEGIC_PATCH = "application/strategic-merge-patch+json"
APPLY_PATCH = "application/apply-patch+yaml"
_BUILTIN = (JSON_PATCH, MERGE_PATCH, STRATEGIC_PATCH, APPLY_PATCH)
_CUSTOM = (JSON_PATCH, MERGE_PATCH, APPLY_PATCH)


def patch(
    writer: ObjectWriter, kind: Kind, namespace: str, name: str, call: ApiRequest, subresource: str = ""
) -> WriteOutcome:
    """Applies the patch of a request to an object or a part of it."""
    media = checked_media(kind, call)
    body = read_patch(call)
    options = call.write_options()
    if media == APPLY_PATCH:
        return _apply(writer, kind, namespace, name, body, call, subresource)
    call.refuse_force()
    if media == STRATEGIC_PATCH:
        options.patch = body
    change = change_of(kind, media, body)
    if media == JSON_PATCH and b"/metadata/managedFields" in call.body:
        record = writer.record(kind, namespace, name)
        return WriteOutcome(
            writer.change(
                kind, namespace, name, lambda obj: change(_with_managed_fields(kind, obj, record)), options, subresource
            )
        )
    return WriteOutcome(writer.change(kind, namespace, name, change, options, subresource))


def checked_media(kind: Kind, call: ApiRequest) -> str:
    media = media_type(call.content_type)
    accepted = _CUSTOM if kind.custom else _BUILTIN
    if media not in accepted:
        raise unsupported_media_type(accepted)
    return media


def change_of(kind: Kind, media: str, body: Any) -> Callable[[Obj], Obj]:
    """The function of a patch other than apply."""
    if media == JSON_PATCH:
        return lambda obj: patches.json_patch(obj, body)
    if media == MERGE_PATCH:
        return lambda obj: patches.merge_patch(obj, body)
    return lambda obj: _retyped(patches.strategic_merge(kind, obj, body), obj)


def _retyped(patched: Obj, obj: Obj) -> Obj:
    """A strategic merge patch cannot change kind and apiVersion."""
    types = {"kind": obj["kind"], "apiVersion": obj["apiVersion"]}
    return patched if types.items() <= patched.items() else {**patched, **types}


def _apply(
    writer: ObjectWriter, kind: Kind, namespace: str, name: str, body: Any, call: ApiRequest, subresource: str
) -> WriteOutcome:
    """Server-side apply, which creates missing objects."""
    manager = call.query.get("fieldManager", "")
    if not manager:
        raise _missing_manager()
    if not isinstance(body, dict) or not body.get("kind"):
        raise bad_request("Object 'Kind' is missing in the applied configuration")
    body, _ = request_bodies.with_metadata(kind, body)
    options = call.write_options()
    options.has_managed_fields = True
    record = writer.record(kind, namespace, name, required=bool(subresource))
    applied = {**body, "metadata": {"name": name, **(body.get("metadata") or {})}}
    if kind.namespaced:
        applied["metadata"]["namespace"] = namespace

    def change(obj: Obj | None) -> Obj:
        obj = obj and _with_managed_fields(kind, obj, record)
        return patches.apply(kind, obj, applied, manager, options.force, subresource=subresource, now=writer.now())

    if record is None:
        return WriteOutcome(writer.create(kind, namespace, change(None), options), created=True)
    return WriteOutcome(writer.change(kind, namespace, name, change, options, subresource))


def _with_managed_fields(kind: Kind, obj: Obj, record: StoredObject | None) -> Obj:
    """The object with its managedFields, which are worked out unless it has them."""
    entries = [] if record is None or record.obj["metadata"].get("managedFields") else record.managed_fields(kind)
    return with_entries(obj, entries) if entries else obj


def _missing_manager() -> Failure:
    cause = FieldCause("FieldValueRequired", "Required value: is required for apply patch", "fieldManager")
    return invalid_options("PatchOptions", [cause])
