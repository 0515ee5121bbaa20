"""``vsched usage`` and ``vsched check --probe`` at an embedded cluster and a real Prometheus."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
import yaml
from click.testing import CliRunner, Result

from tests.support.answering import answering, content
from tests.support.prometheus import prometheus, steady, swinging
from tests.support.running import node
from vsched.cli import cli
from vsched.cli.plan.usage_file import read_usage
from vsched.cli.usage import words
from vsched.errors import BadInput, Unavailable
from vsched.sim.cluster import Cluster

POLICY = """
actions: "enqueue, allocate"
tiers:
- plugins:
  - name: gang
  - name: usage
    arguments:
      thresholds: {cpu: 80, MEMUsageAvg.5m: 60}
"""
CURVES = {
    "n1:9100": steady(30, 40),
    "n2:9100": steady(90, 50),
    "n3:9100": swinging(10, 30),
    "n4:9100": steady(20, 20, until=420.0),
    "old-host:9100": steady(1),
}
NODES = [node(f"n{number}") for number in range(1, 6)]


class Shell:
    """Runs commands beside the event loop, with a policy and a kubeconfig."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory

    def policy(self, metrics: str) -> Path:
        path = self._directory / "policy.yaml"
        path.write_text(POLICY + metrics, encoding="utf-8")
        return path

    async def run(self, *arguments: str) -> Result:
        line = [*arguments, "--kubeconfig", str(self._directory / "config")]
        return await asyncio.to_thread(CliRunner().invoke, cli, line)

    async def usage(self, metrics: str, *arguments: str) -> Result:
        return await self.run("usage", "--config", str(self.policy(metrics)), *arguments)


@asynccontextmanager
async def shell(tmp_path: Path) -> AsyncIterator[Shell]:
    async with Cluster(NODES) as cluster:
        cluster.write_kubeconfig(tmp_path / "config")
        yield Shell(tmp_path)


async def test_every_node_is_shown_and_what_is_no_node(tmp_path: Path) -> None:
    async with shell(tmp_path) as at, prometheus(CURVES) as address:
        metrics = f"metrics: {{address: '{address}'}}\n"
        shown = await at.usage(metrics)
        assert shown.exit_code == 0, shown.exception
        document = json.loads((await at.usage(metrics, "-o", "json")).stdout)
        same = yaml.safe_load((await at.usage(metrics, "-o", "yaml")).stdout)
        (tmp_path / "usage.yaml").write_text((await at.usage(metrics, "-o", "plan")).stdout, encoding="utf-8")
        probed = await at.run("check", str(at.policy(metrics)), "--probe")
    lines = shown.stdout.splitlines()
    assert [line.split()[0] for line in lines[1:6]] == ["n1", "n2", "n3", "n4", "n5"]
    assert [line.split()[-1] for line in lines[1:6]] == ["known", "above", "known", "stale", "unknown"]
    assert "30.0% ±0.0" in lines[1]
    assert "┃" in lines[1]
    assert lines[-3] == f"prometheus {address}: 5 nodes, 2 known, 1 above, 1 stale, 1 unknown"
    assert lines[-2] == words.closed_above("cpu 80% over 5m, memory 60% over 5m")
    assert lines[-1] == words.no_such_nodes("old-host:9100", "")
    assert document["nodes"]["n1"]["cpu"]["5m"]["average"] == pytest.approx(30, abs=0.5)
    assert document["nodes"]["n3"]["cpu"]["5m"]["spread"] == pytest.approx(10, abs=2)
    assert document["nodes"]["n5"] == {"state": "unknown"}
    assert document["strangers"] == ["old-host:9100"]
    assert document["thresholds"][0] == {"resource": "cpu", "period": "5m", "percent": 80.0}
    assert same.keys() == document.keys()
    planned = read_usage(str(tmp_path / "usage.yaml"), 0.0)
    assert sorted(planned.nodes) == ["n1", "n2", "n3"]
    assert planned.nodes["n1"].memory["5m"].average == pytest.approx(40, abs=0.5)
    assert probed.exit_code == 0, probed.exception
    found = probed.stdout.splitlines()[-6:]
    assert found[0] == f"probe: prometheus {address}"
    assert found[1].startswith("  cpu 5m average: 4 of 5 nodes, ")
    assert found[1].endswith(" to 90.0%")
    assert found[5].startswith("  newest samples: ")


async def test_a_source_that_knows_none_of_the_nodes(tmp_path: Path) -> None:
    async with shell(tmp_path) as at, prometheus({"10.0.0.1:9100": steady(30)}) as address:
        metrics = f"metrics: {{address: '{address}'}}\n"
        shown = await at.usage(metrics)
        probed = await at.run("check", str(at.policy(metrics)), "--probe", "-o", "json")
    problem = (
        f"prometheus {address}: it knows none of the 5 nodes, only 10.0.0.1:9100: check instanceLabel and nodeLabel"
    )
    for result in (shown, probed):
        assert isinstance(result.exception, BadInput)
        assert str(result.exception) == problem
    assert words.no_such_nodes("10.0.0.1:9100", "") in shown.stdout
    assert json.loads(probed.stdout)["metrics"]["address"] == address
    assert "  cpu 5m average: 0 of 5 nodes" in probed.stderr


async def test_without_a_cluster_everything_is_shown_that_the_source_knows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("KUBECONFIG", "KUBERNETES_SERVICE_HOST"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    async with prometheus({"n1:9100": steady(30, 40), "n2:9100": steady(90)}) as address:
        path = Shell(tmp_path).policy(f"metrics: {{address: '{address}'}}\n")
        shown = await asyncio.to_thread(CliRunner().invoke, cli, ["usage", "--config", str(path), "-o", "json"])
        probed = await asyncio.to_thread(CliRunner().invoke, cli, ["check", str(path), "--probe"])
    states = {name: found["state"] for name, found in json.loads(shown.stdout)["nodes"].items()}
    assert states == {"n1:9100": "known", "n2:9100": "above"}
    assert "no cluster to compare with" in probed.stdout
    assert "  cpu 5m average: 2 of 2 nodes, 30.0 to 90.0%" in probed.stdout


async def test_a_cluster_that_is_named_has_to_be_there(tmp_path: Path) -> None:
    at = Shell(tmp_path)
    shown = await at.usage("metrics: {address: 'http://127.0.0.1:9'}\n")
    assert isinstance(shown.exception, BadInput)
    assert str(tmp_path / "config") in str(shown.exception)


async def test_a_source_that_does_not_answer(tmp_path: Path) -> None:
    async with shell(tmp_path) as at, answering() as server:
        server.replies["*"] = content(b"<html>", 200, "text/html")
        shown = await at.usage(f"metrics: {{address: '{server.url}'}}\n")
    assert isinstance(shown.exception, Unavailable)
    assert "answered with a web page, not JSON; is the address right?" in str(shown.exception)
    assert shown.stdout == ""


async def test_a_policy_that_says_nothing_of_usage(tmp_path: Path) -> None:
    async with shell(tmp_path) as at:
        for shown in (await at.usage(""), await at.run("check", str(at.policy("")), "--probe")):
            assert isinstance(shown.exception, BadInput)
            assert str(shown.exception).endswith(words.no_source("policy.yaml"))


def test_help_shows_an_example_and_usage_errors_exit_with_2() -> None:
    shown = CliRunner().invoke(cli, ["usage", "--help"])
    assert shown.exit_code == 0
    assert "vsched usage --config" in shown.output
    assert CliRunner().invoke(cli, ["usage", "-o", "table"]).exit_code == 2
