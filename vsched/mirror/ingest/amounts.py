"""Lists of resources (``ResourceList``) as amounts by column."""

from __future__ import annotations

from vsched.api.base import ResourceList
from vsched.errors import BadObject, BadQuantity, NoColumn
from vsched.mirror.ingest.bounds import OFFERED_MAX, read, short
from vsched.model.amounts.resources import Amounts, Columns, is_schedulable, parse_amount, without_zeros

Amount = dict[int, int]
"""Base units by column. Zeros that an object states are kept: asking for zero is not asking for nothing."""


def quantities(axis: Columns, resources: ResourceList | None, at: str) -> Amount:
    """A ResourceList by column, zeros kept; raises BadObject or NoColumn naming the resource."""
    found: Amount = {}
    for name, quantity in (resources or {}).items():
        if is_schedulable(name):
            try:
                amount, column = parse_amount(name, quantity), axis.column(name)
            except BadQuantity as error:
                raise BadObject(f"{at}.{error}") from None
            except NoColumn as error:
                raise NoColumn(f"{at}.{error}") from None
            if column is not None:
                found[column] = amount
    return found


def stated_amounts(axis: Columns, resources: ResourceList | None, at: str) -> Amounts:
    """Amounts with zeros kept: a limit of none is not the absence of a limit."""
    _bound_amounts(resources, at)
    return tuple(sorted(quantities(axis, resources, at).items()))


def amounts_of(axis: Columns, resources: ResourceList | None, at: str) -> Amounts:
    """Amounts without zeros."""
    _bound_amounts(resources, at)
    found = quantities(axis, resources, at)
    return without_zeros(found)


def _bound_amounts(resources: ResourceList | None, at: str) -> None:
    """Raise BadObject where a list names more resources than are read, or one that is no name."""
    read(resources, OFFERED_MAX, at)
    for name in resources or ():
        short(name, at)
