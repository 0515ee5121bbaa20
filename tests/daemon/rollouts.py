"""Policies with rollouts in a ConfigMap, and what is written on it."""

from __future__ import annotations

from typing import Any

from tests.daemon.preempting import POLICY as PREEMPTING
from vsched.clock import SystemClock
from vsched.daemon.policy.config_map import ConfigMapKey, PolicyMap
from vsched.daemon.policy.rollout.machine import RolloutPhase, RolloutState
from vsched.daemon.policy.rollout.reading import ORDER, state_in
from vsched.kube.client import ApiClient
from vsched.settings.built_in import REGISTRY
from vsched.sim.cluster import Cluster

Obj = dict[str, Any]
POLICY = PREEMPTING.replace("preempt, ", "")
WITHOUT_STARTS = PREEMPTING.replace("allocate, preempt, backfill", "backfill")
BETTER = POLICY.replace("name: nodeorder", "name: binpack")
AT = ConfigMapKey("kube-system", "policy", "conf")
ALL = """
candidate: candidate
steps:
- all: 1m
- all: 1m
limits:
  evictions per hour: "<= 0"
  evictions in vain: "<= 0"
  wait p95: "<= 30s"
  session p99: "<= 10s"
"""
IN_SHARD = ALL.replace("- all: 1m\n- all: 1m", "- shard: 1\n  for: 2m")
LONG_SECONDS = 3600.0


def the_map(candidate: str, rollout: str = ALL, policy: str = POLICY) -> Obj:
    data = {"conf": policy, "candidate": candidate, "rollout": rollout}
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": AT.name, "namespace": AT.namespace},
        "data": data,
    }


def found(cluster: Cluster) -> Obj:
    return cluster.client.get("configmaps", AT.namespace, AT.name) or {}


def state(cluster: Cluster) -> RolloutState | None:
    return state_in(found(cluster)["metadata"].get("annotations"))


def is_in(cluster: Cluster, phase: RolloutPhase) -> bool:
    written = state(cluster)
    return written is not None and written.phase is phase


def told(cluster: Cluster, reason: str) -> list[str]:
    return [event["message"] for event in cluster.client.list("events", AT.namespace) if event["reason"] == reason]


def order(cluster: Cluster, word: str) -> None:
    written = state(cluster)
    assert written is not None

    def ordered(before: Obj) -> Obj:
        notes = {**before["metadata"].get("annotations", {}), ORDER: f"{word} {written.id}"}
        return {**before, "metadata": {**before["metadata"], "annotations": notes}}

    cluster.client.patch("configmaps", AT.namespace, AT.name, ordered)


async def opened(client: ApiClient) -> PolicyMap:
    def quietly(event: str, **fields: object) -> None:
        """Nobody is to be told."""

    return await PolicyMap.open(AT, client, REGISTRY, SystemClock(), quietly)


def ended(cluster: Cluster) -> bool:
    return is_in(cluster, RolloutPhase.COMPLETE) or is_in(cluster, RolloutPhase.TAKEN_BACK)
