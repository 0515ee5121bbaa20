"""Runs in turns with the daemon of another commit: which code runs, what is compared, and what is refused."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from vsched.errors import BadInput
from vsched.lab.bench.live.against import commit_of, comparison, measure_against
from vsched.lab.bench.live.command import command
from vsched.lab.bench.live.view import as_tables
from vsched.lab.bench.words import live as words


def git(checkout: Path, *arguments: str) -> str:
    named = ("-c", "user.name=test", "-c", "user.email=test@example.com")
    done = subprocess.run(["git", "-C", checkout, *named, *arguments], check=True, capture_output=True, text=True)
    return done.stdout


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """A repository with two commits of a package that says which one it is."""
    found = tmp_path / "checkout"
    package = found / "vsched"
    package.mkdir(parents=True)
    git(found, "init", "--quiet")
    for say in ("then", "now"):
        (package / "__init__.py").write_text(f"print({say!r})\n", encoding="utf-8")
        (package / "__main__.py").touch()
        git(found, "add", ".")
        git(found, "commit", "--quiet", "-m", say)
    return found


def test_the_daemon_of_the_revision_runs_from_a_worktree_that_is_gone_afterwards(checkout: Path) -> None:
    said: list[str] = []

    def run(environment: Mapping[str, str] | None) -> dict[str, Any]:
        if environment is None:
            said.append("today")
            return {"pods_per_second": 300.0, "daemon_cpu_ms_per_pod": 1.0}
        arguments = [sys.executable, "-m", "vsched"]
        done = subprocess.run(arguments, env=environment, cwd=checkout, check=True, capture_output=True, text=True)
        said.append(done.stdout.strip())
        return {"pods_per_second": 200.0, "daemon_cpu_ms_per_pod": 2.0}

    result = measure_against("HEAD~1", 2, run, checkout)
    assert said == ["today", "then", "today", "then"]
    assert result["commit"] == git(checkout, "rev-parse", "HEAD~1").strip()
    assert result["figures"]["pods_per_second"]["times"] == 1.5
    assert result["figures"]["daemon_cpu_ms_per_pod"]["times"] == 0.5
    assert len(git(checkout, "worktree", "list").splitlines()) == 1
    [table] = as_tables(result)
    assert table.row_count == 2


def test_figures_are_medians_and_those_that_a_side_lacks_are_left_out() -> None:
    nothing = {"single_latency_ms": {"p50": 0.0}}
    waiting = {"waiting": {"pods_per_second": 5.0}}
    today = [{"pods_per_second": rate, "ratio": 2.0, **waiting, **nothing} for rate in (1.0, 9.0, 3.0)]
    then = [{"pods_per_second": 2.0, "ratio": 0.0, "waiting": None, **nothing} for _ in range(3)]
    figures = comparison(today, then)["figures"]
    assert figures.keys() == {"pods_per_second", "ratio"}
    assert figures["pods_per_second"] == {
        "today": 3.0,
        "revision": 2.0,
        "times": 1.5,
        "runs": [[1.0, 9.0, 3.0], [2.0, 2.0, 2.0]],
    }
    assert figures["ratio"]["times"] is None


def test_a_revision_that_is_not_there_is_told_in_one_line(checkout: Path) -> None:
    with pytest.raises(BadInput, match=re.escape(words.no_revision("no-such", str(checkout)))):
        commit_of("no-such", checkout)


def test_a_folder_that_is_no_checkout_is_told_in_one_line(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match=re.escape(words.no_checkout("HEAD", str(tmp_path)))):
        commit_of("HEAD", tmp_path)


def test_a_system_without_git_is_told_in_one_line(checkout: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")
    with pytest.raises(BadInput, match=re.escape(words.NO_GIT)):
        commit_of("HEAD", checkout)


def test_only_one_daemon_can_be_profiled() -> None:
    result = CliRunner().invoke(command, ["--against", "HEAD", "--profile", "x"])
    assert result.exit_code == 2
    assert words.PROFILE_OF_ONE in result.output
