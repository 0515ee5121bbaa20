"""Planned starts of a daemon at work, over HTTP: the views, the explanations, the metrics, and dumps that replay."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator
from typing import Any

import aiohttp
import pytest
import pytest_asyncio

from tests.support.planned_starts import Starting, planned_starts
from vsched.cli.plan.live import what_if
from vsched.cli.replay.differences import differences
from vsched.explain.why import words
from vsched.framework.cycle import run_cycle
from vsched.model.dump.cycle import Recording, decode, pack
from vsched.settings import load_text
from vsched.settings.built_in import REGISTRY
from vsched.web.pages.recording import anonymous

pytestmark = pytest.mark.asyncio(loop_scope="module")


@pytest_asyncio.fixture(loop_scope="module", scope="module")
async def starting(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Starting]:
    async with planned_starts(tmp_path_factory.mktemp("policy")) as found:
        yield found


async def asked(starting: Starting, path: str) -> Any:
    async with aiohttp.request("GET", starting.url + path) as answer:
        assert answer.status == 200, await answer.text()
        return await answer.json() if answer.content_type == "application/json" else await answer.text()


async def test_jobs_have_planned_starts_and_who_goes_before_whom(starting: Starting) -> None:
    jobs = await asked(starting, "jobs")
    planned = jobs["default/big"]["planned"]
    assert 3000 < planned["at"] - time.time() <= 3600
    assert (planned["nodes"], planned["node_count"]) == (["n1", "n2"], 2)
    assert planned["ahead"] == ["default/short"]
    assert "; its start is planned for " in jobs["default/big"]["message"]
    assert jobs["default/short"]["ahead_of"] == "default/big"
    assert (jobs["default/late"]["code"], jobs["default/late"]["unplanned"]) == ("Reserved", "DepthReached")
    assert [job["planned"] for key, job in sorted(jobs.items()) if key != "default/big"] == [None] * 3


async def test_explanations_say_who_goes_before_whom(starting: Starting) -> None:
    notes = {
        name: (await asked(starting, f"explain/default/{name}?kind=PodGroup"))["notes"]
        for name in ("big", "short", "late")
    }
    assert words.others_until_its_start("job default/short") in notes["big"]
    assert words.goes_before("default/big") in notes["short"]
    [note] = [note for note in notes["late"] if "not planned" in note]
    assert note.endswith("(DepthReached)")


async def test_metrics_count_them(starting: Starting) -> None:
    lines = (await asked(starting, "metrics")).splitlines()
    for told in ("vsched_planned_starts 1.0", "vsched_backfilled_jobs 1.0", "vsched_reserved_waiting_jobs 1.0"):
        assert told in lines


async def dumped(starting: Starting) -> Recording:
    async with aiohttp.request("GET", f"{starting.url}dump") as answer:
        return decode(await answer.read())


async def test_a_dump_that_is_run_again_plans_the_same_starts(starting: Starting) -> None:
    recording = await dumped(starting)
    assert recording.report is not None
    for found in (recording, decode(pack(anonymous(recording, REGISTRY)))):
        policy = load_text(found.policy, "the recorded policy", REGISTRY).policy
        again = run_cycle(found.snapshot, policy, REGISTRY)
        assert found.report is not None
        assert differences(found.report, again) == []
        assert [one.planned.node_count for one in again.jobs.values() if one.planned is not None] == [2]
    assert (
        recording.report.jobs["default/big"].planned == starting.daemon.telemetry.findings.jobs["default/big"].planned
    )


async def test_a_what_if_of_the_daemon_keeps_the_planned_starts(starting: Starting) -> None:
    question = what_if(await dumped(starting), [])
    planned = starting.daemon.telemetry.findings.jobs["default/big"].planned
    assert planned is not None
    for answer in (question.today, question.then):
        assert answer.reports[-1].jobs["default/big"].planned == planned
        assert answer.reports[-1].jobs["default/late"].code == "Reserved"
