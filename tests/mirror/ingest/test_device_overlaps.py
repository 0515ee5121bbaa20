"""Nodes where several device plugins offer GPUs: what is said of them."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support import builders as make
from tests.support.deviceshare import devices, vgpu_node
from tests.support.mirrors import World
from vsched.mirror.ingest.words import devices as words

Obj = dict[str, Any]
WHOLE, MEMORY, NUMBER = "nvidia.com/gpu", "volcano.sh/gpu-memory", "volcano.sh/gpu-number"
END = words.EACH_KIND_BY_ITSELF


def node(vgpus: int, present: str = "", **amounts: str) -> Obj:
    found = vgpu_node("n1", devices(vgpus), status={"allocatable": amounts, "capacity": amounts})
    return make.merged(found, {"metadata": {"labels": {"nvidia.com/gpu.count": present}}} if present else {})


@pytest.mark.parametrize(
    ("found", "said"),
    [
        pytest.param(node(2, **{WHOLE: "4"}), "2 vGPUs and 4 nvidia.com/gpu", id="vGPUs and whole GPUs"),
        pytest.param(node(2, "4", **{WHOLE: "4"}), "2 vGPUs and 4 nvidia.com/gpu of 4 GPUs", id="more than there are"),
        pytest.param(node(2, "6", **{WHOLE: "4"}), "", id="as many as there are: each plugin has its own"),
        pytest.param(
            node(1, **{MEMORY: "32", NUMBER: "2"}), "2 shared GPUs and 1 vGPUs", id="vGPUs and GPUs shared by memory"
        ),
        pytest.param(
            node(0, **{MEMORY: "32", NUMBER: "2", WHOLE: "2"}),
            "2 shared GPUs and 2 nvidia.com/gpu",
            id="and whole ones",
        ),
        pytest.param(node(2, **{WHOLE: "0"}), "", id="none of a plugin that has left"),
        pytest.param(node(2), "", id="vGPUs alone"),
        pytest.param(node(0, **{WHOLE: "4"}), "", id="whole GPUs alone"),
    ],
)
def test_gpus_that_may_be_offered_twice(found: Obj, said: str) -> None:
    world = World(found)
    told = [(one.message, one.reason, one.left_out) for one in world.cache.blemished.values()]
    assert told == ([(f"Node n1: {said}; {END}", "SeveralDevicePlugins", False)] if said else [])
