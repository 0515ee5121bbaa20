"""A server whose writes take processor time: at least so much each, and reads none."""

from __future__ import annotations

import asyncio
from time import thread_time

import pytest

from vsched.sim.api.slowing import SlowWrites
from vsched.sim.cluster import Cluster
from vsched.sim.requests.request import ApiRequest
from vsched.together import together

pytestmark = pytest.mark.real_time


def request(method: str) -> ApiRequest:
    return ApiRequest(method=method, path="/", query={}, accept="", content_type="", user_agent="")


@pytest.mark.parametrize("method", ["POST", "PUT", "PATCH", "DELETE"])
async def test_writes_take_so_much_processor_time_each(method: str) -> None:
    began = thread_time()
    slow = SlowWrites(2.0)  # what this thread does from now on counts
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


async def test_the_answer_to_a_write_leaves_before_the_next_one_is_worked_on() -> None:
    slow, told = SlowWrites(1.0), list[str]()

    async def write(name: str) -> None:
        await slow(request("POST"))
        told.append(f"{name} let through")
        asyncio.get_running_loop().call_soon(told.append, f"{name} sent")

    await together(write("first"), write("second"), write("third"))
    await asyncio.sleep(0)
    assert told == [f"{name} {what}" for name in ("first", "second", "third") for what in ("let through", "sent")]


async def test_a_write_that_ends_while_it_waits_holds_up_no_other() -> None:
    slow = SlowWrites(1.0)
    writes = [asyncio.ensure_future(slow(request("POST"))) for _ in range(3)]
    await asyncio.sleep(0)
    writes[1].cancel()
    async with asyncio.timeout(60.0):
        await asyncio.wait(writes)
    assert [write.cancelled() for write in writes] == [False, True, False]


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
