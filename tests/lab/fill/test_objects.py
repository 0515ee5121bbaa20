"""GPUs of the fill test as the mirror reads them: amounts of nodes, or devices that pods share."""

from __future__ import annotations

import re

import orjson
import pytest

from vsched import api
from vsched.errors import VschedError
from vsched.lab.fill.machines import MachineTable
from vsched.lab.fill.objects import SCHEDULER, GpuAmounts, Gpus, SharedGpus
from vsched.lab.trace import words
from vsched.lab.trace.files import ClusterTrace, TraceNode, TracePod
from vsched.lab.trace.vgpus import IDS
from vsched.mirror.mirror import Mirror
from vsched.mirror.stores import MirrorSettings
from vsched.model.deviceshare.records import DeviceAsk, SharedDeviceRequest
from vsched.model.plan import Bind

NODE, PLAIN = TraceNode("n", 8000, 1000, 2, "T4"), TraceNode("plain", 9000, 1000)


def mirror(gpus: Gpus, *pods: TracePod) -> Mirror:
    cache = Mirror(MirrorSettings(frozenset({SCHEDULER}), open_without_state=True))
    for node in (NODE, PLAIN):
        cache.intake.apply("Node", "ADDED", api.decode("Node", orjson.dumps(gpus.node(node))))
    for pod in pods:
        cache.intake.apply("Pod", "ADDED", api.decode("Pod", orjson.dumps(gpus.pod(pod, pod.name, 1.0))))
    cache.snapshot(0.0)
    assert not [*cache.unused()], "nothing is left out"
    return cache


def pod(gpus: int, milli: int, models: tuple[str, ...] = ()) -> TracePod:
    return TracePod("p", 1000, 10, gpus, milli, models, "", 0, 0)


def test_shared_gpus_are_registered_with_their_model() -> None:
    devices = mirror(SharedGpus()).snapshot(1.0).device_shares.nodes
    assert [*devices] == ["n"]
    assert [(one.uuid, one.type, one.memory, one.sharers, one.healthy) for one in devices["n"][0].devices] == [
        ("0", "NVIDIA-T4", 0, 0, True),
        ("1", "NVIDIA-T4", 0, 0, True),
    ]


@pytest.mark.parametrize(
    ("asking", "request_of"),
    [
        pytest.param(pod(0, 0), None, id="no GPU"),
        pytest.param(pod(1, 460), DeviceAsk(1, 460, 0, 100), id="a part"),
        pytest.param(pod(1, 461), DeviceAsk(1, 470, 0, 100), id="a part between two per cents"),
        pytest.param(pod(8, 1000), DeviceAsk(8, 1000, 0, 100), id="whole ones"),
    ],
)
def test_a_pod_asks_for_parts_of_shared_gpus(asking: TracePod, request_of: DeviceAsk | None) -> None:
    task = mirror(SharedGpus(), asking).task("trace/p")
    assert task is not None
    assert task.shape.devices == (None if request_of is None else SharedDeviceRequest("vgpu", (request_of,), (0,)))


def test_a_pod_names_its_models_as_types_and_as_labels_of_nodes() -> None:
    task = mirror(SharedGpus(), pod(1, 500, ("T4", "A10"))).task("trace/p")
    assert task is not None
    assert task.shape.devices is not None
    assert task.shape.devices.types == ("A10", "T4")
    assert task.shape.rules is not None


def test_the_scheduler_says_which_shared_gpus_a_pod_gets() -> None:
    machines = MachineTable(ClusterTrace((NODE,), ()))

    def slots(asking: TracePod, text: str) -> tuple[int, ...]:
        return SharedGpus().slots(asking, Bind("u", "trace", "p", "n", "j", annotations=((IDS, text),)), machines)

    assert slots(pod(2, 1000), "1,NVIDIA,0,100:0,NVIDIA,0,100:") == (1, 0)
    assert slots(pod(0, 0), "") == ()
    with pytest.raises(VschedError, match=re.escape(words.no_devices("p", IDS, "GPU-7,NVIDIA,0,50:", "n"))):
        slots(pod(1, 500), "GPU-7,NVIDIA,0,50:")


def test_amounts_say_what_is_left_after_each_pod() -> None:
    machines, gpus = MachineTable(ClusterTrace((NODE, PLAIN), ())), GpuAmounts()
    for node in (NODE, PLAIN):
        gpus.node(node)
    offers = []
    for asking in (pod(1, 600), pod(1, 1000)):
        bind = Bind("u", "trace", "p", "n", "j")
        machines.take(asking, "n", gpus.slots(asking, bind, machines))
        after = gpus.node_after("n", machines)
        assert after is not None
        labels, amounts = after["metadata"]["labels"], after["status"]["allocatable"]
        offers.append((amounts["nvidia.com/gpu"], labels["vsched.io/gpu-largest-free"]))
    assert offers == [("1", "1000"), ("1", "400")]
    assert gpus.node_after("plain", machines) is None
