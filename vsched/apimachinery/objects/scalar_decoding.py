"""Strict decoding of scalar values: strings, numbers, quantities and times, with the messages of Go's decoder."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import UTC, datetime, timedelta, timezone
from typing import Any

from vsched.cel import quantities, words

Path = tuple[str | int, ...]
Walk = Callable[[Any, Path, list[str]], Any]
"""Takes a value, its path and the list that collects the paths of unknown fields; gives the decoded value."""

INT32 = 1 << 31
INT64 = 1 << 63
_TIME = re.compile(r"(\d{4})-(\d\d)-(\d\d)T(\d\d):(\d\d):(\d\d)(\.\d+)?(?:Z|([+-])(\d\d):(\d\d))\Z")
_TIME_LAYOUT = "2006-01-02T15:04:05Z07:00"
_MICRO_LAYOUT = "2006-01-02T15:04:05.000000Z07:00"


class DecodingError(ValueError):
    """A value cannot be decoded; the text is the message of the API server."""


def json_type(value: object) -> str:
    """The name of a JSON value's type in Go's messages."""
    if isinstance(value, bool):
        return "bool"
    if isinstance(value, str):
        return "string"
    if isinstance(value, (int, float)):
        return "number"
    return "object" if isinstance(value, dict) else "array"


class MapKey(str):
    """A step of a path that Go's messages leave out."""

    __slots__ = ()


def mismatch(value: Any, path: Path, struct: str, wanted: str) -> DecodingError:
    where = ".".join(step for step in path if step.__class__ is str)
    shown = json_type(value)
    if shown == "number" and wanted.startswith(("int", "uint")):
        shown = f"number {value}"
    return DecodingError(f"json: cannot unmarshal {shown} into Go struct field {struct}.{where} of type {wanted}")


def scalar_decoder(struct: str, wanted: str, types: tuple[type, ...]) -> Walk:
    def walk(value: Any, path: Path, unknown: list[str]) -> Any:
        if value.__class__ not in types:
            raise mismatch(value, path, struct, wanted)
        return value

    return walk


def string_decoder(struct: str) -> Walk:
    return scalar_decoder(struct, "string", (str,))


def integer_decoder(struct: str, wanted: str, limit: int) -> Walk:
    low = 0 if wanted.startswith("u") else -limit

    def walk(value: Any, path: Path, unknown: list[str]) -> Any:
        if value.__class__ is float and value.is_integer():
            value = int(value)
        if value.__class__ is not int or not low <= value < limit:
            raise mismatch(value, path, struct, wanted)
        return value

    return walk


def decode_anything(value: Any, path: Path, unknown: list[str]) -> Any:
    return value


def decode_quantity(value: Any, path: Path, unknown: list[str]) -> Any:
    if value.__class__ not in (str, int, float):
        raise DecodingError(words.WRONG_FORMAT)
    try:
        text = quantities.canonical(value)
    except quantities.NotAQuantity as error:
        raise DecodingError(str(error)) from None
    return value if text == value else text


def decode_int_or_string(value: Any, path: Path, unknown: list[str]) -> Any:
    if value.__class__ is int and -INT32 <= value < INT32:
        return value
    if value.__class__ is not str:
        raise DecodingError(f"json: cannot unmarshal {json_type(value)} into Go value of type int32")
    return value


def _moment(match: re.Match[str], text: str, layout: str) -> datetime:
    *parts, _, sign, hours, minutes = match.groups()
    offset = timedelta(hours=int(hours or 0), minutes=int(minutes or 0))
    zone = timezone(-offset if sign == "-" else offset)
    try:
        return datetime(*map(int, parts), tzinfo=zone)  # type: ignore[misc,arg-type]
    except ValueError as error:
        field = str(error).split(" ", 1)[0]
        raise DecodingError(f'parsing time "{text}": {field} out of range') from None


def decode_time(value: Any, path: Path, unknown: list[str]) -> Any:
    if value.__class__ is not str:
        raise DecodingError(f"json: cannot unmarshal {json_type(value)} into Go value of type string")
    if len(value) == 20 and value[-1] == "Z" and _TIME.match(value):
        return value
    match = _TIME.match(value)
    if match is None:
        raise DecodingError(f'parsing time "{value}" as "{_TIME_LAYOUT}": cannot parse "{value}" as "2006"')
    return _moment(match, value, _TIME_LAYOUT).astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def decode_micro_time(value: Any, path: Path, unknown: list[str]) -> Any:
    if value.__class__ is not str:
        raise DecodingError(f"json: cannot unmarshal {json_type(value)} into Go value of type string")
    match = _TIME.match(value)
    if match is None:
        raise DecodingError(f'parsing time "{value}" as "{_MICRO_LAYOUT}": cannot parse "{value}" as "2006"')
    fraction = match[7] or ""
    if len(fraction) < 7:
        rest = value[19:]
        raise DecodingError(f'parsing time "{value}" as "{_MICRO_LAYOUT}": cannot parse "{rest}" as ".000000"')
    if len(fraction) > 7:
        rest = value[26:]
        raise DecodingError(f'parsing time "{value}" as "{_MICRO_LAYOUT}": cannot parse "{rest}" as "Z07:00"')
    if value[-1] == "Z":
        return value
    return _moment(match, value, _MICRO_LAYOUT).astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S") + fraction + "Z"
