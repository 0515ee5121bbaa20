"""deviceshare with GPUs that are divided by MIG: pods get instances, as device plugins name them."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given as given_any
from hypothesis import settings
from hypothesis import strategies as st

from tests.support.device_worlds import World
from tests.support.deviceshare import IDS, VGPU, asking, device, device_policy, devices, part, pods, vgpu_node
from tests.support.examples import examples
from tests.support.plans import Plan, decide, policy_from
from vsched.kernels.deviceshare.mig import instance_at
from vsched.model.deviceshare.geometries import DEFAULT_GEOMETRIES, geometries_of
from vsched.plugins.words import devices as words

Obj = dict[str, Any]
A100, A30 = "NVIDIA-A100-SXM4-40GB", "NVIDIA-A30"
ONE = "job ns/j min=1 pods=1"


def gpus(count: int, **fields: Any) -> str:
    """So many A100 that are divided by MIG."""
    return devices(count, **{"memory": 40960, "model": A100, "mode": "mig", **fields})


def instance(number: int, place: str, memory: int) -> str:
    return f"GPU-{number}[{place}],NVIDIA,{memory},0:"


def held(name: str, node: str, ids: str, **amounts: int) -> list[Obj]:
    """A running job of one pod that holds this."""
    return pods(f"job ns/{name} min=0 phase=Running\npods ns/{name} 1 on={node}", asking(**amounts), **{IDS: ids})


def decided(*objects: Obj, more: str = "", actions: str = "allocate", cycles: int = 1) -> Plan:
    policy = policy_from(device_policy(VGPU + more, actions))
    return decide(list(objects), policy, cycles=cycles)


def given(plan: Plan) -> dict[str, str]:
    """By pod: what its annotation says of its devices."""
    return {bind.name: dict(bind.annotations).get(IDS, "") for report in plan.reports for bind in report.binds}


@pytest.mark.parametrize(
    ("node", "others", "containers", "ids"),
    [
        pytest.param(
            gpus(2),
            [],
            [asking(vgpu_number=1, vgpu_memory=3000)],
            instance(1, "group1-0", 3000),
            id="the first instance of the first geometry",
        ),
        pytest.param(
            gpus(1),
            [],
            [asking(vgpu_number=1, vgpu_memory=8000), asking(vgpu_number=1, vgpu_memory=5000)],
            f"{instance(0, 'group2-0', 8000)};{instance(0, 'group2-3', 5000)}",
            id="two containers share a GPU of one geometry",
        ),
        pytest.param(
            gpus(2),
            [],
            [asking(vgpu_number=2, vgpu_memory=20000)],
            instance(0, "group3-0", 20000) + instance(1, "group3-0", 20000),
            id="instances of several GPUs",
        ),
        pytest.param(
            gpus(1), [], [asking(vgpu_number=1)], instance(0, "group4-0", 40960), id="all of it if no memory is said"
        ),
        pytest.param(
            gpus(1),
            [],
            [asking(vgpu_number=1, vgpu_memory_percentage=20)],
            instance(0, "group2-0", 8192),
            id="memory in per cent of the GPU",
        ),
        pytest.param(
            gpus(2),
            held("a", "n1", instance(1, "group1-0", 100), vgpu_number=1, vgpu_memory=100),
            [asking(vgpu_number=1, vgpu_memory=100)],
            instance(1, "group1-1", 100),
            id="the next one where a pod holds the first",
        ),
        pytest.param(
            gpus(2),
            held("a", "n1", instance(1, "group1-0", 100), vgpu_number=1, vgpu_memory=100),
            [asking(vgpu_number=1, vgpu_memory=9000)],
            instance(0, "group2-0", 9000),
            id="another GPU where the geometry in use has only smaller ones",
        ),
        pytest.param(
            gpus(2),
            held("a", "n1", part(1, 100, 0), vgpu_number=1, vgpu_memory=100),
            [asking(vgpu_number=1, vgpu_memory=100)],
            instance(0, "group1-0", 100),
            id="a GPU with a pod that names no instance is left alone",
        ),
        pytest.param(
            gpus(1, memory=40536),
            held("a", "n1", instance(0, "group3-1", 20480), vgpu_number=1, vgpu_memory=20480),
            [asking(vgpu_number=1, vgpu_memory=20000)],
            instance(0, "group3-0", 20000),
            id="geometries say what memory there is",
        ),
        pytest.param(
            gpus(1, model="NVIDIA-H100") + device(7, model=A100, mode="mig"),
            [],
            [asking(vgpu_number=1, vgpu_memory=100)],
            instance(7, "group1-0", 100),
            id="no GPU whose geometries nobody knows",
        ),
    ],
)
def test_which_instance_a_pod_gets(node: str, others: list[Obj], containers: list[Obj], ids: str) -> None:
    found = decided(vgpu_node("n1", node), *others, *pods(ONE, *containers))

    assert given(found) == {"j.0": ids}


def test_a_full_gpu_has_as_many_pods_as_instances() -> None:
    found = decided(vgpu_node("n1", gpus(1)), *pods("job ns/j min=1 pods=9", asking(vgpu_number=1, vgpu_memory=5120)))

    assert sorted(given(found).values()) == [instance(0, f"group1-{at}", 5120) for at in range(7)]
    assert words.too_few(1, words.having_free_instance(words.memory(5120, 0))) in found.why("ns/j.8")


@pytest.mark.parametrize(
    ("place", "why"),
    [
        pytest.param(
            "group1-0", words.too_few(1, words.having_free_instance(words.memory(8000, 0))), id="too small instances"
        ),
        pytest.param("group4-0", words.too_few(1, words.having_left(words.memory(8000, 0))), id="no memory"),
    ],
)
def test_a_pod_waits_for_an_instance(place: str, why: str) -> None:
    other = held("a", "n1", instance(0, place, 100), vgpu_number=1, vgpu_memory=100)
    found = decided(vgpu_node("n1", gpus(1)), *other, *pods(ONE, asking(vgpu_number=1, vgpu_memory=8000)))
    assert f"1 {why}." in found.why("ns/j.0")


@pytest.mark.parametrize(
    ("said", "node"),
    [
        pytest.param({"volcano.sh/vgpu-mode": "mig"}, "mig", id="mig"),
        pytest.param({"volcano.sh/vgpu-mode": "hami-core"}, "core", id="hami-core"),
        pytest.param({"volcano.sh/vgpu-mode": "mps"}, "mps", id="mps"),
        pytest.param({}, "core", id="any"),
    ],
)
def test_modes(said: dict[str, str], node: str) -> None:
    nodes = [vgpu_node("mig", gpus(1)), vgpu_node("core", gpus(1, mode="hami-core"))]
    nodes.append(vgpu_node("mps", gpus(1, mode="mps")))
    found = decided(*nodes, *pods(ONE, asking(vgpu_number=1, vgpu_memory=3000), **said))

    assert list(found.nodes.values()) == [node]
    assert given(found)["j.0"] == (instance(0, "group1-0", 3000) if node == "mig" else part(0, 3000, 0))


@pytest.mark.parametrize(
    ("node", "amounts", "why"),
    [
        pytest.param(
            gpus(2, model="NVIDIA-H100"),
            {"vgpu_number": 1, "vgpu_memory": 1},
            f"1 {words.too_few(1, words.KNOWN_MODEL)}.",
            id="nobody knows how the GPUs may be divided",
        ),
        pytest.param(
            gpus(2),
            {"vgpu_number": 1, "vgpu_memory": 40961},
            f"1 {words.too_few(1, words.having(words.memory(40961, 0)))}.",
            id="no GPU is so large",
        ),
        pytest.param(
            gpus(1) + device(7, model=A30, mode="mig", memory=24576),
            {"vgpu_number": 2, "vgpu_memory": 24577},
            "1 node(s) had fewer than 2 devices with 24577 MiB of memory.",
            id="one GPU is so large",
        ),
        pytest.param(
            gpus(2),
            {"vgpu_number": 3, "vgpu_memory": 1},
            "1 node(s) had fewer than 3 devices.",
            id="a container gets an instance of another GPU each time",
        ),
    ],
)
def test_why_a_pod_waits(node: str, amounts: dict[str, int], why: str) -> None:
    found = decided(vgpu_node("n1", node), *pods(ONE, asking(**amounts)))

    assert why in found.why("ns/j.0")


def test_a_gpu_takes_another_geometry_once_its_last_pod_has_left() -> None:
    low = held("low", "n1", instance(0, "group1-3", 100), vgpu_number=1, vgpu_memory=100)
    urgent = pods("class high 10\njob ns/urgent min=1 pods=1 class=high", asking(vgpu_number=1, vgpu_memory=20000))

    found = decided(vgpu_node("n1", gpus(1)), *low, *urgent, actions='"allocate, preempt"', cycles=2)

    assert [len(some) for some in found.evicted] == [1, 0]
    assert not found.reports[0].binds, "the GPU is divided in another way as long as the victim is there"
    assert given(found) == {"urgent.0": instance(0, "group3-0", 20000)}


@pytest.mark.parametrize(
    ("policy", "node"),
    [pytest.param("binpack", "n2", id="the GPU with less left"), pytest.param("spread", "n1", id="a free GPU")],
)
def test_the_policy_ranks_nodes(policy: str, node: str) -> None:
    found = decided(
        vgpu_node("n1", gpus(1)),
        vgpu_node("n2", gpus(1)),
        *held("a", "n2", instance(0, "group1-0", 100), vgpu_number=1, vgpu_memory=100),
        *pods(ONE, asking(vgpu_number=1, vgpu_memory=100)),
        more=f", deviceshare.SchedulePolicy: {policy}, deviceshare.ScheduleWeight: 10",
    )
    assert found.nodes["j.0"] == node


ASKS = st.builds(asking, vgpu_number=st.integers(1, 2), vgpu_memory=st.sampled_from([1, 5120, 6000, 11000, 40960]))


@settings(deadline=None, max_examples=examples(40))
@given_any(st.lists(ASKS, min_size=1, max_size=10), st.integers(0, 2), st.data())
def test_no_instance_is_given_away_twice_and_what_is_undone_is_as_it_was(
    asks: list[Obj], before: int, data: st.DataObject
) -> None:
    ids = [instance(0, f"group2-{number}", 1) if number < before else "" for number in range(len(asks))]
    world = World({"n1": gpus(2), "n2": gpus(1)}, asks, ids)
    known = geometries_of(A100, DEFAULT_GEOMETRIES)
    for _ in world.play(data):
        for table in (world.books.now, world.books.later):
            assert table.states is not None
            for state in table.states.ravel():
                places = [] if state is None else [instance_at(known, place) for place in state.held]
                assert all(places), "only instances that there are"
                assert len(set(places)) == len(places), "each of them once"
                assert len({one.place.rpartition("-")[0] for one in places if one is not None}) <= 1
