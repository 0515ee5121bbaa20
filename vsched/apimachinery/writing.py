"""The steps of a write that depend on the object alone, in the order in which an API server takes them.

What writes objects puts admission, webhooks, quotas and the store in between.
"""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence

from vsched.apimachinery.meta.api_errors import Failure, FieldCause, bad_request, invalid
from vsched.apimachinery.meta.kinds import Kind, Obj
from vsched.apimachinery.meta.times import Clock, format_time
from vsched.apimachinery.objects import crds, defaults
from vsched.apimachinery.validation import objects as validation

_NAME_ALPHABET = "bcdfghjklmnpqrstvwxz2456789"
_NAME_SUFFIX_CHARS = 5
_NAME_BASE_CHARS = 63 - _NAME_SUFFIX_CHARS
_UID_KEPT = ~(0xF000 << 64 | 0xC000 << 48)
_UID_SET = 0x4000 << 64 | 0x8000 << 48
"""The bits of a uid that say that it is random (RFC 9562, version 4)."""
_SERVER_FIELDS = (
    "uid",
    "creationTimestamp",
    "deletionTimestamp",
    "deletionGracePeriodSeconds",
    "generation",
    "selfLink",
    "resourceVersion",
)


class Identities:
    """Gives new objects what tells them apart: names where they have none, uids and times of creation."""

    def __init__(self, now: Clock, seed: int | None = None) -> None:
        self._now = now
        self._random = random.Random(seed)

    def named(self, kind: Kind, namespace: str, obj: Obj, identity: Mapping[str, str] | None = None) -> Obj:
        """A new object with its name, namespace, uid, creation time and generation; ``identity`` if it has one."""
        given = obj.get("metadata") or {}
        metadata = {key: value for key, value in given.items() if key not in _SERVER_FIELDS}
        if kind.namespaced:
            if metadata.get("namespace", namespace) != namespace:
                raise bad_request(
                    "the namespace of the provided object does not match the namespace sent on the request"
                )
            metadata["namespace"] = namespace
        else:
            metadata.pop("namespace", None)
        if identity:
            metadata |= identity
        else:
            if not metadata.get("name"):
                metadata["name"] = self._generated_name(kind, metadata)
            metadata["uid"] = self._new_uid()
            metadata["creationTimestamp"] = format_time(self._now())
        if kind.counts_generation:
            metadata["generation"] = 1
        return {**obj, "metadata": metadata}

    def _new_uid(self) -> str:
        """A random uid, as ``str(uuid4())``, which costs twice as much."""
        bits = self._random.getrandbits(128) & _UID_KEPT | _UID_SET
        digits = f"{bits:032x}"
        return f"{digits[:8]}-{digits[8:12]}-{digits[12:16]}-{digits[16:20]}-{digits[20:]}"

    def _generated_name(self, kind: Kind, metadata: Obj) -> str:
        base: str = metadata.get("generateName") or ""
        if not base:
            cause = FieldCause(
                "FieldValueRequired", "Required value: name or generateName is required", "metadata.name"
            )
            raise invalid(kind, "", [cause])
        return base[:_NAME_BASE_CHARS] + "".join(self._random.choices(_NAME_ALPHABET, k=_NAME_SUFFIX_CHARS))


def prepared_new(kind: Kind, obj: Obj) -> Obj:
    """A new object with its defaults, and without the status that only the server writes."""
    if crds.is_definition(kind):
        obj = crds.prepare_definition(obj)
    if not kind.custom:
        return defaults.default_on_create(kind, obj)
    if kind.has_status and "status" in obj:
        return {field: value for field, value in obj.items() if field != "status"}
    return obj


def prepared_update(kind: Kind, obj: Obj, old: Obj) -> Obj:
    """An object that replaces ``old``, with its defaults."""
    if crds.is_definition(kind):
        obj = crds.prepare_definition(obj, old)
    return obj if kind.custom else defaults.default_on_update(kind, obj, old)


def check_new(kind: Kind, obj: Obj) -> None:
    """Raise Failure unless a new object is valid."""
    causes = validation.validate_create(kind, obj)
    _refuse(kind, obj, [*causes, *(crds.validate(kind, obj) if kind.custom else _of_definition(kind, obj))])


def check_unversioned(given: Obj) -> None:
    """Raise Failure where the metadata of a new object, as they were sent, have a version already."""
    version = given.get("resourceVersion") or ""
    if version.isdecimal() and int(version):
        raise Failure(500, "", "resourceVersion should not be set on objects to be created")


def check_update(kind: Kind, obj: Obj, old: Obj, subresource: str) -> None:
    """Raise Failure unless an object may replace ``old``."""
    causes = validation.validate_update(kind, obj, old, subresource)
    _refuse(kind, obj, [*causes, *(crds.validate(kind, obj, old) if kind.custom else _of_definition(kind, obj))])


def _of_definition(kind: Kind, obj: Obj) -> Sequence[FieldCause]:
    return crds.definition_causes(obj) if crds.is_definition(kind) else ()


def _refuse(kind: Kind, obj: Obj, causes: Sequence[FieldCause]) -> None:
    if causes:
        raise invalid(kind, obj["metadata"].get("name", ""), list(causes))
