"""seniority, tried with ``vsched plan`` on small clusters."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

HERE = Path(__file__).parent
NOW = "2026-03-01T12:00:00Z"


def node(cpu: int) -> dict[str, Any]:
    amounts = {"cpu": str(cpu), "memory": "16Gi", "pods": "110"}
    status = {"allocatable": amounts, "capacity": amounts, "conditions": [{"type": "Ready", "status": "True"}]}
    return {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n1"}, "status": status}


URGENT = {
    "apiVersion": "scheduling.k8s.io/v1",
    "kind": "PriorityClass",
    "metadata": {"name": "urgent"},
    "value": 1000,
}


def job(name: str, created: str, *, priority_class: str = "", started: str = "") -> list[dict[str, Any]]:
    """A PodGroup with one pod of one core, which runs if it says since when."""
    group = {
        "apiVersion": "scheduling.volcano.sh/v1beta1",
        "kind": "PodGroup",
        "metadata": {"namespace": "team", "name": name, "creationTimestamp": created},
        "spec": {"queue": "default", "minMember": 1, "priorityClassName": priority_class},
        "status": {"phase": "Running" if started else "Inqueue"},
    }
    metadata = {
        "namespace": "team",
        "name": f"{name}-0",
        "creationTimestamp": created,
        "annotations": {"scheduling.k8s.io/group-name": name},
    }
    containers = [{"name": "main", "image": "none", "resources": {"requests": {"cpu": "1"}}}]
    spec: dict[str, Any] = {"schedulerName": "vsched", "containers": containers}
    status = {"phase": "Pending"}
    if started:
        spec["nodeName"], status = "n1", {"phase": "Running", "startTime": started}
    return [group, {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec, "status": status}]


def plan(tmp_path: Path, *objects: dict[str, Any]) -> dict[str, Any]:
    """What one session decides about these."""
    cluster = tmp_path / "cluster.json"
    cluster.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": list(objects)}), encoding="utf-8")
    words = ["plan", "-f", str(cluster), "--config", str(HERE / "policy.yaml"), "--now", NOW, "-o", "json"]
    done = subprocess.run([sys.executable, "-m", "vsched", *words], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    cycle: dict[str, Any] = json.loads(done.stdout)["cycles"][0]
    return cycle


def test_who_has_waited_long_goes_before_who_is_urgent(tmp_path: Path) -> None:
    long = job("waited-long", "2026-03-01T11:50:00Z")
    urgent = job("urgent", "2026-03-01T11:59:00Z", priority_class="urgent")

    decided = plan(tmp_path, node(1), URGENT, *urgent, *long)

    assert [bind["pod"] for bind in decided["binds"]] == ["team/waited-long-0"]


@pytest.mark.parametrize(
    ("started", "evicted"),
    [
        pytest.param("2026-03-01T11:30:00Z", ["team/runs-0"], id="who has run for half an hour leaves"),
        pytest.param("2026-03-01T08:00:00Z", [], id="who has run for four hours stays"),
    ],
)
def test_who_leaves_for_an_urgent_job(tmp_path: Path, started: str, evicted: list[str]) -> None:
    runs = job("runs", started, started=started)
    urgent = job("urgent", "2026-03-01T11:59:00Z", priority_class="urgent")

    decided = plan(tmp_path, node(1), URGENT, *runs, *urgent)

    assert [eviction["pod"] for eviction in decided["evictions"]] == evicted
