"""Why a gang fits on nodes in no way: the smallest set of its roles that do not fit there together.

It is found by counting (``assignment``): sets of roles with few members first, then few resources. What roles outside
of the set need is left out, and so are all rules but for amounts and which nodes are open: so what is found is true,
and where rules about other pods are all that is in the way, nothing is found.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction
from itertools import combinations, islice, product
from math import prod
from typing import NamedTuple

import numpy as np

from vsched.kernels.assignment import NEVER, RoomOnNodes, TaskTable, assign, too_many
from vsched.model.nodes.table import Ints, Mask

SETS_MAX = 64
"""So many sets of roles are tried, the smallest first; then all roles are named."""

CHOICES_MAX = 256
"""So many choices of domains are compared for one set of roles."""

CELLS_OF_A_ROW = 32
"""A node that is looked at costs as much as so many vectors of counts (``assignment.assign``)."""


class GangDemand(NamedTuple):
    """The tasks of a gang that wait, by kind, and how many of them it needs at once."""

    requests: Ints
    """int64[kinds, resources]: what a task of each kind asks for."""
    counts: tuple[int, ...]
    """How many there are of each kind."""
    roles: tuple[int, ...]
    """By kind: the role of its tasks."""
    minima: tuple[int, ...]
    """By role: how many of its tasks the gang needs."""
    missing: int
    """How many tasks it needs in all."""


class OpenNodes(NamedTuple):
    """What nodes have, and who may use them."""

    free: Ints
    """int64[nodes, resources]; below 0 where pods hold more than there is. What is more than all tasks ask for need not
    be told apart."""
    open: Mask
    """bool[nodes, kinds]."""


class AmountShortage(NamedTuple):
    """A resource of which the nodes have too little for the tasks, whatever the way to place them."""

    resource: int
    needed: int
    free: int
    with_room: bool
    """Whether nodes alone count that have room for one of the tasks; else all that are open to them."""


class Infeasible(NamedTuple):
    """Roles whose tasks do not fit together; those of any smaller set of roles do."""

    roles: tuple[int, ...]
    needed: int
    """How many of their tasks the gang needs at least."""
    fits: int
    """How many of these fit at most."""
    fits_in_all: int | None
    """How many tasks fit of those that the whole gang needs; None where it would cost too much to count."""
    resources: tuple[int, ...]
    """The fewest resources by which they do not fit; empty where too few nodes are open, or it is not known."""
    shortage: AmountShortage | None
    """None where there is enough of each resource in all."""


class DomainChoice(NamedTuple):
    """Roles whose tasks have to be in one domain together."""

    roles: frozenset[int]
    domains: Sequence[Mask]
    """bool[nodes]: each domain that may be theirs."""


def infeasible(gang: GangDemand, nodes: OpenNodes, cells_max: int) -> tuple[Infeasible | None, int]:
    """The smallest set of roles whose tasks do not fit on the nodes together, and what counting has cost.

    None where all fit, or where it would cost more than about ``cells_max`` (``assignment.assign``).
    """
    search = _Search(gang, nodes, cells_max)
    return _found(gang, search), cells_max - search.cells


def infeasible_in_domains(
    gang: GangDemand, nodes: OpenNodes, choices: Sequence[DomainChoice], cells_max: int
) -> tuple[tuple[int, ...], int]:
    """The smallest set of roles that do not fit together, whichever domains they are in, and what counting has cost.

    Empty where all fit, or where it would cost more, or there are more choices than are compared.
    """
    everyone, columns, cells = range(len(gang.minima)), tuple(range(gang.requests.shape[1])), cells_max
    of_role = np.array(gang.roles)
    tried = (some for size in range(1, len(everyone) + 1) for some in combinations(everyone, size))
    for roles in islice(tried, SETS_MAX):
        own = [one for one in choices if not one.roles.isdisjoint(roles)]
        if prod(len(one.domains) for one in own) > CHOICES_MAX:
            continue
        for domains in product(*(one.domains for one in own)):
            is_open = nodes.open.copy()
            for one, mask in zip(own, domains, strict=True):
                is_open[:, np.isin(of_role, list(one.roles))] &= mask[:, None]
            search = _Search(gang, OpenNodes(nodes.free, is_open), cells)
            fits = search.fits(roles, columns)
            cells = search.cells - CELLS_OF_A_ROW * len(nodes.free)
            if cells <= 0:
                return (), cells_max - cells
            if fits is not False:
                break
        else:
            return roles, cells_max - cells
    return (), cells_max - cells


def _found(gang: GangDemand, search: _Search) -> Infeasible | None:
    everyone = tuple(range(len(gang.minima)))
    columns = tuple(range(gang.requests.shape[1]))
    if search.fits(everyone, columns) is not False:
        return None
    smaller = (some for size in range(1, len(everyone)) for some in combinations(everyone, size))
    tried = (some for _, some in zip(range(SETS_MAX), smaller, strict=False))
    roles = next((some for some in tried if search.fits(some, columns) is False), everyone)
    shortage = search.shortage(roles)
    found = (shortage.resource,) if shortage is not None else search.resources(roles)
    fits, known = search.most(roles, columns)
    in_all, known = (fits, known) if roles == everyone else search.most(everyone, columns)
    return Infeasible(roles, search.needed(roles)[0], fits, in_all if known else None, found, shortage)


class _Search:
    """Counts whether tasks of some roles fit, by some resources."""

    def __init__(self, gang: GangDemand, nodes: OpenNodes, cells_max: int) -> None:
        # Where pods hold more than there is, tasks that do not ask for it have room all the same.
        nodes = OpenNodes(np.maximum(nodes.free, 0), nodes.open)
        self._gang, self._nodes, self._differing = gang, nodes, _differing(gang, nodes)
        self.cells = cells_max
        """How much counting is left."""
        self._role_of = np.array(gang.roles)
        self._count = np.array(gang.counts)
        self._of_role = np.bincount(self._role_of, self._count, len(gang.minima)).astype(np.int64)

    def needed(self, roles: Sequence[int]) -> tuple[int, Ints]:
        """How many tasks of these roles the gang needs if it gets all others; and of each role, int64[roles]."""
        minima = np.minimum(np.array(self._gang.minima), self._of_role)[list(roles)]
        others = int(self._of_role.sum() - self._of_role[list(roles)].sum())
        return max(self._gang.missing - others, int(minima.sum())), minima

    def fits(self, roles: Sequence[int], columns: Sequence[int], wanted: int | None = None) -> bool | None:
        """Whether so many tasks of these roles fit that count towards what is needed, all if None; None if unknown."""
        total, minima = self.needed(roles)
        if wanted is None and total and len(columns) == self._gang.requests.shape[1] and self.shortage(roles):
            return False  # sums are quicker than counting
        wanted = total if wanted is None else wanted
        if not wanted:
            return True
        kinds = np.flatnonzero(np.isin(self._role_of, roles))
        counts = tuple(self._count[kinds].tolist())
        if too_many(counts) or self.cells <= 0:
            return None
        requests = self._gang.requests[kinds][:, columns]
        table = TaskTable(requests, counts)
        room = _room(self._differing, requests, kinds, columns, counts)
        at = {role: number for number, role in enumerate(roles)}
        of_kind = [at[role] for role in self._role_of[kinds].tolist()]
        found = assign(table, room, _fillers(table, of_kind, minima, total, wanted), self.cells)
        self.cells -= found.cells + CELLS_OF_A_ROW * len(room.free)
        return None if not found.complete else found.places is not None

    def most(self, roles: Sequence[int], columns: Sequence[int]) -> tuple[int, bool]:
        """How many tasks of these roles fit at most that count towards what is needed, where not all do.

        And whether so many do: False where it was not counted to the end.
        """
        fits, fails, known = 0, self.needed(roles)[0], True
        while fails - fits > 1:
            middle = (fits + fails) // 2
            answer = self.fits(roles, columns, middle)
            known = known and answer is not None
            fits, fails = (fits, middle) if answer is False else (middle, fails)
        return fits, known

    def resources(self, roles: Sequence[int]) -> tuple[int, ...]:
        """The fewest resources by which tasks of these roles do not fit; empty where the search is over before."""
        columns = np.flatnonzero(self._gang.requests.any(axis=0)).tolist()
        some = (some for size in range(len(columns) + 1) for some in combinations(columns, size))
        return next((one for one in some if self.fits(roles, one) is False), ())

    def shortage(self, roles: Sequence[int]) -> AmountShortage | None:
        """The resource that is most short in all: on the nodes that are open to the tasks, else on those with room."""
        kinds = np.flatnonzero(np.isin(self._role_of, roles))
        is_open = self._nodes.open[:, kinds]
        columns = tuple(range(self._gang.requests.shape[1]))
        room = _room(self._nodes, self._gang.requests[kinds], kinds, columns, self._count[kinds].tolist())
        for free, with_room in ((self._nodes.free[is_open.any(axis=1)], False), (room.free, True)):
            found = [
                AmountShortage(column, needed, has, with_room)
                for column, has in enumerate(free.sum(axis=0, dtype=object).tolist())
                if (needed := self._least(roles, column)) > has
            ]
            if found:
                return max(found, key=lambda one: Fraction(one.needed, max(1, one.free)))
        return None

    def _least(self, roles: Sequence[int], column: int) -> int:
        """The least amount that the needed tasks of these roles ask for together."""
        total, minima = self.needed(roles)
        chosen: list[int] = []
        others: list[int] = []
        for role, minimum in zip(roles, minima.tolist(), strict=True):
            amounts = sorted(self._amounts(role, column))
            chosen += amounts[:minimum]
            others += amounts[minimum:]
        return sum(chosen) + sum(sorted(others)[: total - len(chosen)])

    def _amounts(self, role: int, column: int) -> Iterator[int]:
        """What each task of a role asks for."""
        for kind in np.flatnonzero(self._role_of == role):
            yield from [int(self._gang.requests[kind, column])] * self._gang.counts[kind]


def _differing(gang: GangDemand, nodes: OpenNodes) -> OpenNodes:
    """The nodes that are open to any of the tasks; of equal ones, only so many as there are tasks."""
    rows = np.flatnonzero(nodes.open.any(axis=1))
    seen = np.ascontiguousarray(np.hstack([nodes.free, nodes.open])[rows])
    keys = seen.view(np.dtype((np.void, seen.itemsize * seen.shape[1]))).ravel()
    alike = np.unique(keys, return_inverse=True)[1].ravel()
    order = np.argsort(alike, kind="stable")
    number = np.arange(len(order)) - np.searchsorted(alike[order], alike[order])
    few = rows[order[number < sum(gang.counts)]]
    return OpenNodes(nodes.free[few], nodes.open[few])


def _room(nodes: OpenNodes, requests: Ints, kinds: Ints, columns: Sequence[int], counts: Sequence[int]) -> RoomOnNodes:
    """What the nodes with room for one of these tasks have, by these resources."""
    free = nodes.free[:, columns]
    most: Ints = np.where(nodes.open[:, kinds], np.array(counts), 0)
    for kind, request in enumerate(requests):
        for column in np.flatnonzero(request):
            most[:, kind] = np.minimum(most[:, kind], free[:, column] // request[column])
    rows = np.flatnonzero(most.any(axis=1))
    return RoomOnNodes(free[rows], most[rows])


def _fillers(table: TaskTable, role_of: Sequence[int], minima: Ints, total: int, wanted: int) -> Ints:
    """int64[vectors]: how many fillers it takes beside each vector of others, for so many tasks that count.

    Up to the minimum of its role each task counts; beyond that, so many of all roles together as lack of the total.
    """
    own = role_of[table.filler]
    placed = np.zeros((len(minima), table.levels.shape[1]), dtype=np.int64)
    for level, kind in zip(table.levels, table.others, strict=True):
        placed[role_of[kind]] += level
    counted = np.minimum(placed, minima[:, None]).sum(axis=0)
    beyond = np.maximum(placed - minima[:, None], 0).sum(axis=0)
    left = total - int(minima.sum())
    counted += np.minimum(beyond, left)
    gain = np.maximum(minima[own] - placed[own], 0) + np.maximum(left - beyond, 0)
    needed: Ints = np.where(wanted - counted <= gain, wanted - counted, NEVER)
    return needed
