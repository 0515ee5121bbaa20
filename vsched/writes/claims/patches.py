"""Patches that name the version they change: the API server refuses them once anything else has changed the object."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import orjson

from vsched.kube.client import MERGE_PATCH, STRATEGIC_PATCH
from vsched.writes.claims import words
from vsched.writes.claims.objects import ObjectRead, kind_of
from vsched.writes.claims.steps import Send
from vsched.writes.writer import Write


def patch(
    found: ObjectRead, content: Mapping[str, Any], subresource: str = "", metadata: Mapping[str, Any] | None = None
) -> Send:
    """A merge patch of an object in the version in which it was read."""
    resource = kind_of(type(found))[1]
    about = found.metadata
    pinned = {"uid": about.uid, "resourceVersion": about.resource_version, **(metadata or {})}
    path = resource.path(about.namespace, about.name, subresource)
    return Send(Write(resource.plural, "PATCH", path, orjson.dumps({**content, "metadata": pinned}), MERGE_PATCH))


def opening(read: type[ObjectRead], key: str, uid: str, resource_version: str, metadata: Mapping[str, Any]) -> Send:
    """A patch of the metadata of an object that was not read: the mirror shows its version.

    Finalizers are added to those that there are.
    """
    resource = kind_of(read)[1]
    namespace, _, name = key.rpartition("/")
    body = orjson.dumps({"metadata": {"uid": uid, "resourceVersion": resource_version, **metadata}})
    return Send(Write(resource.plural, "PATCH", resource.path(namespace, name), body, STRATEGIC_PATCH))


def annotate(
    found: ObjectRead, annotations: Mapping[str, str | None], content: Mapping[str, Any] | None = None
) -> Send:
    """A patch that sets annotations, or removes those that are None."""
    return patch(found, content or {}, metadata={"annotations": dict(annotations)})


def delete(found: ObjectRead) -> Send:
    """Delete an object in the version in which it was read."""
    resource = kind_of(type(found))[1]
    about = found.metadata
    preconditions = {"uid": about.uid, "resourceVersion": about.resource_version}
    body = {"apiVersion": "v1", "kind": "DeleteOptions", "preconditions": preconditions}
    return Send(Write(resource.plural, "DELETE", resource.path(about.namespace, about.name), orjson.dumps(body)))


def trouble(found: ObjectRead | None, kind: str, key: str, uid: str) -> str:
    """Why an object cannot be used; empty where it can. An empty ``uid`` is not compared."""
    if found is None:
        return words.does_not_exist_any_more(kind, key)
    if uid and found.metadata.uid != uid:
        return words.deleted_and_made_again(kind, key)
    if found.metadata.deletion_timestamp:
        return words.is_being_deleted(kind, key)
    return ""
