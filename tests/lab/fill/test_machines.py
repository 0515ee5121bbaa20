"""What is free on nodes, counted apart from the scheduler."""

from __future__ import annotations

import pytest

from vsched.errors import VschedError
from vsched.lab.fill.machines import MachineTable
from vsched.lab.trace.files import ClusterTrace, TraceNode, TracePod

NODES = (TraceNode("a", 8000, 1000, 2, "T4"), TraceNode("b", 4000, 1000, 1, "P100"), TraceNode("c", 9000, 1000))


def machines() -> MachineTable:
    found = MachineTable(ClusterTrace(NODES, ()))
    found.take(pod(1, 600), "a", (0,))
    return found


def pod(gpus: int, milli: int, cpu: int = 1000, memory: int = 10, models: tuple[str, ...] = ()) -> TracePod:
    return TracePod("p", cpu, memory, gpus, milli, models, "", 0, 0)


@pytest.mark.parametrize(
    ("asking", "fits"),
    [
        pytest.param(pod(1, 1000), True, id="a whole one"),
        pytest.param(pod(2, 400), True, id="parts of two, one on the device in use"),
        pytest.param(pod(2, 500), False, id="parts of two, where one of the devices has too little left"),
        pytest.param(pod(3, 100), False, id="more devices than a node has, though the cluster has them"),
        pytest.param(pod(1, 1000, models=("P100", "V100")), True, id="a model that is there"),
        pytest.param(pod(1, 1000, models=("V100",)), False, id="a model that is not"),
        pytest.param(pod(1, 1000, cpu=7001), False, id="too much cpu beside a GPU"),
        pytest.param(pod(0, 0, cpu=9000), True, id="cpu of a node without GPUs"),
        pytest.param(pod(0, 0, memory=1001), False, id="too much memory"),
    ],
)
def test_there_is_room_for(asking: TracePod, fits: bool) -> None:
    assert machines().has_room(asking) is fits


def test_the_fullest_device_that_has_enough_left_is_first() -> None:
    found = machines()
    assert found.fullest(pod(1, 300), "a") == (0,)
    assert found.fullest(pod(1, 500), "a") == (1,)
    assert found.fullest(pod(2, 300), "a") == (0, 1)


@pytest.mark.parametrize(
    ("asking", "node", "slots"),
    [
        pytest.param(pod(1, 500), "a", (0,), id="a device that is too full"),
        pytest.param(pod(2, 100), "a", (1, 1), id="the same device twice"),
        pytest.param(pod(2, 100), "a", (1,), id="too few devices"),
        pytest.param(pod(0, 0), "a", (1,), id="devices that it did not ask for"),
        pytest.param(pod(1, 500, models=("T4",)), "b", (0,), id="another model"),
        pytest.param(pod(1, 500, cpu=4001), "b", (0,), id="too little cpu"),
        pytest.param(pod(0, 0, memory=1001), "c", (), id="too little memory"),
    ],
)
def test_what_does_not_fit_is_an_error(asking: TracePod, node: str, slots: tuple[int, ...]) -> None:
    with pytest.raises(VschedError, match=f"placed p on {node}, where it does not fit"):
        machines().take(asking, node, slots)
