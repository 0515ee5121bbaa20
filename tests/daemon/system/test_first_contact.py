"""What a daemon learns from an API server before it begins."""

from __future__ import annotations

from functools import partial

import pytest

from tests.support.answering import Reply, answering, content
from tests.support.running import has_listed, scheduling
from tests.support.waiting import until
from vsched.daemon.system.first_contact import served_versions
from vsched.kube.auth.connection import Connection
from vsched.kube.client import ApiClient
from vsched.kube.watch.deltas import WatchState
from vsched.sim.cluster import Cluster

GROUPS = {
    "kind": "APIGroupList",
    "groups": [
        {"name": "apps", "versions": [{"groupVersion": "apps/v1", "version": "v1"}]},
        {
            "name": "batch.volcano.sh",
            "versions": [{"groupVersion": "batch.volcano.sh/v1alpha1"}, {"groupVersion": "batch.volcano.sh/v1"}],
        },
    ],
}


@pytest.mark.parametrize(
    ("reply", "served"),
    [
        pytest.param(
            content(GROUPS), {"apps/v1", "batch.volcano.sh/v1alpha1", "batch.volcano.sh/v1"}, id="all versions of all"
        ),
        pytest.param(content({"groups": []}), None, id="a server that names no group does not say what it serves"),
        pytest.param(content({"message": "no"}, 403), None, id="who may not ask is not told"),
        pytest.param(content({"message": "oops"}, 500), None, id="a server that fails"),
        pytest.param(content({"groups": {"a": 1}}), None, id="something else in JSON"),
        pytest.param(content(b"\xff"), None, id="no JSON"),
    ],
)
async def test_served_versions(reply: Reply, served: set[str] | None) -> None:
    async with answering() as server, ApiClient(Connection(server.url)) as client:
        server.replies["/apis"] = reply
        assert await served_versions(client) == served
        assert len(server.asked) == 1


async def test_kinds_that_the_cluster_does_not_have_are_not_asked_for() -> None:
    async with Cluster(1) as cluster, scheduling(cluster.url) as daemon:
        await until(lambda: has_listed(daemon))
        absent = {kind for kind, found in daemon.reflectors.items() if found.statistics.state is WatchState.MISSING}
        listed = partial(daemon.telemetry.registry.get_sample_value, "vsched_api_requests_total")
        assert {"NodePool", "CompositePodGroup"} <= absent
        assert listed({"verb": "LIST", "code": "200"}) == len(daemon.reflectors) - len(absent)
        assert listed({"verb": "LIST", "code": "404"}) is None
