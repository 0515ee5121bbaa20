"""A short soak from end to end, and arguments that make no sense."""

from __future__ import annotations

from pathlib import Path

import orjson
import pytest
from click.testing import CliRunner

from vsched import words as own
from vsched.cli import cli
from vsched.errors import VschedError
from vsched.lab.soak import words


def test_a_short_soak_of_shards_with_claims_keeps_every_promise(tmp_path: Path) -> None:
    faults = tmp_path / "faults.yaml"
    rules = (
        "[{fault: slow, percent: 10, delay_ms: 200}, {fault: drop-after, percent: 5}, {fault: conflict, percent: 5}]"
    )
    faults.write_text(f"user_agents: [vsched/]\nrules: {rules}")
    arguments = "soak --claims --shards 2 --ask --nodes 10 --pods-per-minute 300 --kill-every 2s --kills 1 --json"
    further = ("--lease-seconds", "2", "--faults", str(faults), "--keep", str(tmp_path))
    done = CliRunner().invoke(cli, [*arguments.split(), *further], catch_exceptions=False)
    assert done.exit_code == 0, done.output
    document = orjson.loads(done.stdout)
    assert (document["violations"], document["kills"]) == ({}, 1)
    assert (document["waiting"], document["partial_gangs"]) == (0, 0)
    assert document["kill_to_binding_seconds"]["max"] > 0
    assert min(document["created"], document["bound"]) > 5
    assert "checked_sessions" in document, "sessions are checked in idle time, of which there may be none here"
    assert document["answers"] > 0
    assert document["trends"]["rss_mb"]["peak"] > 20
    assert document["trends"]["series"]["peak"] > 50
    assert [line.split()[0] for line in document["faults"]][:2] == ["fault", "slow"]
    assert not list(tmp_path.glob("daemon-*.log")), "logs without complaints are not found"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        pytest.param("--kills 3", words.NOTHING_KILLED, id="kills, but when"),
        pytest.param("--nodes 1", "expected --nodes 26 or more", id="no room for the work"),
        pytest.param("--faults /nowhere", own.cannot_be_read("/nowhere", "No such file"), id="no such faults"),
        pytest.param("--kill-every soon", "'soon' is not a duration", id="no duration"),
    ],
)
def test_what_makes_no_sense_is_refused(arguments: str, message: str) -> None:
    done = CliRunner().invoke(cli, ["soak", *arguments.split()])
    said = str(done.exception) if isinstance(done.exception, VschedError) else done.output
    assert message in said
    assert done.exit_code != 0
