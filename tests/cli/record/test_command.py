"""``vsched record``: recording until it is told to end, and what the commands about traces print."""

from __future__ import annotations

import asyncio
import signal
import sys
from pathlib import Path

import orjson
import pytest
from click.testing import CliRunner, Result

from tests.support.running import node, nodes_of, pod, scheduling
from tests.support.waiting import until
from vsched.cli import cli
from vsched.cli.flags import words as flag_words
from vsched.cli.record import words
from vsched.errors import VschedError
from vsched.record.folder import read_lines, write_file
from vsched.record.lines import (
    SUCCEEDED,
    AnyLine,
    Began,
    Complete,
    Ended,
    JobThere,
    NodeThere,
    PodBound,
    PodEnded,
    PodThere,
)
from vsched.sim.cluster import Cluster

BEGIN = 1_796_000_000.0
"""2026-11-30 00:53:20 UTC."""


def lines() -> list[AnyLine]:
    return [
        Began(at=BEGIN, schedulers=("volcano",), after=BEGIN - 600, anonymous=True),
        NodeThere(at=BEGIN, name="n1", has={"cpu": 8000, "memory": 16 << 30, "pods": 110}),
        Complete(at=BEGIN),
        JobThere(at=BEGIN + 10, id="j", namespace="ns", name="train", queue="research", created=BEGIN + 10),
        PodThere(at=BEGIN + 10, id="p", job="j", created=BEGIN + 10, asks={"cpu": 1000}),
        PodBound(at=BEGIN + 70, id="p", node="n1"),
        PodEnded(at=BEGIN + 3670, id="p", how=SUCCEEDED),
        Ended(at=BEGIN + 7200),
    ]


@pytest.fixture
def trace(tmp_path: Path) -> Path:
    path = tmp_path / "trace.jsonl.gz"
    write_file(path, lines())
    return path


def run(*arguments: object) -> Result:
    return CliRunner().invoke(cli, ["record", *map(str, arguments)])


def refusal(result: Result) -> str:
    assert result.exit_code != 0
    return str(result.exception) if isinstance(result.exception, VschedError) else result.output


@pytest.mark.real_time
async def test_it_records_until_it_is_told_to_end_and_says_how_much(tmp_path: Path) -> None:
    async with Cluster([node("n1")]) as cluster, scheduling(cluster.url):
        cluster.write_kubeconfig(tmp_path / "kubeconfig")
        asked = ("--kubeconfig", str(tmp_path / "kubeconfig"), "--out", str(tmp_path / "work"))
        process = await asyncio.create_subprocess_exec(
            sys.executable, "-m", "vsched", "record", *asked, stderr=asyncio.subprocess.PIPE
        )
        assert process.stderr is not None
        first = (await process.stderr.readline()).decode()
        assert first == words.recording(tmp_path / "work", words.sizes(1, 0)) + "\n"
        cluster.apply([pod("p")])
        await until(lambda: nodes_of(cluster, "p"))
        process.send_signal(signal.SIGINT)
        rest = (await process.stderr.read()).decode()
        assert await process.wait() == 0
    found = orjson.loads(run("info", tmp_path / "work", "-o", "json").stdout)
    assert rest == words.recorded(found["lines"] - 1, tmp_path / "work") + "\n"
    assert (found["pods"], found["bound_by"]) == (1, {"vsched": 1})


def test_the_figures_of_a_trace_as_text(trace: Path) -> None:
    printed = run("info", trace)
    assert printed.exit_code == 0, printed.output
    rows = [line.split(maxsplit=1) for line in printed.stdout.splitlines() if line.strip()]
    text = {first: rest[0] if rest else "" for first, *rest in rows}
    assert text["time"] == words.span("2026-11-30 00:53:20", "2026-11-30 02:53:20", "120m")
    assert words.gap("2026-11-30 00:43:20", "10m") in printed.stdout
    assert text["schedulers"] == words.bound_by("volcano", 1)
    assert text["nodes"] == "1 (cpu 8, memory 16Gi)"
    assert text["jobs"] == words.gangs(1, 0)
    assert text["pods"] == f"1: 1 {words.ENDED[SUCCEEDED]}"
    assert words.ANONYMOUS in printed.stdout
    assert text["research"].split() == ["1", "0", "60s", "60s", "60s"]


@pytest.mark.parametrize(
    ("since", "until_", "pods"),
    [
        ("10m", "1h", 1),
        ("2026-11-30T01:00", "2026-12-01", 1),
        ("90m", "2h", 0),
        (None, "5s", 0),
    ],
    ids=["by times after the beginning", "by dates", "after the pod ended", "before it came"],
)
def test_a_part_of_a_trace(trace: Path, tmp_path: Path, since: str | None, until_: str, pods: int) -> None:
    out = tmp_path / "part.jsonl.gz"
    asked = [] if since is None else ["--since", since]
    printed = run("cut", trace, *asked, "--until", until_, "-O", out)
    assert printed.exit_code == 0, printed.output
    assert printed.stderr.startswith(f"{out}: ")
    found = orjson.loads(run("info", out, "-o", "json").stdout)
    assert (found["pods"], found["nodes"]) == (pods, 1)


def test_traces_are_put_together_in_one(trace: Path, tmp_path: Path) -> None:
    early, late, out = (tmp_path / name for name in ("early.gz", "late.gz", "out.gz"))
    assert run("cut", trace, "--until", "20m", "-O", early).exit_code == 0
    assert run("cut", trace, "--since", "10m", "-O", late).exit_code == 0
    assert run("merge", late, early, "-O", out).exit_code == 0
    of_whole, of_parts = (orjson.loads(run("info", path, "-o", "json").stdout) for path in (trace, out))
    for key in ("begin", "end", "gaps", "nodes", "jobs", "pods", "ended", "bound_by", "waits"):
        assert of_whole[key] == of_parts[key]
    assert isinstance(next(read_lines(out)), Began)


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ((), words.NO_FOLDER),
        (("--out", "x", "--keep", "12"), flag_words.no_size("12", "1Mi")),
        (("--out", "x", "info", "y"), words.FOLDER_AND_COMMAND),
        (("cut", "TRACE", "--since", "noon", "-O", "x"), words.no_moment("noon")),
        (
            ("cut", "TRACE", "--since", "2h", "--until", "1h", "-O", "x"),
            words.nothing_between("2026-11-30T02:53:20", "2026-11-30T01:53:20"),
        ),
    ],
    ids=["no folder", "no size", "a folder for a command", "no time", "times in the wrong order"],
)
def test_what_makes_no_sense_is_refused(trace: Path, arguments: tuple[str, ...], says: str) -> None:
    printed = refusal(run(*(trace if each == "TRACE" else each for each in arguments)))
    assert says in " ".join(printed.replace("│", " ").split())
