"""Fair division: dominant shares and water-filling. Excludes where the numbers come from (plugins)."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from vsched.kernels.fairness import Demand, dominant_share, satisfied_at_once, satisfied_row, water_fill

INF = float("inf")


def fill(
    total: list[float], weights: list[float], request: list[list[float]], **others: list[list[float]]
) -> list[list[float]]:
    shape = (len(weights), len(total))
    limit = np.array(others.get("limit", np.full(shape, INF)), dtype=np.float64)
    floor = np.array(others.get("floor", np.zeros(shape)), dtype=np.float64)
    spare = np.array(others["spare"][0], dtype=np.float64) if "spare" in others else None
    demand = Demand(np.array(weights, dtype=np.float64), np.array(request, dtype=np.float64), limit, floor, spare)
    return [
        [round(value, 3) for value in row] for row in water_fill(np.array(total, dtype=np.float64), demand).tolist()
    ]


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
    ("weights", "request_", "others", "deserved"),
    [
        pytest.param([1, 1], [[100], [100]], {}, [[8], [8]], id="equal weights that want too much share alike"),
        pytest.param([1, 3], [[100], [100]], {}, [[4], [12]], id="by weight"),
        pytest.param([1, 1], [[2], [100]], {}, [[2], [14]], id="what one does not want goes to the other"),
        pytest.param([1, 1, 1], [[2], [3], [100]], {}, [[2], [3], [11]], id="round after round"),
        pytest.param([1, 1], [[100], [100]], {"limit": [[5], [INF]]}, [[5], [11]], id="a limit caps"),
        pytest.param([1, 1], [[0], [100]], {"floor": [[6], [0]]}, [[6], [10]], id="a floor holds even unasked"),
        pytest.param([0, 1], [[100], [100]], {}, [[0], [16]], id="no weight, no share"),
        pytest.param([1, 1], [[2], [3]], {}, [[2], [3]], id="nobody deserves more than is asked for"),
        pytest.param(
            [0, 1, 0], [[100], [4], [100]], {"spare": [[3, 5, 1]]}, [[9], [4], [3]], id="what is left, by spare weights"
        ),
        pytest.param([0, 1], [[100], [100]], {"spare": [[1, 1]]}, [[0], [16]], id="nothing where nothing is left"),
        pytest.param(
            [0, 0],
            [[100], [2]],
            {"spare": [[1, 1]], "floor": [[0], [3]]},
            [[13], [3]],
            id="all of it where none has weight",
        ),
    ],
)
def test_water_filling_of_sixteen(
    weights: list[float], request_: list[list[float]], others: dict[str, list[list[float]]], deserved: list[list[float]]
) -> None:
    assert fill([16], weights, request_, **others) == deserved


amounts = st.integers(0, 1000)
queues = st.lists(st.tuples(st.integers(1, 10), amounts, amounts), min_size=1, max_size=8)


@given(queues, st.integers(1, 2000), st.integers(1, 2000))
def test_nobody_gets_more_than_asked_and_the_sum_stays_within_the_cluster(
    claims: list[tuple[int, int, int]], cpu: int, memory: int
) -> None:
    request = np.array([[one, two] for _, one, two in claims], dtype=np.float64)
    demand = Demand(
        np.array([weight for weight, _, _ in claims], dtype=np.float64),
        request,
        np.full(request.shape, INF),
        np.zeros(request.shape),
    )
    deserved = water_fill(np.array([cpu, memory], dtype=np.float64), demand)

    assert (deserved <= request + 1e-6).all()
    assert (deserved.sum(axis=0) <= np.array([cpu, memory]) + 1e-6).all()


@given(st.lists(st.tuples(st.integers(1, 10), amounts), min_size=2, max_size=8), st.integers(1, 2000))
def test_no_queue_can_gain_without_a_poorer_one_losing(claims: list[tuple[int, int]], total: int) -> None:
    weights = np.array([weight for weight, _ in claims], dtype=np.float64)
    request = np.array([[one] for _, one in claims], dtype=np.float64)
    demand = Demand(weights, request, np.full(request.shape, INF), np.zeros(request.shape))
    deserved = water_fill(np.array([total], dtype=np.float64), demand)[:, 0]

    unmet = deserved < request[:, 0] - 0.2
    if unmet.any():
        poorest = (deserved / weights)[unmet].min()
        assert ((deserved / weights)[~unmet] <= poorest + 0.2).all()
        assert np.allclose((deserved / weights)[unmet], poorest, atol=0.2)
        assert deserved.sum() >= total - 1.0


limits = st.integers(0, 1000) | st.just(INF)
demands = st.lists(st.tuples(st.integers(0, 10), amounts, amounts, limits, st.integers(0, 300)), max_size=6)


@given(demands, st.integers(0, 5000), st.integers(0, 5000))
def test_who_is_satisfied_at_once_gets_what_water_filling_gives(
    claims: list[tuple[int, float, float, float, float]], cpu: int, memory: int
) -> None:
    total = np.array([cpu, memory], dtype=np.float64)
    weights, one, two, most, floor = np.array(claims, dtype=np.float64).reshape(len(claims), 5).T
    limit = np.column_stack((most, most))
    demand = Demand(weights, np.column_stack((one, two)), limit, np.column_stack((floor, floor)), weights + 1)
    together = satisfied_at_once(total, demand)
    if weights.all():
        parts = weights / weights.sum()
        rows = zip(parts.tolist(), demand.request.tolist(), limit.tolist(), demand.floor.tolist(), strict=True)
        alone = [satisfied_row([cpu, memory], *row) for row in rows]
        assert (None in alone) is (together is None)
        assert together is None or alone == together.tolist()
    assert together is None or np.array_equal(together, water_fill(total, demand))
