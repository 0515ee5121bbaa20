"""``vsched verify FILE`` and ``vsched plan --verify``: what is said of cycles that keep the rules, and of others."""

from __future__ import annotations

import json
from dataclasses import replace
from importlib import import_module
from pathlib import Path

import msgspec
import pytest
from click.testing import CliRunner, Result

from tests.support.plans import DEFAULT_POLICY
from tests.support.recording import recorded
from vsched.cli import cli
from vsched.cli.verify import words
from vsched.model.dump.cycle import Recording, RecordingHead, pack
from vsched.proof import words as proof_words

CLUSTER = """
node n1 cpu=4
node n2 cpu=4
job x/train min=2 pods=2 cpu=2
job x/big min=1 pods=1 cpu=9
"""
MANIFESTS = """
apiVersion: v1
kind: Node
metadata: {name: n1}
status: {allocatable: {cpu: "4", memory: 8Gi, pods: "10"}}
---
apiVersion: v1
kind: Pod
metadata: {name: a, namespace: x}
spec: {schedulerName: vsched, containers: [{name: main, resources: {requests: {cpu: "1"}}}]}
"""


@pytest.fixture(scope="module")
def recording() -> Recording:
    found = recorded(CLUSTER, DEFAULT_POLICY)
    return replace(found, head=RecordingHead(number=17, at=found.snapshot.now))


def in_part(recording: Recording) -> Recording:
    """The same with one pod of the gang alone."""
    assert recording.report is not None
    report = msgspec.structs.replace(recording.report, binds=recording.report.binds[:1])
    return replace(recording, report=report)


def written(folder: Path, recording: Recording, name: str = "cycle.json.gz") -> str:
    path = folder / name
    path.write_bytes(pack(recording))
    return str(path)


def run(*words: str) -> Result:
    return CliRunner().invoke(cli, words)


def test_a_cycle_that_keeps_the_rules_has_no_violations(recording: Recording, tmp_path: Path) -> None:
    done = run("verify", written(tmp_path, recording))

    assert done.exit_code == 0, done.output
    first, *rules, verdict = done.stdout.splitlines()
    assert first.split() == ["rule", "looked", "at", "violations"]
    assert "gangs: gangs start whole                        1           0" in rules
    assert verdict == "1 cycle, no violations"


def test_violations_are_shown_with_what_they_are_about(recording: Recording, tmp_path: Path) -> None:
    files = written(tmp_path, recording), written(tmp_path, in_part(recording), "bad.json.gz")

    done = run("verify", *files)

    assert done.exit_code == 1
    says = f"gangs: gangs start whole: x/train starts with {proof_words.lacks_pods(1, 2)}"
    assert f"{files[1]}: {says}" in done.stdout.splitlines()
    assert done.stdout.splitlines()[-1] == "2 cycles, 3 violations"


def test_programs_get_every_violation(recording: Recording, tmp_path: Path) -> None:
    done = run("verify", written(tmp_path, in_part(recording)), "--json")

    found = json.loads(done.stdout)
    assert (done.exit_code, found["violations"], found["files"][0]["session"]) == (1, 3, 17)
    broken = {one["rule"]: one["violations"] for one in found["files"][0]["rules"] if one["violations"]}
    assert set(broken) == {
        "gangs: gangs start whole",
        "limits: reports say what queues hold",
        "work: nothing that fits waits",
    }


def test_a_cycle_without_a_report_is_run_again(recording: Recording, tmp_path: Path) -> None:
    died = replace(recording, report=None, head=RecordingHead(number=17, error="boom"))

    done = run("verify", written(tmp_path, died))

    assert (done.exit_code, done.stdout.splitlines()[-1]) == (0, "1 cycle, no violations")


def test_what_is_no_recording_is_told_in_one_line(tmp_path: Path) -> None:
    path = tmp_path / "policy.yaml"
    path.write_text("actions: allocate\n")

    done = run("verify", str(path))

    assert done.exit_code == 1
    assert str(done.exception).startswith(f"{path} is not a recording")


def test_a_report_about_other_nodes_is_told_in_one_line(recording: Recording, tmp_path: Path) -> None:
    assert recording.report is not None
    elsewhere = msgspec.structs.replace(recording.report.binds[0], node="n7")
    report = msgspec.structs.replace(recording.report, binds=(elsewhere,))
    file = written(tmp_path, replace(recording, report=report))

    done = run("verify", file)

    assert done.exit_code == 1
    assert str(done.exception) == words.not_in_snapshot(file, "'n7'")


# -- plans


def test_a_plan_says_that_it_keeps_the_rules(tmp_path: Path) -> None:
    path = tmp_path / "cluster.yaml"
    path.write_text(MANIFESTS)

    done = run("plan", "-f", str(path), "--verify")

    assert done.exit_code == 0, done.output
    assert done.stderr.strip().endswith("checks, no violations")


@pytest.mark.parametrize("live", [False, True], ids=["manifests", "a recording"])
def test_a_plan_that_breaks_a_rule_says_so(
    live: bool, recording: Recording, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "cluster.yaml"
    path.write_text(MANIFESTS)
    undecided = replace(recording, report=None, head=RecordingHead(scheduler_names=("vsched",)))
    source = ("--from", written(tmp_path, undecided)) if live else ("-f", str(path))
    monkeypatch.setattr(import_module("vsched.actions.allocate"), "JobTurns", lambda *_: ())  # nobody gets a turn
    done = run("plan", *source, "--verify")

    assert done.exit_code == 1
    assert "work: nothing that fits waits: x/" in str(done.exception)
