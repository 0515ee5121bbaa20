"""deviceshare: pods get devices whole or in parts, and device plugins are told which."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given as given_any
from hypothesis import settings
from hypothesis import strategies as st

from tests.support.device_worlds import World
from tests.support.devices import device as published_device
from tests.support.devices import resource_slice
from tests.support.deviceshare import IDS, INDEX, VGPU, asking, device, device_policy, devices, part, pods, vgpu_node
from tests.support.examples import examples
from tests.support.keeping import memos_keep
from tests.support.plans import NOW, Plan, decide, mirror, policy_from
from vsched.errors import BadInput
from vsched.framework.words.nodes import available
from vsched.mirror.ingest.words.devices import two_kinds
from vsched.model.pods.task import Task
from vsched.plugins.devices.books import SharedDeviceBooks
from vsched.plugins.devices.reasons import reasons_of_size
from vsched.plugins.devices.tables import device_tables
from vsched.plugins.words import arguments as argument_words
from vsched.plugins.words import devices as words

Obj = dict[str, Any]
SHARING, NUMBER = "deviceshare.GPUSharingEnable: true", "deviceshare.GPUNumberEnable: true"
BINPACK = f"{VGPU}, deviceshare.SchedulePolicy: binpack, deviceshare.ScheduleWeight: 10"
SPREAD = f"{VGPU}, deviceshare.SchedulePolicy: spread, deviceshare.ScheduleWeight: 10"


def held(name: str, node: str, ids: str, **amounts: int) -> list[Obj]:
    """A running job of one pod that holds these devices."""
    return pods(f"job ns/{name} min=0 phase=Running\npods ns/{name} 1 on={node}", asking(**amounts), **{IDS: ids})


def decided(*objects: Obj, arguments: str = VGPU, actions: str = "allocate", cycles: int = 1) -> Plan:
    policy = policy_from(device_policy(arguments, actions))
    return decide(list(objects), policy, cycles=cycles)


def given(plan: Plan, key: str = IDS) -> dict[str, str]:
    """By pod: what its annotation says of its devices."""
    return {bind.name: dict(bind.annotations).get(key, "") for report in plan.reports for bind in report.binds}


ONE = "job ns/j min=1 pods=1"


@pytest.mark.parametrize(
    ("node", "others", "containers", "ids"),
    [
        pytest.param(
            devices(2), [], [asking(vgpu_number=1, vgpu_memory=3000, vgpu_cores=30)], part(1, 3000, 30), id="the last"
        ),
        pytest.param(
            devices(2), [], [asking(vgpu_number=2, vgpu_memory=3000)], part(0, 3000, 0) + part(1, 3000, 0), id="several"
        ),
        pytest.param(
            devices(2),
            [],
            [asking(vgpu_number=1, vgpu_memory_percentage=50)],
            part(1, 16384, 0),
            id="memory in per cent of the device",
        ),
        pytest.param(
            devices(1), [], [asking(vgpu_number=1)], part(0, 32768, 0), id="all of the memory if none is said"
        ),
        pytest.param(
            devices(2),
            [],
            [asking(vgpu_number=1, vgpu_memory=20000), {}, asking(vgpu_number=1, vgpu_memory=20000)],
            f"{part(1, 20000, 0)};{part(0, 20000, 0)}",
            id="two containers do not share what only one of them fits in",
        ),
        pytest.param(
            devices(2),
            held("a", "n1", part(1, 20000, 0), vgpu_number=1, vgpu_memory=20000),
            [asking(vgpu_number=1, vgpu_memory=20000)],
            part(0, 20000, 0),
            id="what other pods hold is taken",
        ),
        pytest.param(
            devices(2),
            held("a", "n1", part(1, 1, 10), vgpu_number=1, vgpu_memory=1, vgpu_cores=10),
            [asking(vgpu_number=1, vgpu_memory=1, vgpu_cores=100)],
            part(0, 1, 100),
            id="all cores mean a device that no pod uses",
        ),
        pytest.param(
            devices(2),
            held("a", "n1", part(1, 1, 100), vgpu_number=1, vgpu_memory=1, vgpu_cores=100),
            [asking(vgpu_number=1, vgpu_memory=1)],
            part(0, 1, 0),
            id="without cores a device is wanted that has some left",
        ),
        pytest.param(
            device(0) + device(1, sharers=1),
            held("a", "n1", part(1, 1, 0), vgpu_number=1, vgpu_memory=1),
            [asking(vgpu_number=1, vgpu_memory=1)],
            part(0, 1, 0),
            id="no more containers than may share a device",
        ),
        pytest.param(
            device(0, memory=0, sharers=0) * 1,
            [],
            [asking(vgpu_number=1, vgpu_cores=44)],
            part(0, 0, 44),
            id="a device whose memory does not count",
        ),
    ],
)
def test_which_devices_a_pod_gets(node: str, others: list[Obj], containers: list[Obj], ids: str) -> None:
    found = decided(vgpu_node("n1", node), *others, *pods(ONE, *containers))

    assert given(found) == {"j.0": ids}


def test_a_vgpu_is_bound_with_all_that_the_device_plugin_reads() -> None:
    found = decided(vgpu_node("n1", devices(1)), *pods(ONE, asking(vgpu_number=1, vgpu_memory=1, vgpu_cores=5)))

    seconds, ids = str(int(NOW)), part(0, 1, 5)
    assert found.reports[0].binds[0].annotations == (
        ("volcano.sh/vgpu-node", "n1"),
        ("volcano.sh/vgpu-time", seconds),
        ("volcano.sh/vgpu-ids-new", ids),
        ("volcano.sh/devices-to-allocate", ids),
        ("volcano.sh/bind-phase", "allocating"),
        ("volcano.sh/bind-time", seconds),
    )


@pytest.mark.parametrize(
    ("said", "node"),
    [
        pytest.param({"nvidia.com/use-gputype": "a100"}, "n2", id="a type to use, capitals or not"),
        pytest.param({"nvidia.com/nouse-gputype": "V100,T4"}, "n2", id="types to avoid"),
        pytest.param({"volcano.sh/vgpu-use-gpuuuid": "GPU-7"}, "n2", id="a device to use"),
        pytest.param({"volcano.sh/vgpu-nouse-gpuuuid": "GPU-0,GPU-1"}, "n2", id="devices to avoid"),
        pytest.param({"volcano.sh/vgpu-mode": "mps"}, "n3", id="a mode"),
        pytest.param({}, "n1", id="no wish"),
    ],
)
def test_wishes_for_devices(said: dict[str, str], node: str) -> None:
    found = decided(
        vgpu_node("n1", devices(2)),
        vgpu_node("n2", device(7, model="NVIDIA-A100-SXM4-40GB")),
        vgpu_node("n3", device(8, model="NVIDIA-T4", mode="mps")),
        *pods(ONE, asking(vgpu_number=1, vgpu_memory=1), **said),
    )
    assert list(found.nodes.values()) == [node]


ILL = "GPU-0,9,100,V100,false,hami-core:GPU-1,9,100,V100,true,hami-core:"


@pytest.mark.parametrize(
    ("nodes", "amounts", "said", "why"),
    [
        pytest.param(
            [vgpu_node("n1", "", status={"allocatable": {"volcano.sh/vgpu-number": "9"}})],
            {"vgpu_number": 1},
            {},
            words.no_devices("vgpu"),
            id="no device is registered",
        ),
        pytest.param(
            [vgpu_node("n1", devices(1))],
            {"vgpu_number": 1, "vgpu_memory": 1},
            {"volcano.sh/vgpu-mode": "mig"},
            words.other_mode("mig"),
            id="another mode",
        ),
        pytest.param(
            [vgpu_node("n1", devices(1))],
            {"vgpu_number": 1, "vgpu_memory": 1},
            {"nvidia.com/use-gputype": "A100"},
            words.none_accepted("type"),
            id="another type",
        ),
        pytest.param(
            [vgpu_node("n1", devices(1))],
            {"vgpu_number": 1, "vgpu_memory": 1},
            {"volcano.sh/vgpu-use-gpuuuid": "GPU-7"},
            words.none_accepted("uuid"),
            id="another uuid",
        ),
        pytest.param(
            [vgpu_node("n1", device(0) + device(1, model="NVIDIA-A100"))],
            {"vgpu_number": 1, "vgpu_memory": 1},
            {"nvidia.com/use-gputype": "A100", "volcano.sh/vgpu-use-gpuuuid": "GPU-0"},
            words.none_accepted(""),
            id="a type and a uuid that no device has both",
        ),
        pytest.param(
            [vgpu_node("n1", devices(2))],
            {"vgpu_number": 1, "vgpu_memory": 40000},
            {},
            words.too_few(1, words.having(words.memory(40000, 0))),
            id="no device has as much memory as all together",
        ),
        pytest.param(
            [vgpu_node("n1", devices(3, memory=100) + device(3, memory=200, model="NVIDIA-A100"))],
            {"vgpu_number": 2, "vgpu_memory": 150},
            {"nvidia.com/nouse-gputype": "T4"},
            words.too_few(2, words.having(words.memory(150, 0)), accepted=True),
            id="too few devices are large enough",
        ),
        pytest.param(
            [vgpu_node("n1", devices(2))],
            {"vgpu_number": 3, "vgpu_memory": 1},
            {},
            words.too_few(3),
            id="a container gets another device each time",
        ),
        pytest.param(
            [vgpu_node("n1", ILL)],
            {"vgpu_number": 2, "vgpu_memory": 1},
            {},
            words.too_few(2, adjective=words.HEALTHY),
            id="a device is ill",
        ),
        pytest.param(
            [vgpu_node("n1", device(1)), resource_slice("n1", [published_device("a", attributes={"uuid": "GPU-1"})])],
            {"vgpu_number": 1, "vgpu_memory": 1},
            {},
            words.too_few(1, words.BESIDE_CLAIMS),
            id="a driver publishes it for claims",
        ),
    ],
)
def test_why_a_pod_fits_on_no_node_at_all(
    nodes: list[Obj], amounts: dict[str, int], said: dict[str, str], why: str
) -> None:
    found = decided(*nodes, *pods(ONE, asking(**amounts), **said))

    assert found.why("ns/j.0") == available(1, {why: 1})
    lasts = "healthy" not in why and "claims" not in why
    assert found.jobs["ns/j"].code == ("NoDevices" if lasts else "Devices")


@pytest.mark.parametrize(
    ("held_by", "amounts", "why"),
    [
        pytest.param(
            [part(0, 60, 10)],
            {"vgpu_number": 1, "vgpu_memory": 50},
            words.too_few(1, words.having_left(words.memory(50, 0))),
            id="memory",
        ),
        pytest.param(
            [part(0, 60, 10)],
            {"vgpu_number": 1, "vgpu_memory_percentage": 50},
            words.too_few(1, words.having_left(words.memory(0, 50))),
            id="memory in per cent",
        ),
        pytest.param(
            [part(0, 6, 60)],
            {"vgpu_number": 1, "vgpu_memory": 50, "vgpu_cores": 50},
            words.too_few(1, words.having_left(words.power(50))),
            id="computing power",
        ),
        pytest.param(
            [part(0, 6, 100)],
            {"vgpu_number": 1, "vgpu_memory": 50},
            words.too_few(1, words.having_left(words.power(0))),
            id="any computing power",
        ),
        pytest.param(
            [part(0, 6, 10)],
            {"vgpu_number": 1, "vgpu_memory": 50, "vgpu_cores": 100},
            words.too_few(1, words.UNUSED),
            id="a device of its own",
        ),
        pytest.param(
            [part(0, 6, 10)] * 2,
            {"vgpu_number": 1, "vgpu_memory": 50},
            words.too_few(1, words.SHAREABLE),
            id="sharers",
        ),
        pytest.param(
            [part(0, 60, 10), part(1, 10, 60)],
            {"vgpu_number": 1, "vgpu_memory": 50, "vgpu_cores": 50},
            words.NO_ROOM,
            id="memory on one device, computing power on another",
        ),
        pytest.param(
            [part(0, 60, 10), part(1, 10, 10)],
            {"vgpu_number": 2, "vgpu_memory": 50},
            words.too_few(2, words.having_left(words.memory(50, 0))),
            id="several devices",
        ),
    ],
)
def test_what_is_short_on_devices_that_others_use(held_by: list[str], amounts: dict[str, int], why: str) -> None:
    count = 1 + any("GPU-1" in ids for ids in held_by)
    others = [
        one for number, ids in enumerate(held_by) for one in held(f"a{number}", "n1", ids, vgpu_number=1, vgpu_memory=1)
    ]
    node = vgpu_node(
        "n1", devices(count, memory=100, sharers=2), status={"allocatable": {"volcano.sh/vgpu-number": "9"}}
    )
    found = decided(node, *others, *pods(ONE, asking(**amounts)))

    assert found.why("ns/j.0") == available(1, {why: 1})
    assert found.jobs["ns/j"].code == "Devices"


def test_what_may_pass_is_told_before_nodes_without_devices() -> None:
    found = decided(
        *(vgpu_node(f"c{number}", "", status={"allocatable": {"volcano.sh/vgpu-number": "1"}}) for number in (1, 2)),
        vgpu_node("n1", devices(2, memory=100)),
        *held("a", "n1", part(0, 60, 10) + part(1, 60, 10), vgpu_number=2, vgpu_memory=60),
        *pods(ONE, asking(vgpu_number=1, vgpu_memory=50)),
    )
    assert found.jobs["ns/j"].message == (
        "no node fits: 1 node has no device with 50 MiB of memory left, 2 have no registered devices of the kind vgpu"
    )
    assert found.jobs["ns/j"].code == "Devices"


def test_devices_may_be_ill() -> None:
    node = "GPU-0,9,100,V100,false,hami-core:GPU-1,9,100,V100,true,hami-core:"
    found = decided(vgpu_node("n1", node), *pods("job ns/j min=1 pods=2", asking(vgpu_number=1, vgpu_memory=60)))

    assert given(found) == {"j.0": part(1, 60, 0)}


@pytest.mark.parametrize(
    ("arguments", "node"),
    [
        pytest.param(BINPACK, "n2", id="binpack: the device that is fuller"),
        pytest.param(SPREAD, "n1", id="spread: a device that no pod uses"),
    ],
)
def test_the_policy_ranks_nodes(arguments: str, node: str) -> None:
    found = decided(
        vgpu_node("n1", devices(1)),
        vgpu_node("n2", devices(1)),
        *held("a", "n2", part(0, 100, 0), vgpu_number=1, vgpu_memory=100),
        *pods(ONE, asking(vgpu_number=1, vgpu_memory=100)),
        arguments=arguments,
    )
    assert found.nodes["j.0"] == node


@pytest.mark.parametrize(
    ("arguments", "ids"), [pytest.param(BINPACK, 0, id="the fuller"), pytest.param(SPREAD, 1, id="the emptier")]
)
def test_the_policy_ranks_the_devices_of_a_node(arguments: str, ids: int) -> None:
    found = decided(
        vgpu_node("n1", devices(2)),
        *held("a", "n1", part(0, 100, 0), vgpu_number=1, vgpu_memory=100),
        *pods(ONE, asking(vgpu_number=1, vgpu_memory=100)),
        arguments=arguments,
    )
    assert given(found) == {"j.0": part(ids, 100, 0)}


def test_pods_of_one_cycle_fill_devices_and_the_next_one_waits() -> None:
    found = decided(
        vgpu_node("n1", devices(2)), *pods("job ns/j min=1 pods=5", asking(vgpu_number=1, vgpu_memory=16384))
    )
    assert sorted(given(found).values()) == [part(0, 16384, 0)] * 2 + [part(1, 16384, 0)] * 2


def test_without_the_plugin_sums_decide() -> None:
    objects = [vgpu_node("n1", devices(2)), *pods(ONE, asking(vgpu_number=1, vgpu_memory=40000))]
    found = decide(objects, policy_from("actions: allocate\ntiers:\n- plugins:\n  - name: predicates"))
    assert found.nodes == {"j.0": "n1"}
    assert given(found) == {"j.0": ""}


@pytest.mark.parametrize(
    ("arguments", "containers", "why"),
    [
        pytest.param(
            NUMBER,
            [asking(vgpu_number=1)],
            words.not_enabled("volcano.sh/vgpu-number", "deviceshare.VGPUEnable"),
            id="vGPUs that are not enabled",
        ),
        pytest.param(
            NUMBER,
            [asking(gpu_memory=1)],
            words.not_enabled("volcano.sh/gpu-memory", "deviceshare.GPUSharingEnable"),
            id="memory of GPUs, where whole ones are enabled",
        ),
        pytest.param(
            SHARING,
            [asking(gpu_number=1)],
            words.not_enabled("volcano.sh/gpu-number", "deviceshare.GPUNumberEnable"),
            id="whole GPUs, where their memory is enabled",
        ),
        pytest.param(
            VGPU,
            [asking(vgpu_number=1, gpu_memory=1)],
            two_kinds("spec.containers[0].resources.limits", "volcano.sh/gpu-memory", "volcano.sh/vgpu-number"),
            id="two kinds at once",
        ),
        pytest.param(
            VGPU,
            [asking(vgpu_memory=1), asking(gpu_number=1)],
            two_kinds("spec.containers[1].resources.limits", "volcano.sh/gpu-number", "volcano.sh/vgpu-memory"),
            id="two kinds in two containers",
        ),
        pytest.param(
            NUMBER,
            [asking(gpu_number=1, gpu_memory=1)],
            two_kinds("spec.containers[0].resources.limits", "volcano.sh/gpu-number", "volcano.sh/gpu-memory"),
            id="whole GPUs and memory of one",
        ),
        pytest.param(
            VGPU,
            [asking(vgpu_number=1), asking(vgpu_cores=10)],
            "spec.containers[1].resources.limits: volcano.sh/vgpu-cores without volcano.sh/vgpu-number",
            id="a part of no device",
        ),
    ],
)
def test_a_pod_that_can_get_no_devices_is_told_which_field_says_so(
    arguments: str, containers: list[Obj], why: str
) -> None:
    found = decided(vgpu_node("n1", devices(2)), *pods(ONE, *containers), arguments=arguments)

    assert found.why("ns/j.0") == available(1, {words.not_tried(why): 1})
    assert found.jobs["ns/j"].code == "NoDevices"


# -- devices of the kind gpu -----------------------------------------------------------------------------------------


def gpu_node(memory: int, number: int, **annotations: str) -> Obj:
    amounts = {"volcano.sh/gpu-memory": str(memory), "volcano.sh/gpu-number": str(number)}
    found = vgpu_node("n1", "", status={"allocatable": amounts, "capacity": amounts})
    found["metadata"]["annotations"] = annotations
    return found


@pytest.mark.parametrize(
    ("arguments", "node", "count", "amounts", "indices"),
    [
        pytest.param(SHARING, gpu_node(16, 2), 3, {"gpu_memory": 4}, ["0", "0", "1"], id="memory of the first device"),
        pytest.param(SHARING, gpu_node(16, 2), 1, {"gpu_memory": 9}, [], id="no device has so much"),
        pytest.param(NUMBER, gpu_node(16, 4), 2, {"gpu_number": 2}, ["0,1", "2,3"], id="whole devices"),
        pytest.param(
            NUMBER,
            gpu_node(16, 2, **{"volcano.sh/gpu-unhealthy-ids": "0"}),
            1,
            {"gpu_number": 1},
            ["1"],
            id="a device is ill",
        ),
    ],
)
def test_devices_by_index(arguments: str, node: Obj, count: int, amounts: dict[str, int], indices: list[str]) -> None:
    found = decided(node, *pods(f"job ns/j min=1 pods={count}", asking(**amounts)), arguments=arguments)

    assert list(given(found, INDEX).values()) == indices


@pytest.mark.parametrize(
    ("arguments", "lock"),
    [
        pytest.param(VGPU, "", id="nodes are not locked"),
        pytest.param(f"{VGPU}, deviceshare.NodeLockEnable: true", "hamivgpu", id="nodes are locked"),
    ],
)
def test_pods_that_get_devices_lock_their_node(arguments: str, lock: str) -> None:
    plain = {"name": "c", "resources": {"requests": {"cpu": "1"}}}
    vgpu = pods(ONE, asking(vgpu_number=1, vgpu_memory=1))
    found = decided(vgpu_node("n1", devices(2)), *vgpu, *pods("job ns/k min=1 pods=1", plain), arguments=arguments)

    assert {bind.name: bind.lock for bind in found.reports[0].binds} == {"j.0": lock, "k.0": ""}


# -- other ways to devices ------------------------------------------------------------------------------------------


def test_a_device_that_claims_may_have_is_not_given_out_in_parts() -> None:
    published = resource_slice("n1", [published_device("gpu-0", attributes={"uuid": "GPU-1"})])
    found = decided(vgpu_node("n1", devices(2)), published, *pods(ONE, asking(vgpu_number=1, vgpu_memory=1)), cycles=1)
    assert given(found) == {"j.0": part(0, 1, 0)}, "without the claims it would be the last"


def test_whole_gpus_of_another_plugin_are_counted_by_themselves() -> None:
    node = vgpu_node("n1", devices(1), status={"allocatable": {"nvidia.com/gpu": "1"}})
    whole = {"name": "c", "resources": {"limits": {"nvidia.com/gpu": "1"}}}
    found = decided(
        node,
        *pods("job ns/w min=1 pods=1", whole),
        *pods(ONE, asking(vgpu_number=1, vgpu_cores=100)),
        *pods("job ns/x min=1 pods=1", whole),
    )
    assert given(found) == {"w.0": "", "j.0": part(0, 32768, 100)}


# -- victims ---------------------------------------------------------------------------------------------------------


def test_a_victim_frees_its_device_once_it_has_left() -> None:
    low = pods(
        "job ns/low min=0 phase=Running\npods ns/low 1 on=n1",
        asking(vgpu_number=1, vgpu_memory=32768),
        **{IDS: part(0, 32768, 0)},
    )
    urgent = pods("class high 10\njob ns/urgent min=1 pods=1 class=high", asking(vgpu_number=1, vgpu_memory=20000))
    cluster = [vgpu_node("n1", devices(2)), *low, *held("b", "n1", part(1, 32768, 0), vgpu_number=1, vgpu_memory=32768)]

    found = decided(*cluster, *urgent, actions='"allocate, preempt"', cycles=2)

    assert [len(some) for some in found.evicted] == [1, 0], "one of the two is enough"
    assert found.order == ["urgent.0"]
    assert not found.reports[0].binds, "the device is free only later"


# -- arguments -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        pytest.param(
            "deviceshare.AscendMindClusterVNPUEnable: true",
            argument_words.MIND_CLUSTER,
            id="NPUs of MindCluster",
        ),
        pytest.param(
            "deviceshare.KnownGeometriesCMName: ''",
            argument_words.NO_GEOMETRIES,
            id="MIG geometries nowhere",
        ),
        pytest.param(
            f"{VGPU}, {NUMBER}",
            argument_words.SEVERAL_KINDS,
            id="two kinds",
        ),
        pytest.param(
            "deviceshare.SchedulePolicy: tight",
            argument_words.unknown_schedule_policy("tight"),
            id="another policy",
        ),
    ],
)
def test_what_is_not_supported_is_refused(arguments: str, problem: str) -> None:
    with pytest.raises(BadInput) as caught:
        policy_from(device_policy(arguments))
    assert problem in str(caught.value)


# -- properties ------------------------------------------------------------------------------------------------------


def fits_by_hand(world: World, task: Task, place: int) -> bool:
    """Whether a container that asks for one or several devices fits, device by device."""
    assert task.shape.devices is not None
    (ask,) = task.shape.devices.asks
    table = world.books.free()
    fitting = 0
    for slot in range(table.shape[0]):
        memory = ask.memory or table.total_memory[slot, place] * ask.percent // 100
        if not table.healthy[slot, place] or table.sharers[slot, place] < 1 or table.memory[slot, place] < memory:
            continue
        left = table.thousandths[slot, place]
        fitting += bool(left >= ask.thousandths and left and (ask.thousandths < 1000 or not table.users[slot, place]))
    return fitting >= ask.number


ASKS = st.builds(
    asking, vgpu_number=st.integers(1, 2), vgpu_memory=st.integers(1, 60), vgpu_cores=st.sampled_from([0, 30, 50, 100])
)


@settings(deadline=None, max_examples=examples(40))
@given_any(st.lists(ASKS, min_size=1, max_size=8), st.integers(0, 2), st.data())
def test_no_device_is_given_away_twice_and_what_is_undone_is_as_it_was(
    asks: list[Obj], before: int, data: st.DataObject
) -> None:
    ids = [part(0, 20, 30) if number < before else "" for number in range(len(asks))]
    world = World({"n1": devices(2, memory=100, sharers=3), "n2": devices(3, memory=50)}, asks, ids)
    for _ in world.play(data, lambda task, place: fits_by_hand(world, task, place)):
        for table in (world.books.now, world.books.later):
            assert (table.memory >= 0).all()
            assert (table.thousandths >= 0).all()
            assert (table.thousandths <= 1000).all()
            assert (table.memory <= table.total_memory).all()


@memos_keep()
def test_books_are_counted_again_only_where_pods_have_changed() -> None:
    objects = [vgpu_node("n1", devices(1)), vgpu_node("n2", devices(1))]
    pod = held("a", "n1", part(0, 100, 10), vgpu_number=1, vgpu_memory=100)
    found = mirror([*objects, *pod])
    first = found.snapshot(NOW)
    before = device_tables(first.device_shares, first.nodes, "vgpu")
    assert device_tables(first.device_shares, first.nodes, "vgpu") is before

    found.intake.replace("Pod", [])
    again = found.snapshot(NOW)
    after = device_tables(again.device_shares, again.nodes, "vgpu")
    assert before.now.memory.tolist() == [[32668, 32768]]
    assert after.now.memory.tolist() == [[32768, 32768]]
    assert after.now.users.tolist() == [[0, 0]]


@memos_keep()
def test_what_devices_could_hold_is_worked_out_once_as_long_as_they_are_the_same() -> None:
    def reasons(*objects: Obj) -> tuple[list[str], SharedDeviceBooks]:
        snapshot = found.snapshot(NOW) if not objects else mirror(list(objects)).snapshot(NOW)
        books = SharedDeviceBooks(snapshot.device_shares, snapshot.nodes, "vgpu")
        [task] = snapshot.jobs["ns/j"].tasks.values()
        assert task.shape.devices is not None
        return [one.text for one in reasons_of_size(books, task.shape.devices)], books

    asked = pods(ONE, asking(vgpu_number=1, vgpu_memory=150))
    found = mirror([vgpu_node("n1", devices(1, memory=100)), *asked])
    texts, before = reasons()
    assert texts == ["node(s) had no device with 150 MiB of memory"]
    found.intake.replace("Namespace", [])
    again, after = reasons()
    assert again == texts
    assert after.sizes is before.sizes
    assert reasons(vgpu_node("n1", devices(1, memory=200)), *asked)[0] == []
