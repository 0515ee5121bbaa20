"""Rows that represent all nodes: the first unchanged one of each kind, and each that changed."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from vsched.kernels.representatives import AHEAD, Representatives, representatives_of
from vsched.model.nodes.table import Ints


def amounts(*rows: list[int]) -> Ints:
    return np.array(rows, dtype=np.int64)


KINDS = st.lists(st.integers(0, 3), min_size=1, max_size=120)


@given(KINDS, st.lists(st.integers(0, 119), max_size=150), st.booleans())
def test_the_first_unchanged_row_of_each_kind_is_there_and_each_that_changed(
    kinds: list[int], touched: list[int], in_order: bool
) -> None:
    found = representatives_of([amounts(kinds)], most=4)
    assert found is not None
    changed: set[int] = set()
    for row in sorted(touched) if in_order else touched:
        found.touch(row % len(kinds))
        changed.add(row % len(kinds))
        unchanged = [row for row in range(len(kinds)) if row not in changed]
        firsts = {kinds[row]: row for row in reversed(unchanged)}
        rows = list(found)
        assert changed | set(firsts.values()) <= set(rows)
        assert len(rows) == len(set(rows)) == len(found)
        assert found.rows.tolist() == rows == np.asarray(found).tolist()
        assert found.at == {row: position for position, row in enumerate(rows)}
        assert found.ascending == (rows == sorted(rows))


def test_rows_of_a_kind_are_added_some_at_a_time() -> None:
    found = Representatives(np.zeros(3 * AHEAD, dtype=np.int64))
    assert list(found) == [0]
    found.touch(0)
    assert list(found) == list(range(1 + AHEAD))
    for row in (5, 5, 3):
        found.touch(row)
    assert len(found) == 1 + AHEAD
    found.touch(2 * AHEAD)
    assert found[1 + AHEAD :] == [2 * AHEAD]
    assert found.ascending
    for row in range(1 + AHEAD):
        found.touch(row)
    assert list(found) == [*range(1 + AHEAD), 2 * AHEAD, *range(1 + AHEAD, 2 * AHEAD), 2 * AHEAD + 1]
    assert not found.ascending


@pytest.mark.parametrize(
    ("rows", "kinds"),
    [
        pytest.param(amounts([4, 4, 8, 4], [1, 1, 1, 2]), 3, id="one amount makes a kind"),
        pytest.param(amounts([4, 4], [1, 1]), 1, id="all alike"),
        pytest.param(amounts([1, 2, 3, 4]), None, id="too many kinds"),
        pytest.param(amounts([], []), None, id="no nodes"),
        pytest.param(amounts([*range(3)] * 100, [1] * 300), 3, id="many nodes of few kinds"),
        pytest.param(amounts([*range(90), *[1] * 90], [1] * 180), None, id="half of a sample of many differs"),
    ],
)
def test_nodes_are_alike_where_all_their_amounts_are_equal(rows: Ints, kinds: int | None) -> None:
    found = representatives_of([rows[:1], rows[1:]], most=3 if rows.shape[1] < 180 else 180)
    assert (None if found is None else len(found)) == kinds


@given(KINDS, st.lists(st.integers(0, 119), max_size=150), st.data())
def test_nodes_that_are_left_out_are_as_if_they_were_not_there(
    kinds: list[int], touched: list[int], data: st.DataObject
) -> None:
    only = np.array(data.draw(st.lists(st.booleans(), min_size=len(kinds), max_size=len(kinds))))
    found, rows = representatives_of([amounts(kinds)], 4, only), np.flatnonzero(only)
    alone = representatives_of([amounts(kinds)[:, only]], 4)
    if found is None or alone is None:
        assert found is alone
        return
    for row in (row % len(kinds) for row in touched):
        found.touch(row)
        if only[row]:
            alone.touch(int(np.searchsorted(rows, row)))
    assert list(found) == rows[list(alone)].tolist()
    assert found.ascending == alone.ascending


def test_nodes_with_equal_sums_and_other_amounts_are_not_taken_to_be_alike() -> None:
    factor = 0x9E3779B97F4A7C1
    assert representatives_of([amounts([0, 3 * factor + 1], [0, -factor - 1])], most=2) is None
