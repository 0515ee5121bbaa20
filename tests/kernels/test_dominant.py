"""Progressive filling of dominant shares in whole amounts. Excludes where the numbers come from (the arbitrator)."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from itertools import combinations
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.clusters import seeded
from tests.support.examples import examples
from vsched.kernels.dominant import LARGEST, DemandTable, column_sums, cut_to_fit, progressive_fill

Rows = Sequence[Sequence[int]]
GIB = 1 << 30


def table(rows: Rows, width: int) -> np.ndarray:
    return np.array(rows, dtype=np.int64).reshape(len(rows), width)


def fill(
    capacity: Sequence[int],
    demand: Rows,
    floor: Rows | None = None,
    weights: Sequence[float] | None = None,
    total: Sequence[int] | None = None,
) -> list[list[int]]:
    wanted = table(demand, len(capacity))
    floors = np.zeros_like(wanted) if floor is None else table(floor, len(capacity))
    wants = DemandTable(np.array(weights or [1.0] * len(demand), dtype=np.float64), wanted, floors)
    there = np.array(capacity, dtype=np.int64)
    dealt: list[list[int]] = progressive_fill(there, there if total is None else np.array(total), wants).tolist()
    return dealt


@pytest.mark.parametrize(
    ("capacity", "demand", "others", "dealt"),
    [
        pytest.param([2000, 2], [[2000, 2], [2000, 2]], {}, [[1000, 1], [1000, 1]], id="two that want all get halves"),
        pytest.param([10000], [[10000]] * 3, {}, [[3333]] * 3, id="a third is rounded down"),
        pytest.param([10000], [[10000]] * 2, {"weights": [40, 60]}, [[4000], [6000]], id="by weight"),
        pytest.param([999], [[300], [900]], {}, [[300], [699]], id="what one does not want goes to the other"),
        pytest.param([10], [[3], [4]], {}, [[3], [4]], id="nobody gets more than it demands"),
        pytest.param([10], [], {}, [], id="nobody to divide among"),
        pytest.param([0, 5], [[0, 5], [0, 5]], {}, [[0, 2], [0, 2]], id="of nothing everybody gets nothing"),
        pytest.param(
            [9000, 18000],
            [[4000, 16000], [9000, 3000]],
            {},
            [[3000, 15000], [6000, 3000]],
            id="the paper's example: three tasks of <1, 4> and two of <3, 1>, and what memory that leaves over",
        ),
        pytest.param(
            [10, 100],
            [[10, 20], [10, 90]],
            {},
            [[5, 20], [5, 80]],
            id="who stops for want of one resource still gets what is left of others",
        ),
        pytest.param([10], [[0], [10]], {"floor": [[6], [0]]}, [[6], [4]], id="a floor holds even unasked"),
        pytest.param([10], [[10], [10]], {"floor": [[6], [0]]}, [[6], [4]], id="a floor goes before shares"),
        pytest.param(
            [10], [[10], [10]], {"floor": [[3], [0]]}, [[5], [5]], id="a floor below the share changes nothing"
        ),
        pytest.param(
            [10, 20],
            [[10, 10], [10, 10], [0, 20]],
            {"floor": [[6, 0], [0, 0], [0, 0]]},
            [[6, 6], [4, 6], [0, 8]],
            id="who gets no more of one resource goes on with the other",
        ),
        pytest.param([99 * 100 + 99], [[9999]] * 100, {}, [[99]] * 100, id="a hundredth short of a unit"),
        pytest.param([3 * GIB + 1], [[3 * GIB]] * 2, {}, [[3 * GIB // 2]] * 2, id="memory by the byte"),
        pytest.param([LARGEST], [[LARGEST], [LARGEST]], {}, [[LARGEST // 2]] * 2, id="as much as can be written"),
        pytest.param(
            [LARGEST],
            [[LARGEST]] * 4,
            {"weights": [1, 1, 1, 5]},
            [[LARGEST >> 3]] * 3 + [[5 * (LARGEST >> 3)]],
            id="sums that cannot be written",
        ),
    ],
)
def test_filling(capacity: list[int], demand: Rows, others: dict[str, list[int]], dealt: Rows) -> None:
    assert fill(capacity, demand, **others) == dealt


@pytest.mark.parametrize(
    ("capacity", "floors", "fitting"),
    [
        pytest.param([10], [[4], [6]], [[4], [6]], id="what fits stays"),
        pytest.param([10], [[10], [10]], [[5], [5]], id="in proportion"),
        pytest.param([10], [[10], [20], [0]], [[3], [6], [0]], id="rounded down"),
        pytest.param([0, 5], [[3, 2], [1, 3]], [[0, 2], [0, 3]], id="each resource by itself"),
        pytest.param([LARGEST], [[LARGEST]] * 8, [[LARGEST >> 3]] * 8, id="sums that cannot be written"),
    ],
)
def test_floors_that_exceed_what_there_is_are_cut(capacity: list[int], floors: Rows, fitting: Rows) -> None:
    assert cut_to_fit(table(floors, len(capacity)), np.array(capacity)).tolist() == fitting


def test_sums_that_cannot_be_written_are_larger_than_anything() -> None:
    assert column_sums(table([[LARGEST, 1]] * 9, 2)).tolist() == [2 * LARGEST, 9]


@st.composite
def divisions(draw: st.DrawFn) -> tuple[list[int], list[list[int]], list[list[int]], list[int]]:
    """Capacity, demands within it, floors that fit, weights."""
    capacity = draw(st.lists(st.sampled_from([0, 1, 7, 60, 1000, 5 * GIB]), min_size=1, max_size=4))
    count = draw(st.integers(1, 6))
    part = st.integers(0, 24)
    demand = [[most * draw(part) // 24 for most in capacity] for _ in range(count)]
    floor = [[most * max(0, draw(part) - 12) // 12 // count for most in capacity] for _ in range(count)]
    return capacity, demand, floor, draw(st.lists(st.integers(1, 5), min_size=count, max_size=count))


@settings(max_examples=examples(60), deadline=None)
@given(divisions())
def test_nothing_is_left_that_anybody_could_use(made: tuple[list[int], Rows, Rows, list[int]]) -> None:
    capacity, demand, floor, weights = made
    dealt = fill(capacity, demand, floor, weights)
    for column, most in enumerate(capacity):
        amounts = [row[column] for row in dealt]
        aims = [max(wanted[column], least[column]) for wanted, least in zip(demand, floor, strict=True)]
        assert sum(amounts) <= most
        assert all(least[column] <= amount for least, amount in zip(floor, amounts, strict=True))
        assert all(amount <= aim for amount, aim in zip(amounts, aims, strict=True))
        assert amounts == aims or most - sum(amounts) < len(amounts)


@settings(max_examples=examples(60), deadline=None)
@given(divisions())
def test_dominant_shares_are_max_min_fair(made: tuple[list[int], Rows, Rows, list[int]]) -> None:
    """Of whatever a party lacks, nobody has more than its floor at a larger share by every reckoning: some resources,
    this one among them, are such that by their dominant share the other is not ahead."""
    capacity, demand, floor, weights = made
    dealt = fill(capacity, demand, floor, weights)
    columns, rows = range(len(capacity)), range(len(demand))
    reckonings = [chosen for size in columns for chosen in combinations(columns, size + 1)]

    def level(i: int, r: int, amount: int, chosen: tuple[int, ...]) -> Fraction:
        return max(Fraction(demand[i][c], max(1, capacity[c])) for c in chosen) / weights[i] * amount / demand[i][r]

    def is_ahead(j: int, i: int, r: int, chosen: tuple[int, ...]) -> bool:
        least, most = level(j, r, dealt[j][r], chosen), level(i, r, dealt[i][r] + 1, chosen)  # what is dealt is rounded
        return least > most * (1 + Fraction(1, 10**9))

    for i in rows:
        for r in (r for r in columns if dealt[i][r] < demand[i][r]):
            others = [j for j in rows if demand[j][r] and dealt[j][r] > floor[j][r]]
            mine = [chosen for chosen in reckonings if r in chosen]
            assert all(any(not is_ahead(j, i, r, chosen) for chosen in mine) for j in others)


@settings(max_examples=examples(60), deadline=None)
@given(divisions(), seeded)
def test_the_order_of_parties_does_not_matter(made: tuple[list[int], Rows, Rows, list[int]], dice: Any) -> None:
    capacity, demand, floor, weights = made
    order = list(range(len(demand)))
    dice.shuffle(order)
    mixed = fill(capacity, [demand[i] for i in order], [floor[i] for i in order], [weights[i] for i in order])
    assert mixed == [fill(capacity, demand, floor, weights)[i] for i in order]


@settings(max_examples=examples(60), deadline=None)
@given(divisions(), st.data())
def test_a_larger_floor_never_lowers_what_is_dealt_of_it(
    made: tuple[list[int], Rows, Rows, list[int]], data: st.DataObject
) -> None:
    capacity, demand, floor, weights = made
    i, r = data.draw(st.integers(0, len(demand) - 1)), data.draw(st.integers(0, len(capacity) - 1))
    room = capacity[r] - sum(row[r] for row in floor)
    raised = [list(row) for row in floor]
    raised[i][r] += data.draw(st.integers(0, room))
    assert fill(capacity, demand, raised, weights)[i][r] >= fill(capacity, demand, floor, weights)[i][r]
