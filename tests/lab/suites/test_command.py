"""``vsched bench --suite``: its JSON, its table, and what it refuses."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from tests.support.suites import BASIC, suite_of
from vsched.cli import cli
from vsched.lab.suites import words

ALIKE = (
    BASIC
    + """
  - name: alike
    featureGates: {SchedulerQueueingHints: true}
    threshold: 0.001
    params: {nodes: 2, pods: 3}
  - name: full
    threshold: 7
    params: {nodes: 1, pods: 3}
  - name: slow
    threshold: 7
    thresholdMetricSelector: {name: scheduler_latency, dataBucket: Perc99}
    params: {nodes: 2, pods: 1, other: 1}
- name: New
  workloadTemplate: [{opcode: fly}]
  workloads: [{name: one, threshold: 5}]
- name: Nothing
  workloadTemplate: [{opcode: createNodes, count: 1}]
  workloads: [{name: one}]
"""
)


def bench(*arguments: str) -> Result:
    return CliRunner().invoke(cli, ["bench", *arguments], env={"COLUMNS": "160"})


def documents(path: Path, *arguments: str) -> dict[str, dict[str, Any]]:
    found = bench("--suite", str(path), "--json", *arguments)
    assert found.exit_code == 0, found.output
    document = json.loads(found.stdout)
    assert document["measured"] == "decision core alone"
    return {f"{each['case']}/{each['workload']}": each for each in document["workloads"]}


def test_the_document_has_every_workload(tmp_path: Path) -> None:
    found = documents(suite_of(tmp_path, ALIKE))
    small, alike, full, slow = (found[f"Basic/{name}"] for name in ("small", "alike", "full", "slow"))
    [measured] = small["measured"]
    assert (measured["name"], measured["pods"]) == ("namespace-1", 3)
    assert small["pods_per_second"] > 0
    assert small["times_threshold"] == pytest.approx(small["pods_per_second"], rel=0.01)
    assert small["threshold_counts"] == words.PODS_PER_SECOND
    assert alike["same_as"] == "Basic/small"
    assert alike["feature_gates"] == {"SchedulerQueueingHints": True}
    assert alike["pods_per_second"] == small["pods_per_second"]
    assert alike["times_threshold"] > small["times_threshold"]
    assert full["problem"] == words.not_placed(1, 3)
    assert full["times_threshold"] == 0
    assert slow["times_threshold"] is None
    assert slow["threshold_counts"] == "scheduler_latency (Perc99)"
    assert slow["notes"] == [words.not_used("other")]
    assert "the operation fly is not known here" in found["New/one"]["left_out"]
    assert found["Nothing/one"]["left_out"] == words.NO_PODS_MEASURED


def test_the_table_says_what_is_left_out(tmp_path: Path) -> None:
    found = bench("--suite", str(suite_of(tmp_path, ALIKE)))
    assert found.exit_code == 0, found.output
    assert "Basic/small" in found.stdout
    assert words.is_not_done("Basic/full", words.not_placed(1, 3)) in found.stdout
    assert words.nothing_compared("Basic/slow", "scheduler_latency (Perc99)") in found.stdout
    assert words.is_left_out("Nothing/one", words.NO_PODS_MEASURED) in found.stdout
    assert words.FEATURE_GATES in found.stdout
    assert "1/6 Basic/small" in found.stderr


def test_workloads_are_chosen_by_pattern_and_label(tmp_path: Path) -> None:
    path = suite_of(tmp_path, ALIKE)
    assert list(documents(path, "--workload", "*/small")) == ["Basic/small"]
    assert list(documents(path, "--label", "short")) == ["Basic/small"]


def test_another_policy_is_used(tmp_path: Path) -> None:
    (tmp_path / "policy.yaml").write_text('actions: "enqueue"\ntiers: [{plugins: [{name: gang}]}]\n', encoding="utf-8")
    found = documents(suite_of(tmp_path), "--config", str(tmp_path / "policy.yaml"))
    assert found["Basic/small"]["problem"] == words.not_placed(3, 3)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        pytest.param(("--nodes", "5"), "--nodes has no meaning with --suite", id="sizes are the file's"),
        pytest.param(("--full",), "--full has no meaning with --suite", id="taking back"),
        pytest.param(("--workload", "Other"), "no workload fits --workload Other", id="a choice of nothing"),
        pytest.param(("--suite", "nothing.yaml"), "nothing.yaml: cannot be read", id="no such file"),
    ],
)
def test_what_makes_no_sense_is_refused(tmp_path: Path, arguments: tuple[str, ...], message: str) -> None:
    found = bench("--suite", str(suite_of(tmp_path)), *arguments)
    assert found.exit_code != 0
    assert message in f"{found.output}{found.exception}"


def test_choosing_workloads_needs_a_file() -> None:
    found = bench("--workload", "a")
    assert found.exit_code != 0
    assert "expected --suite FILE" in found.output


def test_a_missing_template_is_refused_before_anything_is_measured(tmp_path: Path) -> None:
    path = suite_of(tmp_path)
    (tmp_path / "pod.yaml").unlink()
    found = bench("--suite", str(path))
    assert "pod.yaml: cannot be read" in str(found.exception)
    assert "1/1" not in found.stderr
