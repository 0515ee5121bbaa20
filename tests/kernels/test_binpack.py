"""Binpack: worked examples, and one node in plain numbers equal to many in arrays."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from vsched.kernels.binpack import PackedResource, binpack, binpack_by_used, binpack_row


def score(
    wishes: list[PackedResource],
    idle: list[list[int]],
    has: list[list[int]],
    scale: float = 100.0,
    weight_sum: int | None = None,
) -> list[float]:
    """By node; ``idle`` and ``has`` are [resource][node]."""
    allocatable = np.array(has, dtype=np.float64)
    lacking = [bool((allocatable[wish.column] == 0).any()) for wish in wishes]
    total = sum(wish.weight for wish in wishes) if weight_sum is None else weight_sum
    scores = binpack(wishes, np.array(idle, dtype=np.int64), allocatable, total, scale, lacking)
    plain = [
        binpack_row(wishes, np.array(idle, dtype=np.int64).data, np.array(has, dtype=np.int64).data, node, total, scale)
        for node in range(len(idle[0]))
    ]
    assert scores.tolist() == plain
    return plain


@pytest.mark.parametrize(
    ("wishes", "idle", "has", "expected"),
    [
        pytest.param([PackedResource(0, 1000, 1)], [[1000]], [[4000]], 100.0, id="the pod fills the node"),
        pytest.param([PackedResource(0, 1000, 1)], [[4000]], [[4000]], 25.0, id="an empty node by what the pod takes"),
        pytest.param([PackedResource(0, 1000, 1)], [[999]], [[4000]], 0.0, id="what is idle does not suffice"),
        pytest.param(
            [PackedResource(0, 1, 5), PackedResource(1, 1, 1)],
            [[4], [4]],
            [[4], [2 * 4]],
            (25 * 5 + 62.5) / 6,
            id="weights",
        ),
        pytest.param(
            [PackedResource(0, 1, 1), PackedResource(1, 5, 1)],
            [[4], [4]],
            [[4], [4]],
            0.0,
            id="one short resource is enough",
        ),
        pytest.param(
            [PackedResource(0, 1, 1), PackedResource(1, 5, 1)],
            [[4], [0]],
            [[4], [0]],
            12.5,
            id="a lacking resource divides",
        ),
        pytest.param([PackedResource(0, 2, 1)], [[-1]], [[4]], 0.0, id="an over-used node"),
    ],
)
def test_worked_examples(
    wishes: list[PackedResource], idle: list[list[int]], has: list[list[int]], expected: float
) -> None:
    assert score(wishes, idle, has) == [pytest.approx(expected, abs=1e-12)]


def test_no_wishes_score_nothing() -> None:
    assert score([], [[1, 2]], [[4, 4]]) == [0.0, 0.0]


NODE = st.tuples(st.integers(0, 1 << 40), st.integers(0, 1 << 40), st.booleans())


@given(
    st.lists(st.tuples(st.integers(1, 1 << 40), st.integers(1, 9)), min_size=1, max_size=3),
    st.data(),
    st.sampled_from([100.0, 500.0, -100.0]),
)
def test_one_node_and_many_nodes_score_the_same_bit_for_bit(
    asked: list[tuple[int, int]], data: st.DataObject, scale: float
) -> None:
    wishes = [PackedResource(column, amount, weight) for column, (amount, weight) in enumerate(asked)]
    nodes = data.draw(st.lists(st.tuples(*[NODE] * len(wishes)), min_size=1, max_size=6))
    idle = [[node[column][0] for node in nodes] for column in range(len(wishes))]
    has = [[0 if node[column][2] else node[column][1] for node in nodes] for column in range(len(wishes))]
    score(wishes, idle, has, scale)


@given(
    st.lists(st.tuples(st.integers(1, 1 << 40), st.integers(1, 9)), min_size=1, max_size=3),
    st.data(),
    st.sampled_from([100.0, 500.0, -100.0]),
)
def test_by_used_amounts_nodes_score_the_same_bit_for_bit(
    asked: list[tuple[int, int]], data: st.DataObject, scale: float
) -> None:
    wishes = [PackedResource(column, amount, weight) for column, (amount, weight) in enumerate(asked)]
    node = st.tuples(*[st.tuples(st.integers(-9, 1 << 40), st.integers(10, 1 << 40))] * len(wishes))
    nodes = data.draw(st.lists(node, min_size=1, max_size=6))
    idle, used = (np.array([[part[at] for part in column] for column in zip(*nodes, strict=True)]) for at in (0, 1))
    has, total = (idle + used).astype(np.float64), sum(wish.weight for wish in wishes)
    plain = binpack(wishes, idle, has, total, scale, [False] * len(wishes))
    may_lack = [bool((idle[wish.column] < wish.amount).any()) for wish in wishes]
    found = binpack_by_used(wishes, used.astype(np.float64), has, total, scale, may_lack if any(may_lack) else ())
    assert (found + 0.0).tolist() == (plain + 0.0).tolist()
