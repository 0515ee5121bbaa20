"""The composition root: what a daemon is made of, which tasks it owns, and in which order it stops.

The parts are made from the bottom up: the base, what writes, what watches, what others see, and the loop of sessions.
Nothing is decided here, and nothing runs for long that is not in ``Daemon.tasks``.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Coroutine, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from vsched.clock import Clock, SystemClock
from vsched.controllers.flows.controller import MakerSettings
from vsched.controllers.provisioning.shown import AutoscalingShown
from vsched.daemon.arbitrate.parts import ArbitrationService
from vsched.daemon.lead.election import led
from vsched.daemon.lead.shards import shards_held
from vsched.daemon.loop.callouts import Caller
from vsched.daemon.loop.decision import decide_nothing, deciding, deciding_alone
from vsched.daemon.loop.effects import WrittenEffects
from vsched.daemon.loop.heartbeat import Heartbeat
from vsched.daemon.loop.housekeeping import Housekeeping
from vsched.daemon.loop.loop import Decide, Loop, SessionParts
from vsched.daemon.loop.sessions import Sessions
from vsched.daemon.loop.shutdown import wind_down
from vsched.daemon.loop.silence import Silence
from vsched.daemon.loop.upkeep import Upkeep
from vsched.daemon.observe.numbers import Numbers, last_shown, of_mirror, of_watches, of_writes
from vsched.daemon.observe.settings import ObserveSettings
from vsched.daemon.observe.tracing import Tracing
from vsched.daemon.observe.work_trace import work_of
from vsched.daemon.options import Options, check
from vsched.daemon.parts.audit import audit_log
from vsched.daemon.parts.base import make_base, period_seconds
from vsched.daemon.parts.inspection import Inspection
from vsched.daemon.parts.rollout import numbers_of
from vsched.daemon.parts.usage_history import history_keeper
from vsched.daemon.parts.watches import Watches
from vsched.daemon.parts.write_path import WritePath
from vsched.daemon.policy.config_map import PolicyMap
from vsched.daemon.policy.geometries import GeometryWatch
from vsched.daemon.policy.reach import reach_of
from vsched.daemon.policy.reload import PolicyInForce, PolicyReading, policy_of
from vsched.daemon.policy.usage import UsageCollector
from vsched.daemon.system.first_contact import reach
from vsched.daemon.system.listeners import Listeners, ServedRoutes
from vsched.daemon.system.tuning import LEFT_ALONE, Collector, collected
from vsched.daemon.tasks import LongLived
from vsched.daemon.triggers import Trigger
from vsched.daemon.words import log as log_words
from vsched.daemon.words import states as states_words
from vsched.daemon.words import tasks as words
from vsched.framework.registry import Registry
from vsched.kube.client import ApiClient
from vsched.log import lines_lost
from vsched.mirror.unserved import UnservedTerms
from vsched.model.memo import Memo, Mode
from vsched.web.pages.autoscaling import autoscaling_route
from vsched.web.pages.explanations import nobody
from vsched.web.pages.health import Health
from vsched.web.pages.job_webhook import job_webhook_routes
from vsched.web.pages.routes import Sources, health_routes, public_routes
from vsched.web.serve.listener import Listen, listening_sockets
from vsched.web.serve.openapi import openapi_route
from vsched.web.serve.routing import Route
from vsched.writes.confirmations import ConfirmationSettings
from vsched.writes.writeback import WritebackSettings


@dataclass(frozen=True, slots=True)
class DaemonSettings:
    """How often and how patiently the parts of a daemon work; those that are None follow from its options."""

    writeback: WritebackSettings | None = None
    confirmations: ConfirmationSettings = field(default_factory=ConfirmationSettings)
    observing: ObserveSettings = field(default_factory=ObserveSettings)
    makers: MakerSettings | None = None
    listen: Listen = listening_sockets
    """Gives the sockets at its addresses."""
    tracing: Tracing | None = None
    """None where nothing is traced. Whoever made it closes it."""
    caller: Callable[[], Caller] = Caller
    """Makes what calls services such as extenders."""


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
        settings: DaemonSettings | None = None,
        collector: Collector = LEFT_ALONE,
    ) -> None:
        """The policy is that of the policy file, unless another is given."""
        check(options)
        settings, clock = settings or DaemonSettings(), clock or SystemClock()
        policy = policy or policy_of(options.policy_file, registry, clock, reach_of(options, client.connection))
        trigger = trigger or Trigger(period_seconds(options, policy), options.window_seconds)
        self._base = base = make_base(
            options, client, registry, clock, policy, trigger, settings.observing, settings.tracing
        )
        self.policy, self.mirror = base.policy, base.mirror
        self.telemetry, self.election = base.telemetry, base.election
        self._writes = writes = WritePath(base, settings.writeback, settings.confirmations)
        self.dispatcher, self.evictor, self.writeback = writes.dispatcher, writes.evictor, writes.writeback
        self.rivals = writes.rivals
        self.housekeeping = Housekeeping(base, writes, settings.makers)
        self.watches = watches = Watches(base, self.housekeeping.sinks)
        self.reflectors, self.progress = watches.reflectors, watches.progress
        self.usage = UsageCollector(
            base.settings, client, self.mirror, base.clock, self.telemetry.process.usage, self.policy.reach
        )
        self.geometries = GeometryWatch(
            lambda: base.settings().policy.device_config() if options.schedule else None,
            client,
            self.mirror,
            self.telemetry.note,
            self.telemetry.worry,
        )
        keeping = self.housekeeping
        self.health = Health(
            base.clock,
            watches.synced,
            watches.absent,
            base.role,
            {
                "usage": self.usage.to_dict,
                "lease": base.lease,
                "rivals": self.rivals.to_dict,
                "vcjobs": keeping.standing_back,
                "flows": keeping.flows,
                "nodeShard": keeping.shard,
                "shards": partial(shards_held, base.election),
            },
        )
        self.arbitration = ArbitrationService(base, writes, self._incomplete) if options.arbitrate else None
        self.listeners = Listeners(options, client, base.clock, self.telemetry, settings.listen, base.tracing)
        elsewhere = nobody if writes.shards is None else writes.shards.decided_by
        of_vcjobs = self.housekeeping.told_of_vcjob, self.housekeeping.uncreated_of_vcjob
        self.inspection = Inspection(base, self._standing, elsewhere, *of_vcjobs)
        self.caller = settings.caller()
        self._upkeep = Upkeep(lambda: base.trigger.pulls, collector.calm)
        self.work = work_of(options, base.clock, self.telemetry.worry)
        self.audit = audit_log(base)
        decide: Decide = decide_nothing
        if options.schedule:
            hear, count = self.inspection.snapshots.hear, self.telemetry.kept_by_sessions
            decide = deciding(registry, self.caller, hear, Memo(Mode(options.memo)), count)
        if writes.shards is not None and options.schedule:
            decide = writes.shards.deciding(decide, deciding_alone(registry, self.caller))
        unserved = UnservedTerms(self.mirror.unserved, registry, lambda: base.policy.policy)
        written = WrittenEffects(
            assume=self.mirror.assumptions.assuming,
            telemetry=self.telemetry,
            evictor=self.evictor,
            dispatcher=self.dispatcher,
            writeback=self.writeback,
            claims=writes.claims,
            gates=self.housekeeping.gates,
            provisioning=self.housekeeping.provisioning,
            node_shards=self.housekeeping.node_shards,
            unserved=unserved.looking if options.schedule else None,
        )
        parts = SessionParts(
            mirror=writes.shards or self.mirror,
            decide=decide,
            policy=base.policy_of_sessions,
            effects=written,
            telemetry=self.telemetry,
            snapshots=self.inspection.snapshots,
            arbiter=self.arbitration,
            recorder=self.inspection.recorder,
            observers=tuple(each for each in (self.audit, base.tracing) if each is not None),
            work=self.work,
        )
        self.silence = Silence(partial(last_shown, self.reflectors))
        base.client.on_answer.add(self._answered)
        self.loop = Loop(
            parts, base.trigger, base.clock, self.health.turned, silence=self.silence, on_answer=writes.answered_again
        )
        self.history = history_keeper(base, writes, watches)
        settled = None if self.history is None else self.history.settled
        told = (self.housekeeping.listed, base.election.prepare, collector.listed)
        self._sessions = Sessions(base, watches, self.health, self.loop, told, settled, self.geometries.settled)
        if isinstance(policy, PolicyMap):
            policy.on_switch.add(self._policy_changed)
            policy.on_switch.add(trigger.pull)
        self.telemetry.read_off(self._numbers)
        self.tasks = self._tasks()
        self.ports: dict[str, int] = {}
        """Where it listens, by what for."""

    def _tasks(self) -> tuple[LongLived, ...]:
        """Everything that runs for long."""
        watching = (self.watches, self.housekeeping, self.listeners, self.inspection)
        parts = (*watching, self.arbitration, self.history)
        usage = words.USAGE
        return (
            *(task for part in parts if part is not None for task in part.tasks),
            *self._writes.tasks(self.watches.catch_up),
            LongLived("election", partial(self.election.run, self._writes.settle), words.ELECTION),
            LongLived("sessions", self._sessions.run, words.SESSIONS),
            LongLived("usage", lambda: self.usage.run(self.reflectors["Node"].synced), usage, acts=True),
            LongLived("MIG geometries", self.geometries.run, words.GEOMETRIES),
            LongLived("policy file", self._follow_policy, words.POLICY_FILE),
            LongLived("heartbeat", Heartbeat(self.telemetry, self.caller).run, words.HEARTBEAT),
            LongLived("upkeep", self._upkeep.run, words.UPKEEP),
            *(LongLived(each.name, each.run, words.AUDIT) for each in (self.audit.outlets if self.audit else ())),
            *(() if self.work is None else (LongLived("work trace", self.work.run, words.WORK_TRACE),)),
        )

    async def run(self) -> None:
        """Listen, run every task, and stop in order once told to; raises what a task dies of."""
        async with contextlib.AsyncExitStack() as stack:
            stack.callback(self.caller.close)
            await self._listen(stack)
            stack.callback(self.inspection.close)
            await reach(self._base.client, self.telemetry, self._base.stopping, self.health.turned)
            await self.watches.discover()
            async with asyncio.TaskGroup() as group:
                running = {task.name: group.create_task(self._begin(task)(), name=task.name) for task in self.tasks}
                await self._base.stopping.wait()
                at_rest = await self._wind_down(running["sessions"])
                for task in running.values():
                    task.cancel()
            if self.work is not None:
                await self.work.end()
            if self.audit is not None:
                await self.audit.end()
            await self.election.end(release=at_rest)
        self.telemetry.note("stopped")

    def stop(self) -> None:
        """Start no further session, carry out what was decided, and end."""
        self._base.stopping.set()

    # -- steps

    def _begin(self, task: LongLived) -> Callable[[], Coroutine[Any, Any, Any]]:
        return led(self.election, task.run, first=task.once) if task.acts or task.once else task.run

    async def _listen(self, stack: contextlib.AsyncExitStack) -> None:
        options, arbitration = self._base.options, self.arbitration
        inspection, findings, metrics = self.inspection, self.telemetry.findings, self.telemetry.registry
        sources = Sources(findings, metrics, self.policy.to_dict, self.health, inspection.front, inspection.positions)
        provisioning = self.housekeeping.provisioning
        shown = autoscaling_route(partial(AutoscalingShown, asks=False) if provisioning is None else provisioning.shown)
        described: dict[str, Sequence[Route]] = {}
        access = self.listeners.access
        more = (
            *inspection.routes,
            shown,
            *(arbitration.extender_routes if arbitration is not None else ()),
            openapi_route(lambda: described, "" if access is None else "--listen-address"),
        )
        served = [
            ServedRoutes("listen", options.listen_address, public_routes(sources, more)),
            ServedRoutes("healthz", options.healthz_address, health_routes(self.health)),
        ]
        reviews = self.housekeeping.job_reviews(self._incomplete)
        reviewed = [
            *(arbitration.webhook_routes if arbitration is not None else ()),
            *(job_webhook_routes(reviews) if reviews is not None else ()),
        ]
        if reviewed:
            served.append(ServedRoutes("webhook", options.webhook_address, reviewed))
        described.update((each.flag, each.routes) for each in served if each.address)
        self.ports = await self.listeners.listen(stack, served)

    async def _wind_down(self, sessions: asyncio.Task[Any]) -> bool:
        """Carry out what was decided; whether another daemon may lead at once."""
        options, arbitration = self._base.options, self.arbitration
        self.telemetry.note(
            "stopping",
            bindings=self.dispatcher.depth + self.dispatcher.in_flight,
            evictions=self.evictor.depth + self.evictor.in_flight,
        )
        self.loop.stop()
        telling = [self.writeback.drain, *([] if arbitration is None else [arbitration.writer.drain])]
        if self.history is not None:
            telling.append(self.history.drain)
        soon = min(options.drain_seconds, options.handover_seconds) if options.leader_elect else options.drain_seconds
        left = await wind_down(
            sessions, self.dispatcher, self.evictor, telling, soon, options.drain_seconds, self._writes.claims.drain
        )
        if left.writes:
            self.telemetry.worry(log_words.UNSENT_WRITES, left=left.writes, bindings_in_flight=left.bindings)
        return not left.bindings

    def _answered(self, verb: str, code: int) -> None:
        self.telemetry.process.answered(verb, code)
        self.silence.answered(code)

    async def _follow_policy(self) -> None:
        self.telemetry.process.reading(self.policy.last)
        await self.policy.follow(self._policy_read)

    def _policy_read(self, reading: PolicyReading) -> None:
        self.telemetry.process.reading(reading)
        self._policy_changed()
        if self._writes.policy_status is not None:
            self._writes.policy_status.on_reading(reading)

    def _policy_changed(self) -> None:
        """Another policy may be in force: by an edit, or by a step of its rollout."""
        self.usage.nudge()
        self.geometries.nudge()
        self._base.trigger.set_period(period_seconds(self._base.options, self.policy))
        self._base.mirror.history.keep(self.policy.policy.decays())
        if self._writes.podgroups is not None:
            self._writes.podgroups.policy_changed()

    # -- what others ask

    def _standing(self) -> str:
        """The role for those who look on, who want to know whether there is anything to see yet."""
        return self._base.role() if self._base.stopping.is_set() or not self._incomplete() else "starting"

    def _incomplete(self) -> str:
        return "" if self.health.ready().ok else states_words.NOT_SYNCED

    def _numbers(self) -> Numbers:
        """What is read off the parts at every scrape."""
        written = self.arbitration.writer if self.arbitration is not None else None
        return {
            **of_watches(self.reflectors),
            **of_mirror(self.mirror),
            **of_writes(self.dispatcher, self.evictor, self.writeback, written),
            **self._writes.claims.numbers(),
            **self.election.numbers(),
            **(self._writes.shards.numbers() if self._writes.shards is not None else {}),
            **(self.history.numbers() if self.history is not None else {}),
            **self.usage.numbers(),
            **self.listeners.numbers(),
            **self.inspection.numbers(),
            **(self.work.numbers() if self.work is not None else {}),
            **(self.audit.numbers() if self.audit is not None else {}),
            **(self._base.tracing.numbers() if self._base.tracing is not None else {}),
            **collected.numbers(),
            **numbers_of(self.policy.state if isinstance(self.policy, PolicyMap) else None),
            **(self.housekeeping.provisioning.numbers() if self.housekeeping.provisioning is not None else {}),
            **(self.housekeeping.makers.numbers() if self.housekeeping.makers is not None else {}),
            "vsched_foreign_bindings_total": {"": float(self.rivals.bindings)},
            "vsched_api_silent": {"": float(self.silence.lasts)},
            "vsched_vcjobs_left_alone": {"": float(bool(self.housekeeping.standing_back()))},
            "vsched_log_lines_lost_total": {"": float(lines_lost())},
            "vsched_extender_calls_total": {kind: float(count) for kind, count in self.caller.counts.items()},
        }
