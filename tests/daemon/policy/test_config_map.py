"""A policy in a ConfigMap: read, followed and told of through the API."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import orjson
import pytest

from tests.support.running import REGISTRY, node, pod, scheduling, sessions
from tests.support.waiting import until
from vsched.clock import SystemClock
from vsched.daemon.app import Daemon
from vsched.daemon.options import Options, check
from vsched.daemon.policy.config_map import STATUS, ConfigMapKey, PolicyMap, map_key
from vsched.daemon.words import options as words
from vsched.errors import BadInput, BadPolicy
from vsched.kube.auth.connection import Connection
from vsched.kube.client import ApiClient
from vsched.sim.cluster import Cluster

GOOD = """
actions: "enqueue, allocate, backfill"
tiers:
- plugins:
  - name: priority
  - name: gang
"""
OTHER = GOOD.replace("enqueue, allocate", "allocate") + "schedulePeriod: 250ms\n"
BROKEN = GOOD.replace("name: gang", "name: gnag")
AT = ConfigMapKey("kube-system", "policy", "conf")
MAP = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "policy", "namespace": "kube-system"}}


def quietly(event: str, **fields: object) -> None:
    """Nobody is to be told."""


async def opened(cluster: Cluster, at: ConfigMapKey = AT) -> PolicyMap:
    async with ApiClient(Connection(cluster.url)) as client:
        return await PolicyMap.open(at, client, REGISTRY, SystemClock(), quietly)


@pytest.mark.parametrize(
    ("text", "at"),
    [
        pytest.param("ns/name/key", ConfigMapKey("ns", "name", "key"), id="all three"),
        pytest.param("ns/name", ConfigMapKey("ns", "name"), id="the key may be left to us"),
        pytest.param("name", None, id="a name alone is not enough"),
        pytest.param("ns//key", None, id="nor is a key without a name"),
        pytest.param("ns/name/key/more", None, id="four parts are one too many"),
    ],
)
def test_the_flag_names_a_key_of_a_map(text: str, at: ConfigMapKey | None) -> None:
    if at is not None:
        assert map_key(text) == at
        return
    with pytest.raises(BadInput, match=r"expected NAMESPACE/NAME/KEY"):
        map_key(text)


def test_a_file_and_a_map_are_one_too_many(tmp_path: Any) -> None:
    with pytest.raises(BadInput, match=re.escape(words.TWO_POLICIES)):
        check(Options(policy_file=tmp_path / "p.yaml", policy_map="a/b/c"))


@pytest.mark.parametrize(
    ("data", "key", "actions"),
    [
        pytest.param({"conf": GOOD, "x": BROKEN}, "conf", 3, id="the key that is named"),
        pytest.param({"volcano-scheduler.conf": OTHER, "x": BROKEN}, "", 2, id="else Volcano's"),
        pytest.param({"anything": GOOD}, "", 3, id="else the only one"),
    ],
)
async def test_which_key_it_is_read_from(data: dict[str, str], key: str, actions: int) -> None:
    async with Cluster(0) as cluster:
        cluster.client.create("configmaps", {**MAP, "data": data})
        policy = await opened(cluster, AT._replace(key=key))
        assert len(policy.policy.actions) == actions


@pytest.mark.parametrize(
    ("data", "key", "problem"),
    [
        pytest.param({"conf": BROKEN}, "conf", r"^configmap kube-system/policy conf:6: tiers\[0\]", id="path and line"),
        pytest.param({"conf": GOOD}, "cnof", r"no key cnof \(it has conf\)", id="a key that is not there"),
        pytest.param({"a": GOOD, "b": GOOD}, "", r"no key volcano-scheduler.conf \(it has a, b\)", id="one of several"),
        pytest.param({}, "conf", r"no key conf \(it is empty\)", id="nothing in it"),
        pytest.param({"conf": "#" * 300_000}, "conf", "too large", id="too large"),
    ],
)
async def test_a_map_without_a_good_policy_is_refused_at_the_start(
    data: dict[str, str], key: str, problem: str
) -> None:
    async with Cluster(0) as cluster:
        cluster.client.create("configmaps", {**MAP, "data": data})
        with pytest.raises(BadPolicy, match=problem):
            await opened(cluster, AT._replace(key=key))


async def test_a_map_that_is_not_there_is_refused_at_the_start() -> None:
    async with Cluster(0) as cluster:
        with pytest.raises(BadInput, match="configmap kube-system/policy: not found"):
            await opened(cluster)


@asynccontextmanager
async def scheduled(text: str, **options: Any) -> AsyncIterator[tuple[Cluster, Daemon]]:
    """A daemon with the policy of a ConfigMap."""
    async with Cluster([node("n1")]) as cluster:
        cluster.client.create("configmaps", {**MAP, "data": {"conf": text}})
        async with ApiClient(Connection(cluster.url)) as client:
            policy = await PolicyMap.open(AT, client, REGISTRY, SystemClock(), quietly)
            async with scheduling(cluster.url, policy=policy, **options) as daemon:
                yield cluster, daemon


def status(cluster: Cluster) -> dict[str, Any]:
    found = cluster.client.get("configmaps", "kube-system", "policy") or {}
    written: dict[str, Any] = orjson.loads(found["metadata"].get("annotations", {}).get(STATUS, "{}"))
    return written


def edit(cluster: Cluster, text: str) -> None:
    cluster.client.patch("configmaps", "kube-system", "policy", lambda found: {**found, "data": {"conf": text}})


def told(cluster: Cluster, reason: str) -> list[str]:
    events = cluster.client.list("events", "kube-system")
    return [event["message"] for event in events if event["reason"] == reason]


async def test_an_edit_is_in_force_at_once_and_told_of_on_the_map() -> None:
    async with scheduled(GOOD, period_seconds=3600.0) as (cluster, daemon):
        await until(lambda: status(cluster).get("state") == "InForce")
        edit(cluster, OTHER)
        await until(lambda: daemon.policy.policy.actions == ("allocate", "backfill"))
        assert daemon.policy.settings.generation == 2
        await until(lambda: status(cluster).get("generation") == 2)
        assert "actions enqueue, allocate, backfill -> allocate, backfill" in status(cluster)["message"]
        await until(lambda: any("schedulePeriod unset -> 0.25s" in text for text in told(cluster, "PolicyInForce")))
        await sessions(daemon, 4)  # by the flag, one may take an hour


async def test_a_broken_edit_and_a_deleted_map_leave_the_last_good_policy_in_force() -> None:
    async with scheduled(GOOD) as (cluster, daemon):
        edit(cluster, BROKEN)
        await until(lambda: status(cluster).get("state") == "Refused")
        assert "configmap kube-system/policy conf:6" in status(cluster)["message"]
        await until(lambda: bool(told(cluster, "PolicyRefused")))
        cluster.client.delete("configmaps", "kube-system", "policy")
        await until(lambda: "it is gone" in " ".join(daemon.policy.last.problems))
        assert daemon.policy.settings.generation == 1
        cluster.client.create("pods", pod("p"))
        await until(lambda: bool((cluster.client.get("pods", "default", "p") or {})["spec"].get("nodeName")))
        cluster.client.create("configmaps", {**MAP, "data": {"conf": OTHER}})
        await until(lambda: daemon.policy.settings.generation == 2)


async def test_what_is_told_of_on_the_map_does_not_lead_to_another_reading() -> None:
    async with scheduled(GOOD) as (cluster, daemon):
        await until(lambda: status(cluster).get("state") == "InForce")
        version = (cluster.client.get("configmaps", "kube-system", "policy") or {})["metadata"]["resourceVersion"]
        await asyncio.sleep(0.3)
        found = cluster.client.get("configmaps", "kube-system", "policy") or {}
        assert found["metadata"]["resourceVersion"] == version
        assert daemon.telemetry.metrics.generation._value.get() == 1
