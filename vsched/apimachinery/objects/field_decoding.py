"""Strict decoding of built-in objects: types checked, quantities and times made canonical, unknown fields dropped.

A function for each type is made from the schema table once. Values that need no change are passed on without a copy.
Validation and defaults are elsewhere.
"""

from __future__ import annotations

from functools import cache
from typing import Any

from vsched.apimachinery.meta.api_errors import Failure, bad_request
from vsched.apimachinery.meta.kinds import Kind, Obj, without
from vsched.apimachinery.meta.remembered import Interned
from vsched.apimachinery.meta.schema import SchemaField, Type, schema_table
from vsched.apimachinery.objects.scalar_decoding import (
    INT32,
    INT64,
    DecodingError,
    MapKey,
    Path,
    Walk,
    decode_anything,
    decode_int_or_string,
    decode_micro_time,
    decode_quantity,
    decode_time,
    integer_decoder,
    mismatch,
    scalar_decoder,
    string_decoder,
)


def conform(kind: Kind, obj: Obj, *, new: bool = False) -> tuple[Obj, list[str]]:
    """The decoded object, and the dotted paths of unknown fields; raises a 400 Failure for a field of a wrong type.

    Equal specs of ``new`` pods become one object.
    """
    try:
        return _decode_pod(kind, obj) if new and kind.storage == "/pods" else decode(kind, obj)
    except DecodingError as error:
        raise cannot_decode(kind, str(error)) from None


def cannot_decode(kind: Kind, why: str) -> Failure:
    """The 400 for a body whose fields do not decode."""
    return bad_request(f'{kind.kind} in version "{kind.version}" cannot be handled as a {kind.kind}: {why}')


def decode(kind: Kind, obj: Obj) -> tuple[Obj, list[str]]:
    """As conform, but raises Malformed: for patches, whose failures read differently."""
    unknown: list[str] = []
    walk = None if kind.custom else _walk_of_kind(kind)
    return (obj, unknown) if walk is None else (walk(obj, (), unknown), unknown)


def _decode_pod(kind: Kind, obj: Obj) -> tuple[Obj, list[str]]:
    """As decode, but equal specs become one object, so that what is worked out of it can be kept."""
    spec = obj.get("spec")
    known = _specs.decoded(spec, _good_spec) if spec.__class__ is dict else None
    if known is None:
        return decode(kind, obj)
    metadata = obj.get("metadata")
    if metadata.__class__ is not dict or not obj.keys() <= _PLAIN:
        decoded, unknown = decode(kind, {**obj, "spec": {}})
        return {**decoded, "spec": known}, unknown
    # Most new pods have these fields alone.
    unknown = []
    metadata = _walk_of_type("meta/v1.ObjectMeta")(metadata, ("metadata",), unknown)
    return {**obj, "metadata": metadata, "spec": known, "status": {}}, unknown


_PLAIN = frozenset({"kind", "apiVersion", "metadata", "spec"})


_specs = Interned()


def _good_spec(spec: Obj) -> Obj | None:
    """The decoded spec of a pod; None for one with errors or unknown fields, which are told each time."""
    unknown: list[str] = []
    try:
        decoded: Obj = _walk_of_type("core/v1.PodSpec")(spec, (), unknown)
    except DecodingError:
        return None
    return None if unknown else decoded


@cache
def _walk_of_kind(kind: Kind) -> Walk | None:
    one = schema_table().of_kind(kind)
    return None if one is None else _walk_of_type(one.name)


@cache
def empty_fields(kind: Kind) -> Obj:
    """What Go writes for an object of a built-in kind of which nothing is set, besides its metadata."""
    one = schema_table().of_kind(kind)
    return without(_empty(one), ("metadata",)) if one is not None else {}


def _empty(one: Type) -> Obj:
    """Required lists and label selectors (pointers in Go) read null, structs are written with what is in them."""
    fields: Obj = {
        item.name: None
        for item in one.fields.values()
        if item.required and (item.shape == "[]" or (item.of == _SELECTOR and not item.emitted))
    }
    for name, zero in _emitted(one):
        fields[name] = _empty(schema_table()[zero]) if zero.__class__ is _Struct else zero
    return fields


def unknown_fields(kind: Kind, obj: Obj) -> list[str]:
    """The dotted paths of fields that the kind does not have."""
    return conform(kind, obj)[1]


def dotted(path: Path) -> str:
    """``spec.containers[0].image``."""
    text = ""
    for step in path:
        text += f"[{step}]" if isinstance(step, int) else f".{step}" if text else step
    return text


class _Entry:
    """How one field is decoded: a non-empty value of the ``fast`` type needs nothing."""

    __slots__ = ("fast", "keeps_empty", "keeps_null", "walk")

    def __init__(self, fast: type | None, walk: Walk, item: SchemaField | None) -> None:
        self.fast = fast
        self.walk = walk
        # Whether Go writes the field if it is empty.
        struct = item is None or (not item.shape and (not item.scalar or item.of in _STRUCT_SCALARS))
        self.keeps_empty = struct or (item is not None and (item.pointer or item.required or item.emitted))
        self.keeps_null = item is not None and item.of in _TIMES and (item.required or item.emitted)


_SELECTOR = "meta/v1.LabelSelector"
_STRUCT_SCALARS = frozenset({"json", "raw", "fields", "quantity", "intorstring"})
_TIMES = frozenset({"time", "microtime"})
_ZEROS: dict[str, Any] = {"string": "", "bool": False, "quantity": "0", "time": None, "microtime": None}
_DROP = object()


@cache
def _walk_of_type(name: str) -> Walk:
    one = schema_table()[name]
    # Filled on first use, because types can refer to themselves, as JSON schemas do.
    entries: dict[str, _Entry] = {}
    emitted = _emitted(one)
    is_kind = "metadata" in one.fields

    def entry_of(key: str) -> _Entry | None:
        if key in one.fields:
            entries[key] = _Entry(*_walk_of_field(one, one.fields[key]), one.fields[key])
        elif is_kind and key in ("apiVersion", "kind"):
            entries[key] = _Entry(str, string_decoder(one.short), None)
        return entries.get(key)

    def walk(value: Any, path: Path, unknown: list[str]) -> Any:
        changes: Obj | None = None
        for key, item in value.items():
            entry = entries.get(key) or entry_of(key)
            if entry is None:
                unknown.append(dotted((*path, key)))
                decoded = _DROP
            elif item:
                if item.__class__ is entry.fast:
                    continue
                decoded = entry.walk(item, (*path, key), unknown)
            elif item is None:
                decoded = None if entry.keeps_null else _DROP
            else:
                decoded = entry.walk(item, (*path, key), unknown)
                if not entry.keeps_empty:
                    decoded = _DROP
            if decoded is not item:
                if changes is None:
                    changes = {}
                changes[key] = decoded
        for key, zero in emitted:
            if key not in value or (value[key] is None and zero is not None):
                if changes is None:
                    changes = {}
                changes[key] = _walk_of_type(zero)({}, path, unknown) if zero.__class__ is _Struct else zero
        if changes is None:
            return value
        return {key: item for key, item in {**value, **changes}.items() if item is not _DROP}

    return walk


class _Struct(str):
    """The name of a type whose empty value is written."""

    __slots__ = ()


def _emitted(one: Type) -> list[tuple[str, Any]]:
    """The fields that are written even if they are not set, with their values."""
    zeros: list[tuple[str, Any]] = []
    for item in one.fields.values():
        if item.shape:
            continue
        if item.scalar and (item.required or item.emitted) and not item.pointer and item.of in _ZEROS:
            zeros.append((item.name, _ZEROS[item.of]))
        elif item.scalar and (item.required or item.emitted) and item.of in ("int32", "int64", "intorstring"):
            zeros.append((item.name, 0))
        elif item.emitted and not item.scalar:
            zeros.append((item.name, _Struct(item.of)))
    return zeros


def _walk_of_field(owner: Type, item: SchemaField) -> tuple[type | None, Walk]:
    fast, walk = _walk_of_value(owner, item.of)
    element = "string" if item.of == "string" else item.of.rpartition("/")[2]
    named = item.go_type
    if named and not item.shape:
        return fast, scalar_decoder(owner.short, named, (str,))
    if item.wrapped:
        fast, walk = None, _list_of(owner, (fast, walk), "string")
    if item.shape == "[]":
        return None, _list_of(owner, (fast, walk), element)
    if item.shape == "{}":
        return None, _map_of(owner, (fast, walk), element, named)
    return fast, walk


def _walk_of_value(owner: Type, of: str) -> tuple[type | None, Walk]:
    """The function that decodes a value, and the Python type of values that need no decoding."""
    simple: dict[str, tuple[type | None, Walk]] = {
        "string": (str, string_decoder(owner.short)),
        "bytes": (str, string_decoder(owner.short)),
        "bool": (bool, scalar_decoder(owner.short, "bool", (bool,))),
        "int32": (None, integer_decoder(owner.short, "int32", INT32)),
        "int64": (None, integer_decoder(owner.short, "int64", INT64)),
        "uint32": (None, integer_decoder(owner.short, "uint32", INT32 << 1)),
        "uint64": (None, integer_decoder(owner.short, "uint64", INT64 << 1)),
        "double": (float, scalar_decoder(owner.short, "float64", (float, int))),
        "float": (float, scalar_decoder(owner.short, "float32", (float, int))),
        "quantity": (None, decode_quantity),
        "intorstring": (str, decode_int_or_string),
        "time": (None, decode_time),
        "microtime": (None, decode_micro_time),
        "duration": (str, string_decoder(owner.short)),
        "fields": (dict, scalar_decoder(owner.short, "v1.FieldsV1", (dict,))),
        "raw": (dict, scalar_decoder(owner.short, "runtime.RawExtension", (dict,))),
        "json": (dict, decode_anything),
    }
    if of in simple:
        return simple[of]
    return None, _nested(owner.short, of)


def _nested(struct: str, of: str) -> Walk:
    def walk(value: Any, path: Path, unknown: list[str]) -> Any:
        if value.__class__ is not dict:
            raise mismatch(value, path, struct, of.rpartition("/")[2])
        return _walk_of_type(of)(value, path, unknown)

    return walk


def _zero(element: str) -> Any:
    """The zero of a type, which a null in a list or map decodes to."""
    known: Obj = {"string": "", "bytes": "", "quantity": "0", "bool": False, "json": None, "raw": None}
    if element in known:
        return known[element]
    return 0 if element.startswith(("int", "uint")) else {}


def _list_of(owner: Type, entry: tuple[type | None, Walk], element: str) -> Walk:
    fast, walk = entry

    def walk_list(value: Any, path: Path, unknown: list[str]) -> Any:
        if value.__class__ is not list:
            raise mismatch(value, path, owner.short, f"[]{element}")
        changed: list[Any] | None = None
        for index, item in enumerate(value):
            if item.__class__ is fast:
                continue
            decoded = _zero(element) if item is None else walk(item, (*path, index), unknown)
            if decoded is not item:
                if changed is None:
                    changed = list(value)
                changed[index] = decoded
        return value if changed is None else changed

    return walk_list


def _map_of(owner: Type, entry: tuple[type | None, Walk], element: str, named: str) -> Walk:
    fast, walk = entry

    def walk_map(value: Any, path: Path, unknown: list[str]) -> Any:
        if value.__class__ is not dict:
            raise mismatch(value, path, owner.short, named or f"map[string]{element}")
        changes: Obj | None = None
        for key, item in value.items():
            if item.__class__ is fast:
                continue
            decoded = _zero(element) if item is None else walk(item, (*path, MapKey(key)), unknown)
            if decoded is not item:
                if changes is None:
                    changes = {}
                changes[key] = decoded
        return value if changes is None else {**value, **changes}

    return walk_map
