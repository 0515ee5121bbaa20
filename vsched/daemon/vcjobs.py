"""The composition root of a process that runs vcjobs, CronJobs and JobFlows and nothing else (``--vcjobs only``).

It has an account of its own, which may make pods, Services, ConfigMaps and Secrets; the account that places pods and
serves HTTP need not. There is no mirror, no session and no policy in it, and of HTTP only health checks and metrics.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial

from vsched import api
from vsched.clock import Clock, SystemClock, perf_counter
from vsched.controllers.flows.controller import MakerSettings
from vsched.controllers.queue_records import ObjectFeed
from vsched.daemon.lead.election import led
from vsched.daemon.loop.heartbeat import BEAT_SECONDS
from vsched.daemon.observe.numbers import Numbers, of_watches
from vsched.daemon.observe.telemetry import Telemetry
from vsched.daemon.options import Options, check
from vsched.daemon.parts.base import make_election
from vsched.daemon.parts.job_controllers import job_controllers
from vsched.daemon.system.first_contact import reach
from vsched.daemon.system.listeners import Listeners, ServedRoutes
from vsched.daemon.tasks import LongLived
from vsched.daemon.watches import ObjectSink, TwoSinks, is_required, reflector_of, synced_of
from vsched.daemon.words import tasks as words
from vsched.kube.client import ApiClient
from vsched.kube.watch.discovery import Discovery
from vsched.log import lines_lost
from vsched.web.pages.health import Health
from vsched.web.pages.routes import health_routes, metrics_route
from vsched.web.serve.listener import Listen, listening_sockets
from vsched.writes.events import EventRecorder, EventSettings
from vsched.writes.limits import TokenBucket
from vsched.writes.writer import Writer


@dataclass(frozen=True, slots=True)
class JobRunnerSettings:
    """What tests have otherwise than people."""

    makers: MakerSettings | None = None
    listen: Listen = listening_sockets
    """Gives the sockets at its addresses."""


class JobRunner:
    """Runs vcjobs: made, run to the end, and not used again."""

    def __init__(
        self,
        options: Options,
        client: ApiClient,
        *,
        clock: Clock | None = None,
        settings: JobRunnerSettings | None = None,
    ) -> None:
        check(options)
        settings, clock = settings or JobRunnerSettings(), clock or SystemClock()
        self._options = options
        self._client = client
        self._stopping = asyncio.Event()
        self.telemetry = telemetry = Telemetry(clock)
        self.election = make_election(options, client, telemetry, self._stopping)
        self._namespaces: ObjectFeed[bool] = ObjectFeed(_is_leaving, lambda key, before, after: None, lambda: None)
        writer = Writer(
            client,
            TokenBucket(options.api_qps, options.api_burst),
            telemetry.process.request,
            self.election.holds,
            lambda namespace: namespace in self._namespaces.found,
        )
        events = EventSettings(options.scheduler_names[0], options.event_qps, 4 * options.event_qps)
        self.events = EventRecorder(writer, events, clock)
        self.events.on_refused.add(telemetry.worry)
        self.jobs, self.makers = job_controllers(
            options, client, writer, self.events, clock, telemetry.worry, settings.makers
        )
        self._discovery = Discovery(client, clock)
        self.reflectors = {
            kind: reflector_of(client, kind, sink, telemetry.process.watch, discovery=self._discovery)
            for kind, sink in self._sinks().items()
        }
        said = {"lease": self._lease, "vcjobs": self.jobs.shown, "flows": self.makers.shown}
        self.health = Health(clock, partial(synced_of, self.reflectors), self._absent, self._role, said)
        self.listeners = Listeners(options, client, clock, telemetry, settings.listen)
        client.on_answer.add(telemetry.process.answered)
        telemetry.read_off(self._numbers)
        self.tasks = self._tasks()
        self.ports: dict[str, int] = {}
        """Where it listens, by what for."""

    def _sinks(self) -> dict[str, ObjectSink]:
        sinks: dict[str, ObjectSink] = {"Namespace": self._namespaces}
        for kind, sink in (*self.jobs.sinks.items(), *self.makers.sinks.items()):
            sinks[kind] = TwoSinks(sinks[kind], sink) if kind in sinks else sink
        return sinks

    def _tasks(self) -> tuple[LongLived, ...]:
        """Everything that runs for long."""
        return (
            *(LongLived(f"watch {kind}", each.run, words.watch(kind)) for kind, each in self.reflectors.items()),
            *self.listeners.tasks,
            LongLived("election", partial(self.election.run, _settled), words.ELECTION),
            LongLived("vcjobs", self.jobs.run, words.VCJOBS, acts=True),
            LongLived("flows", self.makers.run, words.FLOWS, acts=True),
            LongLived("events", self.events.workqueue.run, words.EVENTS, acts=True),
            LongLived("heartbeat", self._beat, words.HEARTBEAT),
        )

    async def run(self) -> None:
        """Listen, and run every task until told to stop; raises what a task dies of."""
        async with contextlib.AsyncExitStack() as stack:
            served = [
                ServedRoutes("listen", self._options.listen_address, [metrics_route(self.telemetry.registry)]),
                ServedRoutes("healthz", self._options.healthz_address, health_routes(self.health)),
            ]
            self.ports = await self.listeners.listen(stack, served)
            await reach(self._client, self.telemetry, self._stopping, self.health.turned)
            known = await self._discovery.served()
            for reflector in self.reflectors.values():
                reflector.begin_with(known)
            async with asyncio.TaskGroup() as group:
                running = [group.create_task(self._begin(task), name=task.name) for task in self.tasks]
                await self._stopping.wait()
                self.telemetry.note("stopping")
                await self.events.workqueue.drain(self._options.handover_seconds)
                for each in running:
                    each.cancel()
            await self.election.end()
        self.telemetry.note("stopped")

    def stop(self) -> None:
        """Begin nothing more, and end: what was begun is found in its objects by whoever goes on."""
        self._stopping.set()

    async def _begin(self, task: LongLived) -> None:
        await (led(self.election, task.run)() if task.acts else task.run())

    async def _beat(self) -> None:
        for each in self.reflectors.values():
            while not each.settled.is_set():
                await self._turn()
        self.election.prepare()
        while True:
            await self._turn()

    async def _turn(self) -> None:
        """A sign of life, and how late it was."""
        self.health.turned()
        began = perf_counter()
        await asyncio.sleep(BEAT_SECONDS)
        self.telemetry.process.lag(max(0.0, perf_counter() - began - BEAT_SECONDS))

    # -- what others ask

    def status(self) -> str:
        """The state in one line."""
        return words.running_vcjobs(self._role(), len(self.jobs.keys()))

    def _role(self) -> str:
        return "stopping" if self._stopping.is_set() else self.election.role

    def _lease(self) -> Mapping[str, object]:
        return {"problem": self.election.problem} if self.election.problem else {}

    def _absent(self) -> Mapping[str, str]:
        """The optional kinds that cannot be listed, with the reason."""
        return {
            kind: each.statistics.problem
            for kind, each in self.reflectors.items()
            if each.settled.is_set() and not each.synced.is_set() and not is_required(kind)
        }

    def _numbers(self) -> Numbers:
        """What is read off the parts at every scrape."""
        return {
            **of_watches(self.reflectors),
            **self.election.numbers(),
            **self.makers.numbers(),
            **self.listeners.numbers(),
            "vsched_queue_depth": {"events": float(len(self.events.workqueue))},
            "vsched_events_dropped_total": dict(self.events.dropped),
            "vsched_vcjobs_left_alone": {"": float(bool(self.jobs.shown()))},
            "vsched_log_lines_lost_total": {"": float(lines_lost())},
        }


def _is_leaving(item: api.Object) -> bool | None:
    """True for a namespace that is being deleted; others need not be kept."""
    return None if item.metadata.deletion_timestamp is None else True


async def _settled(shard: int) -> None:
    """Nothing has to be carried out before a Lease is given back: there are no shards of vcjobs."""
