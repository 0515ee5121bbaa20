"""``vsched replay --kueue`` as a person runs it."""

from __future__ import annotations

from pathlib import Path

import orjson
import pytest
from click.testing import CliRunner, Result

from tests.support.kueue import cohorts, queues, series, workload, written
from vsched.cli import cli
from vsched.errors import BadInput
from vsched.lab.kueue import words

RANGES = """cmd: {maxWallMs: 300}
clusterQueueClassesMinUsage: {cq: 50}
wlClassesMaxAvgTimeToAdmissionMs: {small: 99}
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Three workloads in turn, which miss the gate of their time to admission by a millisecond."""
    written(tmp_path, cohorts(queues(series(3, 0, workload(runtime_ms=100)), nominal=1, borrows=0)))
    (tmp_path / "rangespec.yaml").write_text(RANGES)
    return tmp_path


def run(*arguments: object) -> Result:
    return CliRunner().invoke(cli, ["replay", "--apart", "0", "--kueue", *map(str, arguments)])


def test_the_table_shows_each_figure_beside_its_gate_and_what_differs(folder: Path) -> None:
    result = run(folder)
    assert result.exit_code == 0, result.output
    lines = [" ".join(line.split()) for line in result.stdout.splitlines()]
    assert f"{words.WALL_TIME} 0.3 s at most 0.3 s yes" in lines
    assert f"{words.USAGE_OF_QUOTA.format('cq')} 100.0 % at least 50.0 % yes" in lines
    assert f"{words.MEAN_TIME.format('small')} 0.1 s at most 0.1 s NO" in lines
    assert words.TIME_IS_VIRTUAL in result.stdout
    assert "3 of 3 workloads came, 0 run, 3 ended" in result.stderr


def test_json_has_the_same_in_each_run_apart_from_what_it_took(folder: Path) -> None:
    found = [orjson.loads(run(folder, "--json", "--quiet").stdout) for _ in range(2)]
    assert found[0].pop("took").keys() == found[1].pop("took").keys() == {"cpu_seconds", "rss_mb"}
    assert found[0] == found[1]
    assert found[0]["passed"] is False
    assert found[0]["figures"] == [
        {"figure": "wall", "class": "", "ms": 300, "gate": 300, "passed": True},
        {"figure": "usage", "class": "cq", "percent": 100.0, "gate": 50.0, "passed": True},
        {"figure": "admission", "class": "small", "ms": 100.0, "gate": 99, "passed": False},
    ]


def test_without_a_range_file_there_is_nothing_to_pass(folder: Path) -> None:
    (folder / "rangespec.yaml").unlink()
    found = orjson.loads(run(folder / "generator.yaml", "--json").stdout)
    assert found["passed"] is None
    assert {figure["gate"] for figure in found["figures"]} == {None}


def test_another_policy_decides_otherwise(folder: Path) -> None:
    policy = folder / "one-a-time.yaml"
    policy.write_text('actions: "allocate"\ntiers: [{plugins: [{name: gang}, {name: predicates}]}]\n')
    found = orjson.loads(run(folder, "--policy", policy, "--json").stdout)
    assert found["policy"] == "one-a-time"
    assert found["figures"][0]["ms"] == 300, "the node is as large as the quota"


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        pytest.param(["--seed", "2"], "--seed: not with --kueue", id="a flag of traces"),
        pytest.param(["--profile"], "--profile: not with --kueue", id="a flag of recordings"),
        pytest.param(["more.json"], "more.json: not with --kueue", id="a file besides"),
        pytest.param(["--policy", "a.yaml", "--policy", "b.yaml"], "one at a time", id="two policies"),
    ],
)
def test_what_makes_no_sense_is_refused(folder: Path, arguments: list[str], says: str) -> None:
    result = run(folder, *arguments)
    assert result.exit_code == 2
    assert says in result.output


def test_a_folder_without_a_generator_is_refused(tmp_path: Path) -> None:
    result = run(tmp_path)
    assert isinstance(result.exception, BadInput)
    assert str(result.exception).startswith(f"{tmp_path}/generator.yaml: cannot be read")
