"""How much namespaces may hold, in the terms of those who place pods: the ceilings of a division by column."""

from __future__ import annotations

from vsched.model.arbitration import Ceiling, Division
from vsched.model.resources import ResourceAxis


def ceilings_of(division: Division, axis: ResourceAxis) -> dict[str, Ceiling]:
    """The ceilings of all namespaces that have any, of what pods ask of nodes: storage and limits are not among it.

    A resource that no node and no pod has named yet has no column, and nothing that could be held of it.
    """
    found: dict[str, Ceiling] = {}
    for namespace, award in division.namespaces.items():
        columns = {axis.find(name): most for name, most in award.ceiling.items()}
        most = {column: amount for column, amount in columns.items() if column is not None}
        if most:
            lent = any(amount > award.deserved.get(name, 0) for name, amount in award.ceiling.items())
            found[namespace] = Ceiling(most, lent)
    return found
