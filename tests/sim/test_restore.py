"""An embedded cluster that is stopped, comes back at the same address, and goes back to an earlier state."""

from __future__ import annotations

import aiohttp
import pytest

from tests.sim.api_client import PODS, Api, pod
from tests.support.waiting import until
from vsched.sim.cluster import Cluster
from vsched.sim.controllers.nodes.node_status import HANGS
from vsched.sim.store.store import Behind


def named(name: str) -> dict[str, object]:
    return {"metadata": {"name": name, "namespace": "default"}}


async def test_nobody_listens_meanwhile_and_then_all_is_as_before() -> None:
    async with Cluster(1) as cluster, aiohttp.ClientSession(cluster.url) as session:
        api, url = Api(session), cluster.url
        await api.pod("p")
        await cluster.stop_serving()
        with pytest.raises(aiohttp.ClientConnectorError):
            await api.get(PODS)
        await cluster.serve()
        assert cluster.url == url
        assert (await api.get(PODS)).names() == ["p"]


async def test_what_came_later_never_was() -> None:
    async with Cluster(1) as cluster, aiohttp.ClientSession(cluster.url) as session:
        api, client = Api(session), cluster.client
        for name in ("kept", "deleted"):
            client.create("configmaps", named(name))
        client.patch("configmaps", "default", "kept", lambda found: {**found, "data": {"x": "old"}})
        revision = cluster.store.revision
        client.patch("configmaps", "default", "kept", lambda found: {**found, "data": {"x": "new"}})
        client.delete("configmaps", "default", "deleted")
        client.create("configmaps", named("made"))
        later = cluster.store.revision
        await cluster.stop_serving()
        await cluster.restore(revision)
        assert cluster.store.revision == revision
        await cluster.serve()

        assert (await api.get("/api/v1/namespaces/default/configmaps")).names() == ["deleted", "kept"]
        kept = client.get("configmaps", "default", "kept")
        assert kept is not None
        assert kept["data"] == {"x": "old"}
        with pytest.raises(Behind):
            cluster.store.subscribe(client.kind("configmaps"), revision - 1)
        refused = await api.get(f"{PODS}?resourceVersion={later + 1000}")
        assert (refused.code, refused.reason) == (504, "Timeout")
        assert "Too large resource version" in refused.message


async def test_its_controllers_go_on_from_there() -> None:
    async with Cluster(1) as cluster, aiohttp.ClientSession(cluster.url) as session:
        api = Api(session)
        await cluster.settle()
        await api.pod("p")
        revision = cluster.store.revision
        await api.bind("p", "node-0")
        await cluster.settle()
        await cluster.restore(revision)
        found = cluster.client.get("pods", "default", "p")
        assert found is not None
        assert "nodeName" not in found["spec"]
        await api.bind("p", "node-0")
        await until(lambda: _phase(cluster) == "Running")


async def test_a_kubelet_that_hangs_starts_nothing_until_it_goes_on() -> None:
    async with Cluster(1) as cluster, aiohttp.ClientSession(cluster.url) as session:
        api = Api(session)
        await cluster.settle()
        cluster.client.patch("nodes", "", "node-0", lambda node: _annotated(node, {HANGS: ""}))
        assert (await api.post(PODS, pod("p"))).code == 201
        await api.bind("p", "node-0")
        await cluster.settle()
        assert _phase(cluster) == "Pending"
        cluster.client.patch("nodes", "", "node-0", lambda node: _annotated(node, {}))
        await until(lambda: _phase(cluster) == "Running")


def _phase(cluster: Cluster) -> str:
    found = cluster.client.get("pods", "default", "p")
    return "" if found is None else str(found["status"]["phase"])


def _annotated(node: dict[str, object], annotations: dict[str, str]) -> dict[str, object]:
    metadata = node["metadata"]
    assert isinstance(metadata, dict)
    return {**node, "metadata": {**metadata, "annotations": annotations}}
