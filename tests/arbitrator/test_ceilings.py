"""Ceilings of a division by column, for those who place pods."""

from __future__ import annotations

import pytest

from vsched.arbitrator.ceilings import ceilings_of
from vsched.model.arbitration import Award, Ceiling, Division
from vsched.model.resources import CPU, MEMORY, PODS, ResourceAxis

GPU = 3


@pytest.mark.parametrize(
    ("award", "lends", "ceiling"),
    [
        pytest.param(Award({"cpu": 5}, {}), True, None, id="without any nobody is limited"),
        pytest.param(Award({"cpu": 5}, {"cpu": 5}), True, Ceiling({CPU: 5}), id="what is deserved"),
        pytest.param(Award({"cpu": 5}, {"cpu": 7}), True, Ceiling({CPU: 7}), id="and what is lent"),
        pytest.param(Award({"cpu": 5}, {"cpu": 7}), False, Ceiling({CPU: 5}), id="unless nothing is lent for now"),
        pytest.param(Award({}, {"memory": 9}), False, Ceiling({MEMORY: 9}), id="a limit of what has no total stays"),
        pytest.param(Award({}, {"pods": 0, "gpu/x": 0}), True, Ceiling({PODS: 0, GPU: 0}), id="none is a limit"),
        pytest.param(
            Award({"limits.cpu": 3}, {"limits.cpu": 9, "limits.memory": 0}),
            False,
            Ceiling({}, {"limits.cpu": 9, "limits.memory": 0}),
            id="limits by name, as there is no total of them",
        ),
        pytest.param(Award({}, {"requests.storage": 1, "gpu/y": 1}), True, None, id="only what pods count for"),
    ],
)
def test_the_ceiling_of_a_namespace(award: Award, lends: bool, ceiling: Ceiling | None) -> None:
    axis = ResourceAxis(["gpu/x"])

    found = ceilings_of(Division({"a": award}, {}, {"cpu": 10}), axis, lends=lends)

    assert found == ({} if ceiling is None else {"a": ceiling})
    assert len(axis) == 4, "asking makes no columns"
