"""``vsched replay FILE``: the same again, what is otherwise, another policy, and files that are none."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import msgspec
import pytest
import yaml
from click.testing import CliRunner, Result

from tests.support.plans import DEFAULT_POLICY
from tests.support.recording import recorded
from vsched.cli import cli
from vsched.cli.replay import words
from vsched.cli.replay.differences import Difference, differences
from vsched.model.dump.cycle import Recording, RecordingHead, encode, pack
from vsched.model.plan import Bind, CycleReport, Evict, Nominate

CLUSTER = """
node n1 cpu=4
node n2 cpu=4
job x/train min=2 pods=2 cpu=2
job x/big min=1 pods=1 cpu=9
"""
POLICIES = Path(__file__).parents[3] / "config" / "policies"


@pytest.fixture(scope="module")
def recording() -> Recording:
    found = recorded(CLUSTER, DEFAULT_POLICY)
    return replace(found, head=RecordingHead(number=17, at=found.snapshot.now, scheduler_names=("vsched",)))


def replay(*words: str) -> Result:
    return CliRunner().invoke(cli, ["replay", *words])


def written(folder: Path, recording: Recording) -> str:
    path = folder / "cycle.json.gz"
    path.write_bytes(pack(recording))
    return str(path)


def test_the_same_is_said_to_be_the_same(recording: Recording, tmp_path: Path) -> None:
    done = replay(written(tmp_path, recording))
    assert done.exit_code == 0, done.output
    first, second = done.stdout.splitlines()
    assert first == "session 17 at 2027-01-15T08:00:00.000Z: 2 nodes, 1 queue, 2 jobs, 3 pods"
    assert second == words.same("2 bindings, 0 evictions, 1 pod waits")


def test_plain_json_will_do_and_json_comes_out(recording: Recording, tmp_path: Path) -> None:
    path = tmp_path / "cycle.json"
    path.write_bytes(encode(recording))
    found = json.loads(replay(str(path), "-o", "json").stdout)
    assert (found["same"], found["differences"], found["recording"]["pods"]) == (True, [], 3)
    assert [bind["pod"] for bind in found["plan"]["cycles"][0]["binds"]] == ["x/train.0", "x/train.1"]
    assert yaml.safe_load(replay(str(path), "-o", "yaml").stdout)["recording"]["number"] == 17


def test_what_is_otherwise_is_shown_and_is_no_success(recording: Recording, tmp_path: Path) -> None:
    report = recording.report
    assert report is not None
    first, second = report.binds
    tampered = msgspec.structs.replace(report, binds=(msgspec.structs.replace(first, node="n7"), second))
    done = replay(written(tmp_path, replace(recording, report=tampered)))
    assert done.exit_code == 1
    assert "not the same: 2 bindings" in done.stdout
    [row] = [line.split() for line in done.stdout.splitlines() if line.startswith("x/train.0")]
    assert row == ["x/train.0", "n7", first.node]


def test_another_policy_is_compared_and_that_is_no_failure(recording: Recording, tmp_path: Path) -> None:
    policy = tmp_path / "none.yaml"
    policy.write_text("actions: enqueue\ntiers: [{plugins: [{name: gang}]}]\n")
    file = written(tmp_path, recording)
    done = replay(file, "--config", str(policy))
    assert done.exit_code == 0
    assert "0 bindings, 0 evictions, 3 pods wait; it was 2 bindings" in done.stdout
    found = json.loads(replay(file, "--config", str(policy), "-o", "json").stdout)
    assert not found["same"]
    unbound = [one["about"] for one in found["differences"] if (one["what"], one["after"]) == ("binding", "-")]
    assert unbound == ["x/train.0", "x/train.1"]


def test_further_cycles_go_on_from_what_was_decided(tmp_path: Path) -> None:
    recording = recorded("node n1 cpu=4\njob x/a min=1 pods=1 cpu=3 phase=Pending\n", DEFAULT_POLICY)
    found = json.loads(replay(written(tmp_path, recording), "--cycles", "3", "-o", "json").stdout)
    assert [len(cycle["binds"]) for cycle in found["plan"]["cycles"]] == [1, 0, 0]
    assert found["plan"]["jobs"]["x/a"]["phase"] == "Running"


def test_a_profile_says_where_the_time_goes(recording: Recording, tmp_path: Path) -> None:
    file = written(tmp_path, recording)
    text = replay(file, "--profile").stdout
    assert "action allocate" in text
    assert "plugin predicates" in text
    found = json.loads(replay(file, "--profile", "-o", "json").stdout)
    assert {"action", "plugin"} <= {span["kind"] for span in found["profile"]}


def test_another_version_and_answers_that_are_missing_are_said(recording: Recording, tmp_path: Path) -> None:
    head = msgspec.structs.replace(recording.head, version="0.0.1", commit="abc", unrecorded=3)
    done = replay(written(tmp_path, replace(recording, head=head)))
    assert done.exit_code == 0
    assert "note: recorded by vsched 0.0.1 (abc), run again by" in done.stdout
    assert "note: 3 answers of an extender are not in the file" in done.stdout


def test_an_error_that_does_not_come_again_is_no_success(recording: Recording, tmp_path: Path) -> None:
    head = msgspec.structs.replace(recording.head, why="exception", error="KeyError: 'x' (plugins/gang.py:3)")
    done = replay(written(tmp_path, replace(recording, head=head, report=None)))
    assert done.exit_code == 1
    assert "kept for exception: KeyError: 'x' (plugins/gang.py:3)" in done.stdout
    assert "no error: 2 bindings" in done.stdout


def test_an_error_that_comes_again_is_shown_with_its_traceback(recording: Recording, tmp_path: Path) -> None:
    broken = replace(recording.snapshot, shares={("default", "x"): {99: 1}})
    error = "IndexError: list index out of range (x.py:1)"
    head = msgspec.structs.replace(recording.head, why="exception", error=error)
    done = replay(written(tmp_path, replace(recording, snapshot=broken, head=head, report=None)))
    assert done.exit_code == 0, done.stdout
    assert "the same error: IndexError: list index out of range" in done.stdout
    assert "Traceback" in done.stdout


@pytest.mark.parametrize(
    ("typed", "problem"),
    [
        pytest.param([], words.NOTHING_TO_REPLAY, id="nothing"),
        pytest.param(["f", "g"], words.one_at_a_time("g"), id="two files"),
        pytest.param(["f", "--cycles", "0"], "0 is not in the range", id="no-cycles"),
    ],
)
def test_flags_that_do_not_go_together(typed: list[str], problem: str) -> None:
    done = replay(*typed)
    assert done.exit_code == 2
    assert problem in done.output


def test_a_file_that_is_none_is_one_line(tmp_path: Path, recording: Recording) -> None:
    path = tmp_path / "cut.gz"
    path.write_bytes(pack(recording)[:1000])
    for word, problem in ((str(path), "cut off"), (str(tmp_path / "nowhere"), "No such file")):
        done = replay(word)
        assert done.exit_code == 1
        assert problem in str(done.exception)
        assert str(done.exception).startswith(word)


# -- differences


def bind(name: str, node: str) -> Bind:
    return Bind(f"u-{name}", "ns", name, node, "ns/g")


def evict(name: str, **fields: Any) -> Evict:
    return Evict(f"u-{name}", "ns", name, "n1", "ns/low", **{"action": "preempt", "beneficiary": "ns/g", **fields})


@pytest.mark.parametrize(
    ("before", "after", "found"),
    [
        pytest.param(CycleReport(), CycleReport(), [], id="nothing"),
        pytest.param(
            CycleReport(binds=(bind("a", "n1"), bind("b", "n1"))),
            CycleReport(binds=(bind("b", "n2"), bind("c", "n1"))),
            [("binding", "ns/a", "n1", "-"), ("binding", "ns/b", "n1", "n2"), ("binding", "ns/c", "-", "n1")],
            id="pods on other nodes",
        ),
        pytest.param(
            CycleReport(evictions=(evict("v"),)),
            CycleReport(evictions=(evict("v", action="reclaim", beneficiary=""),)),
            [("eviction", "ns/v", "preempt for ns/g from n1", "reclaim from n1")],
            id="a pod evicted for another reason",
        ),
        pytest.param(
            CycleReport(nominations=(Nominate("u", "ns", "p", "", "ns/g"),)),
            CycleReport(),
            [("nomination", "ns/p", "taken back", "-")],
            id="a nomination that is taken back",
        ),
        pytest.param(
            CycleReport(binds=(bind("a", "n1"), bind("b", "n1"))),
            CycleReport(binds=(bind("b", "n1"), bind("a", "n1"))),
            [("order", words.from_number("binds", 1), "ns/a", "ns/b")],
            id="the same in another order",
        ),
        pytest.param(
            CycleReport(due=1.7e9),
            CycleReport(),
            [("time", "next session", "1700000000.000", "-")],
            id="when more can be decided without a change",
        ),
    ],
)
def test_what_two_cycles_decided_differently(
    before: CycleReport, after: CycleReport, found: list[tuple[str, ...]]
) -> None:
    assert differences(before, after) == [Difference(*one) for one in found]


def test_a_job_is_told_by_what_differs_and_words_only_where_nothing_else_does(recording: Recording) -> None:
    report = recording.report
    assert report is not None
    big = report.jobs["x/big"]
    phase = msgspec.structs.replace(big, phase="Running", changed=not big.changed)
    words = msgspec.structs.replace(big, changed=not big.changed)
    for changed, before, after in (
        (phase, f"phase {big.phase}", "phase Running"),
        (words, f"changed {big.changed}", f"changed {not big.changed}"),
    ):
        other = msgspec.structs.replace(report, jobs={**report.jobs, "x/big": changed})
        assert differences(report, other) == [Difference("job", "x/big", before, after)]
