"""``vsched tune`` as a person runs it: a change that helps is found, small and judged, and what is wrong is refused."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Any

import orjson
import pytest
from click.testing import CliRunner, Result

from tests.lab.tune.made import POLICY, written
from vsched.cli import cli
from vsched.errors import VschedError
from vsched.lab import words as lab_words
from vsched.lab.tune import words
from vsched.lab.tune.view import lines_of
from vsched.record.folder import write_file
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
from vsched.settings import load_file
from vsched.settings.installed import registry

GANGS = """\
minimize: [p95 wait of gangs]
limits: {never started: "<= 0 %"}
search:
  easy-backfill:
  easy-backfill.depth: 1 .. 6
  binpack.binpack.weight: [5, 10, 20]
"""


def run(*arguments: str) -> Result:
    return CliRunner().invoke(cli, arguments)


def document(*arguments: str) -> dict[str, Any]:
    result = run(*arguments, "--json")
    assert result.exit_code == 0, result.output or result.exception
    found: dict[str, Any] = orjson.loads(result.stdout)
    return found


def refusal(*arguments: str) -> str:
    result = run(*arguments)
    assert result.exit_code != 0
    return str(result.exception) if isinstance(result.exception, VschedError) else result.output


def test_the_change_that_helps_is_found_alone_and_judged(tmp_path: Path) -> None:
    """Gangs starve beside small jobs that declare how long they run: planned starts help, nothing else does."""
    arguments = written(tmp_path, GANGS)
    out = tmp_path / "out"
    result = run(*arguments, "--trials", "6", "--processes", "1", "--out", str(out))
    assert result.exit_code == 0, result.output or result.exception
    assert words.HOLDS in result.stdout
    assert words.NO_REAL_STARTS in result.stdout
    assert "easy-backfill added: p95 wait of gangs -" in result.stdout
    found = orjson.loads((out / "tune.json").read_bytes())
    assert found["smallest"]["changes"] == ["easy-backfill added"]
    assert found["smallest"]["gain"]["judged"]["low"] > 0.5
    assert found["recorded"] == {}
    assert b"<svg" in (out / "tune.svg").read_bytes()
    # The diff applies to the file, and the result is the policy that was written.
    subprocess.run(["patch", "-s", tmp_path / "policy.yaml", out / "smallest.diff"], check=True)
    assert (tmp_path / "policy.yaml").read_text() == (out / "smallest.yaml").read_text()
    policy = load_file(tmp_path / "policy.yaml", registry()).policy
    assert policy.plugin("easy-backfill") is not None
    assert "# jobs of eight GPUs need whole machines" in (tmp_path / "policy.yaml").read_text()


def test_it_comes_to_the_same_with_two_processes_and_after_a_pause(tmp_path: Path) -> None:
    arguments = written(tmp_path, GANGS, gangs_later=False)
    study = ("--study", str(tmp_path / "study.log"))
    alone = document(*arguments, "--trials", "6", "--processes", "1")
    first = document(*arguments, "--trials", "4", "--processes", "1", *study)
    assert first["tried"] == [one for one in alone["tried"] if one["number"] < 4]
    assert document(*arguments, "--trials", "6", "--processes", "2", *study) == alone
    assert words.LOST in [*lines_of(alone)], "no gangs come later: it was tuned for what does not come again"
    other = written(tmp_path, GANGS.replace("p95", "mean"), gangs_later=False)
    assert refusal(*other, *study) == words.OTHER_STUDY


def test_limits_are_kept(tmp_path: Path) -> None:
    objective = GANGS.replace("limits: {", 'limits: {mean wait of queue small: "<= 1s", ')
    arguments = written(tmp_path, objective)
    found = document(*arguments, "--trials", "4", "--processes", "1")
    assert {one["keeps_limits"] for one in found["tried"]} == {True, False}
    assert found["smallest"] is None, "small jobs would wait for planned starts of gangs"


def test_real_starts_are_compared_with_the_policy_in_force(tmp_path: Path) -> None:
    """One GPU and jobs of ten minutes that came every eight: recorded are waits as if each took two minutes more."""
    lines: list[AnyLine] = [Began(at=0.0, schedulers=("volcano",))]
    lines += [NodeThere(at=0.0, name="n", has={"cpu": 8000, "memory": 1 << 36, "nvidia.com/gpu": 1000, "pods": 110})]
    lines += [Complete(at=0.0)]
    free = 0.0
    for number in range(16):
        came, name = 10.0 + 480.0 * number, f"j{number:02}"
        began = max(came, free)
        free = began + 720.0
        lines += [
            JobThere(at=came, id=name, created=came, min_member=1, namespace="team", name=name, queue="default"),
            PodThere(at=came, id=f"{name}-0", job=name, created=came, asks={"cpu": 1000, "nvidia.com/gpu": 1000}),
            PodBound(at=began, id=f"{name}-0", node="n"),
            PodEnded(at=began + 600.0, id=f"{name}-0", how=SUCCEEDED),
        ]
    lines.sort(key=lambda line: line.at)
    write_file(tmp_path / "work.jsonl.gz", [*lines, Ended(at=free)])
    arguments = written(tmp_path, "minimize: mean wait\nsearch: [easy-backfill]\n")
    arguments[2:7] = [str(tmp_path / "work.jsonl.gz"), "--judge-from", "0.04"]
    found = document(*arguments, "--trials", "2", "--processes", "1")
    assert set(found["recorded"]) == {"tuned", "judged"}
    tuned = found["recorded"]["tuned"]
    assert tuned["jobs"] == found["parts"]["tuned"]["jobs"]
    assert tuned["as_recorded"] < 0.5
    assert tuned["mean_wait_seconds"]["recorded"] > tuned["mean_wait_seconds"]["replayed"] > 0
    assert "Replayed under the policy in force" in found["cannot_know"][0]


def test_where_no_candidate_keeps_the_limits_it_says_so_and_fails(tmp_path: Path) -> None:
    arguments = written(
        tmp_path, 'minimize: [mean wait]\nlimits: {utilisation: ">= 99.9 %"}\nsearch: [easy-backfill]\n'
    )
    result = run(*arguments, "--trials", "2", "--processes", "1")
    assert result.exit_code == 1
    assert words.NOTHING_KEEPS in result.stdout


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        pytest.param(["--judge-from", "9"], words.judge_from(""), id="judged on nothing"),
        pytest.param(["--judge-from", "2026-01-01"], words.judge_from(""), id="a date where the trace has none"),
        pytest.param(["--plots"], lab_words.NOWHERE_TO_DRAW, id="plots without a folder"),
        pytest.param(["--study", "."], "--study", id="a study that is a folder"),
        pytest.param(["--one-queue", "other"], "--one-queue", id="a policy of another name"),
        pytest.param(["more.csv", "still-more.csv"], words.MOST_FILES, id="three files"),
    ],
)
def test_it_refuses(tmp_path: Path, arguments: list[str], expected: str) -> None:
    assert expected in refusal(*written(tmp_path, GANGS), *arguments)


def test_a_policy_in_a_configmap_is_refused(tmp_path: Path) -> None:
    inside = "\n".join(f"    {line}" for line in POLICY.splitlines())
    policy = f"apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: p}}\ndata:\n  volcano-scheduler.conf: |\n{inside}\n"
    assert refusal(*written(tmp_path, GANGS, policy)) == words.NOT_A_PLAIN_POLICY


def test_a_queue_that_the_trace_does_not_have_is_refused(tmp_path: Path) -> None:
    arguments = written(tmp_path, "minimize:\n- mean wait of queue vision\n")
    assert words.no_such_queue("vision", "gang, small") in refusal(*arguments)
