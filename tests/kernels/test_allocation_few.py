"""Scores on the rows that represent all: equal to the plain scores, bit for bit, whatever is placed and taken away."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from tests.support.allocations import PARTS, SIZE, of
from vsched.kernels.allocation import balanced_allocation, capacity_of, least_allocated
from vsched.kernels.allocation_few import AllocationOfFew
from vsched.kernels.representatives import Representatives
from vsched.model.nodes.table import Ints


@given(st.lists(SIZE, min_size=1, max_size=4), st.integers(1, 40), st.data())
def test_every_request_scores_as_by_the_plain_functions_after_every_move(
    sizes: list[tuple[int, int]], nodes: int, data: st.DataObject
) -> None:
    kind = np.arange(nodes) % len(sizes)
    rows = Representatives(kind % min(nodes, len(sizes)))
    has: Ints = np.array(sizes, dtype=np.int64).T[:, kind].copy()
    held, scoring = np.zeros_like(has), np.zeros_like(has)
    moves = list[int]()
    few, capacity = AllocationOfFew(rows, moves, scoring, held, has), capacity_of(has)
    weights = data.draw(st.tuples(st.integers(0, 9), st.integers(0, 9)) | st.just((1, 1)))
    for part in data.draw(st.lists(PARTS, min_size=1, max_size=6)):
        row = data.draw(st.integers(0, nodes - 1))
        by = data.draw(st.sampled_from([1, -1])) * np.array(of(data.draw(PARTS), sizes[kind[row]]))
        held[:, row] = np.maximum(held[:, row] + by, 0)
        scoring[:, row] = np.maximum(scoring[:, row] + 2 * by, 0)
        rows.touch(row)
        moves.append(row)
        asked, more = of(part, sizes[0]), of(data.draw(PARTS), sizes[0])
        found = few.score(asked, more, weights)
        least = least_allocated(scoring + np.array(asked, dtype=np.float64)[:, None], capacity)
        balanced = balanced_allocation(held.astype(np.float64), np.array(more, dtype=np.float64)[:, None], capacity)
        assert found.tolist() == (weights[0] * least + weights[1] * balanced)[rows.rows].tolist()
