"""The composition root: what a daemon is made of, which tasks it owns, and in which order it stops.

Nothing is decided here, and nothing runs for long that is not in ``Daemon.tasks``.
"""

from __future__ import annotations

import asyncio
import contextlib
import signal
import time
from collections.abc import Callable, Coroutine, Mapping
from typing import Any, NamedTuple

from vsched.clock import Clock, SystemClock
from vsched.cluster.cache import Cache
from vsched.cluster.dispatch import Dispatcher, DispatchSettings, Outcome, Verdict
from vsched.cluster.events import EventSettings
from vsched.cluster.evictions import EvictionOutcome, EvictionSettings, EvictionVerdict, Evictor
from vsched.cluster.limits import TokenBucket
from vsched.cluster.reprieves import Reprieves, ReprieveSettings
from vsched.cluster.setbacks import Setbacks
from vsched.cluster.writeback import Writeback, WritebackSettings
from vsched.cluster.writer import Writer
from vsched.controllers.queue_controller import QueueController
from vsched.daemon.calling import Caller
from vsched.daemon.loop import Hands, Loop
from vsched.daemon.numbers import Numbers, of_hands, of_watches
from vsched.daemon.options import Options
from vsched.daemon.reload import PolicyFile, Reading
from vsched.daemon.telemetry import Telemetry
from vsched.daemon.triggers import Trigger
from vsched.daemon.usage import UsageCollector
from vsched.daemon.watches import awaited, reflectors
from vsched.errors import Unavailable
from vsched.framework.cycle import run_cycle
from vsched.framework.policy import Policy
from vsched.framework.registry import Registry
from vsched.framework.trace import Trace
from vsched.kube.client import ApiClient
from vsched.kube.connection import Connection
from vsched.kube.errors import ApiError, UnexpectedAnswer
from vsched.model.plan import CycleReport, Nominate
from vsched.model.snapshot import Snapshot
from vsched.settings import Settings
from vsched.web.health import Health
from vsched.web.routes import Sources, health_routes, public_routes
from vsched.web.server import serving

BEAT_SECONDS = 0.5
RETRY_SECONDS = 2.0
"""Between two attempts to reach the API server at all."""


class LongLived(NamedTuple):
    """A task that runs as long as the daemon does."""

    name: str
    run: Callable[[], Coroutine[Any, Any, Any]]
    says: str


class Daemon:
    """One scheduler: made, run to the end, and not used again."""

    def __init__(
        self,
        options: Options,
        client: ApiClient,
        registry: Registry,
        *,
        clock: Clock | None = None,
        on_listed: Callable[[], None] = lambda: None,
    ) -> None:
        clock = clock or SystemClock()
        self._options = options
        self._client = client
        self._on_listed = on_listed
        self._stopping = asyncio.Event()
        self.policy = PolicyFile(options.policy_file, registry, clock)
        self.telemetry = Telemetry(clock, self._numbers)
        trigger = Trigger(options.period_seconds, options.window_seconds)
        self.cache = Cache(
            frozenset(options.scheduler_names),
            options.default_queue,
            # Whoever looks after the states knows that a new queue is about to be opened.
            open_without_state=options.queue_controller,
            on_change=trigger.pull,
        )
        writer = Writer(client, TokenBucket(options.api_qps, options.api_burst), self.telemetry.request)
        self.dispatcher = Dispatcher(writer, self._carried_out, DispatchSettings(options.max_in_flight))
        self.setbacks = Setbacks(self.cache.forget)
        evictions = EvictionSettings(delete=options.eviction_mode == "delete")
        self.evictor = Evictor(writer, self._evicted, evictions, clock)
        self.reprieves = Reprieves(self.cache, ReprieveSettings())
        events = EventSettings(options.scheduler_names[0], options.event_qps, 4 * options.event_qps)
        self.writeback = Writeback(
            client,
            writer,
            WritebackSettings(events=events),
            clock,
            self._status_told,
            self.cache,
            self._nomination_told,
        )
        self.queue_controller: QueueController | None = None
        if options.queue_controller:
            self.queue_controller = QueueController(
                client, writer, self.writeback.events, options.default_queue, self.telemetry.worry
            )
        sinks = self.queue_controller.sinks if self.queue_controller is not None else {}
        self.reflectors = reflectors(client, self.cache, sinks, self.telemetry.watch)
        self.usage = UsageCollector(self._settings, client, self.cache, clock, self.telemetry.usage)
        self.health = Health(clock, self._synced, self._absent, self.usage.to_dict)
        self.caller = Caller()
        self._call_problem = ""
        hands = Hands(
            self.cache,
            _decide_with(registry, self.caller),
            self._policy,
            self.evictor,
            self.dispatcher,
            self.writeback,
            self.telemetry,
        )
        self.loop = Loop(hands, trigger, clock, self.health.turned)
        self.tasks = self._tasks()
        self.ports: dict[str, int] = {}
        """Where it listens, by what for."""

    def _tasks(self) -> tuple[LongLived, ...]:
        """Everything that runs for long."""
        follow = (
            LongLived(f"watch {kind}", reflector.run, f"keeps the mirror in step with every {kind}")
            for kind, reflector in self.reflectors.items()
        )
        controllers = []
        if self.queue_controller is not None:
            controllers.append(LongLived("queues", self.queue_controller.run, "opens and closes queues as asked"))
        return (
            *follow,
            *controllers,
            LongLived("sessions", self._sessions, "decides, once the mirror is complete"),
            LongLived("bindings", self.dispatcher.run, "carries placements out"),
            LongLived("evictions", self.evictor.run, "carries evictions out"),
            LongLived("reprieves", self.reprieves.run, "lets refused victims be victims again, in time"),
            LongLived("setbacks", self.setbacks.run, "frees pods whose placements failed to be decided again"),
            LongLived("writeback", self.writeback.run, "writes statuses, conditions and Events"),
            LongLived("usage", self._collect_usage, "collects what nodes really use, where the policy says from where"),
            LongLived("policy file", self._follow_policy, "takes edits of the policy into force"),
            LongLived("heartbeat", self._beat, "measures how late the event loop is"),
        )

    async def run(self) -> None:
        """Listen, run every task, and stop in order once told to; raises what a task dies of."""
        async with contextlib.AsyncExitStack() as stack:
            stack.callback(self.caller.close)
            await self._listen(stack)
            await self._reach_server()
            async with asyncio.TaskGroup() as group:
                running = {task.name: group.create_task(task.run(), name=task.name) for task in self.tasks}
                await self._stopping.wait()
                await self._wind_down(running["sessions"])
                for task in running.values():
                    task.cancel()
        self.telemetry.note("stopped")

    def stop(self) -> None:
        """Start no further session, carry out what was decided, and end."""
        self._stopping.set()

    # -- steps

    async def _listen(self, stack: contextlib.AsyncExitStack) -> None:
        sources = Sources(self.telemetry.findings, self.telemetry.registry, self.policy.to_dict, self.health)
        served = (
            ("--listen-address", self._options.listen_address, public_routes(sources)),
            ("--healthz-address", self._options.healthz_address, health_routes(sources)),
        )
        for flag, address, routes in served:
            if address:
                self.ports[flag] = await stack.enter_async_context(serving(routes, address, flag))

    async def _reach_server(self) -> None:
        """Wait for an API server at the address; raises UnexpectedAnswer where something else is there."""
        self.telemetry.note("starting", server=self._client.connection.server, source=self._client.connection.source)
        while not self._stopping.is_set():
            self.health.turned()
            try:
                await self._client.get("/version")
            except UnexpectedAnswer:
                raise
            except Unavailable as error:
                self.telemetry.worry("API server does not answer", problem=str(error), again_in_seconds=RETRY_SECONDS)
            except ApiError:
                return  # it answered; whether it lets us read is for the watches to find out
            else:
                return
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._stopping.wait(), RETRY_SECONDS)

    async def _sessions(self) -> None:
        """Wait for the first lists, then run sessions."""
        for kind, reflector in self.reflectors.items():
            known = awaited(kind, reflector)
            while not known.is_set():
                if self._stopping.is_set():
                    return
                self.health.turned()
                with contextlib.suppress(TimeoutError):
                    await asyncio.wait_for(known.wait(), BEAT_SECONDS)
        self._on_listed()
        self.telemetry.note("mirror complete", **self.cache.describe())
        await self.loop.run()

    async def _wind_down(self, sessions: asyncio.Task[Any]) -> None:
        """The session under way first, then what was decided, then what is to be told about it."""
        self.health.role = "stopping"
        self.telemetry.note(
            "stopping",
            bindings=self.dispatcher.depth + self.dispatcher.in_flight,
            evictions=self.evictor.depth + self.evictor.in_flight,
        )
        self.loop.stop()
        deadline = time.monotonic() + self._options.drain_seconds
        await asyncio.wait((sessions,), timeout=self._options.drain_seconds)
        left_seconds = max(0.0, deadline - time.monotonic())
        left = sum(await asyncio.gather(self.evictor.drain(left_seconds), self.dispatcher.drain(left_seconds)))
        left += await self.writeback.drain(max(0.0, deadline - time.monotonic()))
        if left:
            self.telemetry.worry("stopped with writes left", left=left)

    async def _follow_policy(self) -> None:
        self.telemetry.reading(self.policy.last)
        await self.policy.follow(self._policy_read)

    async def _collect_usage(self) -> None:
        await self.usage.run(self.reflectors["Node"].synced)

    async def _beat(self) -> None:
        while True:
            began = time.perf_counter()
            await asyncio.sleep(BEAT_SECONDS)
            self.telemetry.lag(max(0.0, time.perf_counter() - began - BEAT_SECONDS))
            self._tell_of_calls()

    def _tell_of_calls(self) -> None:
        """Say once that an extender does not answer, and once that it does again."""
        problem = self.caller.problem
        if problem and not self._call_problem:
            self.telemetry.worry("extender does not answer", problem=problem)
        elif self._call_problem and not problem:
            self.telemetry.note("extender answers again")
        self._call_problem = problem

    # -- connections between the parts

    def _policy(self) -> Policy:
        return self.policy.policy

    def _settings(self) -> Settings:
        return self.policy.settings

    def _policy_read(self, reading: Reading) -> None:
        self.telemetry.reading(reading)
        self.usage.nudge()

    def _carried_out(self, outcome: Outcome) -> None:
        bind = outcome.bind
        self.telemetry.outcome(outcome)
        match outcome.verdict:
            case Verdict.BOUND:
                self.setbacks.clear(bind.uid)
                self.writeback.bound(bind)
            case Verdict.REFUSED | Verdict.GAVE_UP:
                self.setbacks.failed(bind.uid)
                self.writeback.bind_failed(bind, outcome.message)
            case Verdict.GONE | Verdict.DROPPED:
                self.setbacks.clear(bind.uid)
                self.cache.forget(bind.uid)

    def _evicted(self, outcome: EvictionOutcome) -> None:
        eviction = outcome.eviction
        self.telemetry.eviction(outcome)
        match outcome.verdict:
            case EvictionVerdict.EVICTED:
                self.reprieves.granted(eviction.uid)
                self.writeback.evicted(eviction, self.cache.group_uid(eviction.job))
            case EvictionVerdict.GONE:
                self.reprieves.granted(eviction.uid)
            case EvictionVerdict.REFUSED_NOW | EvictionVerdict.REFUSED:
                self.reprieves.refused(eviction.uid, outcome.asked_seconds)
                self.writeback.eviction_failed(eviction, outcome.message)
            case EvictionVerdict.GAVE_UP:
                self.reprieves.doubted(eviction.uid)
                self.writeback.eviction_failed(eviction, outcome.message)
            case EvictionVerdict.DROPPED:
                self.cache.forget(eviction.uid)

    def _nomination_told(self, nomination: Nominate, version: str | None) -> None:
        if version is None:
            self.cache.nomination_failed(nomination.uid, nomination.node)
        else:
            self.cache.nomination_written(nomination.uid, nomination.node, version)

    def _status_told(self, kind: str, key: str, version: str | None) -> None:
        if kind != "PodGroup":
            return
        if version is None:
            self.cache.status_failed(key)
        else:
            self.cache.status_written(key, version)

    def _synced(self) -> Mapping[str, bool]:
        return {kind: reflector.synced.is_set() for kind, reflector in self.reflectors.items()}

    def _absent(self) -> Mapping[str, str]:
        """The kinds that decisions do without, and why."""
        return {
            kind: reflector.statistics.problem
            for kind, reflector in self.reflectors.items()
            if awaited(kind, reflector).is_set() and not reflector.synced.is_set()
        }

    def _numbers(self) -> Numbers:
        """What is read off the parts at every scrape."""
        return {
            **of_watches(self.reflectors),
            **of_hands(self.cache, self.dispatcher, self.evictor, self.writeback),
            **self.usage.numbers(),
            "vsched_extender_calls_total": {kind: float(count) for kind, count in self.caller.counts.items()},
        }


def _decide_with(registry: Registry, caller: Caller) -> Callable[[Snapshot, Policy, Trace], CycleReport]:
    def decide(snapshot: Snapshot, policy: Policy, trace: Trace) -> CycleReport:
        return run_cycle(snapshot, policy, registry, trace, caller.cycle())

    return decide


async def serve(
    options: Options, connection: Connection, registry: Registry, on_listed: Callable[[], None] = lambda: None
) -> None:
    """Run a daemon until a signal ends it; SIGHUP reads the policy file again."""
    async with ApiClient(connection) as client:
        daemon = Daemon(options, client, registry, on_listed=on_listed)
        loop = asyncio.get_running_loop()
        reactions = {signal.SIGTERM: daemon.stop, signal.SIGINT: daemon.stop, signal.SIGHUP: daemon.policy.nudge}
        for number, react in reactions.items():
            loop.add_signal_handler(number, react)
        try:
            await daemon.run()
        finally:
            for number in reactions:
                loop.remove_signal_handler(number)
