"""``vsched run`` as a person meets it: a process of its own, its exit codes and its one clear line."""

from __future__ import annotations

import asyncio
import os
import signal
import socket
import sys
from asyncio.subprocess import PIPE, Process
from pathlib import Path

import orjson
import pytest
from click.testing import CliRunner

from tests.support.answering import answering, content
from tests.support.running import gang, node, nodes_of
from tests.support.waiting import until
from vsched.cli import cli
from vsched.errors import VschedError
from vsched.sim.cluster import Cluster

QUIET = ("--listen-address", "", "--healthz-address", "")


async def start(*arguments: str, **environment: str) -> Process:
    return await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "vsched", "run", *arguments),
        stdout=PIPE,
        stderr=PIPE,
        env={**os.environ, "KUBECONFIG": "", "HOME": "/nonexistent", **environment},
    )


async def refused(*arguments: str, **environment: str) -> str:
    """What a daemon that must not start says."""
    process = await start(*arguments, **environment)
    _, err = await asyncio.wait_for(process.communicate(), 60.0)
    assert process.returncode == 1, err.decode()
    document = [line for line in err.decode().splitlines() if not line.startswith("{")]
    assert "Traceback" not in err.decode()
    assert len(document) == 1, err.decode()
    return document[0]


async def test_it_schedules_until_it_is_told_to_stop(tmp_path: Path) -> None:
    kubeconfig = tmp_path / "kubeconfig"
    async with Cluster([node("n1")]) as cluster:
        cluster.write_kubeconfig(kubeconfig)
        process = await start(*QUIET, "--log-format", "json", VSCHED_KUBECONFIG=str(kubeconfig))
        cluster.apply(gang("g", 3))
        await until(lambda: len(nodes_of(cluster, "g-")) == 3, seconds=60.0)
        process.send_signal(signal.SIGTERM)
        out, err = await asyncio.wait_for(process.communicate(), 60.0)
    assert process.returncode == 0, err.decode()
    assert out == b""
    events = [orjson.loads(line)["event"] for line in err.splitlines()]
    assert events[0] == "starting"
    assert events[-2:] == ["stopping", "stopped"]
    assert "sessions" in events


def kubeconfig_for(url: str, path: Path) -> str:
    config = {
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": "c",
        "contexts": [{"name": "c", "context": {"cluster": "c", "user": "u"}}],
        "clusters": [{"name": "c", "cluster": {"server": url}}],
        "users": [{"name": "u", "user": {}}],
    }
    path.write_bytes(orjson.dumps(config))
    return str(path)


async def test_an_address_that_answers_with_a_web_page_is_no_api_server(tmp_path: Path) -> None:
    async with answering() as server:
        server.replies["*"] = content(b"<html><title>Welcome</title></html>", kind="text/html")
        document = await refused("--kubeconfig", kubeconfig_for(server.url, tmp_path / "kubeconfig"), *QUIET)
    assert "web page" in document
    assert server.url in document


def test_a_port_that_is_taken_is_named(tmp_path: Path) -> None:
    kubeconfig = kubeconfig_for("http://127.0.0.1:1", tmp_path / "kubeconfig")
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        address = f"127.0.0.1:{taken.getsockname()[1]}"
        flags = ("--kubeconfig", kubeconfig, "--listen-address", address, "--healthz-address", "")
        result = CliRunner().invoke(cli, ["run", *flags])
    assert isinstance(result.exception, VschedError)
    document = str(result.exception)
    assert "\n" not in document
    assert "--listen-address" in document
    assert address in document


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        pytest.param(["--kubeconfig", "nowhere.yaml"], "nowhere.yaml", id="a kubeconfig that does not exist"),
        pytest.param(["--kubeconfig", "KUBECONFIG", "--scheduler-conf", "no.yaml"], "no.yaml", id="no policy file"),
    ],
)
def test_what_cannot_work_is_one_line(arguments: list[str], said: str, tmp_path: Path) -> None:
    kubeconfig = kubeconfig_for("http://127.0.0.1:1", tmp_path / "kubeconfig")
    given = [kubeconfig if word == "KUBECONFIG" else word for word in arguments]
    result = CliRunner().invoke(cli, ["run", *given], env={"KUBECONFIG": "", "HOME": "/nonexistent"})
    assert isinstance(result.exception, VschedError)
    assert said in str(result.exception)
    assert "\n" not in str(result.exception)


@pytest.mark.parametrize(
    "arguments",
    [
        pytest.param(["--minimum-feasible-nodes", "5"], id="a flag of Volcano's that means nothing here"),
        pytest.param(["--max-in-flight", "1000"], id="more requests in flight than help"),
        pytest.param(["--eviction-mode", "politely"], id="a way to evict that does not exist"),
        pytest.param(["--schedule-period", "often"], id="a period that is no number"),
        pytest.param(["--schedule-period", "0"], id="a period of nothing"),
    ],
)
def test_usage_errors_exit_with_2(arguments: list[str]) -> None:
    assert CliRunner().invoke(cli, ["run", *arguments]).exit_code == 2


def test_help_shows_an_example() -> None:
    shown = CliRunner().invoke(cli, ["run", "--help"])
    assert shown.exit_code == 0
    assert "vsched run --kubeconfig" in shown.output
