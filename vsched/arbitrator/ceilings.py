"""How much namespaces may hold, in the terms of those who place pods: the ceilings of a division by column."""

from __future__ import annotations

from vsched.model.arbitration import Award, Ceiling, Division
from vsched.model.counted import LIMITS, Counted
from vsched.model.resources import ResourceAxis


def ceilings_of(division: Division, axis: ResourceAxis, *, lends: bool = True) -> dict[str, Ceiling]:
    """The ceilings of all namespaces that have any, of what pods ask of nodes and are limited to, storage not among it.

    A resource that no node and no pod has named yet has no column, and nothing that could be held of it. Without
    ``lends`` nobody gets more than it deserves of what is divided: while promises are open (``Verdict.promised``).
    """
    found: dict[str, Ceiling] = {}
    for namespace, award in division.namespaces.items():
        ceiling = award.ceiling if lends else unlent(award, division.total)
        columns = {axis.find(name): most for name, most in ceiling.items()}
        most = {column: amount for column, amount in columns.items() if column is not None}
        limits = {name: ceiling[name] for name in LIMITS if name in ceiling}
        if most or limits:
            found[namespace] = Ceiling(most, limits)
    return found


def unlent(award: Award, total: Counted) -> dict[str, int]:
    """The ceiling of a namespace while nothing is lent; total as in a ``Division``."""
    deserved = award.deserved
    return {name: min(most, deserved.get(name, 0)) if name in total else most for name, most in award.ceiling.items()}
