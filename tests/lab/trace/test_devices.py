"""Whole GPUs are whole devices, parts share the fullest that has room, and fragments are what pods cannot use."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vsched.errors import VschedError
from vsched.lab.trace import words
from vsched.lab.trace.devices import NodeGpus, TypicalPods
from vsched.lab.trace.files import TraceNode, TracePod
from vsched.lab.trace.vgpus import IDS, devices_of


def pod(gpus: int, milli: int, cpu: int = 1000, models: tuple[str, ...] = (), name: str = "p") -> TracePod:
    return TracePod(name, cpu, 10, gpus, milli, models, "LS", 0, 1)


def test_parts_share_the_fullest_device_that_has_room() -> None:
    devices = NodeGpus(3)
    for name, milli in (("a", 600), ("b", 300), ("c", 300), ("d", 100)):
        assert devices.take(name, pod(1, milli))
    assert devices.free == [0, 700, 1000]


def test_whole_gpus_are_devices_that_nobody_has_a_part_of() -> None:
    devices = NodeGpus(3)
    assert devices.take("part", pod(1, 400))
    assert devices.offered == 2
    assert devices.take("whole", pod(2, 1000))
    assert (devices.free, devices.offered, devices.largest_free) == ([600, 0, 0], 2, 600)
    devices.give_back("part", pod(1, 400))
    assert (devices.offered, devices.largest_free) == (3, 1000)


def test_parts_of_several_gpus_are_on_several() -> None:
    devices = NodeGpus(2)
    assert devices.take("a", pod(2, 300))
    assert devices.free == [700, 700]


def test_what_fits_no_device_takes_pieces_and_says_so() -> None:
    devices = NodeGpus(2)
    devices.take("a", pod(2, 600))
    assert not devices.take("b", pod(1, 700))
    assert sum(devices.free) == 100
    devices.give_back("b", pod(1, 700))
    assert devices.free == [400, 400]


def test_devices_that_the_scheduler_names_are_held_and_given_back() -> None:
    devices = NodeGpus(3)
    devices.hold("a", pod(2, 300), (2, 0))
    assert devices.free == [700, 1000, 700]
    devices.give_back("a", pod(2, 300))
    assert devices.free == [1000, 1000, 1000]


@pytest.mark.parametrize(
    "numbers",
    [
        pytest.param((0,), id="with too little left"),
        pytest.param((1, 2), id="too many"),
        pytest.param((), id="none"),
        pytest.param((3,), id="that are not there"),
    ],
)
def test_devices_that_do_not_do_end_the_replay(numbers: tuple[int, ...]) -> None:
    devices = NodeGpus(3)
    devices.hold("a", pod(1, 800), (0,))
    with pytest.raises(VschedError, match=re.escape(words.gpus_not_free("b", [*numbers], [200, 1000, 1000]))):
        devices.hold("b", pod(1, 300), numbers)
    assert devices.free == [200, 1000, 1000]


@pytest.mark.parametrize(
    ("assigned", "devices"),
    [
        pytest.param("0,NVIDIA,0,46:", (0,), id="one"),
        pytest.param("2,NVIDIA,0,46:0,NVIDIA,0,46:", (2, 0), id="two of a container"),
        pytest.param(";1,NVIDIA,0,46:;", (1,), id="of the second container"),
        pytest.param("", (), id="none"),
    ],
)
def test_devices_are_read_from_what_the_scheduler_has_written(assigned: str, devices: tuple[int, ...]) -> None:
    assert devices_of("p", "n", assigned) == devices


def test_what_names_no_device_by_number_is_an_error() -> None:
    with pytest.raises(VschedError, match=re.escape(words.no_devices("p", IDS, "GPU-0,NVIDIA,0,46:", "n"))):
        devices_of("p", "n", "GPU-0,NVIDIA,0,46:")


@given(st.lists(st.tuples(st.integers(1, 2), st.sampled_from([110, 250, 500, 810, 1000]), st.booleans()), max_size=30))
def test_nothing_is_lost_and_no_device_is_overfull(steps: list[tuple[int, int, bool]]) -> None:
    devices, there = NodeGpus(4), {}
    for number, (gpus, milli, goes) in enumerate(steps):
        one = pod(gpus, milli)
        if one.gpu_amount <= sum(devices.free) and (milli < 1000 or devices.free.count(1000) >= gpus):
            exact = devices.take(str(number), one)
            assert exact or not one.takes_whole_gpus
            there[str(number)] = one
        if goes and there:
            name = min(there)
            devices.give_back(name, there.pop(name))
        assert all(0 <= free <= 1000 for free in devices.free)
        assert sum(devices.free) == 4000 - sum(one.gpu_amount for one in there.values())
        whole = sum(one.gpus for one in there.values() if one.takes_whole_gpus)
        assert devices.offered == whole + devices.free.count(1000)


NODE = TraceNode("n", 8000, 100, 2, "T4")


@pytest.mark.parametrize(
    ("mix", "cpu", "free", "fragments"),
    [
        pytest.param([pod(1, 500)], 8000, [1000, 1000], 0, id="all of it can be used"),
        pytest.param([pod(1, 500)], 8000, [400, 600], 400, id="one device has too little left"),
        pytest.param([pod(1, 500)], 500, [1000, 600], 1600, id="all of it where there is no cpu for the pod"),
        pytest.param([pod(2, 1000)], 8000, [1000, 900], 1900, id="all of it where one of two devices is missing"),
        pytest.param([pod(1, 1000, models=("A10",))], 8000, [1000, 0], 1000, id="all of it where the model is wrong"),
        pytest.param([pod(1, 1000, models=("T4",))], 8000, [1000, 0], 0, id="none where the model is right"),
        pytest.param([pod(1, 500), pod(1, 1000)], 8000, [600, 1000], 300, id="half of the mix cannot use 600"),
        pytest.param([pod(1, 500), pod(0, 0)], 8000, [400, 600], 400, id="pods without GPUs do not count"),
        pytest.param([pod(0, 0)], 8000, [400, 600], 1000, id="all of it where nobody asks for GPUs"),
        pytest.param([pod(1, 500)], 8000, [0, 0], 0, id="nothing is free"),
    ],
)
def test_fragments_are_what_the_mix_cannot_use(mix: list[TracePod], cpu: int, free: list[int], fragments: int) -> None:
    assert TypicalPods(mix).fragments(NODE, cpu, 100, free) == pytest.approx(fragments)
