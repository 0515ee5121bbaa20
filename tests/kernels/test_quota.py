"""Quotas in a tree: what of stated limits is in force, and what a queue may hold. Excludes what is held (plugins)."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from vsched.kernels.quota import QueueQuota, Stated, Tree, dense, in_force, limit_of, real_limits, tree_of
from vsched.model.nodes.table import Floats

INF = float("inf")
Row = tuple[int, float | None, float | None, float | None]
"""The row of the parent; guarantee, deserved and capability of one resource, None where not named."""


class Case(NamedTuple):
    tree: Tree
    quota: QueueQuota
    stated: Stated

    def in_force(self) -> QueueQuota:
        return in_force(self.quota, self.stated, self.tree)


def case(*rows: Row) -> Case:
    """The root, which names nothing, and these queues below it."""
    found: list[Row] = [(0, None, None, None), *rows]
    guarantee, deserved, capability = ([row[at] for row in found] for at in (1, 2, 3))
    quota = QueueQuota(_column(guarantee, 0.0), _column(deserved, 0.0), _column(capability, INF))
    stated = Stated(*(np.array([[value is not None] for value in column]) for column in (guarantee, deserved)))
    return Case(tree_of([row[0] for row in found]), quota, stated)


def _column(values: list[float | None], missing: float) -> Floats:
    return np.array([[missing if value is None else value] for value in values], dtype=np.float64)


def values(rows: Floats) -> list[float]:
    return [float(value) for value in rows[:, 0]]


@pytest.mark.parametrize(
    ("rows", "deserved"),
    [
        pytest.param([(0, None, 3, None), (0, None, 5, None)], [8, 3, 5], id="the root deserves what its children do"),
        pytest.param(
            [(0, None, 4, None), (1, None, 3, None), (1, None, 1, None)], [4, 4, 3, 1], id="within the parent"
        ),
        pytest.param(
            [(0, None, 4, None), (1, None, 6, None), (1, None, 2, None)], [4, 4, 3, 1], id="more is cut in proportion"
        ),
        pytest.param([(0, None, 3, None), (1, None, 8, None)], [3, 3, 3], id="one child alone is cut as well"),
        pytest.param(
            [(0, None, 6, None), (1, 2, 2, None), (1, None, 8, None)], [6, 6, 2, 4], id="a guarantee is not cut"
        ),
        pytest.param(
            [(0, None, 10, None), (1, None, 3, None), (1, None, 4, None)], [10, 10, 3, 4], id="less is left so"
        ),
        pytest.param([(0, 2, None, None)], [2, 2], id="what is guaranteed is deserved"),
        pytest.param(
            [(0, None, None, None), (1, None, 5, None)], [0, 0, 5], id="a parent that names none cuts nothing"
        ),
        pytest.param([(0, None, 0, None), (1, None, 5, None)], [0, 0, 0], id="one that names zero passes on nothing"),
        pytest.param(
            [(0, None, 4, None), (1, None, None, None), (1, None, 4, None), (2, None, 4, None)],
            [4, 4, 0, 2, 2],
            id="what is below one that names none counts for the one above it",
        ),
        pytest.param(
            [(0, 2, None, None), (1, None, 6, None)], [2, 2, 6], id="a guarantee alone does not bound what is deserved"
        ),
    ],
)
def test_what_queues_deserve(rows: list[Row], deserved: list[float]) -> None:
    assert values(case(*rows).in_force().deserved) == deserved


@pytest.mark.parametrize(
    ("rows", "guarantee"),
    [
        pytest.param(
            [(0, 3, None, None), (0, 5, None, None)], [8, 3, 5], id="the root guarantees what its children do"
        ),
        pytest.param(
            [(0, 2, None, None), (1, 3, None, None), (1, 1, None, None)], [2, 2, 1, 0], id="cut to what the parent has"
        ),
        pytest.param([(0, None, 2, None), (1, 3, None, None)], [0, 0, 2], id="or else to what the parent deserves"),
        pytest.param(
            [(0, None, None, None), (1, 3, None, None)], [0, 0, 3], id="a parent that names none cuts nothing"
        ),
    ],
)
def test_what_queues_are_guaranteed(rows: list[Row], guarantee: list[float]) -> None:
    assert values(case(*rows).in_force().guarantee) == guarantee


@pytest.mark.parametrize(
    ("rows", "capability"),
    [
        pytest.param([(0, None, None, 4), (1, None, None, 3)], [INF, 4, 3], id="within the parent"),
        pytest.param([(0, None, None, 4), (1, None, None, 6)], [INF, 4, 4], id="cut to the parent's"),
        pytest.param([(0, None, None, 4), (1, None, None, None)], [INF, 4, 4], id="the parent's where none is named"),
        pytest.param(
            [(0, None, None, 4), (1, None, None, None), (2, None, None, 5)], [INF, 4, 4, 4], id="from any height"
        ),
        pytest.param([(0, None, None, 0)], [INF, 0], id="none at all is a limit"),
    ],
)
def test_capabilities(rows: list[Row], capability: list[float]) -> None:
    assert values(case(*rows).in_force().capability) == capability


@pytest.mark.parametrize(
    ("rows", "top", "limits"),
    [
        pytest.param([(0, None, None, None)], 10, [INF, 10], id="all there is"),
        pytest.param([(0, None, None, 4)], 10, [INF, 4], id="up to the capability"),
        pytest.param(
            [(0, 3, None, None), (0, None, None, None)], 10, [INF, 10, 7], id="less what others are guaranteed"
        ),
        pytest.param(
            [(0, 3, None, 8), (1, 2, None, None), (1, None, None, None)], 10, [INF, 8, 8, 6], id="at any height"
        ),
        pytest.param(
            [(0, None, None, None), (1, 3, None, None), (1, None, None, None), (0, None, None, None)],
            10,
            [INF, 10, 10, 7, 7],
            id="also beyond a parent that guarantees nothing itself",
        ),
        pytest.param(
            [(0, 1, None, None), (1, 1, None, None), (1, None, None, None), (0, None, None, None)],
            10,
            [INF, 10, 10, 9, 9],
            id="once where the parent guarantees it, too",
        ),
        pytest.param(
            [(0, None, None, None), (1, None, None, None), (2, 3, None, None), (0, None, None, None)],
            10,
            [INF, 10, 10, 10, 7],
            id="from any depth",
        ),
        pytest.param(
            [(0, None, None, 2), (1, 3, None, None), (0, None, None, None)],
            10,
            [INF, 2, 2, 8],
            id="and no more than the parent may hold",
        ),
        pytest.param([(0, 8, None, None), (0, 8, None, None)], 10, [INF, 8, 8], id="one's own guarantee is left"),
        pytest.param([(0, 3, None, None), (0, None, None, 5)], INF, [INF, INF, 5], id="where there is no end of it"),
    ],
)
def test_what_queues_may_hold(rows: list[Row], top: float, limits: list[float]) -> None:
    found = case(*rows)

    assert values(real_limits(np.array([top]), found.in_force(), found.tree)) == limits


def test_amounts_as_rows() -> None:
    assert dense(((0, 5), (2, 7)), 4).tolist() == [5, 0, 7, 0]
    assert limit_of(((0, 0), (1, 5), (3, 0)), 5).tolist() == [0, 5, INF, 0, INF]


def test_enormous_amounts_are_cut_like_others() -> None:
    force = case((0, 1 << 62, 1 << 62, None), (1, 1 << 62, 1 << 62, None), (1, 1 << 62, 1 << 62, None)).in_force()

    assert values(force.guarantee)[2:] == values(force.deserved)[2:] == [1 << 61, 1 << 61]


@st.composite
def cases(draw: st.DrawFn) -> Case:
    """Trees of up to ten queues that name little, much or nothing of one resource."""
    amount = st.sampled_from([None, None, 0, 1, 2, 3, 5, 9, 1 << 50])
    rows = [
        (draw(st.integers(0, row)), draw(amount), draw(amount), draw(amount)) for row in range(draw(st.integers(1, 10)))
    ]
    return case(*rows)


@given(cases())
def test_no_queue_passes_on_more_than_it_has(found: Case) -> None:
    force = found.in_force()
    for row, named in enumerate(found.stated.deserved[:, 0]):
        below = [at for at, parent in enumerate(found.tree.parents) if parent == row and at]
        if row and named:
            assert sum(int(force.deserved[at, 0]) for at in below) <= int(force.deserved[row, 0])
        if row and found.stated.guarantee[row, 0]:
            assert sum(int(force.guarantee[at, 0]) for at in below) <= int(force.guarantee[row, 0])
        for at in below:
            assert force.capability[at, 0] <= force.capability[row, 0]


@given(cases())
def test_nobody_gets_more_than_stated_nor_deserves_less_than_guaranteed(found: Case) -> None:
    force, stated = found.in_force(), found.quota

    assert (force.guarantee[1:] <= stated.guarantee[1:]).all()
    assert (force.deserved[1:] <= np.maximum(stated.deserved, force.guarantee)[1:]).all()
    assert (force.deserved >= force.guarantee).all()
    assert (force.capability <= stated.capability).all()


@given(cases())
def test_what_is_in_force_stays_so(found: Case) -> None:
    once = found.in_force()
    twice = in_force(once, found.stated, found.tree)

    assert all((before[1:] == after[1:]).all() for before, after in zip(once, twice, strict=True))
