"""Nodes with devices that are alike: the search runs once for all of them, and its answer is kept between sessions.

For the search, the devices of two nodes are alike if in turn the same requests match them, the same ones are free, and
equal values of the attributes in constraints are at the same places. Devices that several claims may use, and those
that consume counters, are not compared.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence

import numpy as np

from vsched.kernels.devices.books import DeviceBooks
from vsched.kernels.devices.inventory import Inventory
from vsched.kernels.devices.matching import match
from vsched.kernels.devices.search import ClaimAsk, DeviceSearchResult, Pick, attribute_values, search

MOST_ANSWERS = 1 << 14


def search_once(
    claims: tuple[ClaimAsk, ...], row: int, inventory: Inventory, books: DeviceBooks, *, later: bool, steps: int
) -> DeviceSearchResult:
    """As ``search``; the answer may come from a node with devices that are alike."""
    key = _key(claims, row, inventory, books, later=later)
    if key is None:
        return search(claims, row, inventory, books, later=later, steps=steps)
    answers: dict[Hashable, DeviceSearchResult] = inventory.keep(
        ("answers", claims), dict[Hashable, DeviceSearchResult]
    )
    devices = inventory.reaching(row)
    known = answers.get(key)
    if known is None:
        found = search(claims, row, inventory, books, later=later, steps=steps)
        if found.complete:
            if len(answers) >= MOST_ANSWERS:
                answers.clear()
            places = {device: place for place, device in enumerate(devices)}
            answers[key] = _with_devices(found, places)
        return found
    return _with_devices(known, devices)._replace(steps=0)


def _with_devices(found: DeviceSearchResult, numbers: Sequence[int] | dict[int, int]) -> DeviceSearchResult:
    """The answer with other numbers: places in place of devices, or devices in place of places."""
    if found.picks is None:
        return found
    return found._replace(
        picks=tuple(tuple(_with(pick, numbers[pick.device]) for pick in mine) for mine in found.picks)
    )


def _with(pick: Pick, device: int) -> Pick:
    return pick._replace(device=device)


def _key(
    claims: tuple[ClaimAsk, ...], row: int, inventory: Inventory, books: DeviceBooks, *, later: bool
) -> Hashable | None:
    """What the answer depends on; None where nodes are not compared."""
    devices = np.array(inventory.reaching(row), dtype=np.int64)
    if not inventory.plain[devices].all():
        return None
    held = books.held[devices]
    free = held == (books.leaving[devices] if later else 0)
    parts: list[Hashable] = [free.tobytes(), bool(inventory.incomplete[row])]
    for claim in claims:
        for ask in (one for alternatives in claim.requests for one in alternatives):
            found = match(ask.want, inventory)
            parts += (found.units[devices].tobytes(), found.selected[devices].tobytes())
        for constraint in claim.constraints:
            seen: dict[int, int] = {}
            mine = attribute_values(inventory, constraint.attribute)[devices].tolist()
            parts.append(tuple([seen.setdefault(one, len(seen)) if one >= 0 else one for one in mine]))
    return tuple(parts)
