"""Devices with a NoExecute taint: who uses them has to go, unless the allocation tolerates it."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import pytest

from tests.sim.controllers.claimed import allocate, bind, cluster, node, phase, pod, reasons
from tests.support import devices
from tests.support.waiting import until
from vsched.sim.cluster import Cluster
from vsched.sim.controllers.devices.objects import RULES
from vsched.sim.controllers.devices.taints import tolerated_seconds

Obj = dict[str, Any]
TAINT = {"key": "broken", "value": "yes", "effect": "NoExecute"}


@pytest.fixture
async def running() -> AsyncIterator[Cluster]:
    async with cluster([node("na")]) as found:
        found.apply([devices.resource_slice("na", 2), devices.resource_claim(namespace="default")])
        yield found


def user(name: str = "p") -> Obj:
    return pod(name, "na", resourceClaims=devices.pod_claims(gpu="gpus"))


def taint(running: Cluster, *taints: str) -> None:
    """Taints the first device."""
    listed = [devices.device("gpu-0", taints=taints), devices.device("gpu-1")]
    running.apply([devices.resource_slice("na", listed, generation=2)])


async def started(running: Cluster, **result: Any) -> None:
    running.apply([user()])
    allocate(running, "gpus", "na", "gpu-0", pods=["p"], result=result)
    await until(lambda: phase(running, "pods", "p") == "Running")


async def test_a_pod_leaves_a_device_that_is_tainted(running: Cluster) -> None:
    await started(running)
    taint(running, "broken=yes:NoExecute")
    await until(lambda: phase(running, "pods", "p") is None)
    assert reasons(running, "p")["DeviceTaintManagerEviction"] == "Marking for deletion Pod default/p"


@pytest.mark.parametrize("effect", ["NoSchedule", "None"])
async def test_other_effects_evict_nobody(running: Cluster, effect: str) -> None:
    await started(running)
    taint(running, f"broken=yes:{effect}")
    assert await running.settle()
    assert phase(running, "pods", "p") == "Running"


async def test_who_tolerates_the_taint_stays(running: Cluster) -> None:
    await started(running, tolerations=[{"key": "broken", "operator": "Exists"}])
    taint(running, "broken=yes:NoExecute")
    assert await running.settle()
    assert phase(running, "pods", "p") == "Running"


async def test_who_comes_to_a_tainted_device_goes(running: Cluster) -> None:
    taint(running, "broken=yes:NoExecute")
    running.apply([pod(resourceClaims=devices.pod_claims(gpu="gpus"))])
    allocate(running, "gpus", "na", "gpu-0", pods=["p"])
    assert await running.settle()
    assert phase(running, "pods", "p") == "Pending", "a pod without a node stays"
    bind(running, "p", "na")
    await until(lambda: phase(running, "pods", "p") is None)


async def test_a_pod_leaves_a_device_that_a_rule_taints(running: Cluster) -> None:
    await started(running)
    running.apply([devices.taint_rule("one", "broken=yes:NoSchedule", pool="na")])
    running.apply([devices.taint_rule("two", "broken=yes:NoExecute", device="gpu-1")])
    assert await running.settle()
    assert phase(running, "pods", "p") == "Running", "one evicts nobody, the other is about another device"
    running.apply([devices.taint_rule("two", "broken=yes:NoExecute", driver=devices.DRIVER, device="gpu-0")])
    await until(lambda: phase(running, "pods", "p") is None)
    [rule] = [each for each in running.client.list(RULES) if each["metadata"]["name"] == "two"]
    assert rule["spec"]["taint"]["timeAdded"] == rule["metadata"]["creationTimestamp"]


@pytest.mark.parametrize("effect", ["NoSchedule", "NoExecute"])
async def test_who_comes_to_a_device_that_a_rule_taints_goes_if_it_evicts(running: Cluster, effect: str) -> None:
    running.apply([devices.taint_rule("one", f"broken=yes:{effect}")])
    running.apply([user()])
    allocate(running, "gpus", "na", "gpu-0", pods=["p"])
    expected = "Running" if effect == "NoSchedule" else None
    await until(lambda: phase(running, "pods", "p") == expected)


@pytest.mark.parametrize(
    ("tolerations", "expected"),
    [
        pytest.param([], 0.0, id="not at all"),
        pytest.param([{"key": "other", "operator": "Exists"}], 0.0, id="not another taint"),
        pytest.param([{"operator": "Exists"}], None, id="every taint"),
        pytest.param([{"key": "broken", "operator": "Equal", "value": "yes"}], None, id="this one"),
        pytest.param([{"key": "broken", "operator": "Equal", "value": "no"}], 0.0, id="not that value"),
        pytest.param([{"operator": "Exists", "effect": "NoSchedule"}], 0.0, id="not that effect"),
        pytest.param(
            [{"operator": "Exists", "tolerationSeconds": 9}, {"operator": "Exists", "tolerationSeconds": 5}],
            5.0,
            id="the shortest",
        ),
    ],
)
def test_how_long_a_taint_is_tolerated(tolerations: list[Obj], expected: float | None) -> None:
    assert tolerated_seconds({"tolerations": tolerations}, TAINT) == expected
