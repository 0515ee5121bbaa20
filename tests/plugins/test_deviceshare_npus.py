"""deviceshare: pods get NPUs whole or in parts, and HAMi's device plugin is told which."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given as given_any
from hypothesis import settings
from hypothesis import strategies as st

from tests.support.device_worlds import World
from tests.support.deviceshare import asking, device_policy, devices, part, pods, vgpu_node
from tests.support.examples import examples
from tests.support.npus import CHIP, allocated, asking_npu, npu, npu_node, npu_part
from tests.support.plans import NOW, Plan, decide, mirror, policy_from
from vsched.framework.cycle import run_cycle
from vsched.framework.words.nodes import available
from vsched.mirror.ingest.words.devices import not_of_containers, two_models
from vsched.model.deviceshare.chips import NpuChip, NpuTemplate
from vsched.model.deviceshare.geometries import Divisions
from vsched.model.dump.cycle import Recording, decode, encode
from vsched.model.plan import Bind
from vsched.model.pods.status import Status
from vsched.plugins.words import devices as words
from vsched.settings.built_in import REGISTRY
from vsched.settings.document import policy_text

Obj = dict[str, Any]
NPU = "deviceshare.AscendHAMiVNPUEnable: true"
BINPACK = f"{NPU}, deviceshare.SchedulePolicy: binpack, deviceshare.ScheduleWeight: 10"
SPREAD = f"{NPU}, deviceshare.SchedulePolicy: spread, deviceshare.ScheduleWeight: 10"
SOFTWARE = {"huawei.com/vnpu-mode": "hami-core"}
IN_SOFTWARE = {"hami-vnpu-core": "true"}
ONE = "job ns/j min=1 pods=1"
SMALL = "Ascend310P"


def decided(*objects: Obj, arguments: str = NPU, actions: str = "allocate", cycles: int = 1) -> Plan:
    return decide(list(objects), policy_from(device_policy(arguments, actions)), cycles=cycles)


def binds(plan: Plan) -> dict[str, Bind]:
    return {bind.name: bind for report in plan.reports for bind in report.binds}


def given(plan: Plan, key: str = "") -> dict[str, str]:
    """By pod: what its annotation says of its NPUs."""
    return {name: dict(bind.annotations).get(key or allocated(), "") for name, bind in binds(plan).items()}


def held(name: str, ids: str, *containers: Obj, **said: str) -> list[Obj]:
    """A running job of one pod on n1 that holds these NPUs."""
    line = f"job ns/{name} min=0 phase=Running\npods ns/{name} 1 on=n1"
    return pods(line, *(containers or (asking_npu(),)), **{allocated(): ids}, **said)


@pytest.mark.parametrize(
    ("asked", "memory", "template"),
    [
        pytest.param(0, 21527, "", id="nothing said: a whole one"),
        pytest.param(1, 3072, "vir01", id="the smallest template"),
        pytest.param(3072, 3072, "vir01", id="as much as a template has"),
        pytest.param(3073, 6144, "vir02", id="the next template"),
        pytest.param(6145, 12288, "vir04", id="the largest template"),
        pytest.param(12289, 21527, "", id="more than the largest template: a whole one"),
        pytest.param(24576, 21527, "", id="as much as the model is said to have: a whole one"),
    ],
)
def test_parts_have_the_memory_of_a_template(asked: int, memory: int, template: str) -> None:
    node = npu_node("n1", [npu(0, chip=SMALL, memory=21527, count=7)], chip=SMALL)
    found = decided(node, *pods(ONE, asking_npu(1, asked, chip=SMALL)))

    said = dict(binds(found)["j.0"].annotations)
    assert said[allocated(SMALL)] == npu_part(0, memory, chip=SMALL) + ";"
    assert json.loads(said["huawei.com/Ascend310P"]) == [
        {"UUID": "NPU-0", "temp": template} if template else {"UUID": "NPU-0"}
    ]


def test_a_pod_is_bound_with_all_that_the_device_plugin_reads() -> None:
    found = decided(npu_node("n1", [npu(0)]), *pods(ONE, asking_npu(1, 10000)))

    ids, seconds = npu_part(0, 16384) + ";", str(int(NOW))
    assert binds(found)["j.0"].annotations == (
        ("hami.io/Ascend910B3-devices-to-allocate", ids),
        ("hami.io/Ascend910B3-devices-allocated", ids),
        ("huawei.com/Ascend910B3", '[{"UUID":"NPU-0","temp":"vir05_1c_16g"}]'),
        ("predicate-time", seconds),
        ("hami.io/vgpu-node", "n1"),
        ("hami.io/vgpu-time", seconds),
        ("hami.io/bind-phase", "allocating"),
        ("hami.io/bind-time", seconds),
    )


def test_a_pod_that_shares_an_npu_in_software_is_told_memory_and_computing_power() -> None:
    found = decided(npu_node("n1", [npu(0)], **IN_SOFTWARE), *pods(ONE, asking_npu(1, 4096, 90), **SOFTWARE))

    said = dict(binds(found)["j.0"].annotations)
    assert said[allocated()] == npu_part(0, 4096, 90) + ";"
    assert json.loads(said["huawei.com/Ascend910B3"]) == [{"UUID": "NPU-0", "memory": 4096, "core": 90}]


@pytest.mark.parametrize(
    ("npus", "others", "containers", "said", "ids"),
    [
        pytest.param([npu(0), npu(1)], [], [asking_npu()], {}, npu_part(0, 65536) + ";", id="the first"),
        pytest.param(
            [npu(0), npu(1)], [], [asking_npu(2)], {}, npu_part(0, 65536) + npu_part(1, 65536) + ";", id="several"
        ),
        pytest.param(
            [npu(0), npu(1)],
            held("a", npu_part(0, 16384) + ";"),
            [asking_npu()],
            {},
            npu_part(1, 65536) + ";",
            id="a whole one is one that no pod uses",
        ),
        pytest.param(
            [npu(0), npu(1)],
            held("a", npu_part(0, 32768) + ";"),
            [asking_npu(1, 30000)],
            {},
            npu_part(0, 32768) + ";",
            id="what is left of one is enough for a part",
        ),
        pytest.param(
            [npu(0, count=1), npu(1)],
            held("a", npu_part(0, 16384) + ";"),
            [asking_npu(1, 1)],
            {},
            npu_part(1, 16384) + ";",
            id="no more parts than the device plugin allows",
        ),
        pytest.param(
            [npu(0), npu(1)],
            [],
            [{}, asking_npu(1, 1), asking_npu()],
            {},
            f";{npu_part(0, 16384)};{npu_part(1, 65536)};",
            id="the position of each part is that of its container",
        ),
        pytest.param(
            [npu(0), npu(1)],
            [],
            [asking_npu()],
            {f"hami.io/no-use-{CHIP}-uuid": "NPU-0"},
            npu_part(1, 65536) + ";",
            id="an NPU to avoid",
        ),
        pytest.param(
            [npu(0), npu(1)],
            [],
            [asking_npu()],
            {f"hami.io/use-{CHIP}-uuid": "NPU-1"},
            npu_part(1, 65536) + ";",
            id="an NPU to use",
        ),
        pytest.param(
            [npu(0) | {"health": False}, npu(1)], [], [asking_npu()], {}, npu_part(1, 65536) + ";", id="one is ill"
        ),
    ],
)
def test_which_npus_a_pod_gets(
    npus: list[Obj], others: list[Obj], containers: list[Obj], said: dict[str, str], ids: str
) -> None:
    found = decided(npu_node("n1", npus), *others, *pods(ONE, *containers, **said))

    assert given(found) == {"j.0": ids}


@pytest.mark.parametrize(
    ("networks", "taken", "number", "gets"),
    [
        pytest.param([0, 0, 1, 1], [0], 2, [2, 3], id="a network that has enough"),
        pytest.param([0, 0, 0, 0, 1, 1], [], 2, [4, 5], id="the smallest that has enough, so that larger ones stay"),
        pytest.param([0, 1, 1, 1], [], 4, [0, 1, 2, 3], id="all, if it has to be"),
        pytest.param([0, 0, 1, 1, 1], [], 4, [0, 2, 3, 4], id="most of them in the largest"),
        pytest.param([0, 1, 0, 1], [], 2, [0, 2], id="networks of equal size do not mix"),
    ],
)
def test_npus_of_one_network_are_preferred(networks: list[int], taken: list[int], number: int, gets: list[int]) -> None:
    npus = [npu(at, network=network) for at, network in enumerate(networks)]
    others = [one for at in taken for one in held(f"h{at}", npu_part(at, 65536) + ";")]
    found = decided(npu_node("n1", npus), *others, *pods(ONE, asking_npu(number)))

    assert given(found)["j.0"] == "".join(npu_part(at, 65536) for at in gets) + ";"


def test_a_node_with_npus_of_one_network_is_preferred() -> None:
    apart = npu_node("n1", [npu(0, network=0), npu(1, network=1)])
    together = npu_node("n2", [npu(2, network=0), npu(3, network=0)])

    found = decided(apart, together, *pods(ONE, asking_npu(2)), arguments=BINPACK)
    assert found.nodes == {"j.0": "n2"}


@pytest.mark.parametrize(
    ("arguments", "ids"),
    [
        pytest.param(BINPACK, npu_part(1, 16384) + ";", id="binpack: the fuller NPU"),
        pytest.param(SPREAD, npu_part(0, 16384) + ";", id="spread: the emptier one"),
    ],
)
def test_the_policy_ranks_the_npus_of_a_node(arguments: str, ids: str) -> None:
    others = held("a", npu_part(1, 32768) + ";")
    found = decided(npu_node("n1", [npu(0), npu(1)]), *others, *pods(ONE, asking_npu(1, 1)), arguments=arguments)

    assert given(found) == {"j.0": ids}


@pytest.mark.parametrize(
    ("arguments", "node"),
    [pytest.param(BINPACK, "n1", id="binpack: the fuller"), pytest.param(SPREAD, "n2", id="spread: the free one")],
)
def test_the_policy_ranks_nodes(arguments: str, node: str) -> None:
    found = decided(
        npu_node("n1", [npu(0)]),
        npu_node("n2", [npu(1)]),
        *held("a", npu_part(0, 32768) + ";"),
        *pods(ONE, asking_npu(1, 1)),
        arguments=arguments,
    )
    assert found.nodes == {"j.0": node}


@pytest.mark.parametrize(
    ("node", "asked", "said", "why"),
    [
        pytest.param(
            npu_node("n1", [npu(0, chip="Ascend910A")], chip="Ascend910A"),
            asking_npu(None, 5),
            {},
            words.none_accepted("type"),
            id="NPUs of another model",
        ),
        pytest.param(
            vgpu_node("n1", devices(1)),
            asking_npu(None, 5),
            {},
            words.no_devices("Ascend910B3"),
            id="no NPUs",
        ),
        pytest.param(
            npu_node("n1", [npu(0)]),
            asking_npu(1, 5),
            SOFTWARE,
            words.other_mode("hami-core"),
            id="NPUs that are not shared in software",
        ),
        pytest.param(
            npu_node("n1", [npu(0), npu(1)]),
            asking_npu(2, 5),
            {},
            words.ONLY_WHOLE,
            id="parts of several NPUs",
        ),
        pytest.param(
            npu_node("n1", [npu(0), npu(1)]),
            asking_npu(1, 70000),
            {},
            words.too_few(1, words.having(words.memory(70000, 0)), accepted=True),
            id="more memory than an NPU has",
        ),
    ],
)
def test_why_a_pod_waits(node: Obj, asked: Obj, said: dict[str, str], why: str) -> None:
    found = decided(node, *pods(ONE, asked, **said))

    assert found.nodes == {}
    assert why in found.why("ns/j.0")


TWO_MODELS = {"name": "c", "resources": {"limits": {"huawei.com/Ascend910A": "1", "huawei.com/Ascend910B3": "1"}}}
CORES_ALONE = {"name": "c", "resources": {"limits": {"huawei.com/Ascend910B3-core": "10"}}}


@pytest.mark.parametrize(
    ("containers", "inits", "why"),
    [
        pytest.param(
            [TWO_MODELS],
            [],
            two_models("huawei.com/Ascend910A beside huawei.com/Ascend910B3"),
            id="two models",
        ),
        pytest.param(
            [{"name": "c"}],
            [asking_npu()],
            not_of_containers("spec.initContainers[0].resources.limits", "huawei.com/Ascend910B3"),
            id="an init container",
        ),
        pytest.param(
            [CORES_ALONE],
            [],
            "spec.containers[0].resources.limits: huawei.com/Ascend910B3-core without huawei.com/Ascend910B3",
            id="computing power of no NPU",
        ),
    ],
)
def test_pods_that_ask_in_other_ways_are_told(containers: list[Obj], inits: list[Obj], why: str) -> None:
    nodes = [npu_node("n1", [npu(0)])]
    nodes[0]["status"]["allocatable"]["huawei.com/Ascend910A"] = "4"
    made = pods(ONE, *containers)
    for one in made:
        if one["kind"] == "Pod":
            one["spec"]["initContainers"] = inits
    found = decided(*nodes, *made)
    assert found.why("ns/j.0") == available(1, {words.not_tried(why): 1})

    counted = decided(*nodes, *made, arguments="deviceshare.VGPUEnable: true")
    assert counted.nodes == {"j.0": "n1"}, "where NPUs are not enabled, sums decide"


def test_parts_of_several_npus_are_given_out_in_software() -> None:
    node = npu_node("n1", [npu(0), npu(1)], **IN_SOFTWARE)
    found = decided(node, *pods(ONE, asking_npu(2, 5, 10), **SOFTWARE))

    assert given(found) == {"j.0": npu_part(0, 5, 10) + npu_part(1, 5, 10) + ";"}


def test_pods_of_one_cycle_fill_npus_and_the_next_one_waits() -> None:
    found = decided(npu_node("n1", [npu(0)]), *pods("job ns/j min=1 pods=3", asking_npu(1, 20000)))

    assert list(given(found).values()) == [npu_part(0, 32768) + ";"] * 2


def test_a_victim_frees_its_npu_once_it_has_left() -> None:
    urgent = pods("class high 10\njob ns/urgent min=1 pods=1 class=high", asking_npu(1, 20000))
    found = decided(
        npu_node("n1", [npu(0)]),
        *held("low", npu_part(0, 65536) + ";"),
        *urgent,
        actions='"allocate, preempt"',
        cycles=3,
    )
    assert found.evicted[0] == ["low.0"]
    assert given(found) == {"urgent.0": npu_part(0, 32768) + ";"}


def test_npus_and_vgpus_are_given_out_side_by_side() -> None:
    found = decided(
        npu_node("n1", [npu(0)]),
        vgpu_node("n2", devices(1)),
        *pods(ONE, asking_npu()),
        *pods("job ns/g min=1 pods=1", asking(vgpu_number=1, vgpu_memory=5)),
        arguments=f"{NPU}, deviceshare.VGPUEnable: true",
    )
    assert found.nodes == {"j.0": "n1", "g.0": "n2"}
    assert given(found)["j.0"] == npu_part(0, 65536) + ";"
    assert given(found, "volcano.sh/vgpu-ids-new")["g.0"] == part(0, 5, 0)


def test_what_pods_were_given_counts_before_the_watch_shows_it() -> None:
    found = decided(npu_node("n1", [npu(0), npu(1)]), *pods("job ns/j min=1 pods=5", asking_npu(1, 32768)), cycles=2)

    assert sorted(given(found).values()) == [npu_part(0, 32768) + ";"] * 2 + [npu_part(1, 32768) + ";"] * 2
    assert [len(report.binds) for report in found.reports] == [4, 0]


def test_a_recording_with_npus_decides_the_same_again() -> None:
    policy = policy_from(device_policy(NPU))
    objects = [npu_node("n1", [npu(0, network=0), npu(1, network=0)]), *held("a", npu_part(0, 100) + ";")]
    cache = mirror([*objects, *pods(ONE, asking_npu(1, 50))])
    cache.inputs.use_divisions(Divisions(chips=(NpuChip(CHIP, 65536, (NpuTemplate("tenth", 100),)),)))
    snapshot = cache.snapshot(NOW)
    report = run_cycle(snapshot, policy, REGISTRY)

    read = decode(encode(Recording(snapshot, policy_text(policy), report))).snapshot
    assert read.device_shares.nodes == snapshot.device_shares.nodes
    assert read.device_shares.chips == snapshot.device_shares.chips
    again = run_cycle(read, policy, REGISTRY)
    assert [bind.annotations for bind in again.binds] == [bind.annotations for bind in report.binds]
    assert dict(report.binds[0].annotations)[allocated()] == npu_part(0, 100) + ";"


# -- properties ------------------------------------------------------------------------------------------------------

TEMPLATES = (16384, 32768, 65536)
ASKS = st.builds(asking_npu, st.integers(1, 2), st.sampled_from([0, 1, 16384, 20000, 32768, 40000]))


def fits_by_hand(world: World, number: int, memory: int, place: int) -> bool:
    """Whether a container that asks for one or several NPUs fits, NPU by NPU."""
    part = next((size for size in TEMPLATES if memory and memory <= size), 65536)
    if number > 1 and part < 65536:
        return False
    table = world.books.free()
    room = [
        table.healthy[slot, place] and table.sharers[slot, place] > 0 and table.memory[slot, place] >= part
        for slot in range(table.shape[0])
    ]
    return sum(room) >= number


@settings(deadline=None, max_examples=examples(40))
@given_any(st.lists(ASKS, min_size=1, max_size=8), st.integers(0, 2), st.data())
def test_no_npu_is_given_away_twice_and_what_is_undone_is_as_it_was(
    asks: list[Obj], before: int, data: st.DataObject
) -> None:
    nodes = [
        npu_node("n1", [npu(0, count=3, network=0), npu(1, count=3, network=1)]),
        npu_node("n2", [npu(number, network=number % 2) for number in range(2, 5)]),
    ]
    ids = [npu_part(0, 16384) + ";" if number < before else "" for number in range(len(asks))]
    world = World(nodes, asks, ids, kind="npu", holding=allocated())
    pictures = [(0, world.picture())]
    for job, task, container in zip(world.jobs, world.tasks, asks, strict=True):
        limits = {
            key.removeprefix(f"huawei.com/{CHIP}"): int(value)
            for key, value in container["resources"]["limits"].items()
        }
        if not task.node:
            row = data.draw(st.integers(0, 1))
            place, request = world.books.place_of[row], world.books.chips.fitted(task.shape.devices)
            assert request is not None
            several = limits[""] > 1 and any(ask.memory for ask in request.asks)
            passes = bool(world.books.fit(request).passes[place]) and not several
            assert passes == fits_by_hand(world, limits[""], limits.get("-memory", 0), place)
            if passes:
                world.ledger.place(job, task, row, Status.ALLOCATED)
                assert {part.memory for some in world.books.parts(task) for part in some} <= set(TEMPLATES)
        pictures.append((len(world.ledger.log), world.picture()))
        table = world.books.now
        assert (table.memory >= 0).all()
        assert (table.sharers[table.healthy] >= 0).all()
    for mark, picture in reversed(pictures):
        world.ledger.undo_to(mark)
        assert world.picture() == picture


# -- names that are accepted as they are -----------------------------------------------------------------------------


@pytest.mark.parametrize("arguments", [NPU, "deviceshare.VGPUEnable: true", f"{NPU}, deviceshare.VGPUEnable: true"])
@pytest.mark.parametrize(
    "name",
    [
        "huawei.com/npu",
        "huawei.com/npu-core",
        "huawei.com/Ascend910",
        "huawei.com/Ascend310",
        "huawei.com/Ascend310P-2c",
        "tencent.com/vcuda-core",
        "tencent.com/vcuda-memory",
        "volcano.sh/vcuda-core",
        "cambricon.com/vmlu",
        "hygon.com/dcunum",
        "nvidia.com/gpu",
    ],
)
def test_devices_of_other_plugins_are_counted_by_sums(name: str, arguments: str) -> None:
    offered = npu_node("n1", [npu(0)])
    offered["status"]["allocatable"][name] = "2"
    limits = {"name": "c", "resources": {"limits": {name: "1"}}}
    found = decided(offered, *pods("job ns/j min=1 pods=3", limits), arguments=arguments)

    assert len(found.nodes) == 2
    assert all(bind.annotations == () for bind in binds(found).values())
    assert f"Insufficient {name}" in found.why("ns/j.2")


def test_npus_are_counted_by_sums_where_nothing_is_enabled_for_them() -> None:
    node = npu_node("n1", [npu(0)], count=2)
    found = decided(node, *pods("job ns/j min=1 pods=3", asking_npu()), arguments="deviceshare.VGPUEnable: true")

    assert given(found) == {"j.0": "", "j.1": ""}
