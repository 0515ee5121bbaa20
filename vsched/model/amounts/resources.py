"""Which resources there are, in which unit, and amounts of them.

An ``Amounts`` is what one object asks for or has: a sorted tuple of ``(column, value)`` pairs without zeros.
A ``Vector`` is a running sum: a dict from column to value that only its owner changes.
Columns come from a ``ResourceAxis``. Nodes and queues get as many as they name. Pods and PodGroups, which any user may
create, get only a few for resources that no node offers. A column that is no longer used is given to the next new name,
so code that keeps amounts for longer also keeps a copy of the names (``ResourceAxis.copy``).
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import Protocol

from vsched.errors import BadQuantity, NoColumn
from vsched.model import words
from vsched.model.amounts.quantity import UNLIMITED, format_bytes, format_milli, parse_quantity

CPU, MEMORY, PODS = 0, 1, 2
"""Columns that every axis has. Units: milli-cores, bytes, pods."""

Amounts = tuple[tuple[int, int], ...]
Vector = dict[int, int]

NOTHING: Amounts = ()
ONE_POD: Amounts = ((PODS, 1),)

DEVICE_CAPACITY = ".deviceclass/"
"""Part of the names of capacities of devices in queues; what they count is not in the name."""

ASKED_MAX = 64
"""The most columns for requested resources that no node offers; each costs a row of the table of nodes."""

_NATIVE_SCALARS = ("hugepages-", "attachable-volumes-")
_BYTES = ("memory", "ephemeral-storage")


def scale_of(name: str) -> int:
    """Base units in one unit of the resource: bytes and pods count as they are, everything else in thousandths."""
    return 1 if name in _BYTES or name == "pods" or name.startswith("hugepages-") else 1000


def is_schedulable(name: str) -> bool:
    """Whether the scheduler counts this resource name (quota-only names are dropped)."""
    if name in ("cpu", "pods", *_BYTES):
        return True
    if name.startswith(_NATIVE_SCALARS):
        return True
    return "/" in name and not name.startswith(("requests.", "count/"))


class Columns(Protocol):
    """Maps resource names to columns."""

    @property
    def names(self) -> list[str]:
        """The resource of each column."""

    def column(self, name: str) -> int | None:
        """The column of ``name``; None where amounts of it do not count. Raises NoColumn where there is none left."""


class ResourceAxis:
    """The list of resource names; position is the column."""

    __slots__ = ("_asked", "_columns", "_idle", "names", "version")

    def __init__(self, names: Iterable[str] = ()) -> None:
        self.names: list[str] = ["cpu", "memory", "pods"]
        self._columns: dict[str, int] = {name: column for column, name in enumerate(self.names)}
        self._asked: set[int] = set()
        """Columns that exist because pods or PodGroups request them."""
        self._idle: set[int] = set()
        """Columns that nothing uses: the next new names get them."""
        self.version = 0
        """Grows whenever a name is added or replaced, and when a known one is offered."""
        for name in names:
            self.column(name)

    def __len__(self) -> int:
        return len(self.names)

    def column(self, name: str) -> int:
        """The column of ``name``, made on first use."""
        column = self._columns.get(name)
        if column is None:
            column = self._made(name)
        if column in self._idle or column in self._asked:
            self._idle.discard(column)
            self._asked.discard(column)
            self.version += 1
        return column

    def asked(self, name: str) -> int:
        """The same for a request; raises NoColumn if there are too many columns that no node offers."""
        column = self._columns.get(name)
        if column is not None and column not in self._idle:
            return column
        if len(self._asked) >= ASKED_MAX:
            raise NoColumn(words.too_many_unknown_resources(name, ASKED_MAX))
        if column is None:
            column = self._made(name)
        self._idle.discard(column)
        self._asked.add(column)
        return column

    def keep(self, used: Collection[int], offered: Collection[int]) -> bool:
        """Columns that are not ``used`` are for new names; True where that leaves room. ``offered`` are not limited."""
        self._idle = {column for column in range(len(self.names)) if column > PODS and column not in used}
        self._asked = {column for column in used if column > PODS and column not in offered}
        return len(self._asked) < ASKED_MAX

    def copy(self) -> ResourceAxis:
        """A copy with the names as they are now."""
        return ResourceAxis(self.names[PODS + 1 :])

    def _made(self, name: str) -> int:
        self.version += 1
        if not self._idle:
            self._columns[name] = len(self.names)
            self.names.append(name)
            return self._columns[name]
        column = self._idle.pop()
        del self._columns[self.names[column]]
        self.names[column] = name
        self._columns[name] = column
        return column

    def find(self, name: str) -> int | None:
        """The column of ``name``; None where it has none. A cycle uses this, because it must not add columns."""
        return self._columns.get(name)

    def offered(self, name: str) -> int | None:
        """The column of ``name``; None where it has none, or where no node and no queue names it."""
        column = self._columns.get(name)
        return None if column in self._idle or column in self._asked else column

    def parse(self, quantities: Mapping[str, object] | None) -> Amounts:
        """A Kubernetes ResourceList as Amounts; raises BadQuantity naming the resource."""
        if not quantities:
            return NOTHING
        found: list[tuple[int, int]] = []
        for name, quantity in quantities.items():
            if is_schedulable(name):
                value = parse_amount(name, quantity)
                if value:
                    found.append((self.column(name), value))
        found.sort()
        return tuple(found)

    def render(self, amounts: Iterable[tuple[int, int]]) -> dict[str, str]:
        """Amounts as a Kubernetes ResourceList in canonical quantities, zeros and "no limit" left out."""
        return {
            self.names[column]: format_amount(self.names[column], value)
            for column, value in sorted(amounts)
            if value and abs(value) < UNLIMITED
        }


class AskedColumns:
    """Columns as pods and PodGroups get them."""

    __slots__ = ("_axis",)

    def __init__(self, axis: ResourceAxis) -> None:
        self._axis = axis

    @property
    def names(self) -> list[str]:
        """The resource of each column."""
        return self._axis.names

    def column(self, name: str) -> int:
        """The column of ``name``; raises NoColumn where there is none left."""
        return self._axis.asked(name)


class OfferedColumns:
    """Only the columns of what nodes and queues name; amounts of other resources do not count."""

    __slots__ = ("_axis",)

    def __init__(self, axis: ResourceAxis) -> None:
        self._axis = axis

    @property
    def names(self) -> list[str]:
        """The resource of each column."""
        return self._axis.names

    def column(self, name: str) -> int | None:
        """The column of ``name``, None where nobody offers it."""
        return self._axis.offered(name)


def parse_amount(name: str, quantity: object) -> int:
    """One quantity (text, or the number YAML made of it) in base units; raises BadQuantity naming the resource."""
    return parse_scaled(name, quantity, scale_of(name))


def parse_scaled(name: str, quantity: object, scale: int) -> int:
    """One named quantity in base units, with ``scale`` base units in one unit; raises BadQuantity with the name."""
    text = quantity if isinstance(quantity, str) else str(quantity)
    try:
        value = parse_quantity(text.strip(), scale)
    except BadQuantity as error:
        raise BadQuantity(f"{name}: {error}") from None
    if value < 0:
        raise BadQuantity(words.negative(name, text))
    return value


def format_amount(name: str, value: int) -> str:
    """Base units of a resource as a canonical quantity; capacities of devices that are whole mebibytes in these."""
    if DEVICE_CAPACITY in name and value and value % (1000 << 20) == 0:
        return format_bytes(value // 1000)
    if scale_of(name) == 1000:
        return format_milli(value)
    return str(value) if name == "pods" else format_bytes(value)


def add(into: Vector, amounts: Iterable[tuple[int, int]]) -> None:
    """Add amounts to a running sum."""
    for column, value in amounts:
        into[column] = into.get(column, 0) + value


def subtract(into: Vector, amounts: Iterable[tuple[int, int]]) -> None:
    """Subtract amounts from a running sum; the caller has to make sure that they were added before."""
    for column, value in amounts:
        into[column] = into.get(column, 0) - value


def less(left: Mapping[int, int], right: Mapping[int, int]) -> Vector:
    """``left`` minus ``right``."""
    found = dict(left)
    subtract(found, right.items())
    return found


def without_zeros(vector: Mapping[int, int]) -> Amounts:
    """A running sum as amounts."""
    if not vector:
        return NOTHING
    return tuple(sorted([one for one in vector.items() if one[1]]))


def exceeded(left: Mapping[int, int], right: Amounts) -> Amounts:
    """The positive part of ``left - right`` (Volcano's ``ExceededPart``)."""
    if not left:
        return NOTHING
    less = dict(right)
    parts = [(column, value - less.get(column, 0)) for column, value in sorted(left.items())]
    return tuple([part for part in parts if part[1] > 0])


def shortfall(wanted: Amounts, held: Mapping[int, int]) -> Amounts:
    """The positive part of ``wanted - held``."""
    if not held:
        return wanted
    parts = [(column, value - held.get(column, 0)) for column, value in wanted]
    return tuple([part for part in parts if part[1] > 0])


def plus(left: Amounts, right: Amounts) -> Amounts:
    """The sum of two amounts."""
    total = dict(left)
    add(total, right)
    return without_zeros(total)


def times(amounts: Amounts, count: int) -> Amounts:
    """``amounts`` multiplied by ``count``."""
    return tuple((column, value * count) for column, value in amounts)


def maximum(left: Amounts, right: Amounts) -> Amounts:
    """The larger of two amounts, column by column."""
    largest = dict(left)
    for column, value in right:
        if value > largest.get(column, 0):
            largest[column] = value
    return tuple(sorted(largest.items()))
