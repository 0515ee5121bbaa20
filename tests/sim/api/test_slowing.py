"""A server whose writes take processor time: at least so much each, and reads none."""

from __future__ import annotations

from time import thread_time

import pytest

from vsched.sim.api.slowing import SlowWrites
from vsched.sim.cluster import Cluster
from vsched.sim.requests.request import ApiRequest


def request(method: str) -> ApiRequest:
    return ApiRequest(method=method, path="/", query={}, accept="", content_type="", user_agent="")


@pytest.mark.parametrize("method", ["POST", "PUT", "PATCH", "DELETE"])
async def test_writes_take_so_much_processor_time_each(method: str) -> None:
    slow = SlowWrites(2.0)
    began = thread_time()
    for _ in range(5):
        await slow(request(method))
    assert thread_time() - began >= 0.0099


async def test_what_the_server_does_between_two_writes_counts() -> None:
    slow = SlowWrites(2.0)
    await slow(request("POST"))
    began = thread_time()
    while thread_time() < began + 0.005:
        pass
    before = slow._before
    await slow(request("POST"))
    assert slow._before - before >= 0.005


async def test_reads_change_nothing() -> None:
    slow = SlowWrites(1_000.0)
    before = slow._before
    for method in ("GET", "HEAD", "OPTIONS"):
        await slow(request(method))
    assert slow._before == before


async def test_a_cluster_with_it_still_answers() -> None:
    import aiohttp

    async with Cluster(1, gate=SlowWrites(1.0)) as cluster, aiohttp.ClientSession() as session:
        body = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "slow"}}
        async with session.post(f"{cluster.url}/api/v1/namespaces", json=body) as answer:
            assert answer.status == 201
