"""``vsched rollout`` against an embedded cluster with a daemon, as a person uses it."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from tests.support.running import node, scheduling
from tests.support.waiting import until
from vsched.cli import cli
from vsched.cli.rollout import words
from vsched.cli.rollout.asking import RolloutFound, lines
from vsched.clock import SystemClock
from vsched.daemon.policy.config_map import ConfigMapKey, PolicyMap
from vsched.daemon.policy.rollout.machine import RolloutOrder, RolloutPhase, RolloutState
from vsched.daemon.policy.rollout.reading import state_in
from vsched.daemon.words import rollout as daemon_words
from vsched.errors import BadInput
from vsched.kube.auth.connection import Connection
from vsched.kube.client import ApiClient
from vsched.settings.built_in import REGISTRY
from vsched.settings.rollout import RolloutSpec, RolloutStep
from vsched.sim.cluster import Cluster

WHERE = "kube-system/policy"
POLICY = "actions: allocate\ntiers:\n- plugins:\n  - name: gang\n"
ROLLOUT = (
    'candidate: new\nsteps:\n- all: 1h\nlimits:\n  evictions per hour: "<= 20"\n  wait p95: "<= 120 % of baseline"\n'
)
MAP: dict[str, Any] = {
    "apiVersion": "v1",
    "kind": "ConfigMap",
    "metadata": {"name": "policy", "namespace": "kube-system"},
    "data": {"conf": POLICY, "new": POLICY + "  - name: priority\n", "rollout": ROLLOUT},
}


def quietly(event: str, **fields: object) -> None:
    """Nobody is to be told."""


async def run(kubeconfig: Path, *arguments: str) -> Result:
    line = ["rollout", *arguments, "--kubeconfig", str(kubeconfig)]
    return await asyncio.to_thread(CliRunner().invoke, cli, line)


def phase(cluster: Cluster) -> RolloutPhase | None:
    state = state_in((cluster.client.get("configmaps", "kube-system", "policy") or {})["metadata"].get("annotations"))
    return None if state is None else state.phase


async def test_a_rollout_is_shown_promoted_and_taken_back(tmp_path: Path) -> None:
    config = tmp_path / "config"
    async with Cluster([node("n1")]) as cluster, ApiClient(Connection(cluster.url)) as client:
        cluster.write_kubeconfig(config)
        cluster.client.create("configmaps", MAP)
        at = ConfigMapKey("kube-system", "policy", "conf")
        policy = await PolicyMap.open(at, client, REGISTRY, SystemClock(), quietly)
        result = await run(config, "status", WHERE)
        assert str(result.exception) == words.not_begun(WHERE)
        async with scheduling(cluster.url, policy=policy):
            await until(lambda: phase(cluster) is RolloutPhase.BASELINE)
            result = await run(config, "status", WHERE)
            assert result.stdout.splitlines()[0] == words.in_force("new", candidate=False)
            assert words.why(daemon_words.BASELINE) in result.stdout
            assert words.figure("wait p95", words.NOTHING, "<= 120% of baseline") in result.stdout

            result = await run(config, "promote", WHERE)
            assert result.stdout.strip() == words.asked(WHERE, "promote")
            await until(lambda: phase(cluster) is RolloutPhase.COMPLETE)
            document = json.loads((await run(config, "status", WHERE, "-o", "json")).stdout)
            assert document["inForce"]
            assert document["phase"] == "Complete"
            assert document["limits"]["evictions per hour"] == "<= 20"
            result = await run(config, "promote", WHERE)
            assert str(result.exception) == words.has_ended(WHERE, "Complete", "promote")

            await run(config, "take-back", WHERE)
            await until(lambda: phase(cluster) is RolloutPhase.TAKEN_BACK)
            for order in RolloutOrder:
                result = await run(config, order.value, WHERE)
                assert str(result.exception) == words.has_ended(WHERE, "TakenBack", order.value)


@pytest.mark.parametrize(
    ("where", "problem"),
    [
        pytest.param("policy", words.place_expected("policy"), id="a name alone"),
        pytest.param("a/b/c", words.place_expected("a/b/c"), id="three parts"),
        pytest.param("default/policy", words.not_found("default/policy"), id="a map that is not there"),
        pytest.param("kube-system/plain", words.no_rollout("kube-system/plain"), id="a map without a rollout"),
    ],
)
async def test_where_there_is_none_one_line_says_so(tmp_path: Path, where: str, problem: str) -> None:
    config = tmp_path / "config"
    async with Cluster(0) as cluster:
        cluster.write_kubeconfig(config)
        plain = {**MAP, "metadata": {"name": "plain", "namespace": "kube-system"}, "data": {"conf": POLICY}}
        cluster.client.create("configmaps", plain)
        result = await run(config, "status", where)
        assert isinstance(result.exception, BadInput)
        assert str(result.exception) == problem


def test_a_rollout_of_a_shard_says_where_it_is_in_force_and_what_it_waits_for() -> None:
    spec = RolloutSpec("new", (RolloutStep(3600.0, shard=1),), ())
    here = RolloutState("id", RolloutPhase.RUNNING, in_force=True)
    assert next(lines(RolloutFound(WHERE, spec, here))) == words.in_force("new", candidate=True, shard=1)
    assert words.waits(1) not in lines(RolloutFound(WHERE, spec, here))
    among_others = RolloutState("id", RolloutPhase.RUNNING, alone=False)
    assert words.waits(1) in lines(RolloutFound(WHERE, spec, among_others))
    complete = RolloutState("id", RolloutPhase.COMPLETE, in_force=True, alone=False)
    assert next(lines(RolloutFound(WHERE, spec, complete))) == words.in_force("new", candidate=True)
