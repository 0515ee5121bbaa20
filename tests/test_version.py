"""What exactly runs: the commit wherever it comes from, the command, and everybody who is told."""

from __future__ import annotations

import platform
import re
import shutil
import subprocess
from importlib import metadata
from pathlib import Path

import aiohttp
import orjson
import pytest
import yaml
from click.testing import CliRunner
from prometheus_client import CollectorRegistry, generate_latest

from vsched import __version__
from vsched.cli import COMMANDS_HELP, cli
from vsched.version import LIBRARIES, UNKNOWN, build, checked_out, commit, user_agent
from vsched.web.metrics.counters import Metrics

needs_git = pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed")


def git(directory: Path, *words: str) -> str:
    told = subprocess.run(
        ["git", "-C", str(directory), "-c", "user.name=t", "-c", "user.email=t@example.com", *words],
        capture_output=True,
        text=True,
        check=True,
    )
    return told.stdout.strip()


@needs_git
def test_the_commit_is_that_of_the_checkout(tmp_path: Path) -> None:
    git(tmp_path, "init", "--quiet")
    git(tmp_path, "commit", "--quiet", "--allow-empty", "--message", "first")
    found = checked_out(tmp_path)
    assert len(found) == 12
    assert git(tmp_path, "rev-parse", "HEAD").startswith(found)


@needs_git
def test_a_directory_within_another_checkout_has_no_commit_of_its_own(tmp_path: Path) -> None:
    git(tmp_path, "init", "--quiet")
    git(tmp_path, "commit", "--quiet", "--allow-empty", "--message", "first")
    (tmp_path / "site-packages").mkdir()
    assert checked_out(tmp_path / "site-packages") == ""


@pytest.mark.parametrize("content", [None, "gitdir: /nowhere"], ids=["no checkout", "a broken one"])
def test_where_there_is_no_commit_there_is_none(content: str | None, tmp_path: Path) -> None:
    if content is not None:
        (tmp_path / ".git").write_text(content, encoding="utf-8")
    assert checked_out(tmp_path) == ""


def test_a_build_names_python_and_the_libraries_that_matter() -> None:
    found = build()
    assert found.version == __version__
    assert found.commit == commit()
    assert found.python == platform.python_version()
    assert set(found.libraries) == set(LIBRARIES)
    assert found.libraries["numpy"] == metadata.version("numpy")
    assert UNKNOWN not in found.libraries.values()


@pytest.mark.parametrize("words", [["--version"], ["version"]], ids=" ".join)
def test_the_command_says_it_to_people(words: list[str]) -> None:
    shown = CliRunner().invoke(cli, words)
    assert shown.exit_code == 0
    first, *rest = shown.output.splitlines()
    assert first == f"vsched {__version__}"
    told = {line.split()[0]: line for line in rest}
    assert commit() in told["commit"]
    assert platform.python_version() in told["python"]
    assert f"aiohttp {aiohttp.__version__}" in told["libraries"]


@pytest.mark.parametrize(("output", "read"), [("json", orjson.loads), ("yaml", yaml.safe_load)])
def test_the_command_says_it_to_programs(output: str, read: object) -> None:
    shown = CliRunner().invoke(cli, ["version", "-o", output])
    assert callable(read)
    assert read(shown.output) == {
        "version": __version__,
        "commit": commit(),
        "python": platform.python_version(),
        "platform": build().platform,
        "libraries": build().libraries,
    }


def test_a_variable_of_that_name_asks_for_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VSCHED_VERSION", "1")
    shown = CliRunner().invoke(cli, ["--help"])
    assert all(name in shown.output for name in COMMANDS_HELP)


def test_servers_are_told_version_platform_and_commit() -> None:
    assert re.fullmatch(rf"vsched/{__version__} \(\w+/\w+\) [0-9a-z-]+", user_agent())
    assert user_agent().endswith(commit())


def test_there_is_a_metric_of_the_build() -> None:
    registry = CollectorRegistry()
    Metrics(registry)
    lines = generate_latest(registry).decode().splitlines()
    [series] = [line for line in lines if line.startswith("vsched_build_info{")]
    assert f'version="{__version__}"' in series
    assert f'commit="{commit()}"' in series
    assert series.endswith(" 1.0")
