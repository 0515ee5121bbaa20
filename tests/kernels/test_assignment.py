"""Tasks of several kinds are assigned to nodes whenever they fit there together."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.examples import examples
from vsched.kernels.assignment import CELLS_MAX, Assignment, Demand, Room, assign, too_many
from vsched.model.nodes.table import Ints, Mask

PLENTY = 10**8


def all_of(counts: tuple[int, ...]) -> Mask:
    wanted = np.zeros([count + 1 for count in counts], dtype=np.bool_)
    wanted[counts] = True
    return wanted


def assigned(
    requests: list[list[int]], counts: tuple[int, ...], free: list[list[int]], most: list[list[int]] | None = None
) -> Assignment:
    room = Room(np.array(free), np.array([[9] * len(counts)] * len(free) if most is None else most))
    return assign(Demand(np.array(requests), counts), room, all_of(counts), PLENTY)


@pytest.mark.parametrize(
    ("requests", "counts", "free", "most", "fits"),
    [
        pytest.param([[4, 0], [1, 1]], (1, 1), [[4, 1], [4, 0]], None, True, id="the launcher leaves the GPU alone"),
        pytest.param([[4, 0], [1, 1]], (2, 1), [[4, 1], [4, 0]], None, False, id="two launchers take both nodes"),
        pytest.param([[3], [2]], (1, 2), [[6], [1]], None, False, id="the sum is enough, and the pieces are not"),
        pytest.param(
            [[3], [2]],
            (1, 2),
            [[4], [3]],
            [[9, 1], [9, 9]],
            False,
            id="only one of a kind on the node that has room for two",
        ),
        pytest.param([[1]], (2,), [[2], [2]], [[1], [1]], True, id="one on each node"),
        pytest.param([[1]], (3,), [[2], [2]], [[1], [1]], False, id="one on each node, for three"),
        pytest.param([[1], [1]], (1, 1), [[9]], [[0, 9]], False, id="a kind that may be nowhere"),
        pytest.param([[0]], (3,), [[0]], None, True, id="tasks that ask for nothing"),
    ],
)
def test_what_fits(
    requests: list[list[int]], counts: tuple[int, ...], free: list[list[int]], most: list[list[int]] | None, fits: bool
) -> None:
    assert (assigned(requests, counts, free, most).places is not None) is fits


def test_the_search_ends_where_it_would_cost_too_much() -> None:
    free = np.array([[10 + row] for row in range(50)])
    demand = Demand(np.array([[7], [5], [3]]), (20, 20, 20))
    found = assign(demand, Room(free, np.full((50, 3), 9)), all_of((20, 20, 20)), 1000)
    assert not found.complete
    assert found.places is None


def test_vectors_of_counts_are_bounded() -> None:
    assert not too_many((CELLS_MAX - 1,))
    assert too_many((CELLS_MAX,))
    assert too_many((1,) * 15)


@st.composite
def problems(draw: st.DrawFn) -> tuple[Demand, Room, Mask]:
    kinds, nodes, resources = draw(st.integers(1, 3)), draw(st.integers(1, 3)), draw(st.integers(1, 2))

    def table(rows: int, columns: int, most: int) -> list[list[int]]:
        return [[draw(st.integers(0, most)) for _ in range(columns)] for _ in range(rows)]

    counts = tuple(draw(st.integers(1, 3)) for _ in range(kinds))
    demand = Demand(np.array(table(kinds, resources, 4)), counts)
    room = Room(np.array(table(nodes, resources, 8)), np.array(table(nodes, kinds, 3)))
    total = draw(st.integers(1, sum(counts)))
    least = [draw(st.integers(0, count)) for count in counts]
    levels = np.indices([count + 1 for count in counts])
    enough = [level >= minimum for level, minimum in zip(levels, least, strict=True)]
    return demand, room, np.logical_and.reduce([*enough, levels.sum(axis=0) >= total])


def fits_by_trying(demand: Demand, room: Room, wanted: Mask) -> bool:
    tasks = [kind for kind, size in enumerate(demand.shape) for _ in range(size - 1)]
    for places in product(range(-1, len(room.free)), repeat=len(tasks)):
        counts = np.zeros(room.most.shape, dtype=np.int64)
        for kind, row in zip(tasks, places, strict=True):
            if row >= 0:
                counts[row, kind] += 1
        if is_way(demand, room, wanted, counts):
            return True
    return False


def is_way(demand: Demand, room: Room, wanted: Mask, counts: Ints) -> bool:
    return bool(
        (counts <= room.most).all()
        and (counts.sum(axis=0) < demand.shape).all()
        and (room.free >= demand.use[:, np.ravel_multi_index(tuple(counts.T), demand.shape)].T).all()
        and wanted[tuple(counts.sum(axis=0))]
    )


@settings(deadline=None, max_examples=examples(150))
@given(problems())
def test_tasks_are_assigned_if_and_only_if_they_fit(problem: tuple[Demand, Room, Mask]) -> None:
    demand, room, wanted = problem
    found = assign(demand, room, wanted, PLENTY)
    assert found.complete
    if found.places is None:
        assert demand.tasks > 6 or not fits_by_trying(demand, room, wanted)
        return
    counts = np.zeros(room.most.shape, dtype=np.int64)
    for row, kind, count in found.places:
        counts[row, kind] += count
    assert is_way(demand, room, wanted, counts)
