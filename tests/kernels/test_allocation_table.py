"""The table of cpu and memory: equal to the plain scores, bit for bit, whatever is placed and taken away."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tests.support.allocations import GIB, PARTS, SIZE, of
from vsched.kernels.allocation import balanced_allocation, capacity_of, least_allocated
from vsched.kernels.allocation_table import AllocationTable
from vsched.model.nodes.table import Ints


class Cluster(NamedTuple):
    """Amounts of nodes, int64[2, node]."""

    scoring: Ints
    held: Ints
    has: Ints


def cluster(nodes: list[tuple[tuple[int, int], tuple[int, int], tuple[int, int]]]) -> Cluster:
    """Nodes by what they have, what is held of it, and what counts besides that for scores."""
    has, held, more = (np.array(amounts, dtype=np.int64).T.copy() for amounts in zip(*nodes, strict=True))
    return Cluster(held + more, held, has)


def check(table: AllocationTable, seen: Cluster, asked: tuple[int, int]) -> None:
    capacity, more = capacity_of(seen.has), np.array(asked, dtype=np.float64)[:, None]
    assert table.least(asked).tolist() == least_allocated(seen.scoring + more, capacity).tolist()
    held = seen.held.astype(np.float64)
    assert table.balanced(asked).tolist() == balanced_allocation(held, more, capacity).tolist()


@given(
    st.one_of(
        st.lists(SIZE, min_size=1, max_size=30), st.tuples(SIZE, st.integers(1, 30)).map(lambda of: [of[0]] * of[1])
    ),
    st.data(),
)
def test_every_request_scores_as_without_a_table_after_every_move(
    sizes: list[tuple[int, int]], data: st.DataObject
) -> None:
    parts = data.draw(st.lists(st.tuples(PARTS, PARTS), min_size=len(sizes), max_size=len(sizes)))
    seen = cluster([(size, of(held, size), of(more, size)) for size, (held, more) in zip(sizes, parts, strict=True)])
    moves = list[int]()
    table = AllocationTable(moves, *seen)
    for asked in data.draw(st.lists(PARTS, min_size=1, max_size=6)):
        check(table, seen, of(asked, sizes[0]))
        row = data.draw(st.integers(0, len(sizes) - 1))
        by = data.draw(st.sampled_from([1, -1])) * np.array(of(data.draw(PARTS), sizes[row]))
        seen.held[:, row] = np.maximum(seen.held[:, row] + by, 0)
        seen.scoring[:, row] = np.maximum(seen.scoring[:, row] + by, 0)
        moves.append(row)
        check(table, seen, of(asked, sizes[0]))


@given(st.tuples(st.integers(0, 6400), st.integers(0, 6400)), st.tuples(st.integers(0, 6400), st.integers(0, 6400)))
@example((3200, 1600), (64, 64))
def test_hundreds_of_equal_nodes_whose_balance_is_a_whole_number_score_the_same(
    held: tuple[int, int], asked: tuple[int, int]
) -> None:
    seen = cluster([((6400, 6400), held, (0, 0))] * 200 + [((6400, 6400), (17, 3000), (0, 0))] * 50)
    check(AllocationTable([], *seen), seen, asked)


def test_many_moves_at_once_are_read_together() -> None:
    seen = cluster([((64000, 256 * GIB), (number, number * GIB), (0, 0)) for number in range(100)])
    moves = list[int]()
    table = AllocationTable(moves, *seen)
    for row in range(50):
        seen.held[:, row] += 7000
        seen.scoring[:, row] += 7000
        moves.append(row)
    check(table, seen, (1234, 3 * GIB))


@pytest.mark.parametrize(
    ("has", "expected"),
    [
        pytest.param([(4000, GIB), (8000, 2 * GIB)], True, id="every node has cpu and memory"),
        pytest.param([(4000, GIB), (8000, 0)], False, id="a node without memory"),
        pytest.param([(4000, 1 << 47)], False, id="more than doubles can tell apart, times a hundred"),
        pytest.param([], False, id="no nodes"),
    ],
)
def test_it_is_for_clusters_where_every_node_has_both(has: list[tuple[int, int]], expected: bool) -> None:
    assert AllocationTable.is_for(np.array(has, dtype=np.int64).reshape(-1, 2).T) is expected
