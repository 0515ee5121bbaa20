"""What a daemon learns from an API server before it begins."""

from __future__ import annotations

from functools import partial

from tests.support.running import has_listed, scheduling
from tests.support.waiting import until
from vsched.kube.watch.deltas import WatchState
from vsched.sim.cluster import Cluster


async def test_kinds_that_the_cluster_does_not_have_are_not_asked_for() -> None:
    async with Cluster(1) as cluster, scheduling(cluster.url) as daemon:
        await until(lambda: has_listed(daemon))
        absent = {kind for kind, found in daemon.reflectors.items() if found.statistics.state is WatchState.MISSING}
        listed = partial(daemon.telemetry.registry.get_sample_value, "vsched_api_requests_total")
        assert {"NodePool", "CompositePodGroup"} <= absent
        assert listed({"verb": "LIST", "code": "200"}) == len(daemon.reflectors) - len(absent)
        assert listed({"verb": "LIST", "code": "404"}) is None
