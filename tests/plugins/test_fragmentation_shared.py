"""fragmentation with devices that pods share: which node and which device, and what is left of it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.support.deviceshare import IDS, asking, devices, vgpu_node
from tests.support.plans import NOW, manifests, mirror
from vsched.framework.jobs import JobView
from vsched.framework.ledger.usage import SessionUsage
from vsched.framework.points.extension import SessionContext
from vsched.model.deviceshare.records import WHOLE
from vsched.model.nodes.table import NodeTable
from vsched.model.pods.task import Task
from vsched.plugins.devices.free import FreeDevices
from vsched.plugins.fragmentation import Fragmentation, FragmentationArgs

Obj = dict[str, Any]


def pods(line: str, **amounts: Any) -> list[Obj]:
    """A job whose pods ask for shared devices; ``ids`` are those that they hold."""
    ids = amounts.pop("ids", "")
    found = manifests(line)
    for one in found:
        if one["kind"] == "Pod":
            one["spec"]["containers"] = [asking(**amounts)]
            one["metadata"].setdefault("annotations", {}).update({IDS: ids} if ids else {})
    return found


class Session:
    """What the plugin sees of these objects."""

    def __init__(self, *objects: Obj) -> None:
        self.snapshot = mirror(objects).snapshot(NOW)
        self.nodes: NodeTable = self.snapshot.nodes.copy()
        self.jobs = {key: JobView(job) for key, job in self.snapshot.jobs.items()}

    def opened(self, **args: Any) -> Fragmentation:
        plugin = Fragmentation(FragmentationArgs(**args))
        plugin.open(SessionContext(self.snapshot, self.nodes, self.jobs, SessionUsage(self.snapshot), self.jobs.get))
        return plugin

    def task(self, name: str) -> Task:
        return next(task for job in self.snapshot.jobs.values() for task in job.tasks.values() if task.name == name)

    def scores(self, plugin: Fragmentation, name: str) -> list[float]:
        task, everywhere = self.task(name), np.ones(len(self.nodes), np.bool_)
        found = plugin.score(task.shape, self.nodes, slice(None))
        if found is None:
            found = plugin.relative_score(task.shape, task.labels, self.nodes, everywhere)
        assert found is not None
        scores: list[float] = found.tolist()
        return scores

    def free(self) -> FreeDevices:
        return FreeDevices(self.nodes, ["nvidia.com/gpu"], self.snapshot.device_shares)


def left_on(free: FreeDevices, row: int) -> list[int]:
    found: list[int] = free.at(np.array([row]), np.zeros(9, np.int64)).devices[:, 0].tolist()
    return found


TWO = [vgpu_node("a", devices(2)), vgpu_node("b", devices(1))]
HALF = {"vgpu_number": 1, "vgpu_cores": 50, "vgpu_memory": 1000}
ALL = {"vgpu_number": 1, "vgpu_cores": 100, "vgpu_memory": 32768}


@pytest.mark.parametrize("measure", ["gradient", "filling"])
def test_a_part_goes_where_a_part_is_gone(measure: str) -> None:
    held = pods("job ns/held min=0 phase=Running\npods ns/held 1 on=b", **HALF, ids="GPU-0,NVIDIA,1000,50:")
    session = Session(*TWO, *held, *pods("job ns/new pods=1", **HALF), *pods("job ns/whole pods=9 min=9", **ALL))
    whole, part = session.scores(session.opened(measure=measure), "new.0")
    assert part > whole


@pytest.mark.parametrize("measure", ["gradient", "filling"])
def test_placements_of_the_session_count(measure: str) -> None:
    session = Session(*TWO, *pods("job ns/new pods=2", **HALF), *pods("job ns/whole pods=9 min=9", **ALL))
    plugin = session.opened(measure=measure)
    job = session.jobs["ns/new"]
    before = session.scores(plugin, "new.1")
    assert before[0] == before[1] or measure == "filling"
    plugin.on_allocate(job, session.task("new.0"), 1)
    after = session.scores(plugin, "new.1")
    assert after[1] > after[0]
    plugin.on_release(job, session.task("new.0"), 1)
    assert session.scores(plugin, "new.1") == before


def test_placements_before_the_first_score_count() -> None:
    session = Session(*TWO, *pods("job ns/new pods=2", **HALF), *pods("job ns/whole pods=9 min=9", **ALL))
    plugin = session.opened()
    plugin.on_allocate(session.jobs["ns/new"], session.task("new.0"), 1)
    scores = session.scores(plugin, "new.1")
    assert scores[1] > scores[0]


@pytest.mark.parametrize(
    ("amounts", "left"),
    [
        pytest.param({"vgpu_number": 1, "vgpu_cores": 30, "vgpu_memory": 1000}, 700, id="of computing power"),
        pytest.param(
            {"vgpu_number": 1, "vgpu_cores": 30, "vgpu_memory": 16384}, 500, id="or of memory, if that is less"
        ),
        pytest.param({"vgpu_number": 1, "vgpu_memory_percentage": 25}, 750, id="also in per cent"),
    ],
)
def test_what_a_pod_leaves_of_a_device(amounts: Obj, left: int) -> None:
    session = Session(*TWO, *pods("job ns/new pods=1", **amounts))
    free, task = session.free(), session.task("new.0")
    asked, rows = free.asked(task.shape), np.array([1, 0])
    assert asked.want.number == 1
    assert asked.want.thousandths == WHOLE - left
    found, room = free.left(asked, rows, free.at(rows, np.zeros(9, np.int64)))
    assert room.tolist() == [True, True]
    assert [sorted(column) for column in found.devices.T.tolist()] == [[0, left], [left, WHOLE]]
    free.take(session.jobs["ns/new"], task, 1)
    assert left_on(free, 1) == [left, 0]
    assert left_on(free, 0) == [WHOLE, WHOLE]


def test_memory_does_not_count_where_no_device_says_how_much_it_has() -> None:
    nodes = [vgpu_node("a", devices(2, memory=0)), vgpu_node("b", devices(1, memory=0))]
    session = Session(*nodes, *pods("job ns/new pods=1", vgpu_number=1, vgpu_cores=30))
    free, task = session.free(), session.task("new.0")
    asked, rows = free.asked(task.shape), np.array([1, 0])
    assert asked.want.thousandths == 300
    assert free.left(asked, rows, free.at(rows, np.zeros(9, np.int64)))[0].devices.T.tolist() == [
        [700, 0],
        [WHOLE, 700],
    ]


def test_whole_devices_and_shared_ones_are_told_apart() -> None:
    plain = manifests("node c nvidia=4\njob ns/plain pods=1 nvidia=2 cpu=1")
    session = Session(*TWO, *plain, *pods("job ns/new pods=1", **HALF))
    free = session.free()
    assert free.count.tolist() == [2, 1, 4]
    assert free.accepts(session.task("new.0").shape).tolist() == [True, True, False]
    assert free.accepts(session.task("plain.0").shape).tolist() == [False, False, True]
    assert [left_on(free, row) for row in range(3)] == [[WHOLE] * 2 + [0] * 2, [WHOLE] + [0] * 3, [WHOLE] * 4]


@pytest.mark.parametrize(
    ("instance", "left"),
    [
        pytest.param("group4-0", 0, id="all of it is taken"),
        pytest.param("group3-0", 500, id="the other half"),
        pytest.param("group2-0", 250, id="no more than the largest instance that is free"),
    ],
)
def test_what_is_left_of_a_gpu_that_is_divided_by_mig(instance: str, left: int) -> None:
    gpu = devices(1, model="NVIDIA-A100-SXM4-40GB", mode="mig")
    ids = f"GPU-0[{instance}],NVIDIA,1,0:"
    session = Session(vgpu_node("a", gpu), *pods("job ns/j min=0\npods ns/j 1 on=a", vgpu_number=1, ids=ids))
    assert left_on(session.free(), 0) == [left]


@pytest.mark.parametrize(
    ("amounts", "room"),
    [
        pytest.param({"vgpu_number": 1, "vgpu_cores": 100}, [True, False], id="a whole device"),
        pytest.param({"vgpu_number": 2, "vgpu_cores": 50}, [True, False], id="two, where there is one"),
        pytest.param({"vgpu_number": 1, "vgpu_cores": 60}, [True, True], id="what is left of one"),
        pytest.param({"vgpu_number": 1, "vgpu_cores": 61}, [True, False], id="a bit more"),
    ],
)
def test_where_a_pod_has_room(amounts: Obj, room: list[bool]) -> None:
    held = pods(
        "job ns/held min=0 phase=Running\npods ns/held 1 on=b", vgpu_number=1, vgpu_cores=40, ids="GPU-0,NVIDIA,0,40:"
    )
    session = Session(*TWO, *held, *pods("job ns/new pods=1", **amounts))
    free, rows = session.free(), np.array([0, 1])
    found = free.left(free.asked(session.task("new.0").shape), rows, free.at(rows, np.zeros(9, np.int64)))
    assert found[1].tolist() == room


@pytest.mark.parametrize(
    ("words", "nodes"),
    [
        pytest.param([], [True, True, False], id="any devices"),
        pytest.param(["t4", "p100"], [True, False, False], id="a word of the type, as a pod's annotation has it"),
        pytest.param(["A10"], [False, False, False], id="a type that no node has"),
    ],
)
def test_nodes_with_devices_of_a_type(words: list[str], nodes: list[bool]) -> None:
    some = [vgpu_node("a", devices(2, model="NVIDIA-T4")), vgpu_node("b", devices(1)), *manifests("node c")]
    assert Session(*some).free().with_types(words).tolist() == nodes
