"""Tasks of many kinds are packed by guesses: what is found is possible, and well packed gangs are found."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from random import Random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.examples import examples
from vsched.kernels.assignment import Assignment, RoomOnNodes
from vsched.kernels.packing import pack

CELLS = 1 << 22


def packed(requests: Sequence[Sequence[int]], counts: Sequence[int], free: Sequence[Sequence[int]]) -> Assignment:
    """A way to place all of the tasks."""
    asked, room = np.array(requests, dtype=np.int64), np.array(free, dtype=np.int64)
    most = np.full((len(free), len(counts)), sum(counts))
    return pack(asked, counts, RoomOnNodes(room, most), lambda placed: list(placed) == list(counts), CELLS)


@pytest.mark.parametrize("share", [0.6, 0.8], ids=lambda share: f"{share:.0%} full")
@pytest.mark.parametrize("seed", range(3))
def test_gangs_that_do_not_quite_fill_the_nodes_are_found(share: float, seed: int) -> None:
    random = Random(seed)
    requests = [(random.randrange(1, 16), random.randrange(1, 16)) for _ in range(12)]
    nodes = [random.choices(range(12), k=random.randrange(1, 5)) for _ in range(40)]
    counts = Counter(kind for node in nodes for kind in node)
    free = [[int(sum(requests[kind][at] for kind in node) / share) for at in range(2)] for node in nodes]
    assert packed(requests, [counts[kind] for kind in range(12)], free).places is not None


AMOUNTS = st.tuples(st.integers(0, 9), st.integers(1, 9))


@settings(max_examples=examples(100), deadline=None)
@given(
    st.lists(AMOUNTS, min_size=1, max_size=6).flatmap(
        lambda asked: st.tuples(st.just(asked), st.lists(st.integers(1, 5), min_size=len(asked), max_size=len(asked)))
    ),
    st.lists(st.tuples(st.integers(0, 30), st.integers(0, 30)), min_size=1, max_size=6),
)
def test_what_is_found_has_room_on_each_node(
    tasks: tuple[list[tuple[int, int]], list[int]], free: list[tuple[int, int]]
) -> None:
    requests, counts = tasks
    found = packed(requests, counts, free)
    if found.places is None:
        assert not found.complete
        return
    placed = Counter[int]()
    left = [list(node) for node in free]
    for row, kind, count in found.places:
        placed[kind] += count
        left[row] = [rest - count * amount for rest, amount in zip(left[row], requests[kind], strict=True)]
    assert [placed[kind] for kind in range(len(counts))] == counts
    assert min(min(node) for node in left) >= 0


def test_a_kind_goes_nowhere_where_no_more_of_it_may_be() -> None:
    room = RoomOnNodes(np.array([[9], [9]]), np.array([[1, 0], [1, 9]]))
    found = pack(np.array([[1], [1]]), [2, 1], room, lambda placed: sum(placed) == 3, CELLS)
    assert sorted(found.places or ()) == [(0, 0, 1), (1, 0, 1), (1, 1, 1)]


def test_the_work_is_bounded() -> None:
    room = RoomOnNodes(np.full((50, 1), 3), np.full((50, 2), 9))
    found = pack(np.array([[2], [2]]), [40, 40], room, lambda placed: sum(placed) == 80, 10_000)
    assert found.places is None
    assert not found.complete
    assert found.cells < 20_000
