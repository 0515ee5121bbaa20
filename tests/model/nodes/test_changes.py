"""The rows of a table that were written anew, for those who keep a copy."""

from __future__ import annotations

from vsched.model.nodes.changes import ROWS_MAX, RowChanges


def test_the_rows_since_a_position_are_told_in_order() -> None:
    changes = RowChanges()
    changes.note([3])
    seen = changes.position
    changes.note([1, 3])
    assert changes.since(seen) == [1, 3]
    assert changes.since(changes.position) == []


def test_what_is_long_ago_is_forgotten() -> None:
    changes = RowChanges()
    for row in range(2 * ROWS_MAX):
        changes.note([row])
    assert changes.position == 2 * ROWS_MAX
    assert changes.since(ROWS_MAX - 1) is None
    assert changes.since(ROWS_MAX) == [*range(ROWS_MAX, 2 * ROWS_MAX)]


def test_of_many_rows_at_once_the_last_ones_are_remembered() -> None:
    changes = RowChanges()
    changes.note(range(3 * ROWS_MAX))
    assert changes.position == 3 * ROWS_MAX
    assert changes.since(0) is None
    assert changes.since(2 * ROWS_MAX) == [*range(2 * ROWS_MAX, 3 * ROWS_MAX)]
