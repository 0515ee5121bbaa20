"""What one allocation takes of a device that several claims may use."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.devicesets import amounts, device
from vsched.kernels.devices.capacity import ENDLESS, as_published, consumption, times
from vsched.model.claims.devices import CapacityPolicy

RANGE = CapacityPolicy(least=2000, most=8000, step=2000)
VALUES = CapacityPolicy(default=1000, values=(1000, 4000, 10_000))


@pytest.mark.parametrize(
    ("policy", "requested", "taken"),
    [
        pytest.param(None, None, 10, id="without policy and request all of it"),
        pytest.param(None, 3, 3, id="without policy what is requested"),
        pytest.param(None, 11, None, id="never more than there is"),
        pytest.param(VALUES, None, 1, id="without request the default"),
        pytest.param(VALUES, 1, 1, id="a valid value"),
        pytest.param(VALUES, 2, 4, id="rounded up to the next valid value"),
        pytest.param(VALUES, 11, None, id="more than the largest valid value"),
        pytest.param(RANGE, None, 10, id="a range without default: all of it"),
        pytest.param(RANGE, 1, 2, id="at least the minimum"),
        pytest.param(RANGE, 3, 4, id="rounded up to the next step"),
        pytest.param(RANGE, 8, 8, id="the maximum"),
        pytest.param(RANGE, 9, None, id="more than the maximum"),
        pytest.param(CapacityPolicy(default=5000, least=2000), 3, 3, id="a range without step and maximum"),
    ],
)
def test_consumption(policy: CapacityPolicy | None, requested: int | None, taken: int | None) -> None:
    policies = () if policy is None else (("gpu/memory", policy),)
    one = device("d", capacity=amounts(memory=10), shareable=True, policies=policies)
    wanted = () if requested is None else amounts(memory=requested)
    assert consumption(one, wanted) == (None if taken is None else amounts(memory=taken))


def test_names_without_a_domain_are_the_drivers() -> None:
    one = device("d", capacity=(("memory", 10_000), ("other.io/x", 5000)), policies=(("memory", VALUES),))
    assert consumption(one, (("gpu/memory", 2000), ("other.io/x", 1000))) == (("memory", 4000), ("other.io/x", 1000))
    assert consumption(one, (("memory", 2000),)) == (("memory", 4000), ("other.io/x", 5000))
    assert consumption(one, (("x", 1000),)) is None, "no capacity of that name"


@given(st.integers(1, 12_000), st.integers(0, 4000), st.integers(1, 4000), st.integers(0, 3000))
def test_a_range_is_rounded_up_to_the_least_amount_that_it_allows(
    wanted: int, least: int, step: int, most: int
) -> None:
    policy = CapacityPolicy(least=least, most=least + most, step=step)
    one = device("d", capacity=(("gpu/memory", 1 << 40),), policies=(("gpu/memory", policy),))
    allowed = [amount for amount in range(least, least + most + 1, step) if amount >= wanted]
    expected = (("gpu/memory", allowed[0]),) if allowed else None
    assert consumption(one, (("gpu/memory", wanted),)) == expected


def test_amounts_that_others_wrote_with_or_without_the_drivers_domain() -> None:
    one = device("d", capacity=(("memory", 9000), ("gpu/cores", 9000)))
    assert as_published(one, (("gpu/memory", 1000), ("cores", 2000))) == (("memory", 1000), ("gpu/cores", 2000))
    assert as_published(one, (("memory", 1000), ("gone", 1000))) == (("memory", 1000),)


def test_how_often_it_fits() -> None:
    model = device("d", capacity=amounts(cores=10, memory=10)).model
    taken = amounts(cores=2, memory=3)
    assert times(model, (), taken) == 3
    assert times(model, amounts(cores=7), taken) == 1
    assert times(model, amounts(memory=12), taken) == 0
    assert times(model, (), amounts(cores=0, memory=0)) == ENDLESS
    assert times(device("d").model, (), ()) == ENDLESS
