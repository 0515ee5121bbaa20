"""Manifests from files or standard input, as typed wire objects: what ``vsched plan`` decides on.

Reads what ``kubectl get -o yaml|json`` prints and what people write: single and multi-document YAML, JSON, lists. A
missing namespace or uid, which the API server would fill in, is generated, always the same for the same object.
"""

from __future__ import annotations

import uuid
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from math import isfinite
from typing import Any, NamedTuple, TextIO

import msgspec
import yaml

from vsched import api, files
from vsched.api import words
from vsched.errors import BadInput, BadObject
from vsched.yamltext import KubernetesLoader, check_aliases, is_too_deep

STDIN = "-"
_NAMESPACE = uuid.UUID("8d5a1a0e-5a0c-5b4e-9d2f-6f7c0c1e7a11")
"""Generated uids are derived from this and the object's name."""
_MAXIMUM_DEPTH = 100
_SUFFIX_LETTERS, _SUFFIX_LENGTH, _MOST_OF_BASE = "bcdfghjklmnpqrstvwxz2456789", 5, 58
"""What the API server puts behind a generateName, and how much of that it keeps."""
NO_NAMES: Mapping[tuple[str, str], str] = {}


Name = tuple[str, str]
"""Namespace and name of an object."""


class Origin(NamedTuple):
    """The place of an object: file, and document or position in a list."""

    file: str
    place: str

    def __str__(self) -> str:
        return f"{self.file}:{self.place}"


class Manifests(NamedTuple):
    """Typed objects by kind, in the order they were read, and the others."""

    objects: dict[str, list[api.Object]]
    others: dict[str, list[dict[str, Any]]]
    """Objects of other kinds that the caller asked for, undecoded."""
    origins: dict[tuple[str, str, str], Origin]
    """Where each typed object was read, by kind, namespace and name."""
    ignored: dict[str, int]
    """Number of objects of each kind that is not read."""


def read(paths: Sequence[str], stdin: TextIO) -> Iterator[tuple[Origin, dict[str, Any]]]:
    """Every object in the files and in their lists; ``-`` is standard input. Raises BadInput with one line."""
    for path in paths:
        name = "stdin" if path == STDIN else path
        try:
            text = stdin.read() if path == STDIN else files.text(path)
        except OSError as error:
            raise BadInput(words.unreadable_file(name, error.strerror or error)) from None
        except UnicodeDecodeError as error:
            raise BadInput(words.not_utf8(name, error.start)) from None
        for position, document in enumerate(_documents(name, text), 1):
            yield from _objects(Origin(name, f"document {position}"), document)


def decode_manifests(
    objects: Iterable[tuple[Origin, dict[str, Any]]],
    wanted: frozenset[str] = frozenset(),
    workloads: Mapping[tuple[str, str], str] = NO_NAMES,
) -> Manifests:
    """Decode objects of mirrored kinds, keep those of ``wanted`` kinds as they are, and count the rest.

    ``workloads`` are kinds that are mirrored for the sake of a table of workload kinds: their names in the mirror, by
    API group and kind. Of two objects with the same name the later one counts, as if they were applied in this order.
    """
    typed: dict[str, dict[Name, api.Object]] = {kind: {} for kind in api.KINDS}
    others: dict[str, dict[Name, dict[str, Any]]] = {}
    origins: dict[tuple[str, str, str], Origin] = {}
    ignored: Counter[str] = Counter()
    for origin, manifest in objects:
        kind = api.kind_of(str(manifest.get("apiVersion") or ""), manifest["kind"])
        workload = workloads.get(group_and_kind(manifest), "")
        kept = bool(workload) or (kind in api.KINDS and _is_of_group(kind, manifest))
        kind = workload or kind
        if not kept and kind not in wanted:
            ignored[kind] += 1
            continue
        manifest = _completed(origin, kind, manifest, namespaced=bool(workload))
        name = (manifest["metadata"].get("namespace", ""), manifest["metadata"]["name"])
        if kept:
            typed.setdefault(kind, {})[name] = _decoded(origin, kind, manifest)
            origins[kind, *name] = origin
        else:
            others.setdefault(kind, {})[name] = manifest
    return Manifests(
        {kind: list(found.values()) for kind, found in typed.items()},
        {kind: list(found.values()) for kind, found in others.items()},
        origins,
        dict(sorted(ignored.items())),
    )


def with_names(objects: Iterable[tuple[Origin, dict[str, Any]]]) -> Iterator[tuple[Origin, dict[str, Any]]]:
    """The objects, with a name for each that has a ``generateName`` alone: the same for the same input."""
    for number, (origin, manifest) in enumerate(objects):
        metadata = manifest.get("metadata")
        base = metadata.get("generateName") if isinstance(metadata, dict) and not metadata.get("name") else None
        if isinstance(metadata, dict) and isinstance(base, str) and base:
            drawn = uuid.uuid5(_NAMESPACE, f"{manifest['kind']}/{base}/{number}").bytes
            suffix = "".join(_SUFFIX_LETTERS[byte % len(_SUFFIX_LETTERS)] for byte in drawn[:_SUFFIX_LENGTH])
            manifest = {**manifest, "metadata": {**metadata, "name": base[:_MOST_OF_BASE] + suffix}}
        yield origin, manifest


def made_up_uid(kind: str, namespace: str, name: str) -> str:
    """A uid for an object without one: always the same for the same name."""
    return str(uuid.uuid5(_NAMESPACE, f"{kind}/{namespace}/{name}"))


def _documents(name: str, text: str) -> Iterator[Any]:
    if text.lstrip()[:1] in ("{", "["):
        try:
            yield msgspec.json.decode(text)
            return
        except (msgspec.DecodeError, UnicodeError):
            pass  # Flow-style YAML and several JSON documents in a row start like this, too.
        except RecursionError:
            raise BadInput(words.nested_too_deeply(name)) from None
    if is_too_deep(text):
        raise BadInput(words.nested_too_deeply(name))
    try:
        check_aliases(text)
        yield from yaml.load_all(text, Loader=KubernetesLoader)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        where = f"{name}:{mark.line + 1}" if mark is not None else name
        raise BadInput(f"{where}: {error.problem or error.context} (expected YAML or JSON)") from None
    except yaml.YAMLError as error:
        raise BadInput(f"{name}: {' '.join(str(error).split())} (expected YAML or JSON)") from None
    except RecursionError:
        raise BadInput(words.nested_too_deeply(name)) from None


def _objects(origin: Origin, document: Any, depth: int = 0) -> Iterator[tuple[Origin, dict[str, Any]]]:
    if document is None:
        return
    if isinstance(document, list) and depth == 0:
        document = {"kind": "List", "items": document}
    if not isinstance(document, dict):
        raise BadObject(words.no_object(origin, _kind_of(document)))
    kind = document.get("kind")
    if not isinstance(kind, str) or not kind:
        raise BadObject(words.no_kind(origin))
    if not (kind.endswith("List") and "items" in document):
        yield origin, document
        return
    items = document["items"] or []
    if not isinstance(items, list) or depth > _MAXIMUM_DEPTH:
        raise BadObject(words.no_items(origin, _kind_of(items)))
    for position, item in enumerate(items):
        if isinstance(item, dict) and "kind" not in item and kind != "List":
            # In a typed list the kind is written once, on the list.
            item = {"kind": kind.removesuffix("List"), **item}
        yield from _objects(Origin(origin.file, f"{origin.place}, items[{position}]"), item, depth + 1)


def _is_of_group(kind: str, manifest: dict[str, Any]) -> bool:
    return not manifest.get("apiVersion") or group_and_kind(manifest)[0] == api.RESOURCES[kind].group


def group_and_kind(manifest: Mapping[str, Any]) -> tuple[str, str]:
    """The API group and the kind that a manifest names; no group where it names no version."""
    return str(manifest.get("apiVersion") or "").rpartition("/")[0], manifest["kind"]


def _completed(origin: Origin, kind: str, manifest: dict[str, Any], *, namespaced: bool) -> dict[str, Any]:
    metadata = manifest.get("metadata")
    name = metadata.get("name") if isinstance(metadata, dict) else None
    if not isinstance(metadata, dict) or not isinstance(name, str) or not name:
        raise BadObject(words.no_metadata_name(origin, kind))
    metadata = {key: value for key, value in metadata.items() if value is not None}
    namespace = ""
    if namespaced or (kind in api.RESOURCES and api.RESOURCES[kind].namespaced):
        namespace = str(metadata.setdefault("namespace", "default") or "default")
    metadata.setdefault("uid", made_up_uid(kind, namespace, name))
    return {**manifest, "metadata": metadata}


def _decoded(origin: Origin, kind: str, manifest: dict[str, Any]) -> api.Object:
    try:
        data = msgspec.json.encode(without_nulls(manifest))
    except (TypeError, ValueError, OverflowError, RecursionError) as error:
        raise BadObject(words.no_plain_values(origin, kind, manifest["metadata"]["name"], error)) from None
    try:
        if kind in api.KINDS:
            return api.decode(kind, data)
    except BadObject as error:
        raise BadObject(f"{origin}: {error}") from None
    found = api.read_workload(kind, data)
    if isinstance(found, api.Malformed):
        raise BadObject(f"{origin}: {found.message}")
    return found


def without_nulls(value: Any) -> Any:
    """A copy without null fields, which the API server treats as absent."""
    if isinstance(value, dict):
        return {key: without_nulls(item) for key, item in value.items() if item is not None}
    if isinstance(value, list):
        return [without_nulls(item) for item in value]
    if isinstance(value, float) and not isfinite(value):
        raise ValueError(words.not_a_number(value))
    return value


def _kind_of(value: Any) -> str:
    names = {dict: "an object", list: "a list", str: "text", int: "a number", float: "a number", bool: "a boolean"}
    return names.get(type(value), "nothing" if value is None else type(value).__name__)
