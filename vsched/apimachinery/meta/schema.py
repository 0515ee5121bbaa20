"""The built-in API types: which fields each has, of what type, and how patches treat them.

They come from the text tables in ``vsched.apimachinery.meta.schemas``, which are read once. Strict decoding, protobuf,
strategic merge patches, server-side apply and OpenAPI use them. Custom kinds bring schemas of their own.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cache
from importlib import resources

from vsched.apimachinery.meta.kinds import Kind

SCALARS = frozenset(
    {
        "string", "int32", "int64", "uint32", "uint64", "bool", "double", "float", "bytes", "quantity", "intorstring",
        "time", "microtime", "duration", "fields", "raw", "json",
    }
)  # fmt: skip

OBJECT_META = "meta/v1.ObjectMeta"


@dataclass(frozen=True, slots=True)
class SchemaField:
    """One field of a type; ``of`` is a scalar or the full name of a type, ``shape`` is ``""``, ``[]`` or ``{}``."""

    number: int
    name: str
    of: str
    shape: str = ""
    pointer: bool = False
    required: bool = False
    wrapped: bool = False
    emitted: bool = False
    merge_key: str | None = None
    """The key by which a strategic merge patch merges the list; empty for plain values, None if it replaces."""
    retain: bool = False
    replace: bool = False
    map_keys: tuple[str, ...] = ()
    is_set: bool = False
    atomic: bool = False
    go_type: str = ""
    """The name of the type in Go, for error messages, where it is not that of a plain type."""

    @property
    def inline(self) -> bool:
        return self.name == "*"

    @property
    def scalar(self) -> bool:
        return self.of in SCALARS


@dataclass(slots=True)
class Type:
    """A type by its full name, such as ``core/v1.Pod``; ``fields`` has the JSON view, ``wire`` the protobuf one."""

    name: str
    atomic: bool = False
    fields: dict[str, SchemaField] = field(default_factory=dict)
    wire: dict[int, SchemaField] = field(default_factory=dict)

    @property
    def short(self) -> str:
        return self.name.partition(".")[2]


class SchemaTable:
    """Every built-in type by its full name."""

    def __init__(self, types: dict[str, Type]) -> None:
        self._types = types

    def __getitem__(self, name: str) -> Type:
        return self._types[name]

    def get(self, name: str) -> Type | None:
        return self._types.get(name)

    def __iter__(self) -> Iterator[Type]:
        return iter(self._types.values())

    def of_kind(self, kind: Kind) -> Type | None:
        """The type of a built-in kind; None for a custom one."""
        return None if kind.custom else self._types.get(type_name(kind.group, kind.version, kind.kind))


def type_name(group: str, version: str, kind: str) -> str:
    """The full name of a kind's type: only the first label of a group names its package."""
    return f"{group.partition('.')[0] or 'core'}/{version}.{kind}"


@cache
def schema_table() -> SchemaTable:
    """The table, read once."""
    declared: dict[str, tuple[list[str], list[SchemaField]]] = {}
    for entry in resources.files("vsched.apimachinery.meta.schemas").iterdir():
        if entry.name.endswith(".txt"):
            group, version = entry.name.removesuffix(".txt").split(".")
            _read(f"{group}/{version}", entry.read_text(encoding="utf-8"), declared)
    types = {
        name: Type(name, "atomic" in facts, wire={item.number: item for item in fields if item.number})
        for name, (facts, fields) in declared.items()
    }
    for name, one in types.items():
        one.fields = {item.name: item for item in _flattened(name, declared)}
    return SchemaTable(types)


def _read(package: str, text: str, declared: dict[str, tuple[list[str], list[SchemaField]]]) -> None:
    for line in text.splitlines():
        words = line.split()
        if not line.startswith(" "):
            fields: list[SchemaField] = []
            declared[f"{package}.{words[0]}"] = (words[1:], fields)
        else:
            fields.append(_field(package, words))


def _field(package: str, words: list[str]) -> SchemaField:
    number, name, written, *facts = words
    of = written.rstrip("?!~=")
    marks = written[len(of) :]
    shape = of[:2] if of[:2] in ("[]", "{}") else ""
    of = of[len(shape) :]
    if of.startswith("[]") and shape == "{}":
        of = of[2:]
    if of not in SCALARS and "/" not in of:
        of = f"{package}.{of}"
    named = dict(fact.partition("=")[::2] for fact in facts)
    return SchemaField(
        number=0 if number == "-" else int(number),
        name=name,
        of=of,
        shape=shape,
        pointer="?" in marks,
        required="!" in marks,
        wrapped="~" in marks,
        emitted="=" in marks,
        merge_key=named.get("merge"),
        retain="retain" in named,
        replace="replace" in named,
        map_keys=tuple(named["keys"].split(",")) if "keys" in named else (),
        is_set="set" in named,
        atomic="atomic" in named,
        go_type=named.get("go", ""),
    )


def _flattened(name: str, declared: dict[str, tuple[list[str], list[SchemaField]]]) -> Iterator[SchemaField]:
    for item in declared[name][1]:
        if item.inline:
            yield from _flattened(item.of, declared)
        else:
            yield item
