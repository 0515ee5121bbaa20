"""What ``kubectl get`` prints of our kinds, by the real kubectl."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from tests.support.kubectl import Kubectl
from tests.support.running import gang, node, podgroup, queue_status, scheduling, status_of
from tests.support.waiting import until
from vsched.sim.cluster import Cluster

pytestmark = pytest.mark.kubectl

ARBITRATOR = "kube-arbitrator.incubator.k8s.io/v1"
SECONDS = 60.0


def claim(kind: str, name: str, spec: dict[str, Any], status: dict[str, Any]) -> dict[str, Any]:
    namespace = {} if kind == "Bucket" else {"namespace": "default"}
    metadata = {"name": name, **namespace}
    return {"apiVersion": ARBITRATOR, "kind": kind, "metadata": metadata, "spec": spec, "status": status}


def said(kind: str, status: str, reason: str, message: str = "") -> dict[str, Any]:
    return {"type": kind, "status": status, "reason": reason, "message": message}


COMMAND = {
    "apiVersion": "bus.volcano.sh/v1alpha1",
    "kind": "Command",
    "metadata": {"name": "c", "namespace": "default"},
    "action": "CloseQueue",
    "reason": "Maintenance",
    "message": "until Monday",
    "target": {"apiVersion": "scheduling.volcano.sh/v1beta1", "kind": "Queue", "name": "q", "uid": "u"},
}
ARBITRATED = [
    claim("Consumer", "defaults", {"reserved": {"cpu": "1"}}, {"conditions": [said("Accepted", "False", "Invalid")]}),
    claim(
        "Allocation",
        "defaults",
        {"deserved": {"cpu": "2"}},
        {
            "allocated": {"cpu": "3"},
            "conditions": [said("Overused", "True", "HoldsMoreThanDeserved", "holds 1 cpu more")],
        },
    ),
    claim("Bucket", "big", {"weight": 3}, {"conditions": [said("Accepted", "False", "Invalid")]}),
]


@pytest.fixture
async def cluster(tmp_path: Path) -> AsyncIterator[Cluster]:
    async with Cluster([node("n1")]) as cluster:
        cluster.write_kubeconfig(tmp_path / "config")
        yield cluster


def columns(printed: str) -> tuple[list[str], list[str]]:
    """The headings, and the cells of the first row; cells are two blanks apart."""
    headings, row = (line.rstrip() for line in printed.splitlines()[:2])
    return headings.split(), [cell.strip() for cell in row.split("   ") if cell.strip()]


async def test_podgroups_say_why_they_wait(cluster: Cluster, tmp_path: Path) -> None:
    kubectl = Kubectl(tmp_path)
    cluster.apply([*gang("runs", 1), *gang("waits", 2, cpu="8")])
    async with scheduling(cluster.url):
        await until(lambda: status_of(cluster, "runs").get("phase") == "Running", SECONDS)
        await until(lambda: status_of(cluster, "waits").get("conditions"), SECONDS)
        headings, row = columns(await kubectl("get", "pg", "waits"))
        assert headings == ["NAME", "STATUS", "MINMEMBER", "RUNNINGS", "AGE", "QUEUE"]
        assert (row[:3], row[-1]) == (["waits", "Inqueue", "2"], "default")
        wide = await kubectl("get", "pg", "waits", "-o", "wide")
        assert columns(wide)[0][-2:] == ["REASON", "MESSAGE"]
        [condition] = status_of(cluster, "waits")["conditions"]
        assert columns(wide)[1][-2:] == [condition["reason"], condition["message"]]
        assert " " not in condition["reason"]
        described = await kubectl("describe", "pg", "waits")
        assert condition["message"] in described
        # What was said before it started is there, and no longer true: it is not shown.
        assert "NotEnough" not in await kubectl("get", "pg", "runs", "-o", "wide")
        assert "podgroup.scheduling.volcano.sh/waits" in await kubectl("get", "scheduling", "-o", "name")


async def test_what_was_true_before_it_started_is_not_shown(cluster: Cluster, tmp_path: Path) -> None:
    group = podgroup("g", 1)
    group["status"] = {
        "phase": "Running",
        "conditions": [said("Unschedulable", "False", "NotEnoughResources", "old"), said("Scheduled", "True", "Ready")],
    }
    cluster.apply([group])
    wide = await Kubectl(tmp_path)("get", "pg", "g", "-o", "wide")
    assert columns(wide)[1][-1] == "Ready"
    assert "old" not in wide


async def test_queues_commands_and_the_division(cluster: Cluster, tmp_path: Path) -> None:
    kubectl = Kubectl(tmp_path)
    async with scheduling(cluster.url, queue_controller=True):
        await until(lambda: queue_status(cluster, "default").get("state"), SECONDS)
        headings, row = columns(await kubectl("get", "q", "default"))
        assert headings == ["NAME", "WEIGHT", "STATE", "PARENT", "RUNNING", "INQUEUE", "PENDING", "CPU", "AGE"]
        assert row[:3] == ["default", "1", "Open"]
        wide, _ = columns(await kubectl("get", "q", "-o", "wide"))
        assert {"PROBLEM", "MESSAGE", "PRIORITY", "DESERVED", "CAPABILITY"} <= set(wide)
    cluster.apply([COMMAND, *ARBITRATED])
    assert "CloseQueue" in await kubectl("get", "commands")
    assert "until Monday" in await kubectl("get", "commands", "-o", "wide")
    assert "Invalid" in await kubectl("get", "consumers", "-o", "wide")
    assert "holds 1 cpu more" in await kubectl("get", "alloc", "-o", "wide")
    assert columns(await kubectl("get", "bkt"))[0][-2:] == ["ACCEPTED", "AGE"]
    assert "Invalid" in await kubectl("get", "bkt", "-o", "wide")
