"""Many requests at an embedded cluster in this process."""

from __future__ import annotations

from collections.abc import AsyncIterator

import orjson
import pytest

from vsched.kube.errors import Conflict
from vsched.lab.sender import Sender
from vsched.sim.cluster import Cluster, ClusterSettings

PATH = "/api/v1/namespaces/default/configmaps"


@pytest.fixture
async def cluster() -> AsyncIterator[Cluster]:
    async with Cluster(settings=ClusterSettings(controllers=None)) as cluster:
        yield cluster


def bodies(names: list[str]) -> list[tuple[str, bytes]]:
    return [(PATH, orjson.dumps({"metadata": {"name": name}})) for name in names]


def made(cluster: Cluster) -> list[str]:
    """In the order in which they were made."""
    found = sorted(cluster.client.list("configmaps"), key=lambda each: int(each["metadata"]["resourceVersion"]))
    return [each["metadata"]["name"] for each in found]


async def test_all_are_sent_in_their_order_however_few_connections_there_are(cluster: Cluster) -> None:
    names = [f"m{number}" for number in range(20)]
    async with Sender(cluster.url, connections=1) as sender:
        await sender.send_all("POST", bodies(names))
    assert made(cluster) == names


async def test_more_connections_than_requests_do_no_harm(cluster: Cluster) -> None:
    async with Sender(cluster.url) as sender:
        await sender.send_all("POST", bodies(["a", "b"]))
        await sender.send_all("POST", [])
    assert sorted(made(cluster)) == ["a", "b"]


async def test_the_first_refusal_is_raised_and_no_more_are_sent(cluster: Cluster) -> None:
    async with Sender(cluster.url, connections=1) as sender:
        with pytest.raises(Conflict, match='"a" already exists'):
            await sender.send_all("POST", bodies(["a", "a", "b"]))
        await sender.send_all("POST", bodies(["c"]))
    assert made(cluster) == ["a", "c"]
