"""A mapping of the file as the struct that declares its keys: flat, nested or mixed.

``thresholds.cpu: 80`` and ``thresholds: {cpu: 80}`` are the same key, whichever way the struct declares it. A ``*`` in
a declared name stands for any text (a resource, a zone), which becomes the key of the field's dict.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from functools import lru_cache
from typing import Any, NamedTuple

import msgspec
from msgspec import inspect as kinds

from vsched.settings.reading.problems import Problems, did_you_mean
from vsched.settings.reading.scalars import INVALID, bare, boolean, expected, marked, number, read_scalar, whole_number
from vsched.settings.reading.tree import Keyed, Listed, Node, Scalar, got, is_null
from vsched.settings.words import reading as reading_words

_SERIES = (kinds.ListType, kinds.VarTupleType, kinds.SetType, kinds.FrozenSetType)


class Key(NamedTuple):
    """One key, or family of keys, that a struct declares."""

    name: str
    """Dotted; a star is any text."""
    field: tuple[str, ...]
    """Where its value goes: field names from the struct down, a star for what stood in the star's place."""
    kind: kinds.Type
    required: bool

    @property
    def is_family(self) -> bool:
        return "*" in self.name

    @property
    def label(self) -> str:
        """The name as people read it."""
        return self.name.replace("*", "<name>")

    def stars(self, name: str) -> tuple[str, ...] | None:
        """What stands in the place of the stars in this name; None where the name is no member."""
        pattern = "(.+)".join(re.escape(part) for part in self.name.split("*"))
        found = re.fullmatch(pattern, name, re.DOTALL)
        return found.groups() if found else None

    def named(self, stars: tuple[str, ...]) -> str:
        """The name of the member with these in the place of the stars."""
        first, *parts = self.name.split("*")
        return first + "".join(star + part for star, part in zip(stars, parts, strict=True))

    def nearest(self, name: str) -> str:
        """The name that was most likely meant: with what a misspelled member has in the place of the star."""
        head, _, tail = self.name.partition("*")
        star = name.removeprefix(head).rpartition(".")[0]
        return head + star + tail if tail and star and name.startswith(head) else self.label

    def is_below(self, name: str) -> bool:
        """Whether the nested spelling of this key passes through a mapping of that name."""
        head, star, _ = self.name.partition("*")
        return head.startswith(f"{name}.") or bool(star and f"{name}.".startswith(head))


@lru_cache(maxsize=256)
def keys_of(struct: type[msgspec.Struct]) -> tuple[Key, ...]:
    """Every key that the struct declares: plain keys in its order, then families, the most particular first."""
    keys = _keys(kinds.type_info(struct), "", (), required=True)
    return tuple(sorted(keys, key=lambda key: -len(key.name) if key.is_family else -sys.maxsize))


def _keys(kind: kinds.Type, name: str, field: tuple[str, ...], *, required: bool) -> Iterator[Key]:
    inner = bare(kind)
    if isinstance(inner, kinds.StructType):
        for one in inner.fields:
            below = f"{name}.{one.encode_name}" if name else one.encode_name
            yield from _keys(one.type, below, (*field, one.encode_name), required=required and one.required)
    elif isinstance(inner, kinds.DictType):
        family = name if field and "*" in field[-1] else f"{name}.*"
        yield from _keys(inner.value_type, family, (*field, "*"), required=False)
    else:
        yield Key(name, field, kind, required)


class Fields(NamedTuple):
    """What a mapping says to a struct."""

    values: dict[str, Any]
    """Builtins by the struct's encoded names, ready for ``msgspec.convert``."""
    lines: dict[str, int]
    """Where each key was given, by its flat name."""


def read_fields(mapping: Keyed, struct: type[msgspec.Struct], path: str, problems: Problems) -> Fields:
    """What the mapping says; what is wrong is among the problems."""
    reading = _Reading(keys_of(struct), path, problems)
    reading.walk(mapping, "")
    for key in reading.keys:
        if key.required and key.name not in reading.lines:
            problems.add(mapping.line, f"{path}.{key.label}", f"missing; expected {expected(key.kind)}")
    return Fields(reading.values, reading.lines)


class _Reading:
    """One mapping on its way into a struct."""

    def __init__(self, keys: tuple[Key, ...], path: str, problems: Problems) -> None:
        self.keys = keys
        self.path = path
        self.problems = problems
        self.values: dict[str, Any] = {}
        self.lines: dict[str, int] = {}

    def walk(self, mapping: Keyed, prefix: str) -> None:
        for entry in mapping.entries:
            name = prefix + entry.key
            key, stars = self._declared(name)
            if isinstance(entry.value, Keyed) and self._goes_on(name, key):
                self.walk(entry.value, f"{name}.")
            elif key is None:
                self._unknown(name, entry.line, entry.value)
            elif name in self.lines:
                self._problem(entry.line, name, reading_words.given_twice(self.lines[name]))
            else:
                self.lines[name] = entry.line
                self._take(key, stars, name, entry.value)

    def _declared(self, name: str) -> tuple[Key | None, tuple[str, ...]]:
        for key in self.keys:
            stars = key.stars(name)
            if stars is not None:
                return key, stars
        return None, ()

    def _goes_on(self, name: str, key: Key | None) -> bool:
        """Whether a mapping of that name spells keys below it, and is not a value itself."""
        is_value = key is not None and isinstance(bare(key.kind), kinds.AnyType)
        return not is_value and any(one.is_below(name) for one in self.keys)

    def _take(self, key: Key, stars: tuple[str, ...], name: str, node: Node) -> None:
        if is_null(node) and not _takes_none(key.kind):
            return  # nothing given: the default holds
        value = read(node, key.kind, f"{self.path}.{name}", self.problems)
        if value is INVALID:
            return
        rest = iter(stars)
        *steps, last = (next(rest) if step == "*" else step for step in key.field)
        place = self.values
        for step in steps:
            place = place.setdefault(step, {})
        place[last] = value

    def _unknown(self, name: str, line: int, node: Node) -> None:
        if not self.keys:
            self._problem(line, name, reading_words.NO_ARGUMENTS)
            return
        below = [key.label for key in self.keys if key.is_below(name)]
        is_prefix = any(key.name.startswith(f"{name}.") for key in self.keys)
        hint = "" if is_prefix else did_you_mean(name, (key.nearest(name) for key in self.keys))
        if hint or not below:
            self._problem(line, name, f"unknown argument{hint}")
        elif not is_null(node):
            self._problem(line, name, reading_words.keys_expected(", ".join(below), got(node)))

    def _problem(self, line: int, name: str, text: str) -> None:
        self.problems.add(line, f"{self.path}.{name}", text)


def _takes_none(kind: kinds.Type) -> bool:
    return isinstance(kind, kinds.UnionType) and kind.includes_none


def read(node: Node, kind: kinds.Type, path: str, problems: Problems) -> object:
    """One value in builtins, ready for ``msgspec.convert``; INVALID after what is wrong was reported."""
    if isinstance(kind, kinds.Metadata) and not (marked(kind, "secret") or marked(kind, "duration")):
        return read(node, kind.type, path, problems)
    if isinstance(kind, kinds.UnionType):
        return _any_of(node, kind, path, problems)
    if isinstance(kind, _SERIES):
        return _series(node, kind.item_type, path, problems)
    if isinstance(kind, kinds.DictType):
        return _mapping(node, kind.value_type, path, problems)
    if isinstance(kind, kinds.StructType):
        return _struct(node, kind, path, problems)
    if isinstance(kind, kinds.AnyType):
        return _as_written(node, path, problems)
    return read_scalar(node, kind, path, problems)


def _any_of(node: Node, kind: kinds.UnionType, path: str, problems: Problems) -> object:
    """The first of the types that takes the value; a problem of the only candidate is reported as its own."""
    if is_null(node) and kind.includes_none:
        return None
    candidates = [one for one in kind.types if not isinstance(one, kinds.NoneType)]
    if len(candidates) == 1:
        return read(node, candidates[0], path, problems)
    for candidate in candidates:
        value = read(node, candidate, path, Problems(problems.where))
        if value is not INVALID:
            return value
    problems.add(node.line, path, reading_words.expected(expected(kind), got(node)))
    return INVALID


def _series(node: Node, item: kinds.Type, path: str, problems: Problems) -> object:
    """A list; of words also as Volcano writes it, with commas."""
    if isinstance(node, Scalar) and isinstance(bare(item), kinds.StrType) and not node.is_null:
        words = (word.strip() for word in node.text.split(","))
        node = Listed(tuple(Scalar(word, "str", node.line) for word in words if word), node.line)
    if not isinstance(node, Listed):
        problems.add(node.line, path, reading_words.list_expected(got(node)))
        return INVALID
    values = [read(one, item, f"{path}[{at}]", problems) for at, one in enumerate(node.items)]
    return INVALID if INVALID in values else values


def _mapping(node: Node, kind: kinds.Type, path: str, problems: Problems) -> object:
    if not isinstance(node, Keyed):
        problems.add(node.line, path, reading_words.mapping_expected(got(node)))
        return INVALID
    values = {entry.key: read(entry.value, kind, f"{path}.{entry.key}", problems) for entry in node.entries}
    return INVALID if INVALID in values.values() else values


def _struct(node: Node, kind: kinds.StructType, path: str, problems: Problems) -> object:
    if not isinstance(node, Keyed):
        problems.add(node.line, path, reading_words.mapping_expected(got(node)))
        return INVALID
    before = len(problems)
    fields = read_fields(node, kind.cls, path, problems)
    return INVALID if len(problems) > before else fields.values


def _as_written(node: Node, path: str, problems: Problems) -> object:
    match node:
        case Keyed():
            return _mapping(node, kinds.AnyType(), path, problems)
        case Listed():
            return _series(node, kinds.AnyType(), path, problems)
        case Scalar(kind="bool"):
            return boolean(node)
        case Scalar(kind="null"):
            return None
        case Scalar(text=text, kind=kind):
            value = whole_number(text) if kind == "int" else number(text) if kind == "float" else text
            return text if value is INVALID else value
