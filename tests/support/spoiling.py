"""Objects that no API server lets in, and some that all let in: an exemplar with one field replaced, as bytes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import orjson

from tests.support.exemplars import EXEMPLARS, Obj

DEEP = 2000
_TEXTS = (
    "", " ", ".", "..", "a/b", "../../x", "?x=1", "a#b", "a%2Fb", "\U0001f4a5", "quote\"s'",
    "nul\u0000", "line\nbreak", "\x1b[31m", "\u202eabc", "x" * 10_000, "nan", "NaN", "inf",
    "-1", "1e999", "1Ei", "16Ei",
    "9" * 400, "9" * 5000,
    "9223372036854775807", "0x10", "1_000", "٣", "0001-01-01T00:00:00+23:59", "9999-12-31T23:59:59-23:59",
    "h" + "9" * 50, "9" * 18 + "h", '{"cpu": 1e400}', "[" * DEEP, "*", "%d", "Running", "true",
)  # fmt: skip
_LITERALS = (
    b"null", b"true", b"0", b"-1", b"1.5", b"2147483647", b"2147483648", b"-2147483649", b"9223372036854775807",
    b"9223372036854775808", b"-9223372036854775809", b"18446744073709551616", b"1e308", b"-1e308", b"1e400",
    b"9" * 400, b"9" * 5000, b"NaN", b"Infinity", b"-Infinity", b"[]", b"{}", b"[[]]", b"[null]", b'["a"]', b"[{}]",
    b'{"": ""}', b'{"a": {}}', b'{"cpu": null}', b'{"a": "b"}', b'"\xff\xfe"', b'{"\xff": "a"}', b'"\\ud800"',
    b"[" * DEEP + b"]" * DEEP,
    b'{"a":' * DEEP + b"1" + b"}" * DEEP,
)  # fmt: skip
VALUES: tuple[bytes, ...] = (*_LITERALS, *(orjson.dumps(text) for text in _TEXTS))
"""What a field is replaced by, as JSON or nearly so."""
_MARK = "@@here@@"
_MARKED = orjson.dumps(_MARK)


def paths_of(obj: Any, at: tuple[str | int, ...] = ()) -> Iterator[tuple[str | int, ...]]:
    """Every place in an object, containers before what they hold; the object itself is not one."""
    parts = obj.items() if isinstance(obj, dict) else enumerate(obj) if isinstance(obj, list) else ()
    for key, part in parts:
        yield (*at, key)
        yield from paths_of(part, (*at, key))


def replaced(exemplar: Any, first: int = 0, each: int = 1) -> Iterator[tuple[str, bytes]]:
    """An exemplar with every field replaced by every value: what was done, and the object.

    Of these from the ``first`` on one of ``each``, spread evenly over fields and values; no others are made.
    """
    for path in paths_of(exemplar):
        if values := VALUES[first::each]:
            text = orjson.dumps(_replaced(exemplar, path, _MARK))
            where = ".".join(map(str, path))
            for value in values:
                told = f"{where} = {value[:40].decode('utf-8', 'replace')}"
                yield told, text.replace(_MARKED, value, 1)
        first = _after(first, len(VALUES), each)


def spoilt(kind: str, first: int = 0, each: int = 1) -> Iterator[tuple[str, bytes]]:
    """Every exemplar of a kind with every field replaced by every value, or one of ``each`` of these."""
    for number, exemplar in enumerate(EXEMPLARS[kind]):
        for told, data in replaced(exemplar, first, each):
            yield f"{kind} {number} {told}", data
        first = _after(first, len(VALUES) * sum(1 for _ in paths_of(exemplar)), each)


def _after(first: int, count: int, each: int) -> int:
    """Which is the first to be chosen of those that come after the next ``count``."""
    return first - count if first >= count else (first - count) % each


def _replaced(obj: Any, path: tuple[str | int, ...], value: object) -> Obj:
    copied: Any = dict(obj) if isinstance(obj, dict) else list(obj)
    key, *rest = path
    copied[key] = _replaced(copied[key], tuple(rest), value) if rest else value
    return copied  # type: ignore[no-any-return]  # a copy of what came in
