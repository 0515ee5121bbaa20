"""What an API server says it serves, and kinds that are waited for by that alone."""

from __future__ import annotations

import asyncio
from collections import Counter

import msgspec
import pytest

from tests.kube.mirroring import Mirror, Pod
from tests.support.answering import Reply, answering, content
from tests.support.waiting import until
from vsched.kube.auth.connection import Connection
from vsched.kube.client import ApiClient
from vsched.kube.paths import ApiResource
from vsched.kube.watch.bounds import ReflectorSettings
from vsched.kube.watch.discovery import Discovery, Served
from vsched.kube.watch.reflector import Reflector, WatchedKind
from vsched.sim.cluster import Cluster

PLAIN = {
    "kind": "APIGroupList",
    "groups": [
        {"name": "apps", "versions": [{"groupVersion": "apps/v1", "version": "v1"}]},
        {
            "name": "batch.volcano.sh",
            "versions": [{"groupVersion": "batch.volcano.sh/v1alpha1"}, {"groupVersion": "batch.volcano.sh/v1"}],
        },
    ],
}
AGGREGATED = {
    "kind": "APIGroupDiscoveryList",
    "items": [
        {"metadata": {"name": "apps"}, "versions": [{"version": "v1", "resources": [{"resource": "deployments"}]}]},
        {"metadata": {"name": "metrics.k8s.io"}, "versions": [{"version": "v1", "freshness": "Stale"}]},
    ],
}
VERSIONS = Served(frozenset({"apps/v1", "batch.volcano.sh/v1alpha1", "batch.volcano.sh/v1"}))
RESOURCES = Served(
    frozenset({"apps/v1", "metrics.k8s.io/v1"}), frozenset({"apps/v1/deployments", "metrics.k8s.io/v1/"})
)
TRAINS = ApiResource("rail.example.com", "v1", "trains")
DEFINITION = {
    "apiVersion": "apiextensions.k8s.io/v1",
    "kind": "CustomResourceDefinition",
    "metadata": {"name": "trains.rail.example.com"},
    "spec": {
        "group": "rail.example.com",
        "scope": "Namespaced",
        "names": {"plural": "trains", "singular": "train", "kind": "Train", "listKind": "TrainList"},
        "versions": [
            {
                "name": "v1",
                "served": True,
                "storage": True,
                "schema": {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}},
            }
        ],
    },
}


@pytest.mark.parametrize(
    ("reply", "served"),
    [
        pytest.param(content(AGGREGATED), RESOURCES, id="all resources of all versions"),
        pytest.param(content(PLAIN), VERSIONS, id="an older server names versions alone"),
        pytest.param(content({"groups": []}), None, id="a server that names no group does not say what it serves"),
        pytest.param(content({"message": "no"}, 403), None, id="who may not ask is not told"),
        pytest.param(content({"message": "oops"}, 500), None, id="a server that fails"),
        pytest.param(content({"groups": {"a": 1}}), None, id="something else in JSON"),
        pytest.param(content(b"\xff"), None, id="no JSON"),
    ],
)
async def test_what_is_served(reply: Reply, served: Served | None) -> None:
    async with answering() as server, ApiClient(Connection(server.url)) as client:
        server.replies["/apis"] = reply
        assert await Discovery(client).served() == served
        assert len(server.asked) == 1


@pytest.mark.parametrize(
    ("served", "resource", "lacks"),
    [
        pytest.param(RESOURCES, ApiResource("apps", "v1", "deployments"), "", id="what is named"),
        pytest.param(RESOURCES, ApiResource("apps", "v1", "fleets"), "fleets in apps/v1", id="another of its version"),
        pytest.param(RESOURCES, ApiResource("apps", "v2", "deployments"), "apps/v2", id="another version"),
        pytest.param(RESOURCES, ApiResource("", "v1", "pods"), "", id="the core group is always there"),
        pytest.param(RESOURCES, ApiResource("metrics.k8s.io", "v1", "nodes"), "", id="a version that is out of date"),
        pytest.param(VERSIONS, ApiResource("apps", "v1", "fleets"), "", id="perhaps, where only versions are named"),
    ],
)
def test_what_is_lacking(served: Served, resource: ApiResource, lacks: str) -> None:
    assert served.lacks(resource) == lacks


async def test_an_answer_that_has_not_changed_is_not_sent_again() -> None:
    async with answering() as server, ApiClient(Connection(server.url)) as client:
        discovery = Discovery(client)
        server.replies["/apis"] = content(AGGREGATED, ETag='"7"')
        await discovery.served()
        server.replies["/apis"] = content(b"", 304)
        assert await discovery.served() == RESOURCES
        assert [asked.headers.get("If-None-Match") for asked in server.asked] == [None, '"7"']
        server.replies["/apis"] = content({"message": "oops"}, 500)
        assert await discovery.served() is None, "then it is tried"


async def test_many_kinds_that_are_not_served_cost_one_request_together_and_are_listed_once_they_are() -> None:
    mirrors = [Mirror() for _ in range(20)]
    asked: Counter[tuple[str, int]] = Counter()
    async with Cluster(0) as cluster, ApiClient(Connection(cluster.url)) as client, asyncio.TaskGroup() as group:
        client.on_answer.add(lambda verb, code: asked.update([(verb, code)]))
        discovery = Discovery(client)
        decode = msgspec.json.Decoder(Pod).decode
        settings = ReflectorSettings(missing_seconds=0.4, seldom_served=True)
        served = await discovery.served()
        reflectors = [
            Reflector(client, WatchedKind(TRAINS, decode), mirror, settings=settings, discovery=discovery)
            for mirror in mirrors
        ]
        for reflector in reflectors:
            reflector.begin_with(served)
        tasks = [group.create_task(reflector.run()) for reflector in reflectors]
        await until(lambda: asked["GET", 200] >= 5)
        assert set(asked) == {("GET", 200)}
        cluster.apply([DEFINITION])
        await until(lambda: all(mirror.diary for mirror in mirrors))
        assert asked["LIST", 404] == 0
        for task in tasks:
            task.cancel()
