"""The composition root: what a daemon is made of, which tasks it owns, and in which order it stops.

Nothing is decided here, and nothing runs for long that is not in ``Daemon.tasks``.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Coroutine, Mapping
from typing import Any

from vsched.clock import Clock, SystemClock
from vsched.daemon.arbitrate.parts import Arbitration
from vsched.daemon.lead.election import Election, LeaseElection, NoElection, led
from vsched.daemon.lead.leader_address import leader_signs
from vsched.daemon.loop.callouts import Caller
from vsched.daemon.loop.decision import decide_nothing, deciding
from vsched.daemon.loop.heartbeat import BEAT_SECONDS, Heartbeat
from vsched.daemon.loop.housekeeping import Housekeeping
from vsched.daemon.loop.outcomes import Outcomes
from vsched.daemon.loop.shutdown import wind_down
from vsched.daemon.loop.spine import Hands, Loop
from vsched.daemon.observe.numbers import Numbers, of_hands, of_watches
from vsched.daemon.observe.progress import Progress
from vsched.daemon.observe.rival_schedulers import Rivals
from vsched.daemon.observe.showing import Showing
from vsched.daemon.observe.telemetry import Telemetry
from vsched.daemon.options import Options, check
from vsched.daemon.policy.config_map import PolicyMap, PolicyStatus
from vsched.daemon.policy.reach import reach_of
from vsched.daemon.policy.reload import PolicyInForce, Reading, policy_of
from vsched.daemon.policy.usage import UsageCollector
from vsched.daemon.system.first_contact import reach
from vsched.daemon.system.listening import Doors, Served
from vsched.daemon.tasks import LongLived
from vsched.daemon.triggers import Trigger
from vsched.daemon.watches import awaited, reflectors
from vsched.framework.policy import Policy
from vsched.framework.registry import Registry
from vsched.kube.client import ApiClient
from vsched.mirror.cache import Cache
from vsched.plugins.allocation import ALLOCATION
from vsched.settings import Settings
from vsched.web.pages.health import Health
from vsched.web.pages.pods import Seen
from vsched.web.pages.routes import Sources, health_routes, public_routes
from vsched.writes.bind_backoff import BindBackoff
from vsched.writes.bindings import Dispatcher, DispatchSettings
from vsched.writes.confirmations import Confirmations, ConfirmationSettings
from vsched.writes.events import EventSettings
from vsched.writes.eviction_backoff import EvictionBackoff, EvictionBackoffSettings
from vsched.writes.evictions import EvictionSettings, Evictor
from vsched.writes.limits import TokenBucket
from vsched.writes.writeback import Writeback, WritebackSettings
from vsched.writes.writer import Writer


class Daemon:
    """One scheduler, arbitrator or both: made, run to the end, and not used again."""

    def __init__(
        self,
        options: Options,
        client: ApiClient,
        registry: Registry,
        *,
        clock: Clock | None = None,
        policy: PolicyInForce | None = None,
        trigger: Trigger | None = None,
        writeback: WritebackSettings | None = None,
        confirmations: ConfirmationSettings | None = None,
        on_listed: Callable[[], None] = lambda: None,
    ) -> None:
        check(options)
        self._clock = clock = clock or SystemClock()
        self._options = options
        self._client = client
        self._on_listed = on_listed
        self._stopping = asyncio.Event()
        self.policy = policy or policy_of(options.policy_file, registry, clock, reach_of(options, client.connection))
        self.telemetry = Telemetry(clock, self._numbers, lambda uid: self.cache.task(uid))
        client.on_answer = self.telemetry.answered
        self._trigger = trigger = trigger or Trigger(self._period_seconds(), options.window_seconds)
        self.cache = Cache(
            frozenset(options.scheduler_names if options.schedule else ()),
            options.default_queue,
            # Whoever looks after the states knows that a new queue is about to be opened.
            open_without_state=options.queue_controller,
            arbitrating=options.arbitrate,
            queue_gates=options.gate_controller,
            ignored=frozenset(options.ignored),
            on_change=trigger.pull,
            on_arrival=self.telemetry.arrived,
            on_foreign=lambda task: self.rivals.bound(task),
        )
        self.election = self._election()
        bucket = TokenBucket(options.api_qps, options.api_burst)
        writer = Writer(client, bucket, self.telemetry.request, self.election.holds)
        self.setbacks = BindBackoff(self.cache.forget)
        self.reprieves = EvictionBackoff(self.cache, EvictionBackoffSettings())
        lost = self.telemetry.binding_lost
        self.confirmations = Confirmations(client, self.cache, clock, lost, confirmations or ConfirmationSettings())
        outcomes = Outcomes(self.cache, self.telemetry, self.setbacks, self.reprieves, self.confirmations)
        self.dispatcher = Dispatcher(writer, outcomes.binding, DispatchSettings(options.max_in_flight))
        evictions = EvictionSettings(delete=options.eviction_mode == "delete")
        self.evictor = Evictor(writer, outcomes.eviction, evictions, clock)
        events = EventSettings(options.scheduler_names[0], options.event_qps, 4 * options.event_qps)
        settings = writeback or WritebackSettings(events=events)
        self.writeback = outcomes.teller = Writeback(
            client, writer, settings, clock, outcomes.status, self.cache, outcomes.nomination
        )
        self.rivals = Rivals(
            options.scheduler_names,
            clock,
            self.election.holds,
            self.writeback.events,
            self.telemetry,
            elected=options.leader_elect,
        )
        self._policy_status: PolicyStatus | None = None
        if isinstance(self.policy, PolicyMap):
            self._policy_status = PolicyStatus(self.policy, writer, self.writeback.events)
        self.housekeeping = Housekeeping(options, client, writer, self.writeback.events, self.telemetry, self.cache)
        sinks, watched = self.housekeeping.sinks, self.telemetry.watch
        self.reflectors = reflectors(
            client, self.cache, sinks, watched, scheduling=options.schedule, arbitrating=options.arbitrate
        )
        watches = {kind: reflector.statistics for kind, reflector in self.reflectors.items()}
        self.progress = Progress(watches, self.telemetry.note)
        self.usage = UsageCollector(self._settings, client, self.cache, clock, self.telemetry.usage, self.policy.reach)
        self.health = Health(clock, self._synced, self._absent, self.usage.to_dict, self._role, self.rivals.to_dict)
        self.caller = Caller()
        self.arbitration: Arbitration | None = None
        if options.arbitrate:
            self.arbitration = Arbitration(
                options,
                self.cache,
                self.evictor,
                writer,
                self.writeback.events,
                registry,
                clock,
                self.telemetry,
                trigger.pull,
                self._idle,
                self._incomplete,
            )
        self.doors = Doors(options, client, clock, self.telemetry)
        self.showing = Showing(
            options,
            registry,
            clock,
            self.telemetry,
            trigger.pull,
            self.policy,
            self._standing,
            self.cache.advise,
            self.cache.unused,
            Seen(self.cache.tasks_of, self.cache.tasks_on, lambda: self.cache.axis.names),
        )
        hands = Hands(
            self.cache,
            deciding(registry, self.caller, self.showing.lookout.hear) if options.schedule else decide_nothing,
            self._policy,
            self.evictor,
            self.dispatcher,
            self.writeback,
            self.telemetry,
            self.showing.lookout,
            self.arbitration.arbiter if self.arbitration is not None else None,
            self.housekeeping.gates,
            self.showing.recorder,
        )
        self._signs = leader_signs(options, client, writer, self.telemetry.worry)
        self.loop = Loop(hands, trigger, clock, self.health.turned)
        self.tasks = self._tasks()
        self.ports: dict[str, int] = {}
        """Where it listens, by what for."""

    def _election(self) -> Election:
        if not self._options.leader_elect:
            return NoElection()
        return LeaseElection(
            self._options.lease,
            self._client.connection,
            self.telemetry,
            self.stop,
            on_answer=self.telemetry.answered,
        )

    def _tasks(self) -> tuple[LongLived, ...]:
        """Everything that runs for long."""
        follow = (
            LongLived(f"watch {kind}", reflector.run, f"keeps the mirror in step with every {kind}")
            for kind, reflector in self.reflectors.items()
        )
        more = [*self.housekeeping.tasks, *self.doors.tasks, *self.showing.tasks, *self._signs]
        if self.arbitration is not None:
            more += self.arbitration.tasks
        if self._policy_status is not None:
            says = "says on the ConfigMap what became of the policy in it"
            more.append(LongLived("policy status", self._policy_status.run, says, acts=True))
        usage = "collects what nodes really use, where the policy says from where"
        return (
            *follow,
            *more,
            LongLived("election", self.election.run, "finds out which of several daemons acts"),
            LongLived("progress", self.progress.run, "tells of lists that take long"),
            LongLived("sessions", self._sessions, "decides, once the mirror is complete"),
            LongLived("bindings", self.dispatcher.run, "carries placements out", acts=True),
            LongLived("evictions", self.evictor.run, "carries evictions out", acts=True),
            LongLived("reprieves", self.reprieves.run, "lets refused victims be victims again, in time"),
            LongLived("confirmations", self.confirmations.run, "finds bindings that were accepted and are no more"),
            LongLived("setbacks", self.setbacks.run, "frees pods whose placements failed to be decided again"),
            LongLived("writeback", self.writeback.run, "writes statuses, conditions and Events", acts=True),
            LongLived("usage", self._collect_usage, usage, acts=True),
            LongLived("policy file", self._follow_policy, "takes edits of the policy into force"),
            LongLived("heartbeat", Heartbeat(self.telemetry, self.caller).run, "measures how late the event loop is"),
        )

    async def run(self) -> None:
        """Listen, run every task, and stop in order once told to; raises what a task dies of."""
        async with contextlib.AsyncExitStack() as stack:
            stack.callback(self.caller.close)
            await self._listen(stack)
            stack.callback(self.showing.close)
            await reach(self._client, self.telemetry, self._stopping, self.health.turned)
            async with asyncio.TaskGroup() as group:
                running = {task.name: group.create_task(self._begin(task)(), name=task.name) for task in self.tasks}
                await self._stopping.wait()
                at_rest = await self._wind_down(running["sessions"])
                for task in running.values():
                    task.cancel()
            await self.election.end(release=at_rest)
        self.telemetry.note("stopped")

    def stop(self) -> None:
        """Start no further session, carry out what was decided, and end."""
        self._stopping.set()

    # -- steps

    def _begin(self, task: LongLived) -> Callable[[], Coroutine[Any, Any, Any]]:
        return led(self.election, task.run) if task.acts else task.run

    async def _listen(self, stack: contextlib.AsyncExitStack) -> None:
        options, arbitration = self._options, self.arbitration
        telemetry, showing = self.telemetry, self.showing
        sources = Sources(
            telemetry.findings, telemetry.registry, self.policy.to_dict, self.health, showing.front, showing.positions
        )
        more = (*self.showing.routes, *(arbitration.extender_routes if arbitration is not None else ()))
        served = [
            Served("listen", options.listen_address, public_routes(sources, more)),
            Served("healthz", options.healthz_address, health_routes(sources)),
        ]
        if arbitration is not None:
            served.append(Served("webhook", options.webhook_address, arbitration.webhook_routes))
        self.ports = await self.doors.listen(stack, served)

    async def _sessions(self) -> None:
        """Wait for the first lists, and for the lead; then run sessions."""
        for kind, reflector in self.reflectors.items():
            if not await self._is_set(awaited(kind, reflector)):
                return
        self._on_listed()
        self.telemetry.note("mirror complete", **self.cache.describe())
        if await self._is_set(self.election.leading, self._keep_warm):
            self.cache.review()
            await self.loop.run()

    def _keep_warm(self) -> None:
        """Work off what changed, as sessions would: it must not pile up, and the first session is to start at once."""
        self.cache.snapshot(self._clock.now())
        if self._options.arbitrate:
            self.cache.arbitration()

    async def _is_set(self, event: asyncio.Event, meanwhile: Callable[[], None] = lambda: None) -> bool:
        """Wait for an event, alive meanwhile; False where the daemon is to stop before."""
        while not event.is_set():
            if self._stopping.is_set():
                return False
            self.health.turned()
            meanwhile()
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(BEAT_SECONDS):
                    await event.wait()
        return True

    async def _wind_down(self, sessions: asyncio.Task[Any]) -> bool:
        """Carry out what was decided; whether another daemon may lead at once."""
        options, arbitration = self._options, self.arbitration
        self.telemetry.note(
            "stopping",
            bindings=self.dispatcher.depth + self.dispatcher.in_flight,
            evictions=self.evictor.depth + self.evictor.in_flight,
        )
        self.loop.stop()
        telling = [self.writeback.drain, *([] if arbitration is None else [arbitration.writer.drain])]
        soon = min(options.drain_seconds, options.handover_seconds) if options.leader_elect else options.drain_seconds
        left = await wind_down(sessions, self.dispatcher, self.evictor, telling, soon, options.drain_seconds)
        if left.writes:
            self.telemetry.worry("stopped with writes left", left=left.writes, bindings_on_the_wire=left.bindings)
        return not left.bindings

    async def _follow_policy(self) -> None:
        self.telemetry.reading(self.policy.last)
        await self.policy.follow(self._policy_read)

    async def _collect_usage(self) -> None:
        await self.usage.run(self.reflectors["Node"].synced)

    # -- connections between the parts

    def _policy(self) -> Policy:
        policy = self.policy.policy
        return policy.with_plugin(ALLOCATION) if self._options.arbitrate else policy

    def _settings(self) -> Settings:
        return self.policy.settings

    def _policy_read(self, reading: Reading) -> None:
        self.telemetry.reading(reading)
        self.usage.nudge()
        self._trigger.period_seconds = self._period_seconds()
        if self._policy_status is not None:
            self._policy_status.told(reading)

    def _period_seconds(self) -> float:
        """How long sessions may be apart: by the policy, else by the flag; rounds of arbitration go with them."""
        seconds = self.policy.settings.period_seconds or self._options.period_seconds
        return min(seconds, self._options.rules.interval_seconds) if self._options.arbitrate else seconds

    def _role(self) -> str:
        return "stopping" if self._stopping.is_set() else self.election.role

    def _standing(self) -> str:
        """The same for those who look on, who want to know whether there is anything to see yet."""
        return self._role() if self._stopping.is_set() or not self._incomplete() else "starting"

    def _idle(self) -> str:
        """Why this daemon does not act; empty where it does."""
        return "" if self.election.holds() else f"this daemon does not lead: it is {self._role()}"

    def _incomplete(self) -> str:
        return "" if self.health.ready().ok else "the mirror is not complete yet"

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
        written = self.arbitration.writer if self.arbitration is not None else None
        return {
            **of_watches(self.reflectors),
            **of_hands(self.cache, self.dispatcher, self.evictor, self.writeback, written),
            **self.election.numbers(),
            **self.usage.numbers(),
            **self.doors.numbers(),
            **self.showing.numbers(),
            "vsched_foreign_bindings_total": {"": float(self.rivals.bindings)},
            "vsched_extender_calls_total": {kind: float(count) for kind, count in self.caller.counts.items()},
        }
