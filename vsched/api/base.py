"""What all structs of API objects share: their base class, ``metadata``, conditions, and their names in messages."""

from __future__ import annotations

import json
import re
from datetime import UTC, datetime
from typing import Annotated, Any, TypeVar

import msgspec

from vsched.api import words
from vsched.errors import UNREADABLE, BadObject, why_unreadable
from vsched.kube.paths import NAME_LIMIT, is_name

Part = TypeVar("Part")
Raw = msgspec.Raw
NO_BYTES = Raw()
Timestamp = Annotated[datetime, msgspec.Meta(tz=True)]
ResourceList = dict[str, str | int | float]
NAMES = f"1 to {NAME_LIMIT} letters, digits, '-', '.', '_', '~' and ':'"
_END_OF_TIME = datetime(9999, 12, 31, tzinfo=UTC).timestamp()
_STEPS = re.compile(r"([^.\[\]]+)|\[(\d+)\]")
"""The names and numbers of a path."""
_SHOWN = 60
"""The longest bad name or value in a message."""


class Wire(msgspec.Struct, rename="camel"):
    """Base of all structs here: camelCase on the wire."""


class OwnerReference(Wire):
    """Who owns an object."""

    uid: str = ""
    controller: bool | None = None
    kind: str = ""
    name: str = ""
    api_version: str = ""


class Metadata(Wire):
    """The part of ``metadata`` that matters to scheduling."""

    name: str = ""
    namespace: str = ""
    uid: str = ""
    resource_version: str = ""
    creation_timestamp: Timestamp | None = None
    deletion_timestamp: str | None = None
    labels: dict[str, str] | None = None
    annotations: dict[str, str] | None = None
    owner_references: list[OwnerReference] | None = None
    generation: int = 0


class ApiObject(Wire):
    """Base of all kinds of objects."""

    metadata: Metadata


class ObjectCondition(Wire):
    """A condition in the status of a pod or a PodGroup."""

    type: str = ""
    status: str = ""
    reason: str | None = None
    message: str | None = None
    last_transition_time: Raw = NO_BYTES


def part_of(raw: Raw, kind: type[Part]) -> Part | None:
    """A part of an object; None where it is absent or cannot be read as this type."""
    try:
        return msgspec.json.decode(raw, type=kind) if bytes(raw) else None
    except UNREADABLE:
        return None


def json_object(raw: Raw) -> dict[str, Any]:
    """A JSON object as data; empty where it is absent, or is none."""
    return part_of(raw, dict) or {}


def moment_of(raw: Raw) -> float:
    """A time as seconds since the epoch; 0 where it is absent or invalid."""
    try:
        return seconds_of(msgspec.json.decode(raw, type=Timestamp)) if bytes(raw) else 0.0
    except UNREADABLE:
        return 0.0


def seconds_of(stamp: datetime | None) -> float:
    """A time as seconds since the epoch; 0 where it is absent, before the epoch or after the year 9999."""
    seconds = 0.0 if stamp is None else stamp.timestamp()
    return seconds if 0.0 < seconds < _END_OF_TIME else 0.0


def uid_of(metadata: Metadata) -> str:
    """The identity of a pod; its name where the object has no uid."""
    return metadata.uid or f"{metadata.namespace or 'default'}/{metadata.name}"


def named(kind: str, metadata: Metadata) -> str:
    """``Kind namespace/name``, as every message begins."""
    name = metadata.name or "(no name)"
    return f"{kind} {metadata.namespace}/{name}" if metadata.namespace else f"{kind} {name}"


def complaint(kind: str, metadata: Metadata, error: Exception) -> str:
    """What is wrong with an object, as one line."""
    return str(error) if isinstance(error, BadObject) else f"{named(kind, metadata)}: {why_unreadable(error)}"


def check_names(kind: str, metadata: Metadata) -> None:
    """Raise BadObject where the name of an object cannot be part of a URL."""
    for field, text in (("name", metadata.name), ("namespace", metadata.namespace or "default")):
        if not is_name(text):
            whole = f"{metadata.namespace}/{metadata.name}" if metadata.namespace else metadata.name
            shown = ascii(whole if len(whole) <= _SHOWN else f"{whole[:_SHOWN]}...")
            raise BadObject(words.not_for_a_url(kind, shown, field, NAMES))


def located(error: Exception, at: str = "", data: bytes | msgspec.Raw = b"") -> str:
    """A decoder's error with the field first: ``spec.weight: must be an integer, is "three"``.

    ``data`` is the JSON that was decoded; a value that is long or none of the simple ones is told by its type.
    """
    text, _, path = why_unreadable(error).partition(" - at `")
    text = text.replace("`", "")
    path = path.rstrip("`").removeprefix("$").removeprefix(".")
    must, told, _ = text.rpartition(", is ")
    if told and (value := _value(data, path)):
        text = f"{must}, is {value}"
    field = f"{at}.{path}" if at and path and not path.startswith("[") else at + path
    return f"{field}: {text[:1].lower()}{text[1:]}" if field else f"{text[:1].lower()}{text[1:]}"


def _value(data: bytes | msgspec.Raw, path: str) -> str:
    """The string, number or truth value at ``spec.tasks[0].replicas`` as JSON; empty for others, and for long ones."""
    try:
        found = msgspec.json.decode(data)
        for name, number in _STEPS.findall(path):
            found = found[int(number)] if number else found[name]
    except (*UNREADABLE, LookupError, TypeError):
        return ""
    shown = json.dumps(found) if isinstance(found, str | int | float) else ""
    return shown if len(shown) <= _SHOWN else ""
