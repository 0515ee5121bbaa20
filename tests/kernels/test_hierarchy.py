"""The arithmetic of hierarchical fairness: who is saturated, and what children come to."""

from __future__ import annotations

import numpy as np
import pytest

from vsched.kernels.hierarchy import dominant, held_together, saturated_jobs
from vsched.model.amounts.resources import CPU

GPU = 3
"""A column besides those that every axis has."""


def amounts(cpu: float = 0, memory: float = 0, pods: float = 0, gpu: float = 0) -> list[float]:
    return [cpu, memory, pods, gpu]


@pytest.mark.parametrize(
    ("held", "wanted", "exhausted", "saturated"),
    [
        pytest.param(amounts(), amounts(cpu=2), [], False, id="holds nothing, and there is more"),
        pytest.param(amounts(cpu=1), amounts(cpu=2), [], False, id="holds some, and there is more"),
        pytest.param(amounts(cpu=2), amounts(cpu=2), [], True, id="holds all it wants"),
        pytest.param(amounts(cpu=1, memory=1), amounts(cpu=1, memory=5), [], True, id="all it wants of one thing"),
        pytest.param(amounts(memory=1), amounts(memory=2), [CPU], False, id="what it does not want is used up"),
        pytest.param(amounts(), amounts(cpu=2, memory=2), [CPU], True, id="cpu is used up before it got any"),
        pytest.param(amounts(), amounts(gpu=2), [GPU], False, id="another resource is used up before it got any"),
        pytest.param(amounts(gpu=1), amounts(gpu=2), [GPU], True, id="another resource is used up after it got some"),
        pytest.param(amounts(), amounts(), [CPU], False, id="wants nothing yet"),
    ],
)
def test_a_job_is_saturated(held: list[float], wanted: list[float], exhausted: list[int], saturated: bool) -> None:
    demanding = np.ones(4, dtype=np.bool_)
    demanding[exhausted] = False

    assert saturated_jobs(np.array([held]), np.array([wanted]), demanding).tolist() == [saturated]


@pytest.mark.parametrize(
    ("held", "shares", "saturated", "together"),
    [
        pytest.param([[2.0, 0], [0, 2.0]], [0.2, 0.2], [0, 0], [2.0, 2.0], id="equals add up"),
        pytest.param([[4.0, 0], [0, 2.0]], [0.4, 0.2], [0, 0], [2.0, 2.0], id="the larger is scaled to the smaller"),
        pytest.param([[4.0, 0], [0, 2.0]], [0.4, 0.2], [0, 1], [4.0, 2.0], id="the saturated do not count for that"),
        pytest.param([[4.0, 0], [0, 2.0]], [0.4, 0.2], [1, 0], [4.0, 2.0], id="and are not scaled themselves"),
        pytest.param([[4.0, 0], [0, 0.0]], [0.4, 0.0], [0, 0], [4.0, 0.0], id="who holds nothing does not count"),
    ],
)
def test_what_children_hold_together(
    held: list[list[float]], shares: list[float], saturated: list[int], together: list[float]
) -> None:
    found = held_together(np.array(held), np.array(shares), np.array(saturated, dtype=np.bool_))

    assert found.tolist() == pytest.approx(together)


def test_the_dominant_share_is_the_largest_part_of_anything() -> None:
    total = np.array([10.0, 100.0, 0.0])

    assert dominant(np.array([2.0, 30.0, 0.0]), total) == 0.3
    assert dominant(np.array([2.0, 30.0, 1.0]), total) == 1.0
