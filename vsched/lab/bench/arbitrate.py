"""``vsched bench-arbitrate``: the cost of a round of arbitration, and the latency of the extender.

Rounds run on a mirror in memory, into which their writes go at once. The extender is served as a daemon serves it, and
another process asks it.
"""

from __future__ import annotations

import asyncio
import resource
import sys
from asyncio.subprocess import PIPE
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from time import perf_counter
from typing import Any, TypeVar

import click
import orjson
from rich.table import Table

from vsched.arbitrator.ceilings import ceilings_of, pools_of
from vsched.arbitrator.divide import divide
from vsched.arbitrator.effects import RoundResult
from vsched.arbitrator.placing import Placing
from vsched.arbitrator.reconcile import reconcile
from vsched.arbitrator.rules import ArbitrationRules
from vsched.clock import SystemClock
from vsched.daemon.arbitrate.admission import Admission
from vsched.daemon.system.tuning import listed, tuned
from vsched.errors import BadInput, Unavailable
from vsched.lab.bench.namespaces import (
    FULL,
    NEWCOMER,
    SLOT_MILLIS,
    NamespaceFeeder,
    NamespaceWorld,
    as_asked,
    node_name,
    pod_of,
)
from vsched.lab.bench.report import json_option, pair, print_result, seed_option, side_by_side
from vsched.lab.outcomes import spread_ms
from vsched.model.snapshot import Snapshot
from vsched.settings.built_in import REGISTRY
from vsched.together import run_fast
from vsched.web.findings import Arbitrated, Findings
from vsched.web.pages.extender import asking_of, extender_routes
from vsched.web.serve.server import serving

EPILOG = """\b
Examples:
  vsched bench-arbitrate
  vsched bench-arbitrate --overused 0 --requests 0
  vsched bench-arbitrate --waiting 50000 --json       (half of what is asked for waits)

\b
In the JSON:
  first     a round that finds everything new, and how much it wants written
  steady    rounds when everything is written, ten pods replaced before each
  claim     rounds in which a namespace comes that has nothing and waits for ten
            pods: where others are overused, pods are evicted for it at once
  extender  how long another process waits to be told whether a pod may be placed,
            all nodes named in each request, over one connection; every other pod
            may. First "idle", then "busy" with a round every second in a thread
            of the process that answers, as in the daemon
"""
CHANGES = 10
"""Pods replaced, or created, before each round."""
WRITING_ROUNDS = 10
"""Rounds at most until nothing is left to write: Consumers come first, then their Allocations."""
BEGIN_SECONDS = 1_767_312_000.0
"""The time of the first round, a day after all objects were created."""
ROUND_SECONDS = 1.0
PATIENT = ArbitrationRules(grace_seconds=1e6)
AT_ONCE = ArbitrationRules(grace_seconds=0.0)
STEPS = ("snapshot", "publish", "divide", "reconcile", "ceilings")

Found = TypeVar("Found")


class BenchArbitrator:
    """Arbitrates as a daemon would, on a clock of its own; rounds are a second apart."""

    def __init__(self, realm: NamespaceFeeder) -> None:
        self.realm = realm
        self._cache = realm.cache
        self._placing = Placing.of(REGISTRY)
        self._now = BEGIN_SECONDS
        self._before = 0.0
        self._seconds: dict[str, list[float]] = {step: [] for step in STEPS}

    def round(self, rules: ArbitrationRules = PATIENT) -> Arbitrated:
        """One round; nothing is written."""
        found = self.decide(self.look(), rules)
        self.allow(found)
        return found

    def look(self) -> Snapshot:
        """A snapshot of the mirror now."""
        snapshot = self._timed("snapshot", lambda: self._cache.snapshot(self._now))
        return replace(snapshot, arbitration=self._timed("publish", self._cache.arbitration))

    def decide(self, snapshot: Snapshot, rules: ArbitrationRules = PATIENT) -> Arbitrated:
        """The result of a round; may run in any thread."""
        assert snapshot.arbitration is not None
        division = self._timed("divide", lambda: divide(snapshot))
        verdict = self._timed("reconcile", lambda: reconcile(snapshot, division, rules, self._placing, self._before))
        return Arbitrated(snapshot.now, snapshot.arbitration, division, verdict)

    def allow(self, found: Arbitrated) -> None:
        """Put the ceilings of a round in force."""
        lends = not found.verdict.promised
        axis, division = self._cache.axis, found.division
        self._cache.set_ceilings(
            *self._timed("ceilings", lambda: (ceilings_of(division, axis, lends=lends), pools_of(division, axis)))
        )

    def write(self, verdict: RoundResult) -> None:
        """Carry out the writes of a round, and advance the clock by a second."""
        self.realm.carry_out(verdict.effects)
        self._before, self._now = self._now, self._now + ROUND_SECONDS

    def times(self) -> dict[str, Any]:
        """How long each step has taken since the last call."""
        times = {f"{step}_ms": spread_ms(seconds) for step, seconds in self._seconds.items()}
        self._seconds = {step: [] for step in STEPS}
        return times

    def _timed(self, step: str, work: Callable[[], Found]) -> Found:
        began = perf_counter()
        found = work()
        self._seconds[step].append(perf_counter() - began)
        return found


def measure(crowd: NamespaceWorld, rounds: int, requests: int) -> dict[str, Any]:
    """The result as one document."""
    if crowd.overused >= crowd.namespaces:
        raise BadInput(f"--overused {crowd.overused}: expected fewer than there are namespaces")
    arbitrator = BenchArbitrator(NamespaceFeeder(crowd))
    with tuned():
        listed()
        result: dict[str, Any] = {
            "first": first(arbitrator, rounds),
            "steady": steady(arbitrator, rounds),
            "claim": claim(arbitrator, rounds),
        }
        if requests:
            result["extender"] = run_fast(ask(arbitrator, requests))
    return {**result, "rss_mb": round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)}


def first(arbitrator: BenchArbitrator, rounds: int) -> dict[str, Any]:
    """Rounds while nothing has been written; only the first of them publishes everything."""
    found = [arbitrator.round() for _ in range(rounds)]
    return {**arbitrator.times(), "effects": len(found[-1].verdict.effects)}


def steady(arbitrator: BenchArbitrator, rounds: int) -> dict[str, Any]:
    """Rounds once everything has been written."""
    settle(arbitrator)
    effects, overused = 0, 0
    for _ in range(rounds):
        arbitrator.realm.renew(CHANGES)
        verdict = arbitrator.round().verdict
        arbitrator.write(verdict)
        effects, overused = effects + len(verdict.effects), len(verdict.overused)
    return {**arbitrator.times(), "effects": effects, "overused": overused}


def settle(arbitrator: BenchArbitrator) -> None:
    """Run rounds until none wants to write any more."""
    for _ in range(WRITING_ROUNDS):
        verdict = arbitrator.round().verdict
        arbitrator.write(verdict)
        if not verdict.effects:
            arbitrator.times()
            return
    raise Unavailable(f"after {WRITING_ROUNDS} rounds there is still something to be written")


def claim(arbitrator: BenchArbitrator, rounds: int) -> dict[str, Any]:
    """Rounds in which a namespace newly claims what it deserves."""
    evictions = 0
    for _ in range(rounds):
        pods = [arbitrator.realm.ask(NEWCOMER) for _ in range(CHANGES)]
        evictions += sum(
            eviction.beneficiary.startswith(f"{NEWCOMER}/") for eviction in arbitrator.round(AT_ONCE).verdict.evictions
        )
        for pod in pods:
            arbitrator.realm.withdraw(pod)
    return {**arbitrator.times(), "evictions": evictions}


async def ask(arbitrator: BenchArbitrator, requests: int) -> dict[str, Any]:
    """The latency of the extender, asked by another process: idle, and while rounds run."""
    findings = Findings()
    findings.take_arbitrated(arbitrator.round())
    arbitrator.times()
    pods = asked_about(arbitrator.realm, findings, requests)
    admission = Admission(arbitrator.realm.cache, findings, SystemClock())
    async with serving(extender_routes(admission), "127.0.0.1:0", "the extender") as port:
        idle = await answers(port, arbitrator.realm.crowd.nodes, pods)
        async with arbitrating(arbitrator, findings):
            busy = await answers(port, arbitrator.realm.crowd.nodes, pods)
    return {"requests": requests, "idle": idle, "busy": {**busy, "rounds": arbitrator.times()}}


def asked_about(realm: NamespaceFeeder, findings: Findings, requests: int) -> list[bytes]:
    """Pods as JSON, alternating between one that waits and may be placed and one that may not."""
    admission = Admission(realm.cache, findings, SystemClock())
    waiting = [(pod, orjson.dumps(as_asked(pod))) for pod in realm.waiting[len(realm.waiting) // 2 :]]
    passing = [(pod, body) for pod, body in waiting if admission.judge(asking_of(body)).refusal is None]
    placeable = [body for _, body in passing]
    # The extender knows only pods that still exist when it is asked.
    realm.staying = {pod["metadata"]["uid"] for pod, _ in passing}
    if not placeable:
        raise BadInput("no pod that waits may be placed (expected more of them, or fewer namespaces)")
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
        raise Unavailable(f"the extender cannot be asked: {problem.decode(errors='replace').strip().splitlines()[-1]}")
    found = orjson.loads(printed)
    if found["placeable"] != [not number % 2 for number in range(len(pods))]:
        raise Unavailable("the extender gave another answer than the namespaces' ceilings do")
    seconds = found["seconds"]
    return {"all_ms": most_ms(seconds), "placeable_ms": most_ms(seconds[::2]), "refused_ms": most_ms(seconds[1::2])}


def most_ms(seconds: Sequence[float]) -> dict[str, float]:
    """Median, 99th percentile and the longest, in milliseconds."""
    return {**spread_ms(seconds), "max": round(1000 * max(seconds, default=0.0), 2)}


@click.command("bench-arbitrate", epilog=EPILOG, context_settings={"show_default": True})
@click.option("--nodes", type=click.IntRange(1, 100_000), default=5000)
@click.option("--namespaces", type=click.IntRange(1, 100_000), default=1000)
@click.option("--pods", type=click.IntRange(1, 1_000_000), default=50_000, help="Pods that run.")
@click.option("--waiting", type=click.IntRange(1, 1_000_000), default=5000, help="Pods that wait.")
@click.option("--buckets", type=click.IntRange(0, 10_000), default=10, help="Half of the namespaces are in one.")
@click.option("--overused", type=click.IntRange(0), default=100, help="Namespaces that hold several times as much.")
@click.option("--rounds", type=click.IntRange(1, 10_000), default=30, help="Rounds of each kind.")
@click.option(
    "--requests", type=click.IntRange(0, 1_000_000), default=2000, help="Pods that the extender is asked about."
)
@seed_option
@json_option
def command(rounds: int, requests: int, as_json: bool, **numbers: Any) -> None:
    """What a round of arbitration costs, and how soon kube-scheduler is told whether it may place a pod."""
    print_result(measure(NamespaceWorld(**numbers), rounds, requests), as_json, as_tables)


ROUNDS = {"first": "nothing written", "steady": "all written", "claim": "somebody claims"}


def as_tables(result: dict[str, Any]) -> list[Table]:
    """The result as two tables: rounds, and the extender."""
    rounds = side_by_side("a round, p50 / p99 (ms)", ROUNDS.values())
    for step in STEPS:
        rounds.add_row(step, *(pair(result[key][f"{step}_ms"]) for key in ROUNDS))
    for label, key in (
        ("objects to be written", "effects"),
        ("overused namespaces", "overused"),
        ("evictions", "evictions"),
    ):
        rounds.add_row(label, *(f"{result[found][key]:,}" if key in result[found] else "" for found in ROUNDS))
    rounds.add_section()
    rounds.add_row("peak memory (MB)", "", "", f"{result['rss_mb']:,}")
    if "extender" not in result:
        return [rounds]
    title = "\nan answer to kube-scheduler, p50 / p99 / longest (ms)"
    answers = side_by_side(title, ("at rest", "beside a round a second"))
    for label, key in (
        ("pod that may be placed", "placeable_ms"),
        ("pod that may not", "refused_ms"),
        ("all", "all_ms"),
    ):
        found = (result["extender"][state][key] for state in ("idle", "busy"))
        answers.add_row(label, *("{p50:,} / {p99:,} / {max:,}".format(**times) for times in found))
    return [rounds, answers]
