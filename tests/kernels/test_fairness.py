"""Fair division: dominant shares and water-filling. Excludes where the numbers come from (plugins)."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from vsched.kernels.fairness import Demand, dominant_share, water_fill

ANY = 1000


def fill(total: int, weights: list[int], most: list[int], **others: list[int]) -> list[int]:
    """What queues deserve of one resource."""
    floor = np.array(others.get("floor", [0] * len(most)))
    spare = np.array(others["spare"], dtype=np.float64) if "spare" in others else None
    demand = Demand(np.array(weights, dtype=np.float64), floor[:, None], np.array(most)[:, None], spare)
    found: list[int] = water_fill([total], demand)[:, 0].tolist()
    return found


@pytest.mark.parametrize(
    ("held", "total", "share"),
    [
        pytest.param({}, [10, 10, 10], 0.0, id="who holds nothing has no share"),
        pytest.param({0: 5, 1: 2}, [10, 10, 10], 0.5, id="the largest part decides"),
        pytest.param({0: 5}, [0, 10, 10], 1.0, id="something of what the cluster does not have is all of it"),
        pytest.param({0: 0}, [0, 10, 10], 0.0, id="nothing of nothing is nothing"),
    ],
)
def test_dominant_share(held: dict[int, int], total: list[int], share: float) -> None:
    assert dominant_share(held, total) == share


@pytest.mark.parametrize(
    ("weights", "most", "others", "deserved"),
    [
        pytest.param([1, 1], [ANY, ANY], {}, [8, 8], id="equal weights that want too much share alike"),
        pytest.param([1, 3], [ANY, ANY], {}, [4, 12], id="by weight"),
        pytest.param([1, 1], [2, ANY], {}, [2, 14], id="what one does not want goes to the other"),
        pytest.param([1, 1, 1], [2, 3, ANY], {}, [2, 3, 11], id="round after round"),
        pytest.param([1, 1], [0, ANY], {"floor": [6, 0]}, [6, 10], id="a floor holds even unasked"),
        pytest.param([1, 1, 1], [ANY] * 3, {"floor": [10, 0, 0]}, [10, 3, 3], id="what a floor adds, the others lack"),
        pytest.param([1, 1, 1], [ANY] * 3, {"floor": [4, 0, 0]}, [6, 5, 5], id="a floor below the share adds nothing"),
        pytest.param(
            [1, 1, 1], [ANY, 1, ANY], {"floor": [7, 0, 0]}, [8, 1, 7], id="a floor reached once a limit has cut"
        ),
        pytest.param([1, 1], [ANY, ANY], {"floor": [12, 9]}, [12, 9], id="floors hold even beyond the cluster"),
        pytest.param([0, 1], [ANY, ANY], {}, [0, 16], id="no weight, no share"),
        pytest.param([1, 1], [2, 3], {}, [2, 3], id="nobody deserves more than is asked for"),
        pytest.param([0, 1, 0], [ANY, 4, ANY], {"spare": [3, 5, 1]}, [9, 4, 3], id="what is left, by spare weights"),
        pytest.param([0, 1], [ANY, ANY], {"spare": [1, 1]}, [0, 16], id="nothing where nothing is left"),
        pytest.param(
            [0, 0], [ANY, 2], {"spare": [1, 1], "floor": [0, 3]}, [13, 3], id="all of it where none has weight"
        ),
        pytest.param([1, 1, 1], [ANY] * 3, {}, [6, 5, 5], id="the odd unit goes to the first of equals"),
        pytest.param([2, 3, 2], [ANY] * 3, {}, [5, 7, 4], id="then to the next"),
        pytest.param([1, 1, 5], [ANY] * 3, {}, [2, 2, 12], id="and to the largest remainders before"),
    ],
)
def test_water_filling_of_sixteen(
    weights: list[int], most: list[int], others: dict[str, list[int]], deserved: list[int]
) -> None:
    assert fill(16, weights, most, **others) == deserved


@pytest.mark.parametrize(
    ("total", "weights", "most", "deserved"),
    [
        pytest.param(
            294 << 30,
            [7, 3, 7],
            [124 << 30, 46 << 30, 128 << 30],
            [124 << 30, 46 << 30, 124 << 30],
            id="a level of 124Gi",
        ),
        pytest.param((1 << 60) + 1, [1, 1], [1 << 60] * 2, [(1 << 59) + 1, 1 << 59], id="amounts no float can tell"),
        pytest.param(
            1 << 60, [65535] * 3, [1 << 60] * 3, [(1 << 60) // 3 + 1, *[(1 << 60) // 3] * 2], id="large weights"
        ),
        pytest.param(30, [0.1, 0.2], [ANY] * 2, [10, 20], id="fractions"),
        pytest.param(9, [1e9, 2e9], [ANY] * 2, [3, 6], id="weights whose sum is too large"),
    ],
)
def test_amounts_are_exact(total: int, weights: list[int], most: list[int], deserved: list[int]) -> None:
    assert fill(total, weights, most) == deserved


amounts = st.integers(0, 30) | st.integers(0, 1 << 52)
queues = st.lists(st.tuples(st.integers(1, 3) | st.integers(1, 65535), amounts, amounts), min_size=1, max_size=8)


def at_level(level: Fraction, weights: list[int], floor: list[int], most: list[int]) -> list[Fraction]:
    bounds = zip(weights, floor, most, strict=True)
    return [min(max(weight * level, Fraction(low)), Fraction(max(low, high))) for weight, low, high in bounds]


@given(queues, amounts)
def test_all_get_the_same_for_their_weight_within_their_bounds(claims: list[tuple[int, int, int]], total: int) -> None:
    weights, floor, most = ([*column] for column in zip(*claims, strict=True))
    deserved = fill(total, weights, most, floor=floor)

    assert sum(deserved) == max(sum(floor), min(total, sum(map(max, floor, most))))
    # The true level is one at which bounds start to count, or between two of them.
    levels = sorted({Fraction(0), *(Fraction(one, weight) for weight, *bounds in claims for one in bounds)})
    below, above = 0, len(levels) - 1
    while above - below > 1:
        middle = (below + above) // 2
        below, above = (
            (below, middle) if sum(at_level(levels[middle], weights, floor, most)) > total else (middle, above)
        )
    low, high = (at_level(levels[at], weights, floor, most) for at in (below, above))
    part = Fraction(max(0, total - sum(low)), max(1, sum(high) - sum(low)))
    exact = [one + min(part, Fraction(1)) * (other - one) for one, other in zip(low, high, strict=True)]
    assert all(abs(amount - right) < 1 for amount, right in zip(deserved, exact, strict=True))
