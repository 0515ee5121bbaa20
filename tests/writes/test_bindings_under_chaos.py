"""Bindings that go out to a server whose answers are lost, torn, wrong, late or refused: each pod gets its node."""

from __future__ import annotations

import asyncio
import random
from ssl import SSLContext

import orjson
import pytest
import trustme

from tests.support.examples import seeds
from tests.support.raw_server import Asked, Cut, RawServer, chunked, ok, tls_of
from vsched.kube.auth.connection import Connection
from vsched.kube.client import ApiClient, ClientSettings
from vsched.model.plan import Bind
from vsched.writes.bindings import BindOutcome, Dispatcher, DispatchSettings, Outcome
from vsched.writes.limits import Attempts, TokenBucket
from vsched.writes.writer import Writer

pytestmark = pytest.mark.real_time

PODS, TIMES = 40, 50
DONE = b'{"kind":"Status","status":"Success"}'


def status(code: int, message: str, *more: str) -> bytes:
    return ok(orjson.dumps({"kind": "Status", "code": code, "message": message}), *more, status=f"{code} No")


class Cluster:
    """Carries bindings out as an API server does, and answers as it likes."""

    def __init__(self, seed: int) -> None:
        self._draw = random.Random(seed)
        self.bound: dict[str, str] = {}

    def answer(self, asked: Asked) -> bytes:
        unheard, heard = self._draw.random() < 0.3, self._draw.random() < 0.5
        if unheard:
            return self._draw.choice(
                (
                    Cut(b""),
                    status(429, "too many requests", "Retry-After: 0"),
                    status(503, "shutting down", "Connection: close", "Retry-After: 0"),
                    Cut(b"HTTP/1.1 502 Bad Gateway\r\n\r\n<html><title>no</title></html>"),
                )
            )
        said = self._carried_out(asked)
        if heard:
            return self._draw.choice((said, said, chunked(DONE, "Connection: close") if said == ok(DONE) else said))
        return self._draw.choice(
            (
                Cut(said[:-1]),
                Cut(said[:9]),
                Cut(b"\x15\x03\x01\r\n\r\n"),
                Cut(chunked(DONE)[:-9]),
                status(500, "etcd: request timed out"),
                status(504, "the request did not complete in time"),
            )
        )

    def _carried_out(self, asked: Asked) -> bytes:
        if asked.method == "GET":
            return self._shown(asked.path.rpartition("/")[2])
        body = orjson.loads(asked.body)
        pod, node = body["metadata"]["name"], body["target"]["name"]
        there = self.bound.get(pod)
        if there is not None:
            return status(409, f'Operation cannot be fulfilled: pod {pod} is already assigned to node "{there}"')
        self.bound[pod] = node
        return ok(DONE)

    def _shown(self, pod: str) -> bytes:
        node = self.bound.get(pod)
        uid = pod.replace("pod", "uid")
        return ok(orjson.dumps({"metadata": {"uid": uid}, "spec": {"nodeName": node} if node else {}}))


@pytest.mark.parametrize("tls", [False, True], ids=["plain", "TLS"])
@pytest.mark.parametrize("seed", seeds(13, "bindings"))
async def test_every_pod_is_bound_and_nobody_is_told_so_before(seed: int, tls: bool) -> None:
    cluster = Cluster(seed)
    serving, asking = tls_of(trustme.CA()) if tls else (None, None)
    async with RawServer(serving) as server:
        server.answer = cluster.answer
        outcomes, false = await bind_all(server.url, asking, cluster)
    wanted = {f"pod-{number}": f"node-{number % 7}" for number in range(PODS)}
    assert cluster.bound == wanted
    assert {outcome.bind.name: outcome.bind.node for outcome in outcomes if outcome.bound} == wanted
    assert not false
    assert {outcome.verdict for outcome in outcomes} <= {BindOutcome.BOUND, BindOutcome.GAVE_UP}


async def bind_all(url: str, tls: SSLContext | None, cluster: Cluster) -> tuple[list[Outcome], list[Outcome]]:
    """Every outcome, and those that say more than the server did; what is given up is decided again."""
    outcomes: list[Outcome] = []
    false: list[Outcome] = []
    complete = asyncio.Event()

    def told(outcome: Outcome) -> None:
        outcomes.append(outcome)
        if outcome.bound:
            if cluster.bound.get(outcome.bind.name) != outcome.bind.node:
                false.append(outcome)
        elif len(outcomes) < TIMES * PODS:
            dispatcher.submit([outcome.bind])
        if sum(each.bound for each in outcomes) == PODS:
            complete.set()

    async with ApiClient(Connection(url, tls), ClientSettings(connections=8)) as client:
        attempts = Attempts(4, first_seconds=0.001, ceiling_seconds=0.002)
        writer = Writer(client, TokenBucket(1e6, 1e6))
        dispatcher = Dispatcher(client, writer, told, DispatchSettings(max_in_flight=8, attempts=attempts))
        running = asyncio.create_task(dispatcher.run())
        dispatcher.submit(
            Bind(f"uid-{number}", "ns", f"pod-{number}", f"node-{number % 7}", "ns/job") for number in range(PODS)
        )
        async with asyncio.timeout(60.0):
            await complete.wait()
        running.cancel()
        await asyncio.wait((running,))
    return outcomes, false
