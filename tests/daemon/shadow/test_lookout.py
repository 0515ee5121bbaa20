"""What a shadow has found is served, measured and logged; a log that cannot be written costs nothing else."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import aiohttp
import pytest
from jsonschema import Draft202012Validator

from tests.daemon.shadow.stage import BOUNDS, stage
from tests.support.waiting import until
from vsched.api import Pod, read
from vsched.clock import FakeClock
from vsched.daemon.observe.telemetry import Telemetry
from vsched.daemon.shadow.lookout import EvictionMarks, Lookout
from vsched.daemon.shadow.segments import FindingLog, logged
from vsched.kube.watch.deltas import Delta
from vsched.shadow.comparing import ShadowComparison
from vsched.shadow.findings import ShadowBegan
from vsched.shadow.summary import Summary
from vsched.web.words import answers as words

LISTEN = {"listen_address": "127.0.0.1:0"}


async def asked(port: int, path: str) -> tuple[int, Any]:
    async with aiohttp.ClientSession() as session, session.get(f"http://127.0.0.1:{port}{path}") as answer:
        return answer.status, await (answer.json() if answer.content_type == "application/json" else answer.text())


async def test_findings_are_served_as_the_document_says_and_since_a_time_from_the_log(tmp_path: Path) -> None:
    async with stage(tmp_path, **LISTEN) as at:
        port = at.shadow.ports["--listen-address"]
        at.submit("early", 1)
        await at.session(1.0)
        await at.session(5.0)
        await at.bind("early-0", "n0")
        await at.session(1.0)
        at.submit("late", 1)
        await at.session(10.0)
        await until(lambda: not at.shadow.lookout._pending)
        status, found = await asked(port, "/shadow")
        assert status == 200
        assert [one["job"] for one in found["later"]] == ["default/early"]
        assert [one["job"] for one in found["waiting"]] == ["default/late"]
        _, document = await asked(port, "/openapi.json")
        schema = document["paths"]["/shadow"]["get"]["responses"]["200"]["content"]["application/json"]["schema"]
        Draft202012Validator({**schema, "components": document["components"]}).validate(found)
        status, recent = await asked(port, "/shadow?since=5")
        assert status == 200
        assert recent["later"] == []
        assert recent["waiting"] == found["waiting"]
        assert recent["until"] == found["until"]
        assert (await asked(port, "/shadow?since=ever"))[0] == 400
        _, metrics = await asked(port, "/metrics")
        for line in (
            'vsched_shadow_gangs{name="starting"} 1.0',
            'vsched_shadow_gangs{name="waiting"} 1.0',
            'vsched_shadow_starts_total{name="later"} 1.0',
            "vsched_shadow_later_seconds_total 6.0",
            'vsched_shadow_idle_node_seconds_total{name="cpu"} 1.5',
            "vsched_shadow_lost_findings_total 0.0",
        ):
            assert f"\n{line}\n" in metrics.replace('{name=""}', "")


async def test_without_a_log_there_is_no_since() -> None:
    async with stage(None, **LISTEN) as at:
        await at.session(1.0)
        port = at.shadow.ports["--listen-address"]
        assert await asked(port, "/shadow?since=60") == (400, {"error": words.NO_SHADOW_LOG})
        assert (await asked(port, "/shadow"))[1]["limits"]


async def test_what_cannot_be_written_is_written_later(tmp_path: Path) -> None:
    clock = FakeClock()
    log = FindingLog(tmp_path / "log", 10_000)
    lookout = Lookout(ShadowBegan(1.0), ShadowComparison(BOUNDS), Summary(), Telemetry(clock), log)
    (tmp_path / "log").rename(tmp_path / "away")
    await lookout.flush()
    (tmp_path / "away").rename(tmp_path / "log")
    lookout.go_on(ShadowBegan(2.0, policy="another"))
    lookout.go_on(ShadowBegan(3.0, policy="another"))
    await lookout.flush()
    assert list(logged(tmp_path / "log")) == [ShadowBegan(1.0), ShadowBegan(2.0, policy="another")]
    assert lookout.numbers()["vsched_shadow_lost_findings_total"] == {"": 0.0}
    await lookout.end()


async def test_findings_without_room_are_counted(tmp_path: Path) -> None:
    log = FindingLog(tmp_path, 10)
    lookout = Lookout(ShadowBegan(1.0), ShadowComparison(BOUNDS), Summary(), Telemetry(FakeClock()), log)
    await lookout.flush()
    assert lookout.numbers()["vsched_shadow_lost_findings_total"] == {"": 1.0}


CONDITIONS: dict[str, tuple[dict[str, str], bool]] = {
    "evicted through the API": (
        {"type": "DisruptionTarget", "status": "True", "reason": "EvictionByEvictionAPI"},
        True,
    ),
    "preempted by kube-scheduler": (
        {"type": "DisruptionTarget", "status": "True", "reason": "PreemptionByScheduler"},
        True,
    ),
    "evicted by Volcano": ({"type": "Ready", "status": "False", "reason": "Evict"}, True),
    "its node was lost": ({"type": "DisruptionTarget", "status": "True", "reason": "DeletionByTaintManager"}, False),
    "spared after all": ({"type": "DisruptionTarget", "status": "False", "reason": "PreemptionByScheduler"}, False),
    "not ready": ({"type": "Ready", "status": "False", "reason": "ContainersNotReady"}, False),
}


@pytest.mark.parametrize(("condition", "evicted"), CONDITIONS.values(), ids=CONDITIONS.keys())
def test_evictions_are_known_by_conditions(condition: dict[str, str], evicted: bool) -> None:
    found: list[str] = []
    text = json.dumps({"metadata": {"uid": "u"}, "spec": {"nodeName": "n1"}, "status": {"conditions": [condition]}})
    pod = read("Pod", text.encode())
    assert isinstance(pod, Pod)
    EvictionMarks(found.append).apply(Delta.MODIFIED, pod)
    assert found == (["u"] if evicted else [])
