"""Where the tasks of a gang fit in no way, the smallest set of roles is named that do not fit together."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations, product
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.examples import examples
from vsched.kernels.infeasibility import SETS_MAX, AmountShortage, GangDemand, Infeasible, OpenNodes
from vsched.kernels.infeasibility import infeasible as counted_infeasible
from vsched.model.nodes.table import Ints

PLENTY = 10**8


def gang(requests: list[list[int]], counts: Sequence[int], missing: int | None = None, **fields: Any) -> GangDemand:
    """A gang with a role for each kind, which needs all of its tasks, unless fields say otherwise."""
    roles = tuple(fields.get("roles", range(len(counts))))
    minima = tuple(fields.get("minima", [0] * (max(roles) + 1)))
    return GangDemand(np.array(requests), tuple(counts), roles, minima, sum(counts) if missing is None else missing)


def nodes(free: list[list[int]], is_open: list[list[bool]] | None = None, kinds: int = 2) -> OpenNodes:
    everywhere = [[True] * kinds] * len(free)
    return OpenNodes(np.array(free), np.array(everywhere if is_open is None else is_open))


def infeasible(asks: GangDemand, room: OpenNodes, cells_max: int = PLENTY) -> Infeasible | None:
    return counted_infeasible(asks, room, cells_max)[0]


@pytest.mark.parametrize(
    ("asks", "room", "found"),
    [
        pytest.param(gang([[4, 0], [1, 1]], (1, 1)), nodes([[4, 1], [4, 0]]), None, id="another order"),
        pytest.param(
            gang([[4, 0], [1, 1]], (1, 1)),
            nodes([[4, 1]]),
            Infeasible((0, 1), 2, 1, 1, (0,), AmountShortage(0, 5, 4, with_room=False)),
            id="too little of one resource in all",
        ),
        pytest.param(
            gang([[4, 0], [1, 1]], (1, 1)),
            nodes([[4, 1], [3, 0]]),
            Infeasible((0, 1), 2, 1, 1, (0,), AmountShortage(0, 5, 4, with_room=True)),
            id="too little of it on the nodes with room for one of the tasks",
        ),
        pytest.param(
            gang([[3], [2]], (2, 1)),
            nodes([[4], [4]]),
            Infeasible((0, 1), 3, 2, 2, (0,), None),
            id="enough of it in all, and in pieces that are too small",
        ),
        pytest.param(
            gang([[2, 1], [1, 2]], (1, 1)),
            nodes([[2, 2], [1, 1]]),
            Infeasible((0, 1), 2, 1, 1, (0, 1), AmountShortage(0, 3, 2, with_room=True)),
            id="each resource alone would do on the nodes that are open",
        ),
        pytest.param(
            gang([[1], [3]], (4, 2)),
            nodes([[5], [2], [9]], [[True, False], [True, False], [False, True]]),
            None,
            id="each role has nodes of its own",
        ),
        pytest.param(
            gang([[1], [3]], (4, 4)),
            nodes([[5], [2], [9]], [[True, False], [True, False], [False, True]]),
            Infeasible((1,), 4, 3, 7, (0,), AmountShortage(0, 12, 9, with_room=False)),
            id="one role does not fit by itself",
        ),
        pytest.param(
            gang([[1], [3], [9]], (1, 1, 1)),
            nodes([[3], [9]], kinds=3),
            Infeasible((0, 1, 2), 3, 2, 2, (0,), AmountShortage(0, 13, 12, with_room=False)),
            id="any two roles fit, and not all three",
        ),
        pytest.param(
            gang([[1], [3]], (4, 2), 3),
            nodes([[3]]),
            None,
            id="it does not need all of its tasks",
        ),
        pytest.param(
            gang([[1], [3]], (4, 2), 3, minima=(0, 1)),
            nodes([[3]]),
            Infeasible((0, 1), 3, 2, 2, (0,), AmountShortage(0, 5, 3, with_room=False)),
            id="but one of the large ones is among those that it needs",
        ),
        pytest.param(
            gang([[1], [3], [2]], (1, 1, 1), roles=(0, 1, 1)),
            nodes([[4], [1]], kinds=3),
            Infeasible((1,), 2, 1, 2, (0,), AmountShortage(0, 5, 4, with_room=True)),
            id="a role with tasks of two kinds",
        ),
        pytest.param(gang([[0], [0]], (1, 1)), nodes([[0]]), None, id="tasks that ask for nothing"),
        pytest.param(
            gang([[1], [1]], (1, 1)),
            nodes([], kinds=2)._replace(free=np.zeros((0, 1), np.int64), open=np.zeros((0, 2), np.bool_)),
            Infeasible((0,), 1, 0, 0, (0,), AmountShortage(0, 1, 0, with_room=False)),
            id="no nodes",
        ),
    ],
)
def test_what_does_not_fit_together(asks: GangDemand, room: OpenNodes, found: Infeasible | None) -> None:
    said = infeasible(asks, room)
    if found is not None and found.shortage is not None:
        found = found._replace(resources=(found.shortage.resource,))
    assert said == found


def test_nothing_is_said_where_counting_would_cost_too_much() -> None:
    free = np.array([[10 + row] for row in range(50)])
    asks = gang([[7], [5], [3]], (200, 20, 20))
    found, cells = counted_infeasible(asks, OpenNodes(free, np.ones((50, 3), np.bool_)), 1000)
    assert found is None
    assert cells >= 1000


def test_all_roles_are_named_where_there_are_too_many_sets_of_them() -> None:
    """Of nine roles with a task of 1 each, which share a node with room for 3 of them, any four are a smallest set."""
    room = OpenNodes(np.array([[3]]), np.ones((1, 9), np.bool_))
    assert 9 + 36 < SETS_MAX < 9 + 36 + 84
    found = infeasible(gang([[1]] * 9, (1,) * 9), room)
    assert found is not None
    assert (found.roles, found.fits) == (tuple(range(9)), 3)


# -- compared with trying all ways ---------------------------------------------------------------------------------


@st.composite
def problems(draw: st.DrawFn) -> tuple[GangDemand, OpenNodes]:
    kinds, count, resources = draw(st.integers(2, 4)), draw(st.integers(1, 3)), draw(st.integers(1, 2))
    counts = [draw(st.integers(1, 2)) for _ in range(kinds)]
    counts = counts if sum(counts) <= 6 else [1] * kinds
    roles = [draw(st.integers(0, at)) for at in range(kinds)]
    roles = [sorted(set(roles)).index(role) for role in roles]
    of_role = np.bincount(roles, counts).astype(int).tolist()
    minima = [draw(st.integers(0, most)) for most in of_role] if draw(st.booleans()) else [0] * len(of_role)
    missing = draw(st.integers(max(1, sum(minima)), sum(counts)))
    requests = [[draw(st.integers(0, 4)) for _ in range(resources)] for _ in range(kinds)]
    free = [[draw(st.integers(-2, 8)) for _ in range(resources)] for _ in range(count)]
    is_open = [[draw(st.integers(0, 3)) > 0 for _ in range(kinds)] for _ in range(count)]
    return GangDemand(np.array(requests), tuple(counts), tuple(roles), tuple(minima), missing), nodes(free, is_open)


def placements(asks: GangDemand, room: OpenNodes, roles: Sequence[int], columns: Sequence[int]) -> list[Ints]:
    """How many tasks of each role are placed, in each way to place tasks of these roles."""
    tasks = [kind for kind, count in enumerate(asks.counts) for _ in range(count) if asks.roles[kind] in roles]
    found = []
    for way in product(range(-1, len(room.free)), repeat=len(tasks)):
        left = room.free[:, list(columns)].copy()
        counts = np.zeros(len(asks.minima), dtype=np.int64)
        for kind, row in zip(tasks, way, strict=True):
            if row >= 0:
                if not room.open[row, kind]:
                    break
                left[row] -= asks.requests[kind, list(columns)]
                counts[asks.roles[kind]] += 1
        else:
            if ((left >= 0) | (left == room.free[:, list(columns)])).all():
                found.append(counts)
    return found


def counted(asks: GangDemand, roles: Sequence[int], placed: Ints) -> tuple[int, int]:
    """How many of the placed tasks count towards what is needed of these roles, and how many that are."""
    of_role = np.bincount(asks.roles, asks.counts, len(asks.minima)).astype(int)
    minima = np.array([least if role in roles else 0 for role, least in enumerate(asks.minima)])
    others = sum(of_role[role] for role in range(len(minima)) if role not in roles)
    total = max(asks.missing - others, minima.sum())
    beyond = np.maximum(placed - minima, 0).sum()
    return int(np.minimum(placed, minima).sum() + min(beyond, total - minima.sum())), int(total)


def fits(asks: GangDemand, room: OpenNodes, roles: Sequence[int], columns: Sequence[int]) -> bool:
    return any(
        placed == total
        for way in placements(asks, room, roles, columns)
        for placed, total in [counted(asks, roles, way)]
    )


@settings(deadline=None, max_examples=examples(60))
@given(problems())
def test_what_is_named_does_not_fit_and_each_smaller_set_of_roles_does(problem: tuple[GangDemand, OpenNodes]) -> None:
    asks, room = problem
    found = infeasible(asks, room)
    columns, everyone = range(asks.requests.shape[1]), range(len(asks.minima))
    assert (found is None) is fits(asks, room, everyone, columns)
    if found is None:
        return
    assert not fits(asks, room, found.roles, columns)
    for size in range(1, len(found.roles)):
        for some in combinations(everyone, size):
            assert fits(asks, room, some, columns)
    most, total = max(counted(asks, found.roles, way) for way in placements(asks, room, found.roles, columns))
    of_all = max(counted(asks, everyone, way)[0] for way in placements(asks, room, everyone, columns))
    assert (found.fits, found.needed, found.fits_in_all) == (most, total, of_all)
    if found.shortage is None:
        assert not fits(asks, room, found.roles, found.resources)
        for one in found.resources:
            assert fits(asks, room, found.roles, [other for other in found.resources if other != one])


@settings(deadline=None, max_examples=examples(60))
@given(problems())
def test_amounts_that_are_named_are_true(problem: tuple[GangDemand, OpenNodes]) -> None:
    asks, room = problem
    found = infeasible(asks, room)
    if found is None or found.shortage is None:
        return
    kinds = [kind for kind, role in enumerate(asks.roles) if role in found.roles]
    usable = room.open[:, kinds]
    if found.shortage.with_room:
        asked = asks.requests[kinds][None]
        usable = usable & ((room.free[:, None] >= asked) | (asked == 0)).all(axis=2)
    assert found.shortage.free == np.maximum(room.free[usable.any(axis=1), found.shortage.resource], 0).sum()
    tasks = [kind for kind in kinds for _ in range(asks.counts[kind])]
    least = min(
        sum(int(asks.requests[kind, found.shortage.resource]) for kind in some)
        for size in range(len(tasks) + 1)
        for some in combinations(tasks, size)
        if _is_enough(asks, found.roles, some)
    )
    assert found.shortage.needed == least > found.shortage.free


def _is_enough(asks: GangDemand, roles: Sequence[int], some: Sequence[int]) -> bool:
    placed = np.bincount([asks.roles[kind] for kind in some], minlength=len(asks.minima)).astype(np.int64)
    have, total = counted(asks, roles, placed)
    return have == total
