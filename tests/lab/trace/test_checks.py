"""Replays of traces whose sessions are checked against the rules."""

from __future__ import annotations

import re
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from typing import Any

import msgspec
import orjson
import pytest
from click.testing import CliRunner, Result

from tests.support.plans import DEFAULT_POLICY
from tests.support.recording import recorded
from tests.support.traces import small_trace, write_trace
from vsched.cli import cli
from vsched.lab.trace.checks import Checks
from vsched.lab.trace.processes import ReplayProcess, side_by_side
from vsched.model.dump.cycle import RecordingHead, pack
from vsched.proof import words
from vsched.proof.verify import RULES
from vsched.together import run_fast
from vsched.web.snapshots import FrozenSnapshot

allocate: Any = import_module("vsched.actions.allocate")
POLICIES = Path(__file__).parents[3] / "config" / "policies"
PACKING, BACK = POLICIES / "gpu-packing.yaml", POLICIES / "taking-back.yaml"
PARTIAL = f"gangs: gangs start whole: {words.starts_with('x/train', words.lacks_pods(1, 2))}"


def replayed(folder: Path, *arguments: str) -> Result:
    files = [str(path) for path in write_trace(small_trace(10, 60), folder)]
    return CliRunner().invoke(cli, ["replay", "--trace", *files, "--nodes", "20%", "--quiet", *arguments])


@pytest.mark.parametrize("policy", [PACKING, BACK], ids=lambda policy: policy.stem)
def test_every_session_is_checked(policy: Path, tmp_path: Path) -> None:
    result = replayed(tmp_path, "--policy", str(policy), "--verify", "100%", "-o", "json")

    assert result.exit_code == 0, result.output
    [told] = orjson.loads(result.stdout)["policies"]
    found = told["verify"]
    assert found["sessions"] == told["sessions"] > 0
    assert found["decisions"] >= told["pods"]["placed"] > 0
    assert set(found["rules"]) == set(RULES)
    assert (found["violations"], found["found"]) == (0, [])


def test_a_share_of_them_is_spread_evenly() -> None:
    quarter, all_of_them = Checks(0.25), Checks(1.0)

    assert [quarter.takes_next() for _ in range(8)] == [False, False, False, True] * 2
    assert all(all_of_them.takes_next() for _ in range(8))


def test_violations_are_told_and_are_the_exit_code(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(allocate, "JobTurns", lambda *_: ())

    result = replayed(tmp_path, "--policy", str(PACKING), "--verify", "100%")

    assert result.exit_code == 1
    assert "violations of rules" in result.stdout
    assert re.search(r"gpu-packing: session \d+, work: nothing that fits waits: \S+ waits, and 1 of its", result.stdout)


def partial() -> FrozenSnapshot:
    """A session that binds one pod of a gang of two."""
    made = recorded("node n1 cpu=4\njob x/train min=2 pods=2 cpu=2\n", DEFAULT_POLICY)
    assert made.report is not None
    report = msgspec.structs.replace(made.report, binds=made.report.binds[:1])
    return FrozenSnapshot(made.snapshot, DEFAULT_POLICY, report, 7)


def test_what_is_found_is_counted_by_rule() -> None:
    checks = Checks(1.0)
    checks.check(partial())

    found = checks.summary()

    assert f"session 7, {PARTIAL}" in found["found"]
    assert found["rules"]["gangs: gangs start whole"] == {"looked_at": 1, "violations": 1}
    assert (found["sessions"], found["decisions"], found["violations"]) == (1, 1, len(found["found"]))


def test_a_process_that_says_what_it_found_has_done_its_work(tmp_path: Path) -> None:
    made, session = recorded("node n1 cpu=4\njob x/train min=2 pods=2 cpu=2\n", DEFAULT_POLICY), partial()
    file = tmp_path / "cycle.json.gz"
    file.write_bytes(pack(replace(made, head=RecordingHead(number=7, at=made.snapshot.now), report=session.report)))

    replay = ReplayProcess("verify", ("verify", str(file), "-o", "json"))
    (document,) = run_fast(side_by_side([replay], 1, lambda line: None))

    assert document["violations"] > 0
