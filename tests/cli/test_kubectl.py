"""``kubectl vsched``: the program by the names that kubectl looks for."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from vsched.cli.ask import words as ask_words
from vsched.cli.kubectl import COMPLETER, PLAIN, PLUGIN, called_as, reordered

PROGRAM = Path(sys.executable).with_name("vsched")


@pytest.mark.parametrize(
    ("argument", "name"),
    [
        ("/usr/bin/vsched", PLAIN),
        ("/usr/bin/kubectl-vsched", PLUGIN),
        ("kubectl_complete-vsched", COMPLETER),
        ("kubectl-vsched.exe", PLUGIN),
        ("/src/vsched/__main__.py", PLAIN),
    ],
)
def test_what_the_program_is_called(argument: str, name: str) -> None:
    assert called_as(argument) == name


@pytest.mark.parametrize(
    ("words", "meant"),
    [
        pytest.param([], [], id="nothing"),
        pytest.param(["job", "list", "-n", "a"], ["job", "list", "-n", "a"], id="flags where we expect them"),
        pytest.param(["-n", "a", "job", "list"], ["job", "list", "-n", "a"], id="a flag before the command"),
        pytest.param(
            ["--namespace=a", "--context", "c", "job", "get", "x"],
            ["job", "get", "x", "--namespace=a", "--context", "c"],
            id="several",
        ),
        pytest.param(
            ["-n", "a", "job", "get", "--", "-x"], ["job", "get", "-n", "a", "--", "-x"], id="the end of flags"
        ),
        pytest.param(["--help"], ["--help"], id="flags of our own"),
        pytest.param(["-n"], ["-n"], id="a flag without its value"),
    ],
)
def test_kubectls_flags_may_come_first(words: list[str], meant: list[str]) -> None:
    assert reordered(words) == meant


@pytest.fixture
def kubectl(tmp_path: Path) -> dict[str, str]:
    """An environment in which kubectl finds the plugin."""
    for name in (PLUGIN, COMPLETER):
        (tmp_path / name).symlink_to(PROGRAM)
    return {**os.environ, "PATH": f"{tmp_path}:{os.environ['PATH']}", "HOME": str(tmp_path), "KUBECONFIG": ""}


def ran(environment: dict[str, str], *words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(["kubectl", *words], capture_output=True, text=True, env=environment, timeout=60)


@pytest.mark.kubectl
def test_kubectl_finds_it_and_help_speaks_of_kubectl(kubectl: dict[str, str], tmp_path: Path) -> None:
    assert str(tmp_path / PLUGIN) in ran(kubectl, "plugin", "list").stdout
    shown = ran(kubectl, "vsched", "job", "list", "--help")
    assert shown.returncode == 0
    assert shown.stdout.startswith("Usage: kubectl vsched job list")
    assert "Example:  kubectl vsched job list --waiting -o wide" in shown.stdout
    assert "  kubectl vsched job get team-a/train" in ran(kubectl, "vsched", "job", "--help").stdout


@pytest.mark.kubectl
def test_errors_and_exit_codes_pass_through(kubectl: dict[str, str]) -> None:
    refused = ran(kubectl, "vsched", "-n", "a", "job", "get", "b/c")
    assert refused.returncode == 1
    assert f"vsched: {ask_words.which_namespace('b/c', 'a')}" in refused.stderr
    assert ran(kubectl, "vsched", "nothing").returncode == 2


@pytest.mark.kubectl
def test_kubectl_completes_it(kubectl: dict[str, str]) -> None:
    lines = ran(kubectl, "__complete", "vsched", "job", "list", "--wai").stdout.splitlines()
    assert lines[0].startswith("--waiting\t")
    assert lines[-1] == ":4"
