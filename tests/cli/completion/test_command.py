"""The tab key: scripts of shells, and names that a running daemon knows."""

from __future__ import annotations

import asyncio
import os
import shutil
import subprocess
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from click.shell_completion import ShellComplete
from click.testing import CliRunner

from tests.support.answering import answering, content, silence
from vsched.cli import COMMANDS_HELP, cli
from vsched.cli.kubectl import completions

JOBS = {"team-a/train": {}, "team-a/test": {}, "team-b/train": {}}


@pytest.fixture
async def daemon(monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[str]:
    """One that knows some names."""
    async with answering() as server:
        for path, found in (
            ("/jobs", JOBS),
            ("/queues", {"research": {}, "batch": {}}),
            ("/nodes", {"n1": {}, "n2": {}}),
        ):
            server.replies[path] = content(found)
        monkeypatch.setenv("VSCHED_DAEMON", server.url)
        yield server.url


async def offered(*words: str) -> list[str]:
    """What may stand for the last word."""
    *before, incomplete = words
    found = await asyncio.to_thread(ShellComplete(cli, {}, "vsched", "").get_completions, before, incomplete)
    return [item.value for item in found]


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        pytest.param(["job", "get", "team-a/t"], ["team-a/test", "team-a/train"], id="jobs"),
        pytest.param(["job", "get", "-n", "team-b", ""], ["train"], id="jobs of a namespace"),
        pytest.param(["job", "list", "-n", "te"], ["team-a", "team-b"], id="namespaces"),
        pytest.param(["job", "list", "--queue", "re"], ["research"], id="queues"),
        pytest.param(["queue", "close", ""], ["batch", "research"], id="queues to close"),
        pytest.param(["explain", "queue/r"], ["queue/research"], id="queues to explain"),
        pytest.param(["job", "list", "--phase", "Inq"], ["inqueue"], id="words that are known anyway"),
        pytest.param(["plan", "--live", "--drain", "n"], ["n1", "n2"], id="nodes"),
        pytest.param(["job", ""], ["get", "list", "resume", "run", "suspend"], id="commands of a group"),
    ],
)
@pytest.mark.usefixtures("daemon")
async def test_names_that_a_daemon_knows(words: list[str], expected: list[str]) -> None:
    found = await offered(*words)
    assert sorted(word.lower() for word in found) == expected


async def test_a_daemon_that_the_words_name_is_asked(daemon: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VSCHED_DAEMON", "127.0.0.1:1")
    assert await offered("job", "get", "") == []
    assert await offered("job", "get", "--daemon", daemon, "team-b") == ["team-b/train"]


@pytest.mark.parametrize("reply", [silence, content(b"<html>", kind="text/html"), content({}, 503)])
async def test_where_nothing_can_be_known_nothing_is_said(reply: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    async with answering() as server:
        server.replies["/jobs"] = reply
        monkeypatch.setenv("VSCHED_DAEMON", server.url)
        assert await offered("job", "get", "") == []


async def test_commands_are_offered_without_being_loaded() -> None:
    assert await offered("") == list(COMMANDS_HELP)
    program = (
        "import sys; from vsched.cli import cli; from click.shell_completion import ShellComplete as S;"
        "found = S(cli, {}, 'vsched', '').get_completions([], 'j');"
        "print([item.value for item in found], 'vsched.cli.job.command' in sys.modules, 'aiohttp' in sys.modules)"
    )
    done = await asyncio.to_thread(subprocess.run, [sys.executable, "-c", program], capture_output=True, text=True)
    assert done.stdout == "['job'] False False\n"


@pytest.mark.parametrize(
    "words", [["job", "--help"], ["job", "list", "--help"], ["top", "--help"], ["usage", "--help"]]
)
async def test_help_does_not_load_the_client(words: list[str]) -> None:
    program = (
        "import sys; sys.argv = ['vsched', *sys.argv[1:]]\nfrom vsched.cli import main\n"
        "try:\n    main()\nfinally:\n    print('aiohttp' in sys.modules, 'numpy' in sys.modules)"
    )
    line = [sys.executable, "-c", program, *words]
    done = await asyncio.to_thread(subprocess.run, line, capture_output=True, text=True)
    assert "Example" in done.stdout
    assert done.stdout.endswith("False False\n")


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_scripts(shell: str) -> None:
    result = CliRunner().invoke(cli, ["completion", shell])
    assert result.exit_code == 0
    assert f"_VSCHED_COMPLETE={shell}_complete" in result.stdout


def test_another_shell_is_refused() -> None:
    assert CliRunner().invoke(cli, ["completion", "tcsh"]).exit_code == 2


PRESS_TAB = """
source <(vsched completion bash)
COMP_WORDS=(vsched {words})
COMP_CWORD=$((${{#COMP_WORDS[@]}} - 1))
_vsched_completion vsched
printf '%s\\n' "${{COMPREPLY[@]}}"
"""


@pytest.mark.skipif(shutil.which("bash") is None, reason="bash is not installed")
@pytest.mark.parametrize(
    ("words", "expected"),
    [
        pytest.param("job get team-a/", ["team-a/test", "team-a/train"], id="jobs"),
        pytest.param("allo", ["allocations"], id="commands"),
    ],
)
async def test_bash_completes(daemon: str, words: str, expected: list[str]) -> None:
    scripts = str(Path(sys.executable).parent)
    environment = {**os.environ, "PATH": f"{scripts}:{os.environ['PATH']}", "VSCHED_DAEMON": daemon}
    line = ["bash", "-c", PRESS_TAB.format(words=words)]
    done = await asyncio.to_thread(subprocess.run, line, capture_output=True, text=True, env=environment)
    assert done.stdout.split() == expected, done.stderr


@pytest.mark.usefixtures("daemon")
async def test_lines_for_kubectl() -> None:
    assert await asyncio.to_thread(completions, cli, ["job", "get", "team-b"]) == ["team-b/train", ":4"]
    assert (await asyncio.to_thread(completions, cli, ["jo"]))[0].startswith("job\t")
    assert (await asyncio.to_thread(completions, cli, ["check", ""]))[-1] == ":0"
    assert (await asyncio.to_thread(completions, cli, []))[-1] == ":4"
