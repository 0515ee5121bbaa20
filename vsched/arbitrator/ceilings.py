"""How much namespaces may hold, in the form that schedulers need: a division as ceilings and pools, by column."""

from __future__ import annotations

from collections.abc import Mapping

from vsched.arbitrator.tree import path
from vsched.model.amounts.counted import LIMITS, NOTHING, Counted
from vsched.model.amounts.resources import ResourceAxis
from vsched.model.arbitration.pooled import Bounds, PoolPart
from vsched.model.arbitration.records import SYSTEM_NAMESPACE, WHOLE, Award, Ceiling, Division, PoolLimits


def ceilings_of(division: Division, axis: ResourceAxis, *, lends: bool = True) -> dict[str, Ceiling]:
    """The ceilings of all namespaces that have any, for requests and limits of pods (not for storage).

    A resource that no node and no pod has named yet has no column; nothing of it can be held. Without ``lends`` (while
    promises are open, ``RoundResult.promised``) no namespace gets more than it deserves of what is divided.
    """
    found: dict[str, Ceiling] = {}
    columns = _Columns(axis)
    pools = {name: (WHOLE, *path(name, division.parents)) for name in ("", *division.parents)}
    for namespace, award in division.namespaces.items():
        if namespace == SYSTEM_NAMESPACE:
            continue
        most, limits = columns.split(award.ceiling if lends else unlent(award, division.total))
        if most or limits:
            parts = most, limits, *columns.split(award.own), *columns.split(award.deserved)
            found[namespace] = Ceiling(*parts, pools[award.parent])
    return found


def pools_of(division: Division, axis: ResourceAxis) -> dict[str, PoolLimits]:
    """What namespaces may hold together, by pool: one for the cluster, and one for every bucket."""
    amounts = {WHOLE: (NOTHING, division.spare)}
    amounts |= {name: (award.hard, award.spare) for name, award in division.buckets.items()}
    columns = _Columns(axis)
    return {name: PoolLimits(*columns.split(hard), *columns.split(spare)) for name, (hard, spare) in amounts.items()}


def part_of(award: Award, division: Division, *, lends: bool) -> PoolPart[str]:
    """What ``ceilings_of`` gives one namespace, by counted name instead of column."""
    most = award.ceiling if lends else unlent(award, division.total)
    return PoolPart(most, award.own, award.deserved, (WHOLE, *path(award.parent, division.parents)))


def bounds_of(division: Division) -> dict[str, Bounds[str]]:
    """What ``pools_of`` gives, by counted name instead of column."""
    return {
        WHOLE: Bounds(NOTHING, division.spare),
        **{name: Bounds(award.hard, award.spare) for name, award in division.buckets.items()},
    }


def members_of(division: Division) -> dict[str, list[str]]:
    """The namespaces of each pool."""
    found: dict[str, list[str]] = {name: [] for name in (WHOLE, *division.buckets)}
    for namespace, award in division.namespaces.items():
        if namespace != SYSTEM_NAMESPACE:
            for pool in (WHOLE, *path(award.parent, division.parents)):
                found[pool].append(namespace)
    return found


def unlent(award: Award, total: Counted) -> dict[str, int]:
    """The ceiling of a namespace while nothing is lent; total as in a ``Division``."""
    deserved = award.deserved
    return {name: min(most, deserved.get(name, 0)) if name in total else most for name, most in award.ceiling.items()}


def by_column(amounts: Counted, axis: ResourceAxis) -> Mapping[int, int]:
    """Amounts of node resources by column; other names are left out."""
    return _Columns(axis).split(amounts)[0]


def limits_in(amounts: Counted) -> Counted:
    """Only the limits of pods (``limits.cpu``, ...) among the amounts."""
    return {name: amounts[name] for name in LIMITS if name in amounts} or NOTHING


class _Columns:
    """Finds the columns of resource names; each name is looked up once."""

    def __init__(self, axis: ResourceAxis) -> None:
        self._axis = axis
        self._known: dict[str, int | None] = dict.fromkeys(LIMITS)

    def split(self, amounts: Counted) -> tuple[dict[int, int], Counted]:
        """The amounts of node resources by column, and those of limits by name."""
        known, find = self._known, self._axis.find
        found: dict[int, int] = {}
        for name, value in amounts.items():
            if name not in known:
                known[name] = find(name)
            column = known[name]
            if column is not None:
                found[column] = value
        return found, limits_in(amounts) if len(found) < len(amounts) else NOTHING
