"""Tasks of several kinds are assigned to nodes whenever they fit there together."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.examples import examples
from vsched.kernels.assignment import CELLS_MAX, NEVER, Assignment, RoomOnNodes, TaskTable, assign, digest_of, too_many
from vsched.model.nodes.table import Ints

PLENTY = 10**8


def enough(table: TaskTable, total: int, least: Sequence[int]) -> Ints:
    """How many fillers it takes beside each vector of others for a total, and so many of each kind at least."""
    needed: Ints = np.maximum(total - table.levels.sum(axis=0), least[table.filler])
    for level, kind in zip(table.levels, table.others, strict=True):
        needed = np.where(level < least[kind], NEVER, needed)
    return needed


def assigned(
    requests: list[list[int]], counts: tuple[int, ...], free: list[list[int]], most: list[list[int]] | None = None
) -> Assignment:
    room = RoomOnNodes(np.array(free), np.array([[9] * len(counts)] * len(free) if most is None else most))
    table = TaskTable(np.array(requests), counts)
    return assign(table, room, enough(table, sum(counts), counts), PLENTY)


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
    table = TaskTable(np.array([[7], [5], [3]]), (20, 20, 20))
    found = assign(table, RoomOnNodes(free, np.full((50, 3), 9)), enough(table, 60, (20, 20, 20)), 1000)
    assert not found.complete
    assert found.places is None


def test_vectors_of_counts_are_bounded() -> None:
    assert not too_many((CELLS_MAX - 1, PLENTY))
    assert too_many((CELLS_MAX, PLENTY))
    assert too_many((1,) * 16)


class Problem(NamedTuple):
    requests: Ints
    counts: tuple[int, ...]
    room: RoomOnNodes
    total: int
    least: list[int]


@st.composite
def problems(draw: st.DrawFn) -> Problem:
    kinds, nodes, resources = draw(st.integers(1, 3)), draw(st.integers(1, 3)), draw(st.integers(1, 2))

    def table(rows: int, columns: int, most: int) -> Ints:
        return np.array([[draw(st.integers(0, most)) for _ in range(columns)] for _ in range(rows)])

    counts = tuple(draw(st.integers(1, 3)) for _ in range(kinds))
    room = RoomOnNodes(table(nodes, resources, 8), table(nodes, kinds, 3))
    total = draw(st.integers(1, sum(counts)))
    return Problem(table(kinds, resources, 4), counts, room, total, [draw(st.integers(0, count)) for count in counts])


def fits_by_trying(problem: Problem) -> bool:
    tasks = [kind for kind, count in enumerate(problem.counts) for _ in range(count)]
    for places in product(range(-1, len(problem.room.free)), repeat=len(tasks)):
        counts = np.zeros(problem.room.most.shape, dtype=np.int64)
        for kind, row in zip(tasks, places, strict=True):
            if row >= 0:
                counts[row, kind] += 1
        if is_way(problem, counts):
            return True
    return False


def is_way(problem: Problem, counts: Ints) -> bool:
    sums = counts.sum(axis=0)
    return bool(
        (counts <= problem.room.most).all()
        and (counts @ problem.requests <= problem.room.free).all()
        and (sums <= problem.counts).all()
        and (sums >= problem.least).all()
        and sums.sum() >= problem.total
    )


@settings(deadline=None, max_examples=examples(150))
@given(problems())
def test_tasks_are_assigned_if_and_only_if_they_fit(problem: Problem) -> None:
    table = TaskTable(problem.requests, problem.counts)
    found = assign(table, problem.room, enough(table, problem.total, problem.least), PLENTY)
    assert found.complete
    if found.places is None:
        assert table.tasks > 6 or not fits_by_trying(problem)
        return
    counts = np.zeros(problem.room.most.shape, dtype=np.int64)
    for row, kind, count in found.places:
        counts[row, kind] += count
    assert is_way(problem, counts)


def test_questions_that_are_the_same_numbers_parted_otherwise_are_told_apart() -> None:
    wide, tall = np.array([[1, 2]]), np.array([[1], [2]])
    assert digest_of(wide) != digest_of(tall)
    assert digest_of(wide) == digest_of(wide.copy())
