"""Usage figures: periods as written, and readings by the rows of a node table."""

from __future__ import annotations

import numpy as np
import pytest

from vsched.model.nodes.usage import Figures, NodeUsage, Reading, period_seconds, table_of


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("90s", 90.0),
        ("5m", 300.0),
        ("1h", 3600.0),
        pytest.param("0m", None, id="nothing is no period"),
        pytest.param("5", None, id="a number without a unit"),
        pytest.param("5m ", None, id="more than a period"),
        pytest.param("-5m", None, id="a negative number"),
        pytest.param("9999999h", None, id="longer than anybody keeps samples"),
    ],
)
def test_a_period_in_seconds(text: str, seconds: float | None) -> None:
    assert period_seconds(text) == seconds


def test_a_reading_by_row_knows_what_it_does_not_know() -> None:
    usage = {
        "c": NodeUsage(90.0, {"5m": Figures(50.0, 5.0)}, {"5m": Figures(20.0), "1h": Figures(30.0)}),
        "a": NodeUsage(95.0, {"5m": Figures(10.0)}),
        "gone": NodeUsage(95.0, {"1h": Figures(10.0)}),
    }
    table = table_of(Reading(100.0, usage), ["a", "b", "c"])

    np.testing.assert_array_equal(table.measured, [95.0, np.nan, 90.0])
    assert sorted(table.cpu) == ["5m"], "a node that has no row has no say in the periods"
    np.testing.assert_array_equal(table.cpu["5m"].average, [10.0, np.nan, 50.0])
    np.testing.assert_array_equal(table.cpu["5m"].spread, [0.0, np.nan, 5.0])
    np.testing.assert_array_equal(table.memory["5m"].average, [np.nan, np.nan, 20.0])
    np.testing.assert_array_equal(table.memory["1h"].average, [np.nan, np.nan, 30.0])
    assert not len(table.young.rows)


def test_a_sample_from_the_future_was_taken_with_the_reading() -> None:
    table = table_of(Reading(100.0, {"a": NodeUsage(1e9, {"5m": Figures(1.0)})}), ["a"])

    assert table.measured.tolist() == [100.0]


def test_a_reading_of_no_nodes_has_no_rows() -> None:
    table = table_of(Reading(100.0, {}), [])

    assert (len(table.measured), table.cpu, table.memory) == (0, {}, {})
