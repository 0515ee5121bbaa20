"""The latency of the extender, for ``vsched bench-arbitrate``: served as by a daemon, asked by another process."""

from __future__ import annotations

import asyncio
import sys
from asyncio.subprocess import PIPE
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Any

import orjson

from vsched.clock import SystemClock
from vsched.daemon.arbitrate.admission import Admission
from vsched.errors import BadInput, Unavailable
from vsched.lab.bench.arbitrator import CHANGES, ROUND_SECONDS, BenchArbitrator
from vsched.lab.bench.namespaces import (
    FULL,
    SLOT_MILLIS,
    NamespaceFeeder,
    as_asked,
    node_name,
    pod_of,
)
from vsched.lab.bench.words import arbitrate as words
from vsched.lab.outcomes import spread_ms
from vsched.web.findings import Findings
from vsched.web.pages.extender import asking_of, extender_routes
from vsched.web.serve.server import serving


async def ask(arbitrator: BenchArbitrator, requests: int) -> dict[str, Any]:
    """The latency of the extender, asked by another process: idle, and while rounds run."""
    findings = Findings()
    findings.take_arbitrated(arbitrator.round())
    arbitrator.times()
    pods = asked_about(arbitrator.realm, findings, requests)
    admission = Admission(arbitrator.realm.mirror, findings, SystemClock())
    async with serving(extender_routes(admission), "127.0.0.1:0", "the extender") as port:
        idle = await answers(port, arbitrator.realm.crowd.nodes, pods)
        async with arbitrating(arbitrator, findings):
            busy = await answers(port, arbitrator.realm.crowd.nodes, pods)
    return {"requests": requests, "idle": idle, "busy": {**busy, "rounds": arbitrator.times()}}


def asked_about(realm: NamespaceFeeder, findings: Findings, requests: int) -> list[bytes]:
    """Pods as JSON, alternating between one that waits and may be placed and one that may not."""
    admission = Admission(realm.mirror, findings, SystemClock())
    waiting = [(pod, orjson.dumps(as_asked(pod))) for pod in realm.waiting[len(realm.waiting) // 2 :]]
    passing = [(pod, body) for pod, body in waiting if admission.judge(asking_of(body)).refusal is None]
    placeable = [body for _, body in passing]
    # The extender knows only pods that still exist when it is asked.
    realm.staying = {pod["metadata"]["uid"] for pod, _ in passing}
    if not placeable:
        raise BadInput(words.NONE_MAY_BE_PLACED)
    refused = [orjson.dumps(as_asked(pod_of(FULL, number, SLOT_MILLIS))) for number in range(len(placeable))]
    pairs = list(zip(placeable, refused, strict=True))
    return [pairs[number // 2 % len(pairs)][number % 2] for number in range(requests)]


@asynccontextmanager
async def arbitrating(arbitrator: BenchArbitrator, findings: Findings) -> AsyncIterator[None]:
    """Run a round every second while the block runs, in a thread as the daemon does."""

    async def rounds() -> None:
        loop = asyncio.get_running_loop()
        while True:
            began = loop.time()
            arbitrator.realm.renew(CHANGES)
            found = await asyncio.to_thread(arbitrator.decide, arbitrator.look())
            arbitrator.allow(found)
            findings.take_arbitrated(found)
            arbitrator.write(found.verdict)
            await asyncio.sleep(began + ROUND_SECONDS - loop.time())

    async with asyncio.TaskGroup() as group:
        task = group.create_task(rounds())
        yield
        task.cancel()


async def answers(port: int, nodes: int, pods: Sequence[bytes]) -> dict[str, Any]:
    """Latencies by kind of answer; raises Unavailable where an answer is wrong."""
    names = orjson.dumps([node_name(number) for number in range(nodes)])
    asking = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "vsched.lab.bench.extender_client", "127.0.0.1", str(port)),
        stdin=PIPE,
        stdout=PIPE,
        stderr=PIPE,
    )
    printed, problem = await asking.communicate(b"\n".join((names, *pods)))
    if asking.returncode:
        raise Unavailable(words.cannot_be_asked(problem.decode(errors="replace").strip().splitlines()[-1]))
    found = orjson.loads(printed)
    if found["placeable"] != [not number % 2 for number in range(len(pods))]:
        raise Unavailable(words.WRONG_ANSWER)
    seconds = found["seconds"]
    return {"all_ms": most_ms(seconds), "placeable_ms": most_ms(seconds[::2]), "refused_ms": most_ms(seconds[1::2])}


def most_ms(seconds: Sequence[float]) -> dict[str, float]:
    """Median, 99th percentile and the longest, in milliseconds."""
    return {**spread_ms(seconds), "max": round(1000 * max(seconds, default=0.0), 2)}
