"""Tables in JSON: many records of one type as columns, in pieces small enough not to delay other threads.

A column is a list of values. Where values repeat, it is ``{"of": [each once], "at": [positions]}``; ``at`` is left out
where all values are equal. The reader takes the types of the columns from the record type.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from inspect import Parameter, signature
from itertools import islice
from typing import Any, Generic, NamedTuple, TypeVar

import msgspec

from vsched.errors import BadInput
from vsched.model import words

T = TypeVar("T")
R = TypeVar("R", bound=msgspec.Struct)
H = TypeVar("H", bound=Hashable)

PIECE = 1000
"""Rows of one piece. Encoding a piece is one call, and other threads wait for it (less than a millisecond)."""

MOST_ROWS = 100_000
"""The most rows of a piece that is read."""

Position = int
"""The position of a record in another table."""


class Column(msgspec.Struct, frozen=True, omit_defaults=True):
    """A column with repeated values."""

    of: list[Any]
    at: list[int] | None = None


class Piece(msgspec.Struct, frozen=True):
    """Consecutive rows of a table."""

    rows: int
    columns: dict[str, msgspec.Raw]


class Parts(NamedTuple):
    """A JSON object whose members are made one after another; each is consumed before the next one is made."""

    members: Iterator[tuple[str, object]]
    """Name and content of each member; ``Parts`` become objects, other iterators become lists."""


class Numbered(Generic[H]):
    """Gives each new value the next position, and iterates over the values in that order."""

    __slots__ = ("_positions",)

    def __init__(self, values: Iterable[H] = ()) -> None:
        self._positions: dict[H, int] = {}
        for value in values:
            self.at(value)

    def at(self, value: H) -> Position:
        """The position of the value; a new value gets the next one."""
        return self._positions.setdefault(value, len(self._positions))

    def find(self, value: H) -> Position | None:
        """The position of the value; None where it has none."""
        return self._positions.get(value)

    def __iter__(self) -> Iterator[H]:
        return iter(self._positions)

    def __len__(self) -> int:
        return len(self._positions)


# -- writing --------------------------------------------------------------------------------------------------------


def pieces(
    records: Iterable[msgspec.Struct], instead: Mapping[str, Callable[[Any], object]] | None = None
) -> Iterator[Piece]:
    """The records as pieces of a table; the functions in ``instead`` convert the fields of these names."""
    for some in batches(records):
        columns = {}
        for name in some[0].__struct_fields__:
            values = [getattr(record, name) for record in some]
            make = (instead or {}).get(name)
            columns[name] = raw_column(values if make is None else [make(value) for value in values])
        yield Piece(len(some), columns)


def batches(items: Iterable[T], size: int = PIECE) -> Iterator[list[T]]:
    """Lists of up to ``size`` items each, in order."""
    rest = iter(items)
    while some := list(islice(rest, size)):
        yield some


def raw_column(values: Sequence[Any]) -> msgspec.Raw:
    """A column as JSON, in the shorter of the two forms."""
    return msgspec.Raw(msgspec.json.encode(_shortened(values)))


def _shortened(values: Sequence[Any]) -> Sequence[Any] | Column:
    keys = [tuple(value.items()) for value in values] if values and isinstance(values[0], dict) else values
    try:
        each = dict(zip(keys, values, strict=True))
    except TypeError:  # values without a hash are written as they are
        return values
    if 2 * len(each) > len(values) > 1:
        return values
    places = {key: place for place, key in enumerate(each)}
    return Column(list(each.values()), None if len(places) == 1 else [places[key] for key in keys])


def written(content: object) -> Iterator[bytes]:
    """JSON in pieces; each piece is made quickly."""
    if isinstance(content, Parts):
        between = b"{"
        for name, member in content.members:
            yield between + msgspec.json.encode(name) + b":"
            yield from written(member)
            between = b",\n"
        yield b"}" if between != b"{" else b"{}"
    elif isinstance(content, Iterator):
        between = b"["
        for item in content:
            yield between + msgspec.json.encode(item)
            between = b",\n"
        yield b"]" if between != b"[" else b"[]"
    else:
        yield msgspec.json.encode(content)


# -- reading --------------------------------------------------------------------------------------------------------


def records(
    found: Iterable[Piece], record: type[R], instead: Mapping[str, Callable[[Any], Any]] | None = None
) -> list[R]:
    """The records of a table; the functions in ``instead`` convert positions back to the fields of these names.

    Fields that the table does not have get their defaults. Raises BadInput.
    """
    made: list[R] = []
    instead = instead or {}
    kinds = _kinds(record, tuple(instead))
    for piece in found:
        if not 0 <= piece.rows <= MOST_ROWS:
            raise BadInput(words.too_many_rows(piece.rows, MOST_ROWS))
        unknown = piece.columns.keys() - kinds.keys()
        if unknown:
            raise BadInput(words.record_has_no_field(record.__name__, min(unknown)))
        columns = {}
        for name in record.__struct_fields__:
            raw = piece.columns.get(name)
            if raw is None:
                continue
            values = column_of(raw, kinds[name], piece.rows)
            make = instead.get(name)
            if make is not None and values and min(values) < 0:
                raise BadInput(words.points_to(record.__name__, name, min(values)))
            columns[name] = values if make is None else [make(value) for value in values]
        made += _rows(record, columns, piece.rows)
    return made


def column_of(raw: msgspec.Raw, kind: Any, rows: int) -> list[Any]:
    """The values of a column with values of type ``kind``; raises BadInput where their number is not ``rows``."""
    values: list[Any]
    if memoryview(raw)[0] != ord("{"):
        values = _decoder(list[kind]).decode(raw)
    else:
        column = _decoder(_column_of(kind)).decode(raw)
        if column.at is None:
            values = column.of * rows
        elif column.at and not 0 <= min(column.at) <= max(column.at) < len(column.of):
            raise BadInput(words.POINTS_TO_NO_VALUE)
        else:
            values = [column.of[at] for at in column.at]
    if len(values) != rows:
        raise BadInput(words.too_few_values(len(values), rows))
    return values


def _rows(record: type[R], columns: Mapping[str, Sequence[Any]], rows: int) -> Iterable[R]:
    if tuple(columns) == _positional(record):
        return map(record, *columns.values())
    return (record(**{name: values[row] for name, values in columns.items()}) for row in range(rows))


@lru_cache(maxsize=256)
def _positional(record: type[msgspec.Struct]) -> tuple[str, ...]:
    """The fields that the constructor takes by position, in order."""
    parameters = signature(record).parameters.values()
    return tuple(one.name for one in parameters if one.kind is Parameter.POSITIONAL_OR_KEYWORD)


@lru_cache(maxsize=256)
def _kinds(record: type[msgspec.Struct], positions: tuple[str, ...]) -> dict[str, Any]:
    """The types of the columns of a record."""
    return {field.name: field.type for field in msgspec.structs.fields(record)} | dict.fromkeys(positions, Position)


@lru_cache(maxsize=256)
def _decoder(kind: Any) -> msgspec.json.Decoder[Any]:
    return msgspec.json.Decoder(kind)


@lru_cache(maxsize=256)
def _column_of(kind: Any) -> Any:
    positions: Any = list[int] | None
    return msgspec.defstruct("Column", [("of", list[kind]), ("at", positions, None)])
