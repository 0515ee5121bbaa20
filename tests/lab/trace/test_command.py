"""``vsched replay --trace`` as a person runs it: compared, drawn, repeated, and refused where it makes no sense."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import orjson
import pytest
import yaml
from click.testing import CliRunner, Result

from tests.support.traces import small_trace, write_trace
from tests.support.waiting import until_now
from vsched.cli import cli
from vsched.errors import VschedError
from vsched.lab import words as lab
from vsched.lab.trace import words
from vsched.lab.trace.plots import draw, draw_shares, largest_queues
from vsched.lab.trace.view import FigureLine, as_table, lines_of, title_of
from vsched.model.amounts.durations import short_duration

POLICIES = Path(__file__).parents[3] / "config" / "policies"
PHILLY = Path(__file__).parent / "data" / "philly.csv"
SPREADING, PACKING = POLICIES / "volcano-default.yaml", POLICIES / "gpu-packing.yaml"


def replay(folder: Path, *arguments: str, **shape: int) -> Result:
    files = [str(path) for path in write_trace(small_trace(**shape), folder)]
    return CliRunner().invoke(cli, ["replay", "--trace", *files, *arguments])


def refusal(result: Result) -> str:
    assert result.exit_code != 0
    return str(result.exception) if isinstance(result.exception, VschedError) else result.output


def document(result: Result) -> dict[str, Any]:
    assert result.exit_code == 0, result.output
    found: dict[str, Any] = orjson.loads(result.stdout)
    return found


def test_policies_are_compared_side_by_side_and_come_to_the_same_alone(tmp_path: Path) -> None:
    policies = ("--policy", str(SPREADING), "--policy", str(PACKING))
    both = replay(tmp_path, *policies, "--out", str(tmp_path / "out"), nodes=10, pods=30)
    assert both.exit_code == 0, both.output
    assert re.search(r"30 pods on 10 nodes with 23 GPUs, as recorded", both.stdout)
    assert re.search(r"volcano-default +gpu-packing", both.stdout)
    assert re.search(r"volcano-default: .* 30 of 30 pods came, .* 0 wait", both.stderr), "how far it is"
    assert not re.search(r"[\x00-\x09\x0b-\x1f]", both.output), "no control characters where there is no terminal"
    compared = orjson.loads((tmp_path / "out" / "comparison.json").read_bytes())
    assert [policy["policy"] for policy in compared["policies"]] == ["volcano-default", "gpu-packing"]
    assert {policy["pods"]["placed"] for policy in compared["policies"]} == {30}
    for name in ("comparison", "shares"):
        assert (tmp_path / "out" / f"{name}.png").read_bytes().startswith(b"\x89PNG")
        assert b"<svg" in (tmp_path / "out" / f"{name}.svg").read_bytes()
    alone = document(replay(tmp_path, "--policy", str(PACKING), "-o", "json", "--quiet", nodes=10, pods=30))
    assert alone["trace"] == compared["trace"]
    assert alone["policies"] == [compared["policies"][1]], "equal replays give equal documents"


def test_fewer_nodes_a_load_and_weights_are_taken_into_account(tmp_path: Path) -> None:
    arguments = ("--nodes", "40%", "--load", "1.5", "--weight", "ls=3", "--quiet", "-o", "yaml")
    result = replay(tmp_path, *arguments, nodes=10, pods=40, every_seconds=100)
    assert result.exit_code == 0, result.output
    assert result.stderr == ""
    found = yaml.safe_load(result.stdout)
    assert found["trace"]["nodes"] == 4
    assert found["trace"]["load"]["gpu"] == pytest.approx(1.5, abs=0.2)
    assert found["trace"]["times_as_fast"] != 1
    assert found["trace"]["weights"] == {"be": 1, "ls": 3}
    assert [policy["policy"] for policy in found["policies"]] == ["default"]


def replay_philly(*arguments: str) -> Result:
    return CliRunner().invoke(cli, ["replay", "--trace", str(PHILLY), *arguments])


def test_a_part_of_philly_is_replayed_on_machines_that_are_too_few_for_it(tmp_path: Path) -> None:
    part = ("--from", "2017-11-08T15:00", "--days", "0.05", "--machines", "5x8", "--declared", "1.5", "--no-plots")
    result = replay_philly(*part, "--policy", str(POLICIES / "gang-only.yaml"), "--out", str(tmp_path), "--quiet")
    assert result.exit_code == 0, result.output
    assert re.search(
        r"\d+ jobs \(\d+ pods\) on 5 nodes with 40 GPUs, as rec.*; .* ask for \d\.\d+ of gpu\n", result.stdout
    )
    assert "cpu in use" not in result.stdout, "no job asks for it"
    found = orjson.loads((tmp_path / "comparison.json").read_bytes())
    assert found["trace"]["seconds_apart"] == 60.0
    assert found["trace"]["jobs"] < found["trace"]["pods"], "some are gangs"
    assert "6214e9" in found["trace"]["weights"]
    assert found["policies"][0]["waiting_seconds"]["by_size"].keys() >= {"1 GPU", "gangs"}
    assert found["policies"][0]["waiting_seconds"]["all"]["max"] > 0.0
    assert found["policies"][0]["pods"]["created"] == found["trace"]["pods"]


@pytest.mark.parametrize(
    ("arguments", "printed"),
    [
        pytest.param(("--machines", "88"), "'88' (expected COUNTxGPUS, 88x8 for", id="machines of how many GPUs"),
        pytest.param(("--machines", "0x8"), "'0x8' (expected COUNTxGPUS", id="no machine"),
        pytest.param(("--from", "monday"), "'monday' (expected a date such as 2017-10-16", id="no date"),
        pytest.param(("--from", "2018-01-01"), "2017-11-08T10:02 to 2017-11-08T17:59", id="a time without jobs"),
        pytest.param(("--days", "0"), "0.0 is not in the range", id="no time"),
        pytest.param(("--apart", "soon"), "'soon' is not a time from 0 to 1h", id="no duration"),
        pytest.param(("--weight", "nn=2"), "--weight: no pod is in queue 'nn' (expected one of 103959,", id="no queue"),
    ],
)
def test_what_makes_no_sense_for_philly_is_refused(arguments: tuple[str, ...], printed: str) -> None:
    assert printed in refusal(replay_philly(*arguments))


@pytest.mark.parametrize(
    ("arguments", "printed"),
    [
        pytest.param(("--machines", "4x8"), "nodes.csv says which there are", id="machines where the trace has some"),
        pytest.param(("--from", "2017-11-08"), "this trace has no dates", id="dates of a trace without any"),
        pytest.param(("--nodes", "0%"), "'0%' (expected more than 0%", id="no nodes"),
        pytest.param(("--nodes", "most"), "'most' (expected more than 0%", id="no share"),
        pytest.param(("--weight", "ls"), "'ls' (expected QUEUE=WEIGHT", id="no weight"),
        pytest.param(("--weight", "nn=2"), words.no_such_queue("nn", "be, ls"), id="no queue"),
        pytest.param(("--load", "1000"), "--load: 1000 is more than these pods ask for", id="too much of a load"),
        pytest.param(("--plots",), lab.NOWHERE_TO_DRAW, id="plots, but where"),
        pytest.param(("--out", "/dev/null/here"), "--out: /dev/null/here: cannot be made", id="no place for results"),
        pytest.param(("--policy", "/nowhere.yaml"), "/nowhere.yaml: ", id="no such policy"),
        pytest.param(
            ("--one-queue", "nobody"), "--one-queue: 'nobody' is no policy (expected one of default", id="who"
        ),
        pytest.param(("--policy", str(PACKING)) * 2, words.same_name("gpu-packing"), id="a policy twice"),
    ],
)
def test_what_makes_no_sense_is_refused(tmp_path: Path, arguments: tuple[str, ...], printed: str) -> None:
    assert printed in refusal(replay(tmp_path, *arguments, nodes=4, pods=5))


def test_results_that_cannot_be_written_are_shown_all_the_same(tmp_path: Path) -> None:
    (tmp_path / "comparison.json").mkdir()
    result = replay(tmp_path, "--out", str(tmp_path), "--quiet", "-o", "json", nodes=2, pods=2)
    assert orjson.loads(result.stdout)["trace"]["pods"] == 2
    assert "comparison.json: cannot be written: Is a directory" in refusal(result)


def test_a_bad_line_is_named_and_nothing_is_replayed(tmp_path: Path) -> None:
    nodes, pods = write_trace(small_trace(4, 5), tmp_path)
    pods.write_text(pods.read_text(encoding="utf-8") + "pod-x,1,1,1,2000,,LS,1,2\n", encoding="utf-8")
    result = CliRunner().invoke(cli, ["replay", "--trace", str(nodes), str(pods)])
    assert refusal(result).startswith(f"{pods}:7: gpu_milli: '2000'")


def test_a_table_of_ours_is_replayed_as_it_says_and_several_policies_read_it_alike(tmp_path: Path) -> None:
    jobs = tmp_path / "jobs.csv"
    lines = ["arrival,timestamp,duration,cpu,gpus,user", "0,,60,2,1,ada", "30,,60,500m,8,ben"]
    jobs.write_text("\n".join([*lines, ""]), encoding="utf-8")
    line = ["replay", "--trace", str(jobs), "--machines", "1x8", "--quiet"]
    assert "columns arrival and timestamp are of different formats" in refusal(CliRunner().invoke(cli, line))
    policies = ["--policy", str(SPREADING), "--policy", str(PACKING)]
    result = CliRunner().invoke(cli, [*line, "--trace-format", "plain", "--jobs", "1", *policies])
    assert result.exit_code == 0, result.output
    assert "2 pods on 1 node with 8 GPUs, as recorded" in result.stdout
    assert re.search(r"wait, p99, user ben +30s +30s", result.stdout)


def test_a_list_without_times_is_not_replayed(tmp_path: Path) -> None:
    nodes, pods = write_trace(small_trace(4, 5), tmp_path)
    pods.write_text("name,cpu_milli,memory_mib,num_gpu,gpu_milli\na,1,1,0,0\n", encoding="utf-8")
    result = CliRunner().invoke(cli, ["replay", "--trace", str(nodes), str(pods)])
    assert refusal(result) == words.no_times(pods, "creation_time, deletion_time")


@pytest.fixture
def interruptible() -> Iterator[None]:
    """Programs that are started can be interrupted, even where this one runs in the background of a script."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.usefixtures("interruptible")
def test_an_interrupt_ends_it_and_all_that_it_has_started(tmp_path: Path) -> None:
    files = [str(path) for path in write_trace(small_trace(30, 3000), tmp_path)]
    policies = ["--policy", str(SPREADING), "--policy", str(PACKING)]
    line = [sys.executable, "-m", "vsched", "replay", "--trace", *files, *policies]
    environment = {**os.environ, "TMPDIR": str(tmp_path)}
    with subprocess.Popen(line, stderr=subprocess.PIPE, text=True, env=environment) as running:
        until_now(lambda: len(list(tmp_path.glob("vsched-*/*.log"))) == 2)  # both have been started
        running.send_signal(signal.SIGINT)
        _, said = running.communicate(timeout=60)
    assert running.returncode == 130
    assert "Traceback" not in said
    until_now(lambda: not list(tmp_path.glob("vsched-*")))  # their folder goes once they are gone


def a_document(*waits: float, shares_gpus: bool = True) -> dict[str, Any]:
    """Just enough to be shown: policies that differ in how long pods wait."""
    line = [0.5] * 240
    policies = [
        {
            "policy": f"policy-{number}",
            "pods": {"never_placed": 0, "evicted": 0, "in_pieces": 0},
            "utilisation": {name: {"mean": 0.5, "peak": 0.9} for name in ("gpu", "cpu", "memory")},
            "fragmentation": {"mean": 0.1, "peak": 0.2},
            "fairness": {"mean": 0.9, "least": 0.8},
            "waiting_pods": {"mean": 1.0, "peak": 2},
            "waiting_seconds": {
                "all": {"mean": wait, "p50": wait, "p90": wait, "p99": wait, "max": wait},
                "by_size": {"1 GPU": {"p99": wait}},
                "by_queue": {"ls": {"p99": wait}},
            },
            "measured_seconds": {"begin": 0.0, "end": 600.0},
            "last_start_seconds": 1.0,
            "makespan_seconds": 2.0,
            "lost_seconds": {"cpu": 0.0, "gpu": 0.0},
            "sessions": 3,
            "series": {
                "seconds": [5.0 * number for number in range(240)],
                **dict.fromkeys(("cpu", "memory", "gpu", "fragmentation", "fairness", "waiting"), line),
            },
            "shares": {f"queue-{name}": {"used": [name / 100] * 240, "waiting": line} for name in range(9)},
        }
        for number, wait in enumerate(waits)
    ]
    trace = {"pods": 9, "jobs": 9, "nodes": 3, "gpus": 4, "times_as_fast": 1.0, "load": {"cpu": 0.0, "gpu": 1.3}}
    trace["shares_gpus"] = shares_gpus
    return {"trace": trace, "policies": policies}


@pytest.mark.parametrize(
    ("values", "better", "best"),
    [
        pytest.param([10.0, 20.0], -1, {0}, id="the shorter wait"),
        pytest.param([10.0, 20.0], 1, {1}, id="the larger share"),
        pytest.param([10.0, 10.0], -1, set[int](), id="none of two that are the same"),
        pytest.param([10.0, 10.2, 30.0], -1, {0, 1}, id="both that look the same"),
        pytest.param([10.0, 20.0], 0, set[int](), id="none where neither is better"),
        pytest.param([10.0], -1, set[int](), id="none where there is only one"),
    ],
)
def test_the_best_is(values: list[float], better: int, best: set[int]) -> None:
    assert FigureLine("wait", values, short_duration, better).best() == best


def test_the_table_has_a_column_for_each_policy_and_its_lines_say_what_they_are() -> None:
    policies = a_document(30.0, 90.0)["policies"]
    assert [column.header for column in as_table(policies).columns] == ["", "policy-0", "policy-1"]
    lines = {line.title: line for line in lines_of(policies)}
    assert lines["wait, p99, 1 GPU"].best() == {0}
    assert lines["wait, p99, queue ls"].values == [30.0, 90.0]


@pytest.mark.parametrize(
    ("pods", "pace", "printed"),
    [
        pytest.param(8152, 1.0, "8,152 pods on 3 nodes with 1 GPU, as recorded;", id="as it was"),
        pytest.param(1, 836.94, "1 pod on 3 nodes with 1 GPU, 837 times as fast as recorded;", id="much faster"),
        pytest.param(2, 1.4142, "2 pods on 3 nodes with 1 GPU, 1.41 times as fast as recorded;", id="a little faster"),
        pytest.param(2, 0.002, "2 pods on 3 nodes with 1 GPU, 0.002 times as fast as recorded;", id="more slowly"),
    ],
)
def test_the_first_line_says_what_was_replayed(pods: int, pace: float, printed: str) -> None:
    facts = {"pods": pods, "jobs": pods, "nodes": 3, "gpus": 1, "times_as_fast": pace, "load": {"gpu": 1.3}}
    assert title_of(facts) == f"{printed} at the peak they ask for 1.30 of gpu"


def test_equal_documents_give_equal_plots_of_more_policies_than_anybody_compares(tmp_path: Path) -> None:
    policies = a_document(*(10.0**number for number in range(8)))
    for policy in policies["policies"]:  # pods that came all at once, and took no time
        policy["series"]["seconds"], policy["measured_seconds"]["end"] = [0.0] * 240, 0.0
    for name in ("one.svg", "other.svg"):
        draw(policies, tmp_path / name)
    drawn = (tmp_path / "one.svg").read_bytes()
    assert drawn == (tmp_path / "other.svg").read_bytes()
    assert {name for name in range(8) if f"policy-{name}".encode() in drawn} == set(range(8))


@pytest.mark.parametrize("shares_gpus", [pytest.param(True, id="fragments"), pytest.param(False, id="work lost")])
def test_shares_of_more_queues_than_colours_are_drawn_with_the_smallest_together(
    tmp_path: Path, shares_gpus: bool
) -> None:
    found = a_document(10.0, 20.0, 30.0, 40.0, shares_gpus=shares_gpus)
    draw(found, tmp_path / "comparison.svg")
    assert (b"GPU hours lost" in (tmp_path / "comparison.svg").read_bytes()) is not shares_gpus
    draw_shares(found, tmp_path / "shares.svg")
    drawn = (tmp_path / "shares.svg").read_bytes()
    assert largest_queues(found["policies"]) == [f"queue-{number}" for number in range(8, 1, -1)]
    assert b"queue-8" in drawn
    assert b"others" in drawn
    assert b"queue-1" not in drawn
