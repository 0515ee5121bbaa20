"""Amounts, sums of them, and the axis that gives them columns."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vsched.errors import BadQuantity
from vsched.model.amounts.resources import (
    CPU,
    MEMORY,
    PODS,
    Amounts,
    ResourceAxis,
    add,
    exceeded,
    is_schedulable,
    maximum,
    plus,
    shortfall,
    subtract,
    times,
)

amounts = st.dictionaries(st.integers(0, 5), st.integers(1, 1 << 40)).map(lambda found: tuple(sorted(found.items())))

NAMES: dict[str, bool] = {
    "cpu": True,
    "memory": True,
    "pods": True,
    "ephemeral-storage": True,
    "hugepages-2Mi": True,
    "nvidia.com/gpu": True,
    "attachable-volumes-csi-x": True,
    "count/pods": False,
    "requests.cpu": False,
    "requests.nvidia.com/gpu": False,
    "services": False,
}


@pytest.mark.parametrize(("name", "expected"), NAMES.items(), ids=NAMES)
def test_which_names_the_scheduler_keeps_books_of(name: str, expected: bool) -> None:
    assert is_schedulable(name) is expected


def test_a_resource_list_in_base_units() -> None:
    axis = ResourceAxis()
    found = axis.parse({"pods": "3", "memory": "1Ki", "cpu": 0.5, "nvidia.com/gpu": 2, "count/x": "1", "a.b/c": "0"})
    assert found == ((CPU, 500), (MEMORY, 1024), (PODS, 3), (3, 2000))
    assert axis.names == ["cpu", "memory", "pods", "nvidia.com/gpu"]
    assert axis.render(found) == {"cpu": "500m", "memory": "1Ki", "pods": "3", "nvidia.com/gpu": "2"}


def test_columns_keep_their_meaning_as_the_axis_grows() -> None:
    axis = ResourceAxis(["a.b/c"])
    assert (axis.column("a.b/c"), axis.column("d.e/f"), axis.column("cpu"), len(axis)) == (3, 4, CPU, 5)


@pytest.mark.parametrize("quantity", ["x", "-1", None, [], True])
def test_a_bad_quantity_names_its_resource(quantity: object) -> None:
    with pytest.raises(BadQuantity, match=r"^cpu: "):
        ResourceAxis().parse({"cpu": quantity})


@given(amounts, amounts)
def test_sums_come_back_to_where_they_were(left: Amounts, right: Amounts) -> None:
    total = dict(left)
    add(total, right)
    assert tuple(sorted((column, value) for column, value in total.items() if value)) == plus(left, right)
    subtract(total, right)
    assert {column: value for column, value in total.items() if value} == dict(left)


@given(amounts, amounts)
def test_what_is_over_and_what_is_short_make_up_the_difference(left: Amounts, right: Amounts) -> None:
    over, short = dict(exceeded(dict(left), right)), dict(shortfall(right, dict(left)))
    assert not over.keys() & short.keys()
    for column in range(6):
        difference = dict(left).get(column, 0) - dict(right).get(column, 0)
        assert over.get(column, 0) - short.get(column, 0) == difference


@given(amounts)
def test_so_many_of_the_same_are_their_sum(one: Amounts) -> None:
    assert times(one, 3) == plus(plus(one, one), one)
    assert times(one, 1) == one


@given(amounts, amounts)
def test_the_maximum_covers_both_and_no_more(left: Amounts, right: Amounts) -> None:
    largest = maximum(left, right)
    assert not shortfall(left, dict(largest))
    assert not shortfall(right, dict(largest))
    assert set(largest) <= set(left) | set(right)
