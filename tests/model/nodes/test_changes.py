"""The rows of a table that were written anew, for those who keep a copy."""

from __future__ import annotations

from vsched.model.nodes.changes import ROWS_MAX, RowChanges


def test_the_rows_since_a_position_are_told_in_order() -> None:
    changes = RowChanges()
    changes.note(3, leaving=False)
    seen = changes.position
    changes.note(1, leaving=False)
    changes.note(3, leaving=False)
    assert changes.since(seen) == [1, 3]
    assert changes.since(changes.position) == []


def test_what_is_long_ago_is_forgotten() -> None:
    changes = RowChanges()
    for row in range(2 * ROWS_MAX):
        changes.note(row, leaving=False)
    assert changes.position == 2 * ROWS_MAX
    assert changes.since(ROWS_MAX - 1) is None
    assert changes.since(ROWS_MAX) == [*range(ROWS_MAX, 2 * ROWS_MAX)]


def test_amounts_are_in_motion_while_some_row_is_being_left() -> None:
    changes = RowChanges([2])
    assert changes.in_motion
    changes.note(5, leaving=True)
    changes.note(2, leaving=False)
    assert changes.in_motion
    changes.note(5, leaving=False)
    assert not changes.in_motion
    assert RowChanges(reserved=True).in_motion
