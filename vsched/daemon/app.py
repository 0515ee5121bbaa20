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
from vsched.cluster.limits import TokenBucket
from vsched.cluster.setbacks import Setbacks
from vsched.cluster.writeback import Writeback, WritebackSettings
from vsched.cluster.writer import Writer
from vsched.daemon.loop import Hands, Loop
from vsched.daemon.options import Options
from vsched.daemon.reload import PolicyFile
from vsched.daemon.telemetry import Telemetry
from vsched.daemon.triggers import Trigger
from vsched.daemon.watches import awaited, reflectors
from vsched.errors import Unavailable
from vsched.framework.cycle import run_cycle
from vsched.framework.policy import Policy
from vsched.framework.registry import Registry
from vsched.framework.trace import Trace
from vsched.kube.client import ApiClient
from vsched.kube.connection import Connection
from vsched.kube.errors import ApiError, UnexpectedAnswer
from vsched.model.plan import CycleReport
from vsched.model.snapshot import Snapshot
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
        self.cache = Cache(frozenset(options.scheduler_names), options.default_queue, on_change=trigger.pull)
        self.reflectors = reflectors(client, self.cache, self.telemetry.watch)
        writer = Writer(client, TokenBucket(options.api_qps, options.api_burst), self.telemetry.request)
        self.dispatcher = Dispatcher(writer, self._carried_out, DispatchSettings(options.max_in_flight))
        self.setbacks = Setbacks(self.cache.forget)
        events = EventSettings(options.scheduler_names[0], options.event_qps, 4 * options.event_qps)
        self.writeback = Writeback(
            client, writer, WritebackSettings(events=events), clock, self._status_told, self.cache
        )
        self.health = Health(clock, self._synced, self._absent)
        hands = Hands(self.cache, _decide_with(registry), self._policy, self.dispatcher, self.writeback, self.telemetry)
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
        return (
            *follow,
            LongLived("sessions", self._sessions, "decides, once the mirror is complete"),
            LongLived("bindings", self.dispatcher.run, "carries placements out"),
            LongLived("setbacks", self.setbacks.run, "frees pods whose placements failed to be decided again"),
            LongLived("writeback", self.writeback.run, "writes statuses, conditions and Events"),
            LongLived("policy file", self._follow_policy, "takes edits of the policy into force"),
            LongLived("heartbeat", self._beat, "measures how late the event loop is"),
        )

    async def run(self) -> None:
        """Listen, run every task, and stop in order once told to; raises what a task dies of."""
        async with contextlib.AsyncExitStack() as stack:
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
        self.telemetry.note("stopping", bindings=self.dispatcher.depth + self.dispatcher.in_flight)
        self.loop.stop()
        deadline = time.monotonic() + self._options.drain_seconds
        await asyncio.wait((sessions,), timeout=self._options.drain_seconds)
        left = await self.dispatcher.drain(max(0.0, deadline - time.monotonic()))
        left += await self.writeback.drain(max(0.0, deadline - time.monotonic()))
        if left:
            self.telemetry.worry("stopped with writes left", left=left)

    async def _follow_policy(self) -> None:
        self.telemetry.reading(self.policy.last)
        await self.policy.follow(self.telemetry.reading)

    async def _beat(self) -> None:
        while True:
            began = time.perf_counter()
            await asyncio.sleep(BEAT_SECONDS)
            self.telemetry.lag(max(0.0, time.perf_counter() - began - BEAT_SECONDS))

    # -- connections between the parts

    def _policy(self) -> Policy:
        return self.policy.policy

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

    def _numbers(self) -> Mapping[str, Mapping[str, float]]:
        """What is read off the parts at every scrape."""
        statistics = {kind: reflector.statistics for kind, reflector in self.reflectors.items()}
        now = time.monotonic()
        lanes = {name: float(len(lane)) for name, lane in self.writeback.lanes.items()}
        return {
            "vsched_mirror_size": {name: float(size) for name, size in self.cache.describe().items()},
            "vsched_watch_events_total": {kind: float(found.events) for kind, found in statistics.items()},
            "vsched_watch_relists_total": {kind: float(found.relists) for kind, found in statistics.items()},
            "vsched_watch_restarts_total": {kind: float(found.restarts) for kind, found in statistics.items()},
            "vsched_watch_silence_seconds": {
                kind: now - found.last_event_monotonic
                for kind, found in statistics.items()
                if found.last_event_monotonic is not None
            },
            "vsched_queue_depth": {"bindings": float(self.dispatcher.depth), **lanes},
            "vsched_in_flight": {"bindings": float(self.dispatcher.in_flight)},
            "vsched_events_dropped_total": dict(self.writeback.events.dropped),
        }


def _decide_with(registry: Registry) -> Callable[[Snapshot, Policy, Trace], CycleReport]:
    def decide(snapshot: Snapshot, policy: Policy, trace: Trace) -> CycleReport:
        return run_cycle(snapshot, policy, registry, trace)

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
