"""Reads the protobuf bodies that Go clients send for built-in kinds, with the field numbers of the schema table.

Answers are always JSON, which every client accepts. A field that the table does not have is an error, because the
object would lose it.
"""

from __future__ import annotations

import struct
from base64 import b64encode
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import orjson

from vsched.apimachinery.meta.api_errors import bad_request
from vsched.apimachinery.meta.kinds import Obj
from vsched.apimachinery.meta.schema import SchemaField, Type, schema_table, type_name

MEDIA_TYPE = "application/vnd.kubernetes.protobuf"
_MAGIC = b"k8s\x00"
_VARINT, _FIXED64, _BYTES, _FIXED32 = 0, 1, 2, 5
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_DEEPEST = 64


class ProtobufError(ValueError):
    """The bytes are no valid message."""


def is_protobuf(content_type: str) -> bool:
    return content_type.partition(";")[0].strip().lower() == MEDIA_TYPE


def decode(body: bytes) -> Obj:
    """The object in an envelope; raises a 400 Failure for invalid bytes."""
    try:
        return _decode(body)
    except (ProtobufError, UnicodeDecodeError, struct.error, orjson.JSONDecodeError, OverflowError) as error:
        raise bad_request(f"the protobuf body cannot be decoded: {error}") from None


def _decode(body: bytes) -> Obj:
    if body[:4] != _MAGIC:
        raise ProtobufError("provided data does not appear to be a protobuf message, expected prefix [107 56 115 0]")
    envelope = dict(_fields(body[4:]))
    meta = {number: _text(value) for number, value in _fields(_message(envelope.get(1, b"")))}
    api_version, kind = meta.get(1, ""), meta.get(2, "")
    raw = _message(envelope.get(2, b""))
    one = _type_of(api_version, kind)
    return {"kind": kind, "apiVersion": api_version, **_object(raw, one, 0)}


def _type_of(api_version: str, kind: str) -> Type:
    group, _, version = api_version.rpartition("/")
    # Options have the version of the request, not their own.
    found = schema_table().get(type_name(group, version, kind)) or schema_table().get(f"meta/v1.{kind}")
    if found is None or not found.wire:
        raise ProtobufError(f'no kind "{kind}" is registered for version "{api_version}" in protobuf')
    return found


def _varint(data: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        if at >= len(data) or shift > 63:
            raise ProtobufError("unexpected end of a number")
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, at
        shift += 7


def _fields(data: bytes) -> Iterator[tuple[int, int | bytes]]:
    """Field numbers with their raw values: numbers as they are, everything else as bytes."""
    at, end = 0, len(data)
    while at < end:
        key, at = _varint(data, at)
        wire = key & 7
        if wire == _VARINT:
            value, at = _varint(data, at)
            yield key >> 3, value
            continue
        if wire == _BYTES:
            size, at = _varint(data, at)
        elif wire == _FIXED64:
            size = 8
        elif wire == _FIXED32:
            size = 4
        else:
            raise ProtobufError(f"unknown wire type {wire}")
        if at + size > end:
            raise ProtobufError("unexpected end of data")
        yield key >> 3, data[at : at + size]
        at += size


def _object(data: bytes, one: Type, depth: int) -> Obj:
    if depth > _DEEPEST:
        raise ProtobufError("nested too deeply")
    result: Obj = {}
    for number, value in _fields(data):
        item = one.wire.get(number)
        if item is None:
            raise ProtobufError(f"{one.short} has a field with number {number} that is not known here")
        if item.inline:
            result.update(_object(_message(value), schema_table()[item.of], depth + 1))
        elif item.shape == "[]":
            result.setdefault(item.name, []).extend(_items(value, item, depth))
        elif item.shape == "{}":
            key, entry = _entry(_message(value), item, depth)
            result.setdefault(item.name, {})[key] = entry
        else:
            decoded = _value(value, item, depth)
            if decoded is not None and (decoded or _keeps_zero(item)):
                result[item.name] = decoded
    return result


def _keeps_zero(item: SchemaField) -> bool:
    """Whether a zero means something: Go writes zeros of plain fields, too, which JSON leaves out."""
    return item.pointer or item.required or item.emitted or not item.scalar or item.of in _STRUCTS


def _items(value: int | bytes, item: SchemaField, depth: int) -> list[Any]:
    if isinstance(value, bytes) and item.of in _NUMBERS:
        values, at = [], 0
        while at < len(value):
            number, at = _varint(value, at)
            values.append(_value(number, item, depth))
        return values
    return [_value(value, item, depth)]


def _entry(data: bytes, item: SchemaField, depth: int) -> tuple[str, Any]:
    entry = dict(_fields(data))
    key = _text(entry.get(1, b""))
    raw = entry.get(2, 0 if item.of in _NUMBERS or item.of == "bool" else b"")
    if item.wrapped:
        return key, [_text(one) for _, one in _fields(_message(raw))]
    return key, _value(raw, item, depth)


def _value(value: int | bytes, item: SchemaField, depth: int) -> Any:
    read = _READERS.get(item.of)
    if read is not None:
        return read(value)
    return _object(_message(value), schema_table()[item.of], depth + 1)


def _message(value: int | bytes) -> bytes:
    if isinstance(value, int):
        raise ProtobufError("a number where a message was expected")
    return value


def _text(value: int | bytes) -> str:
    return _message(value).decode()


def _number(value: int | bytes) -> int:
    if not isinstance(value, int):
        raise ProtobufError("bytes where a number was expected")
    return value - (1 << 64) if value >= 1 << 63 else value


def _unsigned(value: int | bytes) -> int:
    _number(value)
    assert isinstance(value, int)
    return value


def _double(value: int | bytes) -> float:
    data = _message(value)
    result: float = struct.unpack("<d" if len(data) == 8 else "<f", data)[0]
    return result


def _first(value: int | bytes) -> int | bytes:
    """The only field of a message that wraps one."""
    return dict(_fields(_message(value))).get(1, b"")


def _int_or_string(value: int | bytes) -> int | str:
    parts = dict(_fields(_message(value)))
    return _text(parts.get(3, b"")) if parts.get(1) else _number(parts.get(2, 0))


def _moment(value: int | bytes) -> datetime | None:
    parts = dict(_fields(_message(value)))
    seconds, nanoseconds = _number(parts.get(1, 0)), _number(parts.get(2, 0))
    moment = _EPOCH + timedelta(seconds=seconds, microseconds=nanoseconds // 1000) if parts else None
    # Go's zero time means no time.
    return None if moment is None or moment.year == 1 else moment


def _time(value: int | bytes) -> str | None:
    moment = _moment(value)
    return None if moment is None else moment.strftime("%Y-%m-%dT%H:%M:%SZ")


def _micro_time(value: int | bytes) -> str | None:
    moment = _moment(value)
    return None if moment is None else moment.strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def _json(value: int | bytes) -> Any:
    raw = _message(_first(value))
    return orjson.loads(raw) if raw else None


_READERS: dict[str, Callable[[int | bytes], Any]] = {
    "string": _text,
    "int32": _number,
    "int64": _number,
    "uint32": _unsigned,
    "uint64": _unsigned,
    "bool": lambda value: bool(_number(value)),
    "double": _double,
    "float": _double,
    "bytes": lambda value: b64encode(_message(value)).decode(),
    "quantity": lambda value: _text(_first(value)) or "0",
    "intorstring": _int_or_string,
    "time": _time,
    "microtime": _micro_time,
    "duration": lambda value: f"{_number(_first(value) or 0) / 1e9:g}s",
    "fields": _json,
    "raw": _json,
    "json": _json,
}
_NUMBERS = frozenset({"int32", "int64", "uint32", "uint64"})
_STRUCTS = frozenset({"quantity", "intorstring", "fields", "raw", "json"})
