"""The demo from end to end, interrupted, and with arguments that make no sense."""

from __future__ import annotations

import asyncio
import os
import re
import signal
from dataclasses import replace
from pathlib import Path

import orjson
import pytest
from click.testing import CliRunner

from tests.lab.demo.processes import start
from tests.support.asking import ask
from tests.support.waiting import until_answered
from vsched.cli import cli
from vsched.errors import Unavailable
from vsched.lab.demo import words
from vsched.lab.demo.command import judge
from vsched.lab.demo.mix import CROWDS
from vsched.lab.demo.view import DemoState


async def test_without_a_screen_it_prints_what_happened_as_json_and_leaves_nothing_behind(tmp_path: Path) -> None:
    demo = await start(tmp_path, "--headless", "--seconds", "600")
    assert demo.stderr is not None
    said = await asyncio.wait_for(demo.stderr.readline(), 90.0)
    found = re.fullmatch(r"page: (http://127\.0\.0\.1:\d+/)\n", said.decode())
    assert found is not None

    async def binds() -> bool:
        bound = re.search(r"^vsched_pods_bound_total (\S+)$", (await ask(f"{found[1]}metrics")).body, re.MULTILINE)
        return bound is not None and float(bound[1]) > 8

    await until_answered(binds)
    assert "<title>" in (await ask(found[1], Accept="text/html")).body
    demo.send_signal(signal.SIGINT)
    out, err = await asyncio.wait_for(demo.communicate(), 90.0)
    assert (demo.returncode, err) == (0, b"")
    document = orjson.loads(out)
    assert document["pods_bound"] > 0
    assert document["gangs_bound"] > 0
    assert (document["partial_gangs"], document["errors"]) == (0, 0)
    assert document["latency_ms"]["p50"] <= document["latency_ms"]["p99"]
    assert set(document["queues"]) == {crowd.queue for crowd in CROWDS}
    assert os.listdir(tmp_path) == []


async def test_interrupted_it_says_how_far_it_came_and_clears_up(tmp_path: Path) -> None:
    demo = await start(tmp_path, "--seconds", "60", "--log-file", str(tmp_path / "log"))
    assert demo.stderr is not None
    first = await asyncio.wait_for(demo.stderr.readline(), 90.0)
    assert b"page: http://" in first
    assert b"pods bound" in await asyncio.wait_for(demo.stderr.readline(), 90.0)
    await asyncio.wait_for(demo.stderr.readline(), 90.0)
    demo.send_signal(signal.SIGINT)
    out, _ = await asyncio.wait_for(demo.communicate(), 90.0)
    assert demo.returncode == 0
    assert b"creation to binding" in out
    assert b"\x1b" not in out
    assert os.listdir(tmp_path) == ["log"]
    assert orjson.loads((tmp_path / "log").read_bytes().splitlines()[-1])["event"] == "stopped"


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        pytest.param(["--config", "nowhere.yaml"], "nowhere.yaml", id="a policy that does not exist"),
        pytest.param(["--log-file", "nowhere/at/all.log"], "--log-file: nowhere", id="a log that cannot be written"),
        pytest.param(["--listen-address", "here"], "--listen-address: 'here' is not", id="an address that is none"),
    ],
)
def test_what_cannot_work_is_told_before_anything_starts(arguments: list[str], said: str) -> None:
    result = CliRunner().invoke(cli, ["demo", *arguments])
    assert result.exit_code == 1
    assert said in str(result.exception)
    assert "\n" not in str(result.exception)


@pytest.mark.parametrize("arguments", [["--seconds", "0"], ["--nodes", "0"], ["--seconds", "long"]])
def test_usage_errors_exit_with_2(arguments: list[str]) -> None:
    assert CliRunner().invoke(cli, ["demo", *arguments]).exit_code == 2


def test_an_outcome_that_makes_no_sense_is_a_failure_with_a_reason() -> None:
    state = DemoState(elapsed_seconds=10.0, seconds=20.0, nodes=100, created=2000, bound=1900, sessions=400)
    judge(state)
    with pytest.raises(Unavailable, match=re.escape(words.none_bound(10.0, "the server said no"))):
        judge(replace(state, bound=0, errors=1, last_error="the server said no"))
    with pytest.raises(Unavailable, match=words.partly_bound(2)):
        judge(replace(state, partial_gangs=2))
