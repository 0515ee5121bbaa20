"""The node table: columns of labels, what is remembered, copies."""

from __future__ import annotations

import numpy as np

from vsched.model.amounts.resources import ResourceAxis
from vsched.model.nodes.table import NO_DOMAIN, ROWS_MAX, NodeAttributes, NodeStatics, NodeTable, RowChanges


def statics(*zones: str | None) -> NodeStatics:
    return NodeStatics(
        [NodeAttributes(f"n{row}", {} if zone is None else {"zone": zone}) for row, zone in enumerate(zones)]
    )


def test_a_label_column_numbers_the_values_and_marks_nodes_without() -> None:
    column = statics("b", None, "a", "b").label("zone")
    assert column.ids.tolist() == [0, NO_DOMAIN, 1, 0]
    assert (column.values, column.count) == (("b", "a"), 2)


def test_what_rests_on_attributes_is_worked_out_once_and_bounded() -> None:
    nodes = statics("a")
    asked: list[int] = []
    for _ in range(2):
        nodes.remember("x", lambda: asked.append(1) or "found")
    assert asked == [1]
    for number in range(2 * NodeStatics.MEMO_LIMIT):
        nodes.remember(number, lambda: 1)
    assert len(nodes._memo) <= NodeStatics.MEMO_LIMIT


def test_a_copy_has_its_own_amounts() -> None:
    amounts = [np.full((3, 2), value, dtype=np.int64) for value in (8, 5, 2, 1, 3)]
    table = NodeTable(ResourceAxis(), statics("a", "b"), *amounts, np.zeros((2, 2), dtype=np.int64))
    copy = table.copy()
    copy.idle[0, 0] = 0
    assert (table.idle[0, 0], copy.statics is table.statics, table.width, len(table)) == (5, True, 3, 2)
    assert table.future_idle(0).tolist() == [6, 6]


def test_what_rests_on_capacity_is_worked_out_again_for_other_amounts_alone() -> None:
    amounts = [np.full((3, 2), value, dtype=np.int64) for value in (8, 5, 2, 1, 3)]
    table = NodeTable(ResourceAxis(), statics("a", "b"), *amounts, np.zeros((2, 2), dtype=np.int64))
    asked: list[int] = []

    def total() -> int:
        asked.append(1)
        return int(table.allocatable.sum())

    assert [one.of_capacity("total", total) for one in (table, table.copy(), table)] == [48, 48, 48]
    assert asked == [1]
    table.allocatable = table.allocatable + 1
    assert (table.of_capacity("total", total), len(asked)) == (54, 2)


def test_a_copy_of_nodes_where_nothing_leaves_can_have_amounts_that_leave() -> None:
    has, idle, none = (np.full((3, 2), value, dtype=np.int64) for value in (8, 5, 0))
    table = NodeTable(ResourceAxis(), statics("a", "b"), has, idle, none, none.copy(), has - idle, none[:2].copy())
    copy = table.copy()
    copy.releasing[0, 1] = copy.pipelined[1, 0] = 1
    copy.in_motion = True
    again = copy.copy()
    assert (table.in_motion, table.copy().in_motion, again.in_motion) == (False, False, True)
    assert (table.releasing.any(), table.pipelined.any()) == (False, False)
    assert (again.releasing.tolist(), again.pipelined.tolist()) == (copy.releasing.tolist(), copy.pipelined.tolist())


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
