"""``--ignore-unsupported``: which words it takes, how they are given, and what comes of them."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml
from click.testing import CliRunner, Result

from tests.support.plans import manifests
from vsched.cli import cli
from vsched.cli.flags import words
from vsched.cli.run.command import command as run
from vsched.model.pods.ignorable import IGNORABLE


@pytest.fixture
def cluster(tmp_path: Path) -> Path:
    path = tmp_path / "cluster.yaml"
    objects = manifests("node n1 cpu=4\njob ns/a min=2 pods=2 ebs=c class=gone")
    path.write_text(yaml.safe_dump_all([{"apiVersion": "v1", **found} for found in objects]), encoding="utf-8")
    return path


def planned(cluster: Path, *flags: str) -> Result:
    return CliRunner().invoke(cli, ["plan", "-f", str(cluster), "-o", "yaml", *flags])


@pytest.mark.parametrize(
    ("flags", "bound"),
    [
        pytest.param([], 0, id="nothing is ignored"),
        pytest.param(["--ignore-unsupported", "volumes"], 0, id="not all of it"),
        pytest.param(["--ignore-unsupported", "volumes,priority-classes"], 2, id="several words"),
        pytest.param(
            ["--ignore-unsupported", "volumes", "--ignore-unsupported", "priority-classes"], 2, id="several flags"
        ),
    ],
)
def test_what_is_ignored_is_placed(cluster: Path, flags: list[str], bound: int) -> None:
    assert len(yaml.safe_load(planned(cluster, *flags).stdout)["cycles"][0]["binds"]) == bound


@pytest.mark.parametrize("word", ["volume", "", "volumes;claims", "all"])
@pytest.mark.parametrize("command", ["plan", "run"])
def test_a_word_that_is_none_is_refused(command: str, word: str) -> None:
    found = CliRunner().invoke(cli, [command, "--ignore-unsupported", word])

    assert found.exit_code == 2
    assert (
        f"'--ignore-unsupported': {word.split(',')[0]!r} is unknown (expected volumes, scheduling-groups"
        in found.stderr
    )


@pytest.mark.parametrize(
    "said", ["volumes,scheduling-groups", "volumes scheduling-groups", "scheduling-groups,volumes scheduling-groups"]
)
def test_the_daemon_takes_the_words_by_environment(said: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VSCHED_IGNORE_UNSUPPORTED", said)
    context = run.make_context("run", [])

    assert context.params["ignored"] == ("scheduling-groups", "volumes")


def test_a_word_for_what_is_supported_by_now_has_no_effect(capsys: pytest.CaptureFixture[str]) -> None:
    context = run.make_context("run", ["--ignore-unsupported", "claims,volumes"])

    assert capsys.readouterr().err == words.is_supported("claims") + "\n"
    assert context.params["ignored"] == ("volumes",)


def test_a_running_cluster_is_not_asked_with_it() -> None:
    found = CliRunner().invoke(cli, ["plan", "--live", "--ignore-unsupported", "volumes"])

    assert found.exit_code == 2
    assert "--ignore-unsupported: not with --live" in found.stderr


@pytest.mark.parametrize("command", ["plan", "run"])
def test_help_lists_every_word(command: str) -> None:
    document = " ".join(CliRunner().invoke(cli, [command, "--help"], terminal_width=500).output.split())

    assert all(word in document for word in IGNORABLE)
    assert "--ignore-unsupported volumes" in document
