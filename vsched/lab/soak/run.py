"""One soak: an embedded cluster and daemons in processes of their own, and what becomes of the work.

This process creates the work and watches from outside: it knows only what a watch of pods, the daemons' pages and
their logs show.
"""

from __future__ import annotations

import asyncio
import signal
import time
from collections import Counter, deque
from collections.abc import Mapping
from contextlib import AsyncExitStack, suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import click

from vsched.apimachinery.manifests.node_groups import DEFAULT_CAPACITY
from vsched.clock import monotonic
from vsched.daemon.options import Options
from vsched.errors import Unavailable
from vsched.kube.auth.connection import Connection
from vsched.kube.auth.credentials import FixedHeaders
from vsched.kube.client import ApiClient
from vsched.kube.lease.record import LeaseSettings
from vsched.lab.children import ClusterChild, cluster_child
from vsched.lab.outcomes import pod_watch, spread_ms
from vsched.lab.sender import Sender
from vsched.lab.soak import claims, words
from vsched.lab.soak.churn import NAMESPACES, Rate, SoakUsers
from vsched.lab.soak.daemons import SoakDaemon, leader_of, until
from vsched.lab.soak.kills import Killer, Killing, Kills
from vsched.lab.soak.outcomes import SoakOutcomes, Violations
from vsched.lab.soak.readers import Reader
from vsched.lab.soak.trend import ALLOWED, trend
from vsched.lab.soak.view import as_line
from vsched.together import first_error, together

NODE_CPUS = int(DEFAULT_CAPACITY["cpu"])
LINE_SECONDS = 10.0
READY_SECONDS = 60.0
PATIENCE_SECONDS = 300.0
"""How long the last pods may wait: a dead watch is detected after two and a half minutes."""
MOST_SAMPLES = 20_000
"""Measurements kept of one daemon process, the latest."""
AGENT = "vsched-soak"


@dataclass(frozen=True, slots=True)
class SoakSettings:
    """The arguments of the command."""

    minutes: float
    nodes: int
    rate: Rate
    daemons: int
    faults: Path | None = None
    killing: Killing | None = None
    lease_seconds: float = 15.0
    sample_seconds: float = 5.0
    claims: bool = False
    """Every pod has a volume and a device."""
    shards: int = 1
    """Into how many shards the work is divided: with more than one, several daemons act at a time."""
    asked: bool = False
    """The daemons are asked all the time: the page, why jobs wait, dumps."""


Samples = deque[tuple[float, Mapping[str, float]]]
"""Seconds since the start, and the figures of a daemon process."""


class Soak:
    """One soak from its first pod to its verdict."""

    def __init__(self, settings: SoakSettings, client: ApiClient, sender: Sender) -> None:
        self._settings = settings
        self.violations = Violations()
        self.outcomes = SoakOutcomes(NODE_CPUS, self.violations)
        self.churn = SoakUsers(sender, self.outcomes, settings.rate, claims=settings.claims, shards=settings.shards)
        self._sender = sender
        self._client = client
        self.warnings: Counter[str] = Counter()
        self._samples: dict[str, Samples] = {}
        self._watch = pod_watch(client, self.outcomes)
        self._daemons: list[SoakDaemon] = []
        self._over = asyncio.Event()
        self._killer: Killer | None = None
        if settings.killing is not None:
            leases = lease_names(settings.shards)
            self._killer = Killer(settings.killing, client, self.outcomes, self.violations, self._over, leases)
        self._reader: Reader | None = None
        self._began = self._ended = 0.0

    async def run(self, cluster: ClusterChild, folder: Path, quiet: bool) -> None:
        """Run until the time is up, then wait until nothing waits any more."""
        arguments = _arguments(cluster.kubeconfig, self._settings)
        names = [f"daemon-{number}" for number in range(1, self._settings.daemons + 1)]
        self._daemons = [SoakDaemon(name, arguments, folder, self.violations, self.warnings) for name in names]
        async with asyncio.TaskGroup() as group:
            running = [group.create_task(daemon.run()) for daemon in self._daemons]
            tasks = [group.create_task(self._watch.run()), group.create_task(cluster.child.ended())]
            await self._ready()
            await self.churn.settle_in()
            if self._settings.claims:
                await claims.offer(self._client, self._sender, NAMESPACES, NODE_CPUS)
            self._began = time.perf_counter()
            tasks += [group.create_task(self._sample()), group.create_task(self._tell(quiet))]
            if self._settings.asked:
                self._reader = Reader(self._daemons, self._settings.rate.seed)
                tasks.append(group.create_task(self._reader.run()))
            churn = group.create_task(self.churn.run(self._over))
            killing = None if self._killer is None else group.create_task(self._killer.run(self._daemons))
            with suppress(TimeoutError):
                async with asyncio.timeout(self._settings.minutes * 60):
                    await self._over.wait()
            self._over.set()
            if killing is not None:
                await killing
            await churn
            tasks.append(group.create_task(self.churn.delete_done()))
            await until(lambda: not self.outcomes.never_bound() and not self.outcomes.partial(), PATIENCE_SECONDS)
            self._ended = time.perf_counter()
            self._judge()
            if self._settings.claims:
                await self.violations.settle(partial(claims.broken, self._client))
            await together(*(daemon.close() for daemon in self._daemons))
            await together(*running)
            for task in tasks:
                task.cancel()

    def stop(self) -> None:
        """Create no more work, wait until nothing waits, and end."""
        self._over.set()

    async def _ready(self) -> None:
        await self._watch.synced.wait()
        deadline = time.perf_counter() + READY_SECONDS
        while await leader_of(self._daemons) is None:
            if time.perf_counter() > deadline:
                problem = "; ".join(self.violations.first.get("daemon died", [words.NONE_LEADS]))
                raise Unavailable(words.none_ready(READY_SECONDS, problem))
            await asyncio.sleep(0.1)

    # -- while it runs

    async def _sample(self) -> None:
        while True:
            self.outcomes.look(monotonic())
            for daemon in self._daemons:
                key, figures = f"{daemon.name}-{daemon.starts}", await daemon.figures()
                if figures:
                    now = time.perf_counter() - self._began
                    self._samples.setdefault(key, deque(maxlen=MOST_SAMPLES)).append((now, figures))
            await asyncio.sleep(self._settings.sample_seconds)

    async def _tell(self, quiet: bool) -> None:
        while not quiet:
            await asyncio.sleep(LINE_SECONDS)
            click.echo(as_line(self.to_dict()), err=True)

    # -- the end

    def _judge(self) -> None:
        self.outcomes.judge(PATIENCE_SECONDS)
        for name, found in self._trends().items():
            if found["grows"]:
                problem = words.rose(name, found["rise"], found["first"], found["per_minute"])
                self.violations.add("growth", problem)
        self.churn.judge(self.violations)

    def _trends(self) -> dict[str, Any]:
        """The trends of the daemon process with the most measurements."""
        longest: Samples = max(self._samples.values(), key=len, default=deque())
        seconds = [when for when, _ in longest]
        rate = self._settings.rate.pods_per_minute
        return {
            name: trend(seconds, [figures[name] for _, figures in longest], allowed, rate).to_dict()
            for name, allowed in ALLOWED.items()
        }

    def to_dict(self) -> dict[str, Any]:
        """Everything that is known now."""
        outcomes, settings = self.outcomes, self._settings
        kills = self._killer.kills if self._killer is not None else Kills()
        return {
            "seconds": round((self._ended or time.perf_counter()) - self._began, 1),
            "nodes": settings.nodes,
            "pods_per_minute": settings.rate.pods_per_minute,
            "seed": settings.rate.seed,
            "daemons": settings.daemons,
            "shards": settings.shards,
            "created": outcomes.created,
            "bound": outcomes.bound,
            "finished": outcomes.finished,
            "evicted": outcomes.evicted,
            "cancelled_works": self.churn.cancelled,
            "waiting": len(outcomes.never_bound()),
            "partial_gangs": len(outcomes.partial()),
            "latency_ms": spread_ms(outcomes.latencies),
            "checked_sessions": sum(int(samples[-1][1]["checked"]) for samples in self._samples.values()),
            "answers": 0 if self._reader is None else self._reader.answers,
            "kills": kills.count,
            "gave_up": sum(daemon.gave_up for daemon in self._daemons),
            "kill_to_leader_seconds": _spread(kills.to_lead),
            "leader_to_binding_seconds": _spread(kills.to_bind),
            "kill_to_binding_seconds": _spread(kills.gap),
            "trends": self._trends(),
            "warnings": dict(self.warnings.most_common()),
            "violations": dict(self.violations.counts),
            "told": self.violations.first,
        }


def _spread(seconds: list[float]) -> dict[str, float]:
    spread = {key: round(value / 1000, 2) for key, value in spread_ms(seconds).items()}
    return {**spread, "max": round(max(seconds, default=0.0), 2)}


def _arguments(kubeconfig: Path, settings: SoakSettings) -> tuple[str, ...]:
    common = (
        "run",
        "--kubeconfig",
        str(kubeconfig),
        "--log-level",
        "warning",
        "--log-format",
        "json",
        "--verify",
        "100%",
    )
    if settings.daemons == 1:
        return common
    lease = lease_of(settings.lease_seconds)
    return (
        *common,
        "--leader-elect",
        *("--shards", str(settings.shards)),
        *("--leader-elect-lease-duration", f"{lease.duration_seconds}"),
        *("--leader-elect-renew-deadline", f"{lease.renew_deadline_seconds}"),
        *("--leader-elect-retry-period", f"{lease.retry_seconds}"),
    )


def lease_names(shards: int) -> tuple[str, ...]:
    """The names of the Leases of the daemons."""
    return Options(shards=shards, leader_elect=True).lease_names


def lease_of(seconds: float) -> LeaseSettings:
    """The times of a Lease of this duration, in the proportions of the defaults."""
    return LeaseSettings(
        duration_seconds=seconds,
        renew_deadline_seconds=round(seconds * 2 / 3, 3),
        retry_seconds=round(seconds * 2 / 15, 3),
    )


async def soak(settings: SoakSettings, folder: Path, *, quiet: bool) -> dict[str, Any]:
    """Run one soak; returns the result as one document."""
    printed = folder / "cluster.out"
    # That of an earlier soak would be taken for the one of the new cluster.
    (folder / "kubeconfig").unlink(missing_ok=True)
    faults = () if settings.faults is None else ("--faults", str(settings.faults))
    async with AsyncExitStack() as stack:
        cluster = await stack.enter_async_context(cluster_child(settings.nodes, folder, *faults, output=printed))
        # Faults do not apply to this user agent.
        own = FixedHeaders((("User-Agent", AGENT),))
        client = await stack.enter_async_context(ApiClient(Connection(cluster.connection.server, credentials=own)))
        sender = await stack.enter_async_context(Sender(cluster.connection.server))
        found = Soak(settings, client, sender)
        loop = asyncio.get_running_loop()
        for number in (signal.SIGINT, signal.SIGTERM):
            loop.add_signal_handler(number, found.stop)
            stack.callback(loop.remove_signal_handler, number)
        try:
            await found.run(cluster, folder, quiet)
        except BaseExceptionGroup as errors:
            raise first_error(errors) from errors
        result = found.to_dict()
    lines = printed.read_text(encoding="utf-8").splitlines()
    begin = next((index for index, line in enumerate(lines) if line.startswith("fault ")), len(lines))
    return {**result, "faults": lines[begin:]}
