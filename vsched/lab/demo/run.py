"""One demo: an embedded cluster in a child process, the daemon in this process, and many users.

Latency counts from just before a pod's POST until a watch of this process shows its ``spec.nodeName``; it includes the
time for which the pod waits for room.
"""

from __future__ import annotations

import asyncio
import signal
from collections import Counter, deque
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path

from vsched.daemon.app import Daemon
from vsched.daemon.options import Options
from vsched.daemon.system.tuning import Collector, listed
from vsched.kube.client import ApiClient
from vsched.lab.children import ClusterChild, scratch, stage
from vsched.lab.demo import words
from vsched.lab.demo.memory import EARLY, LATE, Contest, policy_for
from vsched.lab.demo.mix import CROWDS, Mix
from vsched.lab.demo.view import DemoState, NamespaceLine, QueueLine
from vsched.lab.gangs import Submitter, create
from vsched.lab.outcomes import PodOutcomes, SubmittedGang, pod_watch, spread_ms
from vsched.lab.ready import until_ready
from vsched.lab.sender import Obj, Sender
from vsched.model.history.records import CLUSTER
from vsched.settings.installed import registry
from vsched.together import first_error
from vsched.writes.bindings import BindOutcome

ANYWHERE = "127.0.0.1:0"
NEARBY = {"": "127.0.0.1", "0.0.0.0": "127.0.0.1", "[::]": "[::1]"}
"""Addresses by which this machine reaches servers that listen on all of its addresses."""
POLL_SECONDS = 0.02
READY_SECONDS = 20.0
SETTLE_SECONDS = 3.0
"""How long the watch may take to show the last bindings."""
DECISIONS = 6


Show = Callable[[DemoState], None]


Announce = Callable[[str], None]
"""Prints the address of the web page."""


@dataclass(frozen=True, slots=True)
class DemoSettings:
    """The arguments of the command."""

    seconds: float
    nodes: int
    seed: int
    policy_file: Path | None
    listen_address: str = ANYWHERE
    """Of the web page; port 0 for any free one."""
    memory: bool = False
    """Whether to show shares with memory, by a policy of its own."""


class Demo:
    """One demo from its first pod to its last."""

    def __init__(self, settings: DemoSettings, client: ApiClient, sender: Sender) -> None:
        self._settings = settings
        crowds = (EARLY, LATE) if settings.memory else CROWDS
        self._mix = Mix(settings.nodes, settings.seconds, settings.seed, crowds)
        self._contest = Contest(crowds)
        self._decisions: deque[str] = deque(maxlen=DECISIONS)
        self._outcomes = PodOutcomes(self._gang_bound)
        self._watch = pod_watch(client, self._outcomes)
        self._users = Users(sender, self._outcomes, self._mix)
        options = Options(
            policy_file=settings.policy_file, listen_address=settings.listen_address, healthz_address=ANYWHERE
        )
        self._daemon = Daemon(options, client, registry(), collector=Collector(listed))
        self._began = self._ended = 0.0

    async def run(
        self, cluster: ClusterChild, stop: asyncio.Event, show: Show, frame_seconds: float, announce: Announce
    ) -> DemoState:
        """Run until the time is up or ``stop`` is set; returns the last state."""
        async with asyncio.TaskGroup() as group:
            others = [group.create_task(cluster.child.ended()), group.create_task(self._watch.run())]
            daemon = group.create_task(self._daemon.run())
            await self._users.settle_in()
            await self._watch.synced.wait()
            await until_ready(self._daemon, READY_SECONDS)
            announce(self.page)
            self._began = asyncio.get_running_loop().time()
            over = asyncio.Event()
            users = group.create_task(self._users.run(over))
            picture = group.create_task(self._keep_showing(show, frame_seconds))
            with suppress(TimeoutError):
                async with asyncio.timeout(self._settings.seconds):
                    await stop.wait()
            over.set()
            await users
            self._ended = asyncio.get_running_loop().time()
            self._daemon.stop()
            await daemon
            await self._settle()
            for task in (*others, picture):
                task.cancel()
        return self.state()

    async def _settle(self) -> None:
        """Wait until the watch shows the last bindings."""
        with suppress(TimeoutError):
            async with asyncio.timeout(SETTLE_SECONDS):
                while self._outcomes.partial():  # noqa: ASYNC110  # the record has no event to wait for
                    await asyncio.sleep(POLL_SECONDS)

    async def _keep_showing(self, show: Show, seconds: float) -> None:
        while True:
            show(self.state())
            began = asyncio.get_running_loop().time()
            await asyncio.sleep(seconds)
            self._count(asyncio.get_running_loop().time() - began)

    def _count(self, seconds: float) -> None:
        """Count what queues hold while all of them ask."""
        elapsed = asyncio.get_running_loop().time() - self._began
        if not self._ended and all(self._mix.asks(crowd, elapsed) for crowd in self._mix.crowds):
            self._contest.count({line.name: line.allocated for line in self._queues()}, seconds)

    def _gang_bound(self, gang: SubmittedGang) -> None:
        took_ms = (gang.bound_at - gang.began) * 1000
        pods, nodes = len(gang.pods), len(gang.nodes)
        self._decisions.appendleft(words.gang_starts(gang.key, gang.queue, pods, gang.cpus, nodes, took_ms))

    # -- what it looks like

    def state(self) -> DemoState:
        """Everything that is known now."""
        outcomes, findings = self._outcomes, self._daemon.telemetry.findings
        errors, problem = self._problems()
        now = self._ended or asyncio.get_running_loop().time()
        return DemoState(
            elapsed_seconds=now - self._began,
            seconds=self._settings.seconds,
            nodes=self._settings.nodes,
            nodes_used=len(outcomes.on_nodes),
            cpus=self._mix.cpus,
            created=outcomes.created,
            bound=outcomes.bound,
            finished=outcomes.finished,
            per_second=outcomes.per_second(),
            peak_per_second=outcomes.peak_per_second,
            gangs_bound=outcomes.gangs_bound,
            partial_gangs=len(outcomes.partial()),
            latency_ms=spread_ms(outcomes.latencies),
            queues=self._queues(),
            namespaces=self._namespaces(),
            decisions=tuple(self._decisions),
            errors=errors,
            last_error=problem,
            sessions=findings.cycles,
            page=self.page,
            contested=self._contest.parts(self._mix.cpus) if self._settings.memory else {},
        )

    @property
    def page(self) -> str:
        """The address of the web page; empty until the daemon listens."""
        port = self._daemon.ports.get("--listen-address", 0)
        host = self._settings.listen_address.rpartition(":")[0]
        return f"http://{NEARBY.get(host, host)}:{port}/" if port else ""

    def _queues(self) -> tuple[QueueLine, ...]:
        queues, waiting = self._daemon.telemetry.findings.queues, self._outcomes.waiting()
        lines = []
        used = self._used_lately() if self._settings.memory else {}
        for crowd in self._mix.crowds:
            found = queues.get(crowd.queue)
            line = QueueLine(
                name=crowd.queue,
                weight=crowd.weight,
                share=found.share if found else 0.0,
                allocated=found.allocated.get("cpu", 0) / 1000 if found else 0.0,
                deserved=found.deserved.get("cpu", 0) / 1000 if found else 0.0,
                running=self._outcomes.running[crowd.queue],
                pending=sum(waiting[crowd.queue, namespace] for namespace in crowd.namespaces),
                latency_ms=spread_ms(self._outcomes.by_queue.get(crowd.queue, ())),
                used_lately=used.get(crowd.queue, 0.0) if self._settings.memory else None,
            )
            lines.append(line)
        return tuple(lines)

    def _namespaces(self) -> tuple[NamespaceLine, ...]:
        shares, waiting = self._daemon.telemetry.findings.namespaces.values(), self._outcomes.waiting()
        return tuple(
            NamespaceLine(
                name,
                weight,
                sum(found.allocated.get("cpu", 0) for found in shares if found.namespace == name) / 1000,
                sum(count for (_, namespace), count in waiting.items() if namespace == name),
            )
            for name, weight in self._mix.namespaces.items()
        )

    def _used_lately(self) -> dict[str, float]:
        """The part of the cluster's cpus that each queue has used, by the decay of the policy."""
        history = self._daemon.mirror.history.publish()
        if not history.decayed or "cpu" not in history.resources:
            return {}
        (sums, *_), column = history.decayed.values(), history.resources.index("cpu")
        used: Counter[str] = Counter()
        for holder, amount in zip(history.holders, sums[:, column].tolist(), strict=True):
            used[holder.queue] += amount
        whole = used[CLUSTER.queue]
        return {queue: amount / whole for queue, amount in used.items() if queue} if whole else {}

    def _problems(self) -> tuple[int, str]:
        """The number of errors, and the last one; errors of the daemon are counted here and described in its log."""
        registry = self._daemon.telemetry.registry
        sessions = int(registry.get_sample_value("vsched_cycle_exceptions_total") or 0)
        bindings = sum(
            int(registry.get_sample_value("vsched_bindings_total", {"verdict": verdict}) or 0)
            for verdict in BindOutcome
            if verdict is not BindOutcome.BOUND
        )
        problem = self._users.last_problem
        if bindings:
            problem = words.bindings_failed(bindings)
        if sessions:
            problem = words.sessions_failed(sessions)
        return self._users.problems + sessions + bindings, problem


async def play(settings: DemoSettings, show: Show, frame_seconds: float, announce: Announce) -> DemoState | None:
    """Start everything, run the demo and clean up; None where it was interrupted before anything was bound."""
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, stop.set)
    try:
        async with scratch() as directory, stage(settings.nodes, directory, events=True) as (cluster, client, sender):
            if settings.memory:
                policy = directory / "memory.yaml"
                await asyncio.to_thread(policy.write_text, policy_for(settings.seconds), encoding="utf-8")
                settings = replace(settings, policy_file=policy)
            if stop.is_set():
                return None
            state = await Demo(settings, client, sender).run(cluster, stop, show, frame_seconds, announce)
            return state if state.bound or not stop.is_set() else None
    except BaseExceptionGroup as group:
        raise first_error(group) from group


TURN_SECONDS = 0.02
"""Between two checks whether to submit more."""
UNDER_WAY = 24
"""Gangs created at a time; the sender bounds the requests on the wire."""
PODS_PER_SECOND = 500.0
"""Created at most: more would only keep the processors busy."""


class Users(Submitter):
    """Users who keep asking for more than there is, and delete what has finished."""

    def __init__(self, sender: Sender, outcomes: PodOutcomes, mix: Mix) -> None:
        super().__init__(sender, outcomes)
        self._mix = mix
        self._under_way = 0
        self._singles = 0

    async def settle_in(self) -> None:
        """Create the queues, namespaces and quotas."""
        for found in self._mix.setting():
            await create(self._sender, found)

    async def run(self, stop: asyncio.Event) -> None:
        """Submit and delete until told to stop; returns once all that was begun is done."""
        loop = asyncio.get_running_loop()
        began, drawn = loop.time(), 0
        async with asyncio.TaskGroup() as group:
            while not stop.is_set():
                due = int((loop.time() - began) * self._mix.singles_per_second)
                for _ in range(due - self._singles):
                    group.create_task(self._submit(*self._mix.single()))
                self._singles = due
                for gang, objects in self._mix.wanted(self._outcomes.waiting_cpus(), loop.time() - began):
                    if self._under_way >= UNDER_WAY or drawn > (loop.time() - began) * PODS_PER_SECOND:
                        break
                    drawn += len(gang.pods)
                    group.create_task(self._submit(gang, objects))
                while self._outcomes.done:
                    done = self._outcomes.done.popleft()
                    self._outcomes.forget(done)
                    group.create_task(self.delete(done))
                await asyncio.sleep(TURN_SECONDS)

    async def _submit(self, gang: SubmittedGang, objects: list[Obj]) -> None:
        self._under_way += 1
        try:
            if not await self.submit(gang, objects):
                self._outcomes.forget(gang)
        finally:
            self._under_way -= 1
