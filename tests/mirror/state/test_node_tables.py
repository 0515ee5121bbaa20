"""Sums of nodes as arrays."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from vsched.mirror.state.node_tables import dense, dense_vector, vectors
from vsched.model.amounts.quantity import MOST
from vsched.model.amounts.resources import Vector

WIDTH = 6
sums = st.lists(st.dictionaries(st.integers(0, WIDTH - 1), st.integers(1, 2 * MOST)), max_size=8)


@given(sums=sums)
def test_an_array_has_every_amount_in_its_column_and_nothing_else(sums: list[Vector]) -> None:
    assert dense(sums, WIDTH).T.tolist() == [dense_vector(one, WIDTH) for one in sums]


@given(sums=sums)
def test_an_array_gives_its_sums_back(sums: list[Vector]) -> None:
    assert vectors(dense(sums, WIDTH)) == sums


def test_a_sum_beyond_64_bits_is_the_largest_that_is_written() -> None:
    assert dense([{0: 1 << 70, 2: 5}], 3).T.tolist() == [[2 * MOST, 0, 5]]
