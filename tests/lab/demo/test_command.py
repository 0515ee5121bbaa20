"""The demo as a person meets it, what it shows of a fixed state, and what it submits."""

from __future__ import annotations

import asyncio
import os
import re
import signal
import sys
from asyncio.subprocess import PIPE, Process
from collections import Counter
from dataclasses import replace
from pathlib import Path

import orjson
import pytest
from click.testing import CliRunner
from rich.console import Console

from vsched.cli import cli
from vsched.cli.show.drawing import bar
from vsched.errors import Unavailable
from vsched.lab.demo.command import judge
from vsched.lab.demo.mix import BACKLOG, CROWDS, NODE_CPUS, Mix
from vsched.lab.demo.view import LOOK, DemoState, NamespaceLine, QueueLine, as_document, as_line, as_live

STATE = DemoState(
    elapsed_seconds=10.0,
    seconds=20.0,
    nodes=100,
    nodes_used=97,
    cpus=3200,
    created=2000,
    bound=1900,
    finished=1500,
    per_second=180,
    peak_per_second=640,
    gangs_bound=321,
    latency_ms={"p50": 12.3, "p99": 2345.6},
    queues=(
        QueueLine("research", 3, 1.04, 1600.0, 1540.0, 300, 55, {"p50": 20.0, "p99": 900.0}),
        QueueLine("batch", 1, 0.5, 800.0, 1600.0, 150, 45, {"p50": 30.0, "p99": 3000.0}),
    ),
    namespaces=(NamespaceLine("team-a", 3, 1200.0, 80), NamespaceLine("team-b", 2, 1200.0, 20)),
    decisions=("team-a/gang-7 on 3 nodes after 20 ms",),
    sessions=400,
    page="http://127.0.0.1:8080/",
)


async def start(tmp_path: Path, *arguments: str) -> Process:
    return await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "vsched", "demo", "--nodes", "5", *arguments),
        stdout=PIPE,
        stderr=PIPE,
        env={**os.environ, "TMPDIR": str(tmp_path)},
    )


async def test_without_a_screen_it_prints_what_happened_as_json_and_leaves_nothing_behind(tmp_path: Path) -> None:
    demo = await start(tmp_path, "--headless", "--seconds", "1.5")
    out, err = await asyncio.wait_for(demo.communicate(), 90.0)
    assert demo.returncode == 0
    assert re.fullmatch(rb"page: http://127\.0\.0\.1:\d+/\n", err)
    told = orjson.loads(out)
    assert told["pods_bound"] > 0
    assert told["gangs_bound"] > 0
    assert (told["partial_gangs"], told["errors"]) == (0, 0)
    assert told["latency_ms"]["p50"] <= told["latency_ms"]["p99"]
    assert set(told["queues"]) == {crowd.queue for crowd in CROWDS}
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
    judge(STATE)
    with pytest.raises(Unavailable, match=r"no pod was bound within 10\.0 s: the server said no"):
        judge(replace(STATE, bound=0, errors=1, last_error="the server said no"))
    with pytest.raises(Unavailable, match="2 gangs were left"):
        judge(replace(STATE, partial_gangs=2))


class TestWhatIsShown:
    def test_as_data(self) -> None:
        told = as_document(STATE)
        assert told["pods_waiting"] == 100
        assert told["pods_per_second"] == 190.0
        assert told["pods_per_second_peak"] == 640
        assert told["queues"]["batch"]["deserved_cpu"] == 1600.0
        assert "last_error" not in told
        assert as_document(replace(STATE, errors=1, last_error="oh"))["last_error"] == "oh"

    def test_as_a_line(self) -> None:
        assert as_line(STATE) == (
            " 10.0 s  1900 pods bound, 180/s, 100 waiting, 97/100 nodes, latency p50 12 ms / p99 2.3 s; "
            "cpus research 1600/1540, batch 800/1600"
        )

    def test_as_a_picture(self) -> None:
        console = Console(width=140, no_color=True)
        with console.capture() as capture:
            console.print(as_live(replace(STATE, errors=2, last_error="oh")))
        lines = capture.get().splitlines()
        assert "97/100 nodes used   10 s left" in lines[0]
        assert "180 pods/s (at most 640)   1,900 bound" in lines[1]
        research = next(line for line in lines if line.startswith("research"))
        assert research.split()[:3] == ["research", "3", "104%"]
        assert research.count("█") + research.count("·") + research.count("┃") == LOOK.cells
        assert any("team-a/gang-7 on 3 nodes" in line for line in lines)
        assert "2 errors, the last: oh" in lines[-1]

    @pytest.mark.parametrize(
        ("filled", "mark", "full", "at"),
        [
            pytest.param(0.0, 0.5, 0, 14, id="nothing"),
            pytest.param(0.5, 0.25, 13, 7, id="more than deserved: the mark covers one"),
            pytest.param(1.7, 2.0, LOOK.cells - 1, LOOK.cells - 1, id="beyond the cluster stays within the bar"),
        ],
    )
    def test_a_bar(self, filled: float, mark: float, full: int, at: int) -> None:
        text = bar(LOOK, 1.0, filled, fair=mark).plain
        assert len(text) == LOOK.cells
        assert (text.count("█"), text.index("┃")) == (full, at)


class TestTheMix:
    def test_the_same_seed_draws_the_same_gangs(self) -> None:
        first, again, other = (list(Mix(50, 10.0, seed).wanted({})) for seed in (7, 7, 8))
        assert first == again
        assert first != other

    @pytest.mark.parametrize("nodes", [1, 3, 20, 100, 1000])
    def test_a_gang_fits_the_share_of_the_smallest_queue_and_its_pods_a_node(self, nodes: int) -> None:
        mix = Mix(nodes, 10.0, 1)
        for gang, objects in mix.wanted({}):
            assert len(objects) == 1 + len(gang.pods)
            assert gang.cpus <= NODE_CPUS
            assert gang.cpus * len(gang.pods) <= max(1, mix.cpus // 7)

    def test_each_namespace_asks_for_a_little_more_than_its_backlog_in_each_queue(self) -> None:
        mix = Mix(100, 10.0, 1)
        asked: Counter[tuple[str, str]] = Counter()
        for gang, _ in mix.wanted({}):
            asked[gang.queue, gang.namespace] += gang.cpus * len(gang.pods)
        assert asked.keys() == {(crowd.queue, name) for crowd in CROWDS if crowd.gangs for name in crowd.namespaces}
        assert min(asked.values()) > BACKLOG * mix.cpus
        assert list(mix.wanted(asked)) == []

    def test_a_single_pod_names_its_queue_and_has_no_podgroup(self) -> None:
        gang, objects = Mix(100, 10.0, 1).single()
        assert gang.key == gang.pods[0]
        assert objects[0]["metadata"]["annotations"]["scheduling.volcano.sh/queue-name"] == gang.queue == "interactive"
