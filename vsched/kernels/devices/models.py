"""Attributes and capacities of device models as arrays, and models that are equal in some of them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np

from vsched.kernels.devices.inventory import NOWHERE, Inventory
from vsched.model.claims.devices import DeviceSeries
from vsched.model.nodes.table import Ids, Ints

ATTRIBUTES, CAPACITY = "attributes", "capacity"


class Kinds(NamedTuple):
    """Models that are equal in some respects."""

    kind: Ids
    """int32[models]: the number of the model's kind."""
    first: Ints
    """int64[kinds]: the first model of each."""


def values(inventory: Inventory, where: str, name: str) -> Ids:
    """int32[models]: numbers of the values under a full name, equal for equal values; NOWHERE where there is none.

    A name without a domain is the driver's.
    """

    def compute() -> Ids:
        numbers: dict[tuple[type, object], int] = {}
        places: dict[DeviceSeries, int] = {}
        found = np.full(len(inventory.models), NOWHERE, dtype=np.int32)
        for number, model in enumerate(inventory.models):
            series = model.series
            place = places.get(series)
            if place is None:
                place = places[series] = _place(series, where, name)
            if place != NOWHERE:
                value = model.values[place] if where == ATTRIBUTES else series.capacity[place][1]
                # True and 1 are equal in Python, and different as attributes.
                found[number] = numbers.setdefault((type(value), value), len(numbers))
        return found

    return inventory.keep(("values", where, name), compute)


def _place(series: DeviceSeries, where: str, name: str) -> int:
    """The position of a full name; NOWHERE where it is not there."""
    names = series.names if where == ATTRIBUTES else tuple([each for each, _ in series.capacity])
    domain, _, identifier = name.rpartition("/")
    known = (name, identifier) if domain == series.driver else (name,)
    return next((names.index(each) for each in known if each in names), NOWHERE)


def kinds(inventory: Inventory, reads: tuple[tuple[str, str], ...]) -> Kinds:
    """The models by driver, by whether they may be shared, and by the values that ``reads`` names as (map, name)."""

    def compute() -> Kinds:
        kind = np.zeros(len(inventory.models), dtype=np.int64)
        for column in (_plain(inventory), *(values(inventory, where, name) for where, name in reads)):
            # Made small again at each step, so that the products fit.
            kind = np.unique(kind * (int(column.max(initial=0)) + 2) + column + 1, return_inverse=True)[1]
        return Kinds(kind.astype(np.int32), np.unique(kind, return_index=True)[1])

    return inventory.keep(("kinds", reads), compute)


def _plain(inventory: Inventory) -> Ids:
    """int32[models]: numbers of drivers, apart for models that may be shared."""

    def compute() -> Ids:
        numbers: dict[tuple[str, bool], int] = {}
        found: Iterable[int] = (
            numbers.setdefault((model.driver, model.shareable), len(numbers)) for model in inventory.models
        )
        return np.fromiter(found, dtype=np.int32, count=len(inventory.models))

    return inventory.keep("drivers", compute)
