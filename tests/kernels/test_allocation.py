"""Least, most and balanced allocated: worked examples, and one node in plain numbers equal to many in arrays."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from vsched.kernels.allocation import (
    balanced_allocation,
    balanced_allocation_row,
    capacity_at,
    capacity_of,
    least_allocated,
    least_allocated_row,
    least_and_balanced_row,
    most_allocated,
    most_allocated_row,
)
from vsched.model.nodes.table import Floats

GIB = 1 << 30


def as_nodes(rows: list[tuple[int, ...]]) -> np.ndarray[tuple[int, int], np.dtype[np.int64]]:
    return np.array(rows, dtype=np.int64).T


@pytest.mark.parametrize(
    ("taken", "capacity", "least", "most", "balance"),
    [
        pytest.param((0, 0), (4000, 10000), 100, 0, 100, id="nothing is taken"),
        pytest.param((3000, 5000), (4000, 10000), 37, 62, 87, id="three quarters and a half"),
        pytest.param((3000, 5000), (6000, 10000), 50, 50, 100, id="a half of both is in balance"),
        pytest.param((6000, 0), (10000, 20000), 70, 30, 70, id="one resource alone"),
        pytest.param((5000, 5000), (4000, 10000), 25, 75, 75, id="more than there is counts as full"),
        pytest.param((3333, 1), (10000, 3), 66, 33, 99, id="every quotient is rounded down by itself"),
        pytest.param((3000, 5000), (0, 10000), 50, 50, 100, id="a resource that the node lacks does not count"),
        pytest.param((3000, 5000), (0, 0), 0, 0, 100, id="a node that has nothing"),
        pytest.param((1, 1, 3), (2, 4, 4), 50, 50, 79, id="three resources by standard deviation"),
        pytest.param((1, 0, 3), (2, 0, 4), 37, 62, 87, id="two of three resources by half their difference"),
    ],
)
def test_worked_examples(
    taken: tuple[int, ...], capacity: tuple[int, ...], least: int, most: int, balance: int
) -> None:
    prepared, amounts = capacity_of(as_nodes([capacity])), as_nodes([taken]).astype(np.float64)
    assert least_allocated(amounts, prepared).tolist() == [least] == [least_allocated_row(taken, capacity)]
    assert most_allocated(amounts, prepared).tolist() == [most] == [most_allocated_row(taken, capacity)]
    nothing = (0,) * len(taken)
    change = 50 + (50 + balance - 100) // 2
    assert balanced_allocation(np.zeros_like(amounts), amounts, prepared).tolist() == [change]
    assert balanced_allocation_row(nothing, taken, capacity) == change


@pytest.mark.parametrize(
    ("held", "asked", "balanced"),
    [
        pytest.param((3000, 1), (3000, 4), 73, id="a pod that leans the way the node leans"),
        pytest.param((3000, 1), (0, 5), 79, id="a pod that mends what leans"),
        pytest.param((0, 0), (3000, 6), 75, id="a balanced pod on an idle node"),
        pytest.param((4000, 8), (0, 8), 68, id="a pod that brings a node out of balance"),
    ],
)
def test_balance_is_what_the_pod_changes_about_it(held: tuple[int, int], asked: tuple[int, int], balanced: int) -> None:
    capacity = (16000, 32)
    prepared = capacity_of(as_nodes([capacity]))
    before, more = as_nodes([held]).astype(np.float64), as_nodes([asked]).astype(np.float64)
    assert balanced_allocation(before, more, prepared).tolist() == [balanced]
    assert balanced_allocation_row(held, asked, capacity) == balanced


AMOUNT = st.one_of(st.integers(0, 100), st.integers(0, 1 << 20), st.integers(0, 1 << 46))


@given(
    st.integers(2, 3).flatmap(
        lambda width: st.lists(st.tuples(*[st.tuples(AMOUNT, AMOUNT)] * width), min_size=1, max_size=8)
    )
)
def test_one_node_and_many_nodes_score_the_same_bit_for_bit(nodes: list[tuple[tuple[int, int], ...]]) -> None:
    taken = [tuple(amount for amount, _ in node) for node in nodes]
    capacity = [tuple(has for _, has in node) for node in nodes]
    prepared, amounts = capacity_of(as_nodes(capacity)), as_nodes(taken).astype(np.float64)

    def same(scores: Floats, row: Any) -> None:
        assert scores.tolist() == [row(*one) for one in zip(taken, capacity, strict=True)]

    same(least_allocated(amounts, prepared), least_allocated_row)
    same(most_allocated(amounts, prepared), most_allocated_row)
    asked = (1000,) * len(capacity[0])
    assert balanced_allocation(amounts, as_nodes([asked]).astype(np.float64), prepared).tolist() == [
        balanced_allocation_row(one, asked, has) for one, has in zip(taken, capacity, strict=True)
    ]


TWO, SIZES = st.tuples(AMOUNT, AMOUNT), st.tuples(st.integers(1, 1 << 20), st.integers(1, 1 << 46))


@given(TWO, TWO, TWO, SIZES)
def test_both_scores_of_one_node_at_once_are_the_same(
    scoring: tuple[int, int], held: tuple[int, int], asked: tuple[int, int], capacity: tuple[int, int]
) -> None:
    apart = least_allocated_row(scoring, capacity), balanced_allocation_row(held, asked, capacity)
    assert least_and_balanced_row(scoring, held, asked, capacity) == apart


@given(AMOUNT, st.integers(1, (1 << 53) // 100))
def test_a_floor_of_doubles_is_the_integer_quotient(taken: int, capacity: int) -> None:
    expected = (capacity - taken) * 100 // capacity if taken <= capacity else 0
    assert least_allocated_row([taken], [capacity]) == expected
    assert most_allocated_row([taken], [capacity]) == min(taken, capacity) * 100 // capacity


def test_the_capacity_of_some_nodes_scores_as_in_the_whole() -> None:
    capacity = capacity_of(as_nodes([(4000, 8 * GIB), (8000, 0), (2000, GIB)]))
    taken = as_nodes([(1000, GIB), (1000, GIB), (1500, GIB)]).astype(np.float64)
    whole = least_allocated(taken, capacity)
    assert least_allocated(taken[:, [2, 0]], capacity_at(capacity, [2, 0])).tolist() == whole[[2, 0]].tolist()
