"""When a job may start, as ``vsched explain`` says it of a session that was dumped."""

from __future__ import annotations

import json
from pathlib import Path

from click.testing import CliRunner

from tests.support.plans import NOW
from tests.support.questions import recording_of
from vsched.cli import cli
from vsched.model.dump.cycle import pack

TEXT = """
node n1 cpu=4
job ns/b min=1 phase=Running vsched.io/expected-duration=1h
pods ns/b 4 cpu=1 on=n1 started=600
job ns/a min=2 pods=2 cpu=1
"""
LEARNT = "\n".join(
    f"job ns/run-{number} min=1\npods ns/run-{number} 1 cpu=1 on=n1 succeeded started=9000 ended=8100"
    for number in range(3)
)


def test_the_page_and_the_data_have_the_estimate(tmp_path: Path) -> None:
    file = tmp_path / "session.json.gz"
    file.write_bytes(pack(recording_of(TEXT)))
    document = CliRunner().invoke(cli, ["explain", "ns/a", "--from", str(file)], env={"COLUMNS": "160"}).stdout
    says = "estimate  between 08:50 and 09:50 UTC (in 50m to 1h50m), if ns/b ends after 1 to 2 times the declared 1h"
    assert says in " ".join(document.split("\n"))
    found = json.loads(CliRunner().invoke(cli, ["explain", "ns/a", "--from", str(file), "-o", "json"]).stdout)
    assert (found["start"]["earliest"], found["start"]["latest"]) == (NOW + 3000.0, NOW + 6600.0)


def test_what_was_learnt_is_in_the_dump(tmp_path: Path) -> None:
    file = tmp_path / "session.json.gz"
    text = f"{TEXT.replace('vsched.io/expected-duration=1h', '').replace('started', 'restart=Never started')}\n{LEARNT}"
    file.write_bytes(pack(recording_of(text)))
    found = json.loads(CliRunner().invoke(cli, ["explain", "ns/a", "--from", str(file), "-o", "json"]).stdout)
    assert found["start"]["earliest"] == NOW + 300.0
    assert "similar work did before" in found["start"]["message"]
