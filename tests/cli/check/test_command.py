"""``vsched check``: what it prints of a good file, and how it refuses a bad one."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
import yaml
from click.testing import CliRunner

from vsched.cli import cli
from vsched.cli.check import words
from vsched.settings.words import rollout as rollout_words

GOOD = """
actions: "enqueue, allocate"
tiers:
- plugins:
  - name: gang
    enableJobOrder: false
"""


@pytest.fixture
def policy(tmp_path: Path) -> Path:
    path = tmp_path / "policy.yaml"
    path.write_text(GOOD, encoding="utf-8")
    return path


def test_a_good_file_is_described(policy: Path) -> None:
    shown = CliRunner().invoke(cli, ["check", str(policy)])
    assert shown.exit_code == 0
    assert "enqueue, allocate" in shown.stdout
    assert "gang" in shown.stdout


@pytest.mark.parametrize(("output", "read"), [("json", json.loads), ("yaml", yaml.safe_load)])
def test_the_description_as_data(policy: Path, output: str, read: object) -> None:
    shown = CliRunner().invoke(cli, ["check", str(policy), "-o", output])
    assert callable(read)
    assert read(shown.stdout)["actions"] == ["enqueue", "allocate"]


def test_standard_input_is_read_for_a_dash() -> None:
    assert CliRunner().invoke(cli, ["check", "-"], input=GOOD).exit_code == 0


def test_every_error_has_its_line_and_there_is_no_traceback(tmp_path: Path) -> None:
    path = tmp_path / "policy.yaml"
    path.write_text(GOOD.replace("name: gang", "name: gnag").replace("allocate", "alocate"), encoding="utf-8")
    done = subprocess.run(
        [sys.executable, "-m", "vsched", "check", str(path)], capture_output=True, text=True, check=False
    )
    assert done.returncode == 1
    assert done.stdout == ""
    assert f"{path}:2" in done.stderr
    assert f"{path}:5" in done.stderr
    assert "Traceback" not in done.stderr


def test_what_has_no_effect_is_said_with_its_place(tmp_path: Path) -> None:
    path = tmp_path / "policy.yaml"
    path.write_text(f"{GOOD}    enableNodeOrder: true\n", encoding="utf-8")
    said = f"{path}:7: tiers[0].plugins[0].enableNodeOrder: has no effect: gang has no part in NodeOrder"
    text = CliRunner().invoke(cli, ["check", str(path)])
    data = CliRunner().invoke(cli, ["check", str(path), "-o", "json"])

    assert (text.exit_code, text.stdout.splitlines()[-1]) == (0, said)
    assert json.loads(data.stdout)["noEffect"] == [said]


ROLLOUT = Path(__file__).parents[3] / "config/samples/live/rollout.yaml"


def test_a_configmap_with_a_rollout_is_checked_as_a_whole() -> None:
    shown = CliRunner().invoke(cli, ["check", str(ROLLOUT)])
    assert shown.exit_code == 0, shown.output
    assert words.rollout("candidate.conf", take_back=True) in shown.stdout.splitlines()
    assert words.limit("evictions in vain", "<= 0") in shown.stdout.splitlines()
    own, _, candidate = shown.stdout.partition(words.candidate("candidate.conf"))
    assert ("nodeorder" in own, "binpack" in own) == (True, False)
    assert ("nodeorder" in candidate, "binpack" in candidate) == (False, True)
    data = json.loads(CliRunner().invoke(cli, ["check", str(ROLLOUT), "-o", "json"]).stdout)
    assert len(data["rollout"]["steps"]) == 3
    assert data["candidate"]["actions"] == data["actions"]


@pytest.mark.parametrize(
    ("right", "wrong", "says"),
    [
        ("name: binpack", "name: binpak", "28: tiers[1].plugins[2].name: "),
        ("name: nodeorder", "name: nodorder", "17: tiers[1].plugins[2].name: "),
        ("- all: 24h", "- al: 24h", "36: steps[2]: "),
        ("candidate: candidate.conf", "candidate: other", "29: data: " + rollout_words.one_policy_beside(
            "other", "volcano-scheduler.conf, candidate.conf")),
    ],
    ids=["the candidate", "the policy", "a step", "a candidate that is not there"],
)  # fmt: skip
def test_what_is_wrong_in_a_configmap_has_its_line_there(tmp_path: Path, right: str, wrong: str, says: str) -> None:
    path = tmp_path / "map.yaml"
    path.write_text(ROLLOUT.read_text(encoding="utf-8").replace(right, wrong), encoding="utf-8")
    refused = CliRunner().invoke(cli, ["check", str(path)])
    assert f"{path}:{says}" in str(refused.exception)
