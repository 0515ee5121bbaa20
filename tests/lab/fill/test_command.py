"""``vsched replay --trace --fill`` as a person runs it."""

from __future__ import annotations

import gzip
import re
from pathlib import Path
from typing import Any

import orjson
import pytest
from click.testing import CliRunner, Result

from tests.support.traces import small_trace, write_trace
from vsched.cli import cli
from vsched.errors import VschedError
from vsched.lab import words as lab
from vsched.lab.fill import words
from vsched.lab.fill.view import written
from vsched.lab.replay import words as flags

POLICIES = Path(__file__).parents[3] / "config" / "policies"
BEST_FIT = POLICIES / "fill-best-fit.yaml"


def run(files: tuple[Path, ...], *arguments: str) -> Result:
    return CliRunner().invoke(cli, ["replay", "--trace", *map(str, files), *arguments])


@pytest.fixture
def files(tmp_path: Path) -> tuple[Path, Path]:
    return write_trace(small_trace(nodes=10, pods=30), tmp_path)


def document(result: Result) -> dict[str, Any]:
    assert result.exit_code == 0, result.output
    found: dict[str, Any] = orjson.loads(result.stdout)
    return found


def refusal(result: Result) -> str:
    assert result.exit_code != 0
    return str(result.exception) if isinstance(result.exception, VschedError) else result.output


def test_seeds_in_processes_come_to_the_same_as_alone(files: tuple[Path, Path], tmp_path: Path) -> None:
    asked = ("--fill", "1.3", "--seeds", "42-43", "--policy", str(BEST_FIT))
    side_by_side = run(files, *asked, "--jobs", "2", "--json")
    assert re.search(
        r"fill-best-fit, seed 43: 13\d% arrived, .*% allocated; \d+ of \d+ pods dropped", side_by_side.stderr
    )
    alone = run(files, *asked, "--jobs", "1", "--quiet", "-o", "json")
    assert alone.stderr == ""
    found = document(side_by_side)
    assert found == document(alone)
    assert found["trace"]["seeds"] == [42, 43]
    assert [policy["policy"] for policy in found["policies"]] == ["fill-best-fit"]
    for policy in found["policies"]:
        assert policy["dropped_with_room"] == 0
        assert 60.0 < policy["gpu_allocation_percent"]["least"] <= policy["gpu_allocation_percent"]["mean"] <= 100.0
        assert [seed["seed"] for seed in policy["seeds"]] == [42, 43]
        assert policy["stranded_percent"]["mean"] == pytest.approx(100 - policy["curve"]["mean"][100], abs=1e-3)


def test_a_table_and_plots(files: tuple[Path, Path], tmp_path: Path) -> None:
    out = tmp_path / "out"
    result = run(files, "--fill", "1.1", "--seeds", "1", "--policy", str(BEST_FIT), "--out", str(out), "--quiet")
    assert result.exit_code == 0, result.output
    assert words.title("pods.csv", "30 pods", "10 nodes", "23 GPUs", 1.1, "1") in result.stdout
    assert re.search(r"policy +allocated at 110% +stranded at 100% +dropped +of these with room", result.stdout)
    assert re.search(r"fill-best-fit +\d+\.\d\d ± 0\.00 +\d+\.\d\d ± 0\.00 +\d+ +0", result.stdout)
    assert orjson.loads((out / "fill.json").read_bytes())["policies"][0]["curve"]["arrived_percent"][-1] >= 110
    assert (out / "fill.png").read_bytes().startswith(b"\x89PNG")
    assert b"<svg" in (out / "fill.svg").read_bytes()


def test_less_than_the_cluster_has_says_nothing_of_what_is_stranded(files: tuple[Path, Path]) -> None:
    result = run(files, "--fill", "0.5", "--seeds", "3", "--quiet")
    assert result.exit_code == 0, result.output
    assert "stranded" not in result.stdout


def test_lists_without_times_and_models_are_read(files: tuple[Path, Path], tmp_path: Path) -> None:
    pods = tmp_path / "asking.csv.gz"
    pods.write_bytes(gzip.compress(b"name,cpu_milli,memory_mib,num_gpu,gpu_milli\np1,400,512,1,500\np2,1,1,0,0\n"))
    found = document(run((files[0], pods), "--fill", "1", "--seeds", "1", "--nodes", "50%", "--quiet", "--json"))
    assert found["trace"]["pods"] == 2
    assert found["trace"]["share_of_nodes"] == 0.5
    assert found["policies"][0]["gpu_allocation_percent"]["mean"] == 100.0


@pytest.mark.parametrize(
    ("arguments", "printed"),
    [
        pytest.param(("--seeds", "51-42"), "'51-42' (expected numbers and ranges", id="no seed"),
        pytest.param(("--seeds", "4,4"), "'4,4' (expected numbers and ranges, each once", id="a seed twice"),
        pytest.param(("--seeds", "0-5000"), "at most 1000", id="too many seeds"),
        pytest.param(("--seeds", "x"), "'x' (expected numbers", id="words for seeds"),
        pytest.param(("--fill", "0"), "0.0 is not in the range", id="nothing to come"),
        pytest.param(
            ("--load", "2", "--weight", "ls=3"), flags.not_with_fill("--load, --weight"), id="flags about time"
        ),
        pytest.param(("--plots",), lab.NOWHERE_TO_DRAW, id="plots, but where"),
        pytest.param(("--policy", "/nowhere.yaml"), "/nowhere.yaml: ", id="no such policy"),
    ],
)
def test_what_makes_no_sense_is_refused(files: tuple[Path, Path], arguments: tuple[str, ...], printed: str) -> None:
    assert printed in refusal(run(files, "--fill", "1.3", *arguments))


def test_it_needs_both_files_and_seeds_need_it(files: tuple[Path, Path]) -> None:
    assert words.ONE_FILE in refusal(run(files[:1], "--fill", "1.3"))
    assert flags.only_with_fill("--seeds") in refusal(run(files, "--seeds", "1"))


def test_models_that_no_node_has_are_refused_with_their_lines(files: tuple[Path, Path], tmp_path: Path) -> None:
    pods = tmp_path / "asking.csv"
    head = "name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec\n"
    pods.write_text(f"{head}p1,1,1,1,500,T4\np2,1,1,1,500,T4|H100\n", encoding="utf-8")
    printed = refusal(run((files[0], pods), "--fill", "1.3"))
    assert printed == f"{pods}:3: gpu_spec: no node has 'H100' (expected models of nodes: P100, T4)"


@pytest.mark.parametrize(
    ("seeds", "text"),
    [
        pytest.param([42], "42", id="one"),
        pytest.param([42, 43, 44], "42-44", id="a range"),
        pytest.param([1, 5], "1,5", id="some"),
    ],
)
def test_seeds_are_written_as_they_are_given(seeds: list[int], text: str) -> None:
    assert written(seeds) == text
