"""One scalar of the file as the type that a field declares, and what to call that type in a message.

Works from msgspec's own description of the declared types. Lists, mappings and structs are ``values``' business.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from enum import Enum
from typing import Annotated, Any, Final

import msgspec
from msgspec import inspect as kinds

from vsched.model.amounts.durations import format_duration, parse_duration
from vsched.settings.reading.problems import Problems
from vsched.settings.reading.tree import Node, Scalar, got
from vsched.settings.words import reading as words
from vsched.words import TRUE_OR_FALSE, WHOLE_NUMBER

Secret = Annotated[str, msgspec.Meta(extra={"secret": True})]
"""Text that is never shown."""


class Nothing(Enum):
    """The absence of a usable value, where None is a value."""

    INVALID = 0


INVALID: Final = Nothing.INVALID
_INT64 = range(-(2**63), 2**63)
_WHOLE_NUMBER = re.compile(r"[+-]?(0|[1-9][0-9]*)")
_LEADING_ZERO = re.compile(r"[+-]?0[0-9_]+")
_NUMBER = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?")
_PLAIN_BOOLEANS = {"true": True, "yes": True, "on": True, "false": False, "no": False, "off": False}
_QUOTED_BOOLEANS = {
    **dict.fromkeys(("1", "t", "T", "true", "True", "TRUE"), True),
    **dict.fromkeys(("0", "f", "F", "false", "False", "FALSE"), False),
}


def marked(kind: kinds.Type, mark: str) -> bool:
    """Whether the declaration carries this mark (``secret``, ``duration``)."""
    if isinstance(kind, kinds.UnionType):
        return any(marked(one, mark) for one in kind.types)
    return isinstance(kind, kinds.Metadata) and bool((kind.extra or {}).get(mark))


def why_inert(kind: kinds.Type) -> str:
    """Why a value has no effect by its declaration; empty where it has one."""
    if isinstance(kind, kinds.UnionType):
        return next(filter(None, map(why_inert, kind.types)), "")
    return str((kind.extra or {}).get("inert", "")) if isinstance(kind, kinds.Metadata) else ""


def bare(kind: kinds.Type) -> kinds.Type:
    """The type without what is said about it, and without ``| None``."""
    if isinstance(kind, kinds.Metadata):
        return bare(kind.type)
    if isinstance(kind, kinds.UnionType):
        rest = [one for one in kind.types if not isinstance(one, kinds.NoneType)]
        if len(rest) == 1:
            return bare(rest[0])
    return kind


def expected(kind: kinds.Type) -> str:
    """What a value of this type looks like, for a message."""
    if marked(kind, "duration"):
        return _with_bounds(words.DURATION, bare(kind), format_duration)
    match kind:
        case kinds.Metadata():
            return expected(kind.type)
        case kinds.UnionType():
            return " or ".join(expected(one) for one in kind.types if not isinstance(one, kinds.NoneType))
        case kinds.BoolType():
            return TRUE_OR_FALSE
        case kinds.IntType():
            return _with_bounds(WHOLE_NUMBER, kind, str)
        case kinds.FloatType():
            return _with_bounds("a number", kind, str)
        case kinds.LiteralType():
            return "one of " + ", ".join(map(str, kind.values))
        case kinds.EnumType():
            return "one of " + ", ".join(str(member.value) for member in kind.cls)
        case kinds.StrType(pattern=str() as pattern):
            return words.text_that_matches(pattern)
        case kinds.StrType():
            return "text"
        case kinds.ListType() | kinds.VarTupleType() | kinds.SetType() | kinds.FrozenSetType():
            return "a list"
        case kinds.AnyType():
            return "a value"
        case _:
            return "a mapping"


def read_scalar(node: Node, kind: kinds.Type, path: str, problems: Problems) -> object:
    """The value, or INVALID after what is wrong was reported."""
    if marked(kind, "secret") and isinstance(node, Scalar):
        return node.text
    value = _duration(node) if marked(kind, "duration") else _scalar(node, bare(kind))
    if value is INVALID or not _in_bounds(value, bare(kind)):
        problems.add(node.line, path, f"expected {expected(kind)}, got {got(node)}{_hint(node, bare(kind))}")
        return INVALID
    return value


def _scalar(node: Node, kind: kinds.Type) -> object:
    if not isinstance(node, Scalar) or node.is_null:
        return INVALID
    match kind:
        case kinds.BoolType():
            return boolean(node)
        case kinds.IntType():
            return whole_number(node.text)
        case kinds.FloatType():
            return number(node.text)
        case kinds.StrType():
            return INVALID if node.kind == "bool" else node.text
        case kinds.LiteralType():
            return next((value for value in kind.values if str(value) == node.text), INVALID)
        case kinds.EnumType():
            return next((member.value for member in kind.cls if str(member.value) == node.text), INVALID)
        case _:
            return INVALID


def boolean(node: Scalar) -> bool | Nothing:
    """YAML's booleans where written plainly, Go's where quoted."""
    if node.kind == "bool":
        return _PLAIN_BOOLEANS.get(node.text.lower(), INVALID)
    return _QUOTED_BOOLEANS.get(node.text, INVALID) if node.kind == "str" else INVALID


def whole_number(text: str) -> int | Nothing:
    """A decimal number of 64 bits."""
    if len(text) > 20 or not _WHOLE_NUMBER.fullmatch(text):
        return INVALID
    value = int(text)
    return value if value in _INT64 else INVALID


def number(text: str) -> float | Nothing:
    """A finite number."""
    if len(text) > 60 or not _NUMBER.fullmatch(text) or _LEADING_ZERO.fullmatch(text):
        return INVALID
    value = float(text)
    return value if math.isfinite(value) else INVALID


def _duration(node: Node) -> object:
    seconds = parse_duration(node.text) if isinstance(node, Scalar) else None
    return INVALID if seconds is None else seconds


def _hint(node: Node, kind: kinds.Type) -> str:
    """What in YAML is likely to have misled the writer."""
    if not isinstance(node, Scalar):
        return ""
    if isinstance(kind, kinds.IntType | kinds.FloatType) and _LEADING_ZERO.fullmatch(node.text):
        return words.LEADING_ZERO
    if isinstance(kind, kinds.StrType) and node.kind == "bool":
        return words.plain_boolean(node.text)
    return ""


_BOUNDS: dict[str, Callable[[Any, Any], bool]] = {
    "gt": lambda value, bound: value > bound,
    "ge": lambda value, bound: value >= bound,
    "lt": lambda value, bound: value < bound,
    "le": lambda value, bound: value <= bound,
    "multiple_of": lambda value, bound: value % bound == 0,
    "min_length": lambda value, bound: len(value) >= bound,
    "max_length": lambda value, bound: len(value) <= bound,
    "pattern": lambda value, bound: re.search(bound, value) is not None,
}


def _in_bounds(value: object, kind: kinds.Type) -> bool:
    bounds = ((holds, getattr(kind, name, None)) for name, holds in _BOUNDS.items())
    return all(bound is None or holds(value, bound) for holds, bound in bounds)


def _with_bounds(noun: str, kind: kinds.Type, show: Callable[[Any], str]) -> str:
    signs = {"gt": ">", "ge": ">=", "lt": "<", "le": "<=", "multiple_of": words.MULTIPLE_OF}
    bounds = ((sign, getattr(kind, name, None)) for name, sign in signs.items())
    range_text = " and ".join(f"{sign} {show(bound)}" for sign, bound in bounds if bound is not None)
    return f"{noun} {range_text}" if range_text else noun
