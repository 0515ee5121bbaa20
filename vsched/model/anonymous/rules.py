"""Rules that say what becomes of a field with names, and records with pseudonyms in such fields."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeVar

import msgspec

from vsched.model.anonymous.names import Pseudonyms

T = TypeVar("T")
S = TypeVar("S", bound=msgspec.Struct)
LEFT_OUT = "(left out)"
"""Replaces a text that may contain names."""
_OF_CLASS = ".storageclass."

Rule = Callable[["Renaming", Any], Any]
"""Makes the new value of a field."""


class Renaming:
    """Makes records with pseudonyms; an object that several records share stays one object."""

    def __init__(self, pseudonyms: Pseudonyms, rules: Mapping[type, Mapping[str, Rule]]) -> None:
        self.names = pseudonyms
        self._rules = rules
        """By type of record, then by field; other fields stay as they are."""
        self._made: dict[int, Any] = {}
        """By ``id`` of the original, which lives longer than this object."""
        self.expressions: Mapping[str, str] = {}
        """What replaces each selector of devices."""

    def once(self, original: S) -> S:
        """The renamed record of a shared one, made once."""
        made: S | None = self._made.get(id(original))
        if made is None:
            made = self._made[id(original)] = self.record(original)
        return made

    def record(self, original: S) -> S:
        """The record with pseudonyms."""
        rules = self._rules.get(type(original))
        if rules is None:
            return original
        values = {name: rule(self, getattr(original, name)) for name, rule in rules.items()}
        return msgspec.structs.replace(original, **values)

    def of_any(self, value: Any) -> Any:
        """Renames records inside tuples, lists and maps; keys of maps stay."""
        match value:
            case msgspec.Struct():
                return self.record(value)
            case tuple() | list():
                return tuple(map(self.of_any, value))
            case dict():
                return {key: self.of_any(each) for key, each in value.items()}
            case _:
                return value


# -- rules ----------------------------------------------------------------------------------------------------------


def name(renaming: Renaming, value: str) -> str:
    """A name, or a key made of names."""
    return renaming.names.name(value)


def value(renaming: Renaming, value: str) -> str:
    """A text that may be a node name, such as a label value."""
    return renaming.names.value(value)


def node(renaming: Renaming, value: str) -> str:
    """The name of a node."""
    return renaming.names.node(value)


def uid(renaming: Renaming, value: str) -> str:
    """A uid."""
    return renaming.names.uid(value)


def address(renaming: Renaming, value: str) -> str:
    """An IP address of a node."""
    return renaming.names.address(value)


def text(renaming: Renaming, value: str) -> str:
    """A text from outside vsched that is only compared for equality."""
    return renaming.names.text(value)


def counted(renaming: Renaming, value: str) -> str:
    """A resource name; it stays, except for a storage class in it."""
    return renaming.names.name(value) if _OF_CLASS in value else value


def word(renaming: Renaming, value: str) -> str:
    """A fixed word, such as a phase; it stays."""
    return value


def sentence(renaming: Renaming, value: str) -> str:
    """A sentence that may contain names; it is replaced by ``LEFT_OUT``."""
    return LEFT_OUT if value else ""


def expression(renaming: Renaming, value: str) -> str:
    """A selector of devices."""
    return renaming.expressions[value]


def shared(renaming: Renaming, value: Any) -> Any:
    """A record that other records share."""
    return None if value is None else renaming.once(value)


def parts(renaming: Renaming, value: Any) -> Any:
    """Records with their own rules, also inside tuples and maps."""
    return renaming.of_any(value)


def each(rule: Rule) -> Rule:
    """A rule for each item of a tuple or set."""
    return lambda renaming, found: None if found is None else type(found)(rule(renaming, one) for one in found)


def pairs(first: Rule, second: Rule | None = None) -> Rule:
    """Rules for the first and second items of a tuple of pairs, or for the keys and values of a map."""

    def rule(renaming: Renaming, found: Any) -> Any:
        if found is None:
            return None
        items = found.items() if isinstance(found, Mapping) else found
        made = ((first(renaming, key), second(renaming, one) if second else one) for key, one in items)
        return dict(made) if isinstance(found, Mapping) else tuple(made)

    return rule
