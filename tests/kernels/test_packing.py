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
from vsched.kernels.packing import better_placed, pack

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


@given(st.data())
def test_tasks_move_to_nodes_that_rank_higher_and_all_still_fit(data: st.DataObject) -> None:
    nodes, kinds = data.draw(st.integers(1, 6)), data.draw(st.integers(1, 4))
    amounts = st.lists(st.integers(1, 4), min_size=2, max_size=2)
    requests = np.array(data.draw(st.lists(amounts, min_size=kinds, max_size=kinds)))
    counts = data.draw(st.lists(st.integers(1, 3), min_size=kinds, max_size=kinds))
    free = np.array(
        data.draw(st.lists(st.lists(st.integers(0, 12), min_size=2, max_size=2), min_size=nodes, max_size=nodes))
    )
    ranks = np.array([data.draw(st.permutations(range(nodes))) for _ in range(kinds)]).T
    room = RoomOnNodes(free, (free[:, None, :] // requests[None, :, :]).min(axis=2))
    packed_as = pack(requests, counts, room, lambda placed: list(placed) == counts, CELLS).places
    if packed_as is None:
        return

    found = better_placed(packed_as, requests, room, ranks)

    used, there = np.zeros_like(free), np.zeros((nodes, kinds), dtype=int)
    for row, kind, count in found:
        used[row] += requests[kind] * count
        there[row, kind] += count
    assert (used <= free).all()
    assert there.sum(axis=0).tolist() == counts
    assert sum(ranks[row, kind] * count for row, kind, count in found) <= sum(
        ranks[row, kind] * count for row, kind, count in packed_as
    )


def test_a_task_takes_the_best_node_that_the_others_leave_free() -> None:
    room = RoomOnNodes(np.array([[4], [4], [4]]), np.array([[4, 1], [4, 1], [4, 1]]))
    ranks = np.array([[2, 0], [0, 1], [1, 2]])

    found = better_placed([(0, 0, 2), (2, 1, 1)], np.array([[1], [4]]), room, ranks)

    assert sorted(found) == [(0, 1, 1), (1, 0, 2)]
