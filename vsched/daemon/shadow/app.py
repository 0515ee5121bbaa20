"""The composition root of a shadow: what reads the cluster, decides and shows, and nothing that writes.

It has the mirror, the cycle, the policy and the pages of a daemon. There is no election, no controller and none of the
parts of ``WritePath``, so nothing has to ask whether it may write.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial

from vsched import __version__
from vsched.clock import Clock, SystemClock
from vsched.controllers.provisioning.shown import AutoscalingShown
from vsched.daemon.loop.callouts import Caller
from vsched.daemon.loop.decision import deciding
from vsched.daemon.loop.heartbeat import Heartbeat
from vsched.daemon.loop.loop import Loop, SessionParts
from vsched.daemon.loop.sessions import Sessions
from vsched.daemon.loop.silence import Silence
from vsched.daemon.loop.upkeep import Upkeep
from vsched.daemon.observe.numbers import Numbers, last_shown, of_mirror, of_watches
from vsched.daemon.observe.settings import ObserveSettings
from vsched.daemon.observe.work_trace import work_of
from vsched.daemon.options import Options, check
from vsched.daemon.parts.base import make_base, period_seconds
from vsched.daemon.parts.inspection import Inspection
from vsched.daemon.parts.watches import Watches
from vsched.daemon.policy.geometries import GeometryWatch
from vsched.daemon.policy.reach import reach_of
from vsched.daemon.policy.reload import PolicyInForce, PolicyReading, policy_of
from vsched.daemon.policy.usage import UsageCollector
from vsched.daemon.shadow.lookout import EvictionMarks, Lookout
from vsched.daemon.shadow.segments import FindingLog, logged, segments
from vsched.daemon.system.first_contact import reach
from vsched.daemon.system.listeners import Listeners, ServedRoutes
from vsched.daemon.system.tuning import LEFT_ALONE, Collector, collected
from vsched.daemon.tasks import LongLived
from vsched.daemon.triggers import Trigger
from vsched.daemon.words import tasks as words
from vsched.framework.registry import Registry
from vsched.kube.client import ApiClient
from vsched.model.memo import Memo, Mode
from vsched.shadow.comparing import ComparisonSettings, ShadowComparison
from vsched.shadow.findings import Finding, ShadowBegan
from vsched.shadow.summary import Comparing, summed
from vsched.web.pages.autoscaling import autoscaling_route
from vsched.web.pages.explanations import nobody
from vsched.web.pages.health import Health
from vsched.web.pages.routes import Sources, health_routes, public_routes
from vsched.web.pages.shadow import shadow_route
from vsched.web.serve.listener import Listen, listening_sockets
from vsched.web.serve.openapi import openapi_route
from vsched.web.serve.routing import Route
from vsched.web.snapshots import SHADOW, STARTING, STOPPING

NOT_NEEDED = frozenset({"Queue", "PodGroup"})
"""Kinds that other schedulers' clusters may not serve: their pods are jobs of their own, in the default queue."""


@dataclass(frozen=True, slots=True)
class ShadowSettings:
    """What tests have otherwise than people."""

    observing: ObserveSettings = field(default_factory=ObserveSettings)
    listen: Listen = listening_sockets
    """Gives the sockets at its addresses."""
    comparison: ComparisonSettings = field(default_factory=ComparisonSettings)


class ShadowDaemon:
    """One shadow: made, run to the end, and not used again."""

    def __init__(
        self,
        options: Options,
        client: ApiClient,
        registry: Registry,
        *,
        clock: Clock | None = None,
        policy: PolicyInForce | None = None,
        trigger: Trigger | None = None,
        settings: ShadowSettings | None = None,
        collector: Collector = LEFT_ALONE,
    ) -> None:
        """The candidate policy is that of the policy file, unless another is given."""
        check(options)
        settings, clock = settings or ShadowSettings(), clock or SystemClock()
        policy = policy or policy_of(options.policy_file, registry, clock, reach_of(options, client.connection))
        trigger = trigger or Trigger(period_seconds(options, policy), options.window_seconds)
        base = make_base(options, client, registry, clock, policy, trigger, settings.observing)
        self._base = base
        self.policy, self.mirror, self.telemetry = base.policy, base.mirror, base.telemetry
        log = None
        if options.shadow_log is not None:
            log = FindingLog(options.shadow_log, options.shadow_log_bytes)
        summary = summed(self._logged())
        comparison = ShadowComparison(settings.comparison, summary.open)
        self.lookout = Lookout(self._began(), comparison, summary, self.telemetry, log)
        marks = EvictionMarks(comparison.evictions.mark)
        self.watches = watches = Watches(base, {"Pod": marks}, NOT_NEEDED)
        self.reflectors = watches.reflectors
        self.usage = UsageCollector(
            base.settings, client, self.mirror, clock, self.telemetry.process.usage, self.policy.reach
        )
        self.geometries = GeometryWatch(
            lambda: base.settings().policy.device_config(),
            client,
            self.mirror,
            self.telemetry.note,
            self.telemetry.worry,
        )
        self.health = Health(clock, watches.synced, watches.absent, lambda: SHADOW, {"usage": self.usage.to_dict})
        self.listeners = Listeners(options, client, clock, self.telemetry, settings.listen)
        self.inspection = Inspection(base, self._standing, nobody, nobody, nobody)
        self.caller = Caller()
        self.work = work_of(options, clock, self.telemetry.worry)
        self._upkeep = Upkeep(lambda: base.trigger.pulls, collector.calm)
        snapshots = self.inspection.snapshots
        parts = SessionParts(
            mirror=self.mirror,
            decide=deciding(
                registry, self.caller, snapshots.hear, Memo(Mode(options.memo)), self.telemetry.kept_by_sessions
            ),
            policy=base.policy_of_sessions,
            effects=self.lookout,
            telemetry=self.telemetry,
            snapshots=snapshots,
            recorder=self.inspection.recorder,
            work=self.work,
        )
        self.silence = Silence(partial(last_shown, self.reflectors))
        client.on_answer.add(self._answered)
        self.loop = Loop(parts, trigger, clock, self.health.turned, silence=self.silence)
        self._sessions = Sessions(
            base, watches, self.health, self.loop, (collector.listed,), None, self.geometries.settled
        )
        self.telemetry.read_off(self._numbers)
        self.tasks = self._tasks()
        self.ports: dict[str, int] = {}
        """Where it listens, by what for."""

    def _tasks(self) -> tuple[LongLived, ...]:
        """Everything that runs for long."""
        return (
            *(task for part in (self.watches, self.listeners, self.inspection) for task in part.tasks),
            LongLived("findings", self.lookout.run, words.FINDINGS),
            *(() if self.work is None else (LongLived("work trace", self.work.run, words.WORK_TRACE),)),
            LongLived("sessions", self._sessions.run, words.SESSIONS),
            LongLived("usage", lambda: self.usage.run(self.reflectors["Node"].synced), words.USAGE),
            LongLived("MIG geometries", self.geometries.run, words.GEOMETRIES),
            LongLived("policy file", self._follow_policy, words.POLICY_FILE),
            LongLived("heartbeat", Heartbeat(self.telemetry, self.caller).run, words.HEARTBEAT),
            LongLived("upkeep", self._upkeep.run, words.UPKEEP),
        )

    async def run(self) -> None:
        """Listen, run every task until told to stop; raises what a task dies of."""
        async with contextlib.AsyncExitStack() as stack:
            stack.callback(self.caller.close)
            await self._listen(stack)
            stack.callback(self.inspection.close)
            await reach(self._base.client, self.telemetry, self._base.stopping, self.health.turned)
            await self.watches.discover()
            async with asyncio.TaskGroup() as group:
                running = {task.name: group.create_task(task.run(), name=task.name) for task in self.tasks}
                await self._base.stopping.wait()
                self.loop.stop()
                await asyncio.wait((running["sessions"],), timeout=self._base.options.drain_seconds)
                for task in running.values():
                    task.cancel()
            if self.work is not None:
                await self.work.end()
            await self.lookout.end()
        self.telemetry.note("stopped")

    def stop(self) -> None:
        """Start no further session, and end."""
        self._base.stopping.set()

    async def _listen(self, stack: contextlib.AsyncExitStack) -> None:
        options, inspection, access = self._base.options, self.inspection, self.listeners.access
        findings, metrics = self.telemetry.findings, self.telemetry.registry
        sources = Sources(findings, metrics, self.policy.to_dict, self.health, inspection.front, inspection.positions)
        described: dict[str, Sequence[Route]] = {}
        more = (
            *inspection.routes,
            shadow_route(self.lookout.shown, None if options.shadow_log is None else self._since),
            autoscaling_route(partial(AutoscalingShown, asks=False)),
            openapi_route(lambda: described, "" if access is None else "--listen-address"),
        )
        served = [
            ServedRoutes("listen", options.listen_address, public_routes(sources, more)),
            ServedRoutes("healthz", options.healthz_address, health_routes(self.health)),
        ]
        described.update((each.flag, each.routes) for each in served if each.address)
        self.ports = await self.listeners.listen(stack, served)

    def _began(self) -> ShadowBegan:
        """What the comparison is about from now on."""
        base = self._base
        return ShadowBegan(base.clock.now(), base.options.scheduler_names, base.settings().sha256, __version__)

    def _since(self, seconds: float) -> Callable[[], Comparing]:
        """Reads what the log has of the last time, and adds the interval that is under way."""
        since, so_far = self._base.clock.now() - seconds, self.lookout.so_far
        return lambda: summed(self._logged(), since).shown(so_far)

    def _logged(self) -> Iterable[Finding]:
        """All findings of the log, if there is one and it has begun."""
        folder = self._base.options.shadow_log
        return logged(folder) if folder is not None and segments(folder) else ()

    def _answered(self, verb: str, code: int) -> None:
        self.telemetry.process.answered(verb, code)
        self.silence.answered(code)

    async def _follow_policy(self) -> None:
        self.telemetry.process.reading(self.policy.last)
        await self.policy.follow(self._policy_read)

    def _policy_read(self, reading: PolicyReading) -> None:
        self.telemetry.process.reading(reading)
        self.lookout.go_on(self._began())
        self.usage.nudge()
        self.geometries.nudge()
        self._base.trigger.set_period(period_seconds(self._base.options, self.policy))
        self.mirror.history.keep(self.policy.policy.decays())

    def _standing(self) -> str:
        """The role for those who look on: sessions are what they want to see."""
        if self._base.stopping.is_set():
            return STOPPING
        return SHADOW if self.health.ready().ok else STARTING

    def _numbers(self) -> Numbers:
        """What is read off the parts at every scrape."""
        calls: Mapping[str, float] = {kind: float(count) for kind, count in self.caller.counts.items()}
        return {
            **of_watches(self.reflectors),
            **of_mirror(self.mirror),
            **self.lookout.numbers(),
            **(self.work.numbers() if self.work is not None else {}),
            **self.usage.numbers(),
            **self.listeners.numbers(),
            **self.inspection.numbers(),
            **collected.numbers(),
            "vsched_api_silent": {"": float(self.silence.lasts)},
            "vsched_extender_calls_total": calls,
        }
