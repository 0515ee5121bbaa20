"""The domains of a tier: sums over their nodes."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from vsched.framework.places.domains import Grouping
from vsched.model.topology.tiers import Tier


@given(st.lists(st.tuples(st.integers(-1, 3), st.integers(0, 1 << 40)), max_size=20))
def test_sums_are_those_of_nodes_one_by_one(nodes: list[tuple[int, int]]) -> None:
    ids = np.array([number for number, _ in nodes], dtype=np.int32)
    values = np.array([value for _, value in nodes], dtype=np.int64)

    found = Grouping(Tier(1, "", ids, ("a", "b", "c", "d"))).sums(values)

    assert found.tolist() == [sum(value for number, value in nodes if number == domain) for domain in range(4)]
