"""Creating gangs over HTTP."""

from __future__ import annotations

import asyncio

import orjson
import pytest

from tests.support.running import PODGROUPS, node
from tests.support.waiting import until
from vsched.errors import Unavailable
from vsched.kube.auth.connection import Connection
from vsched.kube.client import ApiClient
from vsched.kube.errors import Conflict, NotFound
from vsched.lab.children import free_port
from vsched.lab.gangs import as_gang, create, submit
from vsched.lab.outcomes import PodOutcomes, pod_watch
from vsched.lab.sender import Obj, Sender
from vsched.sim.cluster import Cluster
from vsched.sim.fleet.sample_gangs import gang
from vsched.together import first_error


class TestSending:
    async def test_a_gang_is_created_whole_owned_by_its_podgroup_and_followed(self) -> None:
        async with (
            Cluster([node("n1")]) as cluster,
            Sender(cluster.url, connections=2) as sender,
            ApiClient(Connection(cluster.url)) as client,
        ):
            objects = gang("g", "default", "default", 5, {"cpu": "1"}, 60.0)
            outcomes = PodOutcomes()
            watch = asyncio.create_task(pod_watch(client, outcomes).run())
            await submit(sender, outcomes, as_gang(objects, "default", 1), objects)
            group = cluster.client.get(PODGROUPS, "default", "g")
            assert group is not None
            for pod in cluster.client.list("pods", "default"):
                assert pod["metadata"]["ownerReferences"][0]["uid"] == group["metadata"]["uid"]
            assert (outcomes.created, outcomes.waiting()) == (5, {("default", "default"): 5})
            for number in range(5):
                binding = {"metadata": {"name": f"g-{number}"}, "target": {"kind": "Node", "name": "n1"}}
                path = f"/api/v1/namespaces/default/pods/g-{number}/binding"
                await sender.send("POST", path, orjson.dumps({"apiVersion": "v1", "kind": "Binding", **binding}))
            await until(lambda: outcomes.gangs_bound == 1)
            watch.cancel()

    async def test_a_refusal_is_the_servers_and_the_connection_goes_on(self) -> None:
        async with Cluster() as cluster, Sender(cluster.url, connections=1) as sender:
            namespace: Obj = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "n"}}
            assert (await create(sender, namespace))["metadata"]["uid"]
            with pytest.raises(Conflict, match="already exists"):
                await create(sender, namespace)
            with pytest.raises(NotFound):
                await sender.send("GET", "/api/v1/namespaces/other")
            assert orjson.loads(await sender.send("GET", "/api/v1/namespaces/n"))["metadata"]["name"] == "n"

    async def test_a_gang_that_is_refused_raises_the_first_refusal(self) -> None:
        async with Cluster() as cluster, Sender(cluster.url) as sender:
            objects = gang("g", "nowhere", "default", 2, {"cpu": "1"}, 60.0)
            with pytest.raises(ExceptionGroup) as caught:
                await submit(sender, PodOutcomes(), as_gang(objects, "default", 1), objects)
        assert isinstance(first_error(caught.value), NotFound)

    async def test_a_server_that_is_gone_is_unavailable_and_one_that_is_back_is_used(self) -> None:
        port = free_port()
        async with Sender(f"http://127.0.0.1:{port}", connections=1) as sender:
            with pytest.raises(Unavailable):
                await sender.send("GET", "/version")
            for _ in range(2):
                async with Cluster(port=port):
                    assert b"gitVersion" in await sender.send("GET", "/version")
