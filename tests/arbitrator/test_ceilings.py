"""Ceilings of a division by column, for those who place pods."""

from __future__ import annotations

import pytest

from vsched.arbitrator.ceilings import ceilings_of, pools_of
from vsched.model.amounts.resources import CPU, MEMORY, PODS, ResourceAxis
from vsched.model.arbitration.records import SYSTEM_NAMESPACE, WHOLE, Award, Ceiling, Division, PoolLimits

GPU = 3


ALL = (WHOLE,)


@pytest.mark.parametrize(
    ("award", "lends", "ceiling"),
    [
        pytest.param(Award({"cpu": 5}, {}), True, None, id="without any nobody is limited"),
        pytest.param(
            Award({"cpu": 5}, {"cpu": 5}), True, Ceiling({CPU: 5}, deserved={CPU: 5}, pools=ALL), id="what is deserved"
        ),
        pytest.param(
            Award({"cpu": 5}, {"cpu": 7}, own={"cpu": 4}),
            True,
            Ceiling({CPU: 7}, own={CPU: 4}, deserved={CPU: 5}, pools=ALL),
            id="and what is lent, beyond what is its own",
        ),
        pytest.param(
            Award({"cpu": 5}, {"cpu": 7}),
            False,
            Ceiling({CPU: 5}, deserved={CPU: 5}, pools=ALL),
            id="unless nothing is lent for now",
        ),
        pytest.param(
            Award({}, {"memory": 9}), False, Ceiling({MEMORY: 9}, pools=ALL), id="a limit of what has no total stays"
        ),
        pytest.param(
            Award({}, {"pods": 0, "gpu/x": 0}), True, Ceiling({PODS: 0, GPU: 0}, pools=ALL), id="none is a limit"
        ),
        pytest.param(
            Award({"limits.cpu": 3}, {"limits.cpu": 9, "limits.memory": 0}, own={"limits.cpu": 1, "cpu": 2}),
            False,
            Ceiling(
                {},
                {"limits.cpu": 9, "limits.memory": 0},
                own={CPU: 2},
                own_limits={"limits.cpu": 1},
                deserved_limits={"limits.cpu": 3},
                pools=ALL,
            ),
            id="limits by name, as there is no total of them",
        ),
        pytest.param(Award({}, {"requests.storage": 1, "gpu/y": 1}), True, None, id="only what pods count for"),
        pytest.param(
            Award({}, {"cpu": 1}, parent="inner"),
            True,
            Ceiling({CPU: 1}, pools=(WHOLE, "inner", "outer")),
            id="what it shares with others, bucket by bucket",
        ),
    ],
)
def test_the_ceiling_of_a_namespace(award: Award, lends: bool, ceiling: Ceiling | None) -> None:
    axis = ResourceAxis(["gpu/x"])
    division = Division({"a": award}, {}, {"cpu": 10}, parents={"inner": "outer", "outer": ""})

    found = ceilings_of(division, axis, lends=lends)

    assert found == ({} if ceiling is None else {"a": ceiling})
    assert len(axis) == 4, "asking makes no columns"


def test_the_system_has_no_ceiling() -> None:
    assert ceilings_of(Division({SYSTEM_NAMESPACE: Award({"cpu": 1}, {"cpu": 1})}, {}, {}), ResourceAxis([])) == {}


def test_what_namespaces_may_hold_together() -> None:
    bucket = Award({}, {}, {"cpu": 4, "limits.cpu": 6, "gpu/x": 1}, spare={"cpu": -1, "limits.cpu": 2})

    found = pools_of(Division({}, {"area": bucket}, {"cpu": 10}, {"cpu": 3, "requests.storage": 7}), ResourceAxis([]))

    assert found == {
        WHOLE: PoolLimits({}, {}, {CPU: 3}, {}),
        "area": PoolLimits({CPU: 4}, {"limits.cpu": 6}, {CPU: -1}, {"limits.cpu": 2}),
    }
