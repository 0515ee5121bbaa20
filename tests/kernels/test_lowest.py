"""What every node has idle: never more than is true, and true again once enough has moved."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from vsched.kernels.lowest import MOVES_BETWEEN_LOOKS, LowestIdle


@given(
    st.integers(1, 6).flatmap(lambda nodes: st.lists(st.integers(-5, 20), min_size=nodes, max_size=nodes)),
    st.lists(st.tuples(st.integers(0, 5), st.integers(-9, 9), st.integers(0, 25))),
)
def test_it_never_claims_more_than_every_node_has(amounts: list[int], steps: list[tuple[int, int, int]]) -> None:
    idle = np.array([amounts, amounts[::-1]], dtype=np.int64)
    moves = list[int]()
    lowest = LowestIdle(idle, moves)
    for row, by, asked in steps:
        for column in (0, 1):
            if lowest.covers(column, asked):
                assert idle[column].min() >= asked
        idle[:, row % len(amounts)] += by
        moves.append(row % len(amounts))
    assert lowest.covers(0, int(idle[0].min()) - 10_000)


def test_room_that_was_given_back_counts_again_after_a_while() -> None:
    idle = np.array([[5, 9, 9]], dtype=np.int64)
    moves = list[int]()
    lowest = LowestIdle(idle, moves)
    assert lowest.covers(0, 5)
    assert not lowest.covers(0, 6)
    idle[0, 0] = 9
    for _ in range(MOVES_BETWEEN_LOOKS):
        moves.append(0)
        found = lowest.covers(0, 9)
    assert found


def test_a_resource_that_is_asked_about_seldom_knows_the_moves_since() -> None:
    idle = np.array([[5, 9], [9, 9]], dtype=np.int64)
    moves = list[int]()
    lowest = LowestIdle(idle, moves)
    assert lowest.covers(0, 5)
    assert lowest.covers(1, 9)
    for count in (1, MOVES_BETWEEN_LOOKS + 1):
        idle[1, 0] -= 1
        for _ in range(count):
            moves.append(0)
            assert lowest.covers(0, 5)
        assert not lowest.covers(1, int(idle[1].min()) + 1)
        assert lowest.covers(1, int(idle[1].min()))
