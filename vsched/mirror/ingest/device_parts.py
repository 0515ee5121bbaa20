"""What ResourceSlices, DeviceClasses and ResourceClaims have in common: nodes, selectors and quantities."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache

from vsched.api.affinity import NodeSelector
from vsched.api.devices import (
    DeviceSelectorFields,
    Quantity,
)
from vsched.errors import BadObject, BadQuantity
from vsched.mirror.ingest.bounds import ASKED_DEVICES_MAX, ATTRIBUTES_MAX, read
from vsched.mirror.ingest.rules import node_terms
from vsched.mirror.ingest.words import devices as words
from vsched.model.amounts.quantity import parse_quantity
from vsched.model.claims.devices import (
    DeviceSelector,
    Quantities,
)
from vsched.model.names import KNOWN_MAX, shared
from vsched.model.pods.shape import NodeTerm
from vsched.model.words import negative

SCALE = 1000
"""Quantities are in thousandths."""


def nodes_of(selector: NodeSelector | None, at: str) -> tuple[NodeTerm, ...] | None:
    """The terms of a node selector; None without one."""
    return None if selector is None else _same_nodes(node_terms(selector, at))


@lru_cache(maxsize=KNOWN_MAX)  # most allocations are for one node
def _same_nodes(terms: tuple[NodeTerm, ...]) -> tuple[NodeTerm, ...]:
    return terms


def selectors_of(fields: Sequence[DeviceSelectorFields] | None, at: str) -> tuple[DeviceSelector, ...]:
    """CEL expressions about devices."""
    read(fields, ASKED_DEVICES_MAX, at)
    for number, each in enumerate(fields or ()):
        if each.cel is None:
            raise BadObject(words.no_cel(at, number))
    return tuple(DeviceSelector(each.cel.expression) for each in fields or () if each.cel is not None)


def quantities_of(fields: Mapping[str, Quantity] | None, at: str) -> Quantities:
    """Amounts in thousandths, sorted by name."""
    read(fields, ATTRIBUTES_MAX, at)
    found = ((shared(name), amount_of(value, f"{at}[{name}]")) for name, value in (fields or {}).items())
    return _same_quantities(tuple(sorted(found)))


@lru_cache(maxsize=4096)  # most devices of a model have the same
def _same_quantities(found: Quantities) -> Quantities:
    return found


def amount_of(quantity: Quantity, at: str) -> int:
    """A quantity in thousandths."""
    try:
        value = parse_quantity(str(quantity).strip(), SCALE)
    except BadQuantity as error:
        raise BadObject(f"{at}: {error}") from None
    if value < 0:
        raise BadObject(negative(at, quantity))
    return value
