"""Why jobs wait for parts of devices: what is short on which nodes, who holds it, and whether waiting helps."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support.deviceshare import IDS, asking, device_policy, devices, part, pods, vgpu_node
from tests.support.plans import NOW, mirror, policy_from
from vsched.explain.explaining import explain
from vsched.explain.records import Explanation, Whereabouts
from vsched.explain.words import edits
from vsched.framework.cycle import run_cycle
from vsched.model.frozen import freeze
from vsched.plugins.words import devices as words
from vsched.settings.built_in import REGISTRY

Obj = dict[str, Any]
POLICY = policy_from(device_policy(actions="enqueue, allocate"))
ONE = "job ns/j min=1 pods=1"


def holding(name: str, memory: int, cores: int, device: int = 0, node: str = "n1") -> list[Obj]:
    """A running job of one pod with a part of a device."""
    line = f"job ns/{name} min=0 phase=Running\npods ns/{name} 1 on={node}"
    asks = asking(vgpu_number=1, vgpu_memory=memory, vgpu_cores=cores)
    return pods(line, asks, **{IDS: part(device, memory, cores)})


def explained(*objects: Obj, simulations: int = 0) -> Explanation:
    snapshot = freeze(mirror(list(objects)).snapshot(NOW))
    report = run_cycle(snapshot, POLICY, REGISTRY)
    found = explain(snapshot, POLICY, REGISTRY, report, "ns", "j", simulations=simulations)
    assert found is not None
    return found


def changes(*objects: Obj) -> list[str]:
    """What would let the job start."""
    return [change.message for change in explained(*objects, simulations=100).changes]


@pytest.mark.parametrize(
    ("others", "said"),
    [
        pytest.param(
            [*holding("a", 60, 10), *holding("b", 80, 10, 1)],
            words.closest(
                words.device("GPU-0", "n1", "NVIDIA-Tesla V100-SXM2-32GB"),
                words.part(40, 90),
                [("ns/a.0", words.part(60, 10))],
                0,
            ),
            id="the device with most left of what is short",
        ),
        pytest.param(
            [*(one for number in range(5) for one in holding(f"a{number}", 12, number)), *holding("b", 80, 10, 1)],
            "GPU-0 of n1 (NVIDIA-Tesla V100-SXM2-32GB) comes closest: 40 MiB and 90% left, the rest held by "
            "ns/a4.0 (12 MiB and 4%), ns/a3.0 (12 MiB and 3%), ns/a2.0 (12 MiB and 2%) and 2 more",
            id="the pods with most of it are named",
        ),
    ],
)
def test_who_holds_the_device_that_comes_closest(others: list[Obj], said: str) -> None:
    found = explained(
        vgpu_node("n1", devices(2, memory=100)), *others, *pods(ONE, asking(vgpu_number=1, vgpu_memory=50))
    )
    assert found.state is Whereabouts.WAITS
    assert found.message == "no node fits: 1 node has no device with 50 MiB of memory left"
    assert said in [one.message for one in found.constraints]


def test_what_another_job_of_the_session_gets_is_told_as_held() -> None:
    found = explained(
        vgpu_node("n1", devices(1, memory=100)),
        *pods("job ns/first min=1 pods=1", asking(vgpu_number=1, vgpu_memory=80)),
        *pods(ONE, asking(vgpu_number=1, vgpu_memory=50)),
    )
    assert any("the rest held by ns/first.0 (80 MiB and 0%)" in one.message for one in found.constraints)


def test_devices_that_are_too_small_are_not_waited_for() -> None:
    found = explained(
        vgpu_node("n1", devices(2, memory=100)),
        *holding("a", 60, 10),
        *pods(ONE, asking(vgpu_number=1, vgpu_memory=150)),
    )
    assert found.state is Whereabouts.NEVER
    assert found.message == "no node fits: 1 node has no device with 150 MiB of memory"
    assert {one.code for one in found.constraints if one.lasting} == {"NoDevices"}


def test_devices_that_nobody_else_holds_name_nobody() -> None:
    found = explained(
        vgpu_node("n1", devices(1, memory=100), status={"allocatable": {"cpu": "0"}}),
        *pods(ONE, {**asking(vgpu_number=1, vgpu_memory=50)}, {"name": "d", "resources": {"requests": {"cpu": "1"}}}),
    )
    assert found.message.startswith("no node has cpu")
    assert not any("comes closest" in one.message for one in found.constraints)


# -- what would help --------------------------------------------------------------------------------------------------


def test_a_smaller_part_is_the_least_that_is_enough() -> None:
    found = changes(
        vgpu_node("n1", devices(2, memory=100)),
        *holding("a", 60, 10),
        *holding("b", 60, 10, 1),
        *pods(ONE, asking(vgpu_number=1, vgpu_memory=50)),
    )
    assert edits.request_of_containers(40, "volcano.sh/vgpu-memory", 50) in found
    assert "1 more node like n1" in found


@pytest.mark.parametrize(
    ("amounts", "said"),
    [
        pytest.param(
            {"vgpu_number": 1, "vgpu_memory": 10, "vgpu_cores": 50},
            edits.request_of_containers(30, "volcano.sh/vgpu-cores", 50),
            id="computing power",
        ),
        pytest.param(
            {"vgpu_number": 1, "vgpu_memory_percentage": 60},
            edits.request_of_containers(40, "volcano.sh/vgpu-memory-percentage", 60),
            id="memory in per cent",
        ),
        pytest.param(
            {"vgpu_number": 3, "vgpu_memory": 10},
            edits.request_of_containers(2, "volcano.sh/vgpu-number", 3),
            id="devices",
        ),
    ],
)
def test_each_amount_may_be_less(amounts: dict[str, int], said: str) -> None:
    found = changes(
        vgpu_node("n1", devices(2, memory=100)),
        *holding("a", 60, 70),
        *holding("b", 60, 70, 1),
        *pods(ONE, asking(**amounts)),
    )
    assert said in found


def test_two_amounts_may_be_less_together() -> None:
    found = changes(
        vgpu_node("n1", devices(1, memory=100)),
        *holding("a", 60, 70),
        *pods(ONE, asking(vgpu_number=1, vgpu_memory=50, vgpu_cores=40)),
    )
    together = {
        edits.request_of_containers(40, "volcano.sh/vgpu-memory", 50),
        edits.request_of_containers(30, "volcano.sh/vgpu-cores", 40),
    }
    assert any(together == set(one.split(" and ")) for one in found)


def test_pods_that_accept_any_device_may_start_and_the_command_says_how() -> None:
    found = explained(
        vgpu_node("n1", devices(1, memory=100)),
        *pods(ONE, asking(vgpu_number=1, vgpu_memory=50), **{"nvidia.com/use-gputype": "A100"}),
        simulations=100,
    )
    [change] = [one for one in found.changes if one.message.startswith("its annotations")]
    assert change.message == edits.rule_dropped("deviceWishes")
    assert '{"metadata":{"annotations":{"nvidia.com/use-gputype":null}}}' in change.command


def test_more_nodes_are_those_whose_devices_are_large_enough() -> None:
    large = vgpu_node("large", devices(1, memory=200, model="NVIDIA-A100"))
    found = changes(
        vgpu_node("n1", devices(4, memory=100)),
        large,
        *holding("a", 200, 10, node="large"),
        *pods(ONE, asking(vgpu_number=1, vgpu_memory=150)),
    )
    assert "1 more node like large" in found
    assert not any(one.endswith("like n1") for one in found)
