"""One round of questions to the source of node usage that a policy describes."""

from __future__ import annotations

import asyncio
from typing import NamedTuple

from vsched.api.resources import NODES
from vsched.cli.ask.cluster import USUAL_CLUSTER, ClusterFlags, Obj
from vsched.cli.queue.shown import amounts
from vsched.cli.usage import words
from vsched.clock import SystemClock
from vsched.collectors.make import make_source
from vsched.collectors.poll import ask
from vsched.collectors.source import CollectedUsage, NodeTarget
from vsched.errors import BadInput
from vsched.kube.auth.config import load_connection
from vsched.kube.auth.connection import Connection
from vsched.kube.client import ApiClient
from vsched.plugins.load.args import UsageArgs
from vsched.plugins.usage import Usage
from vsched.settings import Settings
from vsched.settings.metrics import MetricsSource

NO_CLUSTER = Connection("http://127.0.0.1:0", source="no cluster")
"""The connection of a source that needs no cluster; it is never used."""


class Threshold(NamedTuple):
    """A threshold of the policy, in percent."""

    resource: str
    period: str
    percent: float


class UsageRound(NamedTuple):
    """What a source answered in one round."""

    source: str
    """The kind and address of the source."""
    periods: tuple[str, ...]
    thresholds: tuple[Threshold, ...]
    nodes: tuple[str, ...]
    """All nodes of the cluster, sorted."""
    collected: CollectedUsage
    without_cluster: bool = False
    """Whether no cluster was found, so that ``nodes`` are those that the source knows."""


def read_usage(settings: Settings, cluster: ClusterFlags) -> UsageRound:
    """Ask the source of this policy once; raises BadInput where the policy has none, and what the source raises.

    Where no cluster can be found, a source that does not need one is asked for all nodes that it knows.
    """
    metrics = settings.metrics
    if metrics is None or metrics.kind is None:
        raise BadInput(words.no_source(settings.source))

    connection = _connection(metrics, cluster)

    async def once() -> UsageRound:
        async with ApiClient(connection or NO_CLUSTER) as client:
            source = make_source(metrics, client, SystemClock())
            assert source is not None  # the policy names a kind
            periods = settings.policy.usage_periods()
            try:
                if connection is not None:
                    listed = await client.list(NODES.path())
                    targets = [_target(node, metrics.node_label) for node in listed["items"]]
                else:
                    asked = await ask(source, [], periods, metrics.timeout)
                    targets = [NodeTarget(name) for name in asked.strangers]
                collected = await ask(source, targets, periods, metrics.timeout)
            finally:
                await source.close()
        names = tuple(sorted(target.name for target in targets))
        return UsageRound(source.label, periods, _thresholds(settings), names, collected, connection is None)

    return asyncio.run(once())


def _connection(metrics: MetricsSource, cluster: ClusterFlags) -> Connection | None:
    """The cluster whose nodes are meant; None where there is none and the source does not need one."""
    needed = cluster != USUAL_CLUSTER or metrics.kind not in ("prometheus", "elasticsearch")
    try:
        return load_connection(*cluster)
    except BadInput:
        if needed or metrics.hidden_password.secret.name or metrics.hidden_token.secret.name:
            raise
        return None


def _target(node: Obj, label: str) -> NodeTarget:
    metadata, status = node["metadata"], node.get("status") or {}
    has = amounts(status.get("allocatable"))
    instance = (metadata.get("labels") or {}).get(label, "") if label else ""
    return NodeTarget(metadata["name"], instance, has.get("cpu", 0), has.get("memory", 0))


def _thresholds(settings: Settings) -> tuple[Threshold, ...]:
    """The thresholds above which nodes take no new pods; none where the plugin is off or only scores."""
    conf = settings.policy.plugin(Usage.name)
    if conf is None or not isinstance(conf.args, UsageArgs) or not conf.switches.predicate:
        return ()
    return tuple(Threshold(*limit) for limit in conf.args.limits())
