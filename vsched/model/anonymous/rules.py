"""Makes records with pseudonyms: one walker, which goes by the types of fields and the marks of texts in them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Set
from functools import cache
from types import UnionType
from typing import Annotated, Any, TypeVar, Union, get_args, get_origin, get_type_hints

import msgspec

from vsched.model.anonymous.names import Pseudonyms
from vsched.model.deviceshare.records import (
    ASCEND,
    NPU_ANNOTATIONS,
    NPU_ASSIGNED,
    NPU_NODE,
    NPU_TO_ALLOCATE,
    VGPU_IDS,
    VGPU_IDS_TO_ALLOCATE,
    VGPU_NODE,
)
from vsched.model.marks import TextMark

T = TypeVar("T")
S = TypeVar("S", bound=msgspec.Struct)
LEFT_OUT = "(left out)"
"""Replaces a text that may contain names."""
_OF_CLASS = ".storageclass."

Rule = Callable[["Renaming", Any], Any]
"""Makes the new value of a field."""


class Renaming:
    """Makes records with pseudonyms; an object that several records share stays one object."""

    def __init__(self, pseudonyms: Pseudonyms) -> None:
        self.names = pseudonyms
        self._made: dict[int, Any] = {}
        """By ``id`` of the original, which lives longer than this object."""
        self.expressions: Mapping[str, str] = {}
        """What replaces each selector of devices."""

    def once(self, original: S) -> S:
        """The renamed record, made once."""
        made: S | None = self._made.get(id(original))
        if made is None:
            made = self._made[id(original)] = self.record(original)
        return made

    def record(self, original: S) -> S:
        """The record with pseudonyms."""
        rules = rules_of(type(original))
        values = {name: rule(self, getattr(original, name)) for name, rule in rules.items()}
        return msgspec.structs.replace(original, **values) if values else original

    def of_any(self, value: Any) -> Any:
        """Renames records inside tuples, lists and maps; keys of maps stay."""
        match value:
            case msgspec.Struct():
                return self.once(value)
            case tuple() | list():
                return tuple(map(self.of_any, value))
            case dict():
                return {key: self.of_any(each) for key, each in value.items()}
            case _:
                return value


@cache
def rules_of(kind: type[msgspec.Struct]) -> dict[str, Rule]:
    """What becomes of each field of a record; fields of numbers and flags are left out."""
    hints = get_type_hints(kind, include_extras=True)
    rules = {name: rule_of(hints[name]) for name in kind.__struct_fields__}
    return {name: rule for name, rule in rules.items() if rule is not None}


def rule_of(hint: Any) -> Rule | None:
    """What becomes of values of this type: by their marks; None for those that stay as they are."""
    origin, args = get_origin(hint), get_args(hint)
    if origin is Annotated:
        return MARKS[args[1]]
    if hint is str:
        return name
    if isinstance(hint, type) and issubclass(hint, msgspec.Struct):
        return parts
    if origin in (Union, UnionType):
        return _of_union([rule for one in args if (rule := rule_of(one)) is not None])
    if origin is tuple and args[-1] is not ...:
        return _of_places([rule_of(one) for one in args])
    if isinstance(origin, type) and issubclass(origin, Mapping):
        first, second = map(rule_of, args)
        return pairs(first or word, second) if first or second else None
    if origin is tuple or (isinstance(origin, type) and issubclass(origin, Set)):
        one = rule_of(args[0])
        return None if one is None else each(one)
    return None


def _of_union(rules: list[Rule]) -> Rule | None:
    """A text by the rule that texts have, a record by its own, anything else by the rule of what is no text."""
    if not rules:
        return None
    texts = [rule for rule in rules if rule in LEAVES]
    others = [rule for rule in rules if rule not in LEAVES and rule is not parts]

    def rule(renaming: Renaming, found: Any) -> Any:
        if isinstance(found, msgspec.Struct):
            return renaming.once(found)
        fitting = texts if isinstance(found, str) else [] if found is None or isinstance(found, int | float) else others
        return fitting[0](renaming, found) if fitting else found

    return rule


def _of_places(rules: list[Rule | None]) -> Rule | None:
    """A rule for each place of a tuple."""
    if not any(rules):
        return None

    def rule(renaming: Renaming, found: Any) -> Any:
        return tuple(one if rule is None else rule(renaming, one) for rule, one in zip(rules, found, strict=True))

    return rule


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


def parts(renaming: Renaming, value: Any) -> Any:
    """Records with their own rules, also inside tuples and maps."""
    return renaming.of_any(value)


def request(renaming: Renaming, value: str) -> str:
    """The name of a request; that of an extended resource, which has a domain, stays."""
    return value if "." in value else renaming.names.name(value)


def dropped(renaming: Renaming, value: Any) -> Any:
    """Nothing is left of it."""
    return type(value)()


def assigned(renaming: Renaming, found: str) -> str:
    """Devices as annotations list them: the first field of each is its uuid."""
    if ":" not in found:
        return found
    return ";".join(":".join(_part(renaming, part) for part in some.split(":")) for some in found.split(";"))


def _part(renaming: Renaming, part: str) -> str:
    found, comma, rest = part.partition(",")
    uuid, bracket, instance = found.partition("[")
    return text(renaming, uuid) + bracket + instance + comma + rest if comma else part


_ANNOTATIONS: dict[str, Rule] = {VGPU_NODE: node, NPU_NODE: node, VGPU_IDS: assigned, VGPU_IDS_TO_ALLOCATE: assigned}


def _npus(renaming: Renaming, found: str) -> str:
    """How NPUs are divided, as the device plugin reads it."""
    listed = msgspec.json.decode(found, type=list[dict[str, str | int]])
    return msgspec.json.encode(
        [{key: text(renaming, str(value)) if key == "UUID" else value for key, value in one.items()} for one in listed]
    ).decode()


def _annotation(key: str) -> Rule:
    """The rule for an annotation of pods."""
    if key.startswith(NPU_ANNOTATIONS) and key.endswith((NPU_ASSIGNED, NPU_TO_ALLOCATE)):
        return assigned
    return _npus if key.startswith(ASCEND) else _ANNOTATIONS.get(key, word)


def bound(renaming: Renaming, found: tuple[tuple[str, str], ...]) -> tuple[tuple[str, str], ...]:
    """Annotations that pods get with their binding."""
    return tuple((key, _annotation(key)(renaming, value)) for key, value in found)


MARKS: dict[TextMark, Rule] = {
    TextMark.WORD: word,
    TextMark.VALUE: value,
    TextMark.NODE: node,
    TextMark.UID: uid,
    TextMark.ADDRESS: address,
    TextMark.OPAQUE: text,
    TextMark.RESOURCE: counted,
    TextMark.SENTENCE: sentence,
    TextMark.REQUEST: request,
    TextMark.EXPRESSION: expression,
    TextMark.DEVICES: assigned,
    TextMark.BINDING: bound,
    TextMark.DROPPED: dropped,
}
LEAVES = {name, *MARKS.values()} - {bound, dropped}
"""Rules of single texts."""


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
