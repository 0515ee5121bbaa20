"""NPUs of nodes, and what pods ask of them: how that is read, and what is left out."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.support import builders as make
from tests.support.npus import CHIP, allocated, asking_npu, npu, npu_node, npu_part, register
from vsched import api
from vsched.mirror.ingest.deviceshare import node_devices_of, parts_of
from vsched.mirror.ingest.nodes import node_of
from vsched.mirror.ingest.pods import PodReader
from vsched.mirror.ingest.shape import Shaper
from vsched.mirror.ingest.words import devices as words
from vsched.model.amounts.resources import ResourceAxis
from vsched.model.deviceshare.records import DeviceAsk, HeldPart, NodeDevices, SharedDevice, SharedDeviceRequest
from vsched.model.pods.task import Task

Obj = dict[str, Any]
WHOLE_NPU = DeviceAsk(1, 0, 0, 100)


def read(fields: Obj) -> tuple[tuple[NodeDevices, ...], list[str]]:
    found, remarks = make.read(fields), list[str]()
    assert isinstance(found, api.Node)
    return node_devices_of(found, remarks), remarks


def pod_of(*containers: Obj, inits: int = 0, **said: str) -> api.Pod:
    spec = {"schedulerName": "vsched", "containers": list(containers)}
    if inits:
        spec["initContainers"] = [make.container("1")] * inits
    found = make.read(make.pod(metadata={"annotations": said}, spec=spec))
    assert isinstance(found, api.Pod)
    return found


def task_of(*containers: Obj, axis: ResourceAxis | None = None, inits: int = 0, **said: str) -> Task:
    facts = PodReader(axis or ResourceAxis(), frozenset({"vsched"})).read(pod_of(*containers, inits=inits, **said))
    assert facts is not None
    return facts.task


@pytest.mark.parametrize(
    ("node", "mode", "found"),
    [
        pytest.param(
            npu_node("n1", [npu(0), npu(1)]),
            "",
            (SharedDevice(0, "NPU-0", CHIP, 65536, 4, numa=0), SharedDevice(1, "NPU-1", CHIP, 65536, 4, numa=0)),
            id="two NPUs as HAMi's device plugin writes them: zeros are left out",
        ),
        pytest.param(
            npu_node("n1", [{"id": "NPU-0", "count": 7, "devmem": 21527}], chip="Ascend310P"),
            "",
            (SharedDevice(0, "NPU-0", "Ascend310P", 21527, 7, healthy=False, numa=0),),
            id="an NPU that is not said to be healthy is ill",
        ),
        pytest.param(
            npu_node("n1", [npu(0, network=0), npu(1, network=1)]),
            "",
            (
                SharedDevice(0, "NPU-0", CHIP, 65536, 4, numa=0, network=0),
                SharedDevice(1, "NPU-1", CHIP, 65536, 4, numa=0, network=1),
            ),
            id="the networks of NPUs",
        ),
        pytest.param(
            npu_node("n1", [npu(0, network=0), npu(1)]),
            "",
            (SharedDevice(0, "NPU-0", CHIP, 65536, 4, numa=0), SharedDevice(1, "NPU-1", CHIP, 65536, 4, numa=0)),
            id="networks do not count where only some NPUs have one",
        ),
        pytest.param(
            npu_node("n1", [npu(0, chip="Ascend310P", network=0)], chip="Ascend310P"),
            "",
            (SharedDevice(0, "NPU-0", "Ascend310P", 65536, 4, numa=0),),
            id="networks count only for 910",
        ),
        pytest.param(
            npu_node("n1", [npu(0)], **{"hami-vnpu-core": "true"}),
            "hami-core",
            (SharedDevice(0, "NPU-0", CHIP, 65536, 4, numa=0),),
            id="a node that shares NPUs in software",
        ),
        pytest.param(npu_node("n1", [npu(0)], count=0), "", None, id="the kubelet says that the plugin has left"),
        pytest.param(
            npu_node("n1", [npu(0)], **{f"hami.io/node-handshake-{CHIP}": "Deleted_2026"}),
            "",
            None,
            id="the plugin says that it has left",
        ),
        pytest.param(npu_node("n1", []), "", None, id="no NPU is registered"),
        pytest.param(
            make.node("n1", status={"allocatable": {f"huawei.com/{CHIP}": "8"}}),
            "",
            None,
            id="NPUs of a device plugin that registers nothing",
        ),
    ],
)
def test_what_a_node_registers(node: Obj, mode: str, found: tuple[SharedDevice, ...] | None) -> None:
    assert read(node) == (() if found is None else (NodeDevices("n1", "npu", mode, found),), [])


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        pytest.param("{", words.no_list_of_devices("{"), id="no JSON"),
        pytest.param(json.dumps([npu(0), npu(0)]), words.ONE_UUID, id="an NPU twice"),
        pytest.param(json.dumps([npu(n) for n in range(65)]), words.too_many_devices(65, 64), id="too many"),
        pytest.param(json.dumps([npu(0, memory=-1)]), "-1 MiB (expected 0 to 1,099,511,627,776)", id="no amount"),
        pytest.param("[" * 20_000, words.too_many_letters(20000, 16384), id="a text without an end"),
    ],
)
def test_what_cannot_be_read_of_a_node_is_said_and_left_out(text: str, problem: str) -> None:
    found, remarks = read(npu_node("n1", [], **{register(): text}))

    assert found == ()
    assert remarks == [words.devices_of_annotation_left_out(register(), Exception(problem))]


def test_a_node_offers_the_sums_of_its_npus() -> None:
    axis = ResourceAxis()
    found = make.read(npu_node("n1", [npu(0), npu(1)], count=8))
    assert isinstance(found, api.Node)

    offered = axis.render(node_of(found, axis).allocatable)
    assert {name: value for name, value in offered.items() if "Ascend" in name} == {
        f"huawei.com/{CHIP}": "8",
        f"huawei.com/{CHIP}-memory": "131072",
        f"huawei.com/{CHIP}-core": "200",
    }


SOFTWARE = {"huawei.com/vnpu-mode": "hami-core"}


@pytest.mark.parametrize(
    ("containers", "said", "asks", "positions"),
    [
        pytest.param((asking_npu(),), {}, (WHOLE_NPU,), (0,), id="a whole NPU"),
        pytest.param((asking_npu(2),), {}, (DeviceAsk(2, 0, 0, 100),), (0,), id="whole NPUs"),
        pytest.param((asking_npu(1, 4096),), {}, (DeviceAsk(1, 0, 4096),), (0,), id="a part of an NPU"),
        pytest.param((asking_npu(None, 4096),), {}, (DeviceAsk(1, 0, 4096),), (0,), id="memory alone means one NPU"),
        pytest.param(
            (asking_npu(1, 4096, 90),), SOFTWARE, (DeviceAsk(1, 900, 4096),), (0,), id="computing power in software"
        ),
        pytest.param(
            (asking_npu(1, 4096, 4),),
            {},
            (DeviceAsk(1, 0, 4096),),
            (0,),
            id="templates have computing power themselves",
        ),
        pytest.param(
            (make.container("1"), asking_npu(), asking_npu(1, 5)),
            {},
            (WHOLE_NPU, DeviceAsk(1, 0, 5)),
            (1, 2),
            id="containers that ask for none are passed over",
        ),
    ],
)
def test_what_a_pod_asks_of_npus(
    containers: tuple[Obj, ...], said: dict[str, str], asks: tuple[DeviceAsk, ...], positions: tuple[int, ...]
) -> None:
    assert task_of(*containers, **said).shape.devices == SharedDeviceRequest(
        "npu", asks, positions, mode="hami-core" if said else "", chip=CHIP
    )


def test_init_containers_come_first_in_the_order_of_containers() -> None:
    request = task_of(asking_npu(), inits=2).shape.devices
    assert request is not None
    assert request.containers == (2,)


def test_which_npus_a_pod_accepts() -> None:
    said = {f"hami.io/use-{CHIP}-uuid": "NPU-2, NPU-1", f"hami.io/no-use-{CHIP}-uuid": "NPU-3"}
    found = task_of(asking_npu(), **said).shape.devices

    assert found == SharedDeviceRequest(
        "npu", (WHOLE_NPU,), (0,), uuids=("NPU-1", "NPU-2"), other_uuids=("NPU-3",), chip=CHIP
    )


def test_pods_that_accept_other_npus_have_other_shapes() -> None:
    shaper = Shaper(ResourceAxis())
    first, second, third = (
        shaper.shape(pod_of(asking_npu(), **said)).devices
        for said in ({}, {f"hami.io/use-{CHIP}-uuid": "NPU-1"}, SOFTWARE)
    )
    assert len({first, second, third}) == 3


def test_requests_count_the_memory_and_the_computing_power_of_all_npus() -> None:
    axis = ResourceAxis()
    shape = task_of(asking_npu(3, 1000, 20), axis=axis, **SOFTWARE).shape

    assert axis.render(shape.request) == {
        "pods": "1",
        f"huawei.com/{CHIP}": "3",
        f"huawei.com/{CHIP}-memory": "3000",
        f"huawei.com/{CHIP}-core": "60",
    }


def test_what_a_pod_holds() -> None:
    text = f";{npu_part(1, 16384)}{npu_part(2, 16384)};{npu_part(0, 5, 90)};"
    parts = (
        (HeldPart(-1, 0, 16384, "NPU-1"), HeldPart(-1, 0, 16384, "NPU-2")),
        (HeldPart(-1, 900, 5, "NPU-0"),),
    )
    assert parts_of(text, SharedDeviceRequest("npu", (WHOLE_NPU,), (0,), chip=CHIP)) == parts
    assert task_of(asking_npu(), **{allocated(): text}).devices == text
    assert task_of(asking_npu(), **{allocated("Ascend310P"): text}).devices == "", "it asks for others"
