"""The parts by which a daemon changes the cluster."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from contextlib import nullcontext

from vsched.controllers.podgroup_controller import PodGroupController
from vsched.daemon.lead.leader_address import leader_signs
from vsched.daemon.lead.shards import ShardElection
from vsched.daemon.observe.rival_schedulers import RivalSchedulers
from vsched.daemon.observe.tracing import TracedWriter
from vsched.daemon.parts.base import Base
from vsched.daemon.parts.outcomes import Outcomes, StatusOutcomes
from vsched.daemon.parts.rollout import RolloutKeeper
from vsched.daemon.parts.shard_handover import ShardHandover
from vsched.daemon.parts.shard_mirror import ShardMirror
from vsched.daemon.policy.config_map import PolicyMap, PolicyStatus
from vsched.daemon.tasks import LongLived
from vsched.daemon.words import log as log_words
from vsched.daemon.words import tasks as words
from vsched.framework.claims.kinds import rules_of
from vsched.handlers import Handlers
from vsched.mirror.sharding import ShardDivision
from vsched.writes.bind_backoff import BindBackoff
from vsched.writes.bindings import Dispatcher, DispatchSettings, Outcome, no_notes
from vsched.writes.claims.claim_writes import ClaimWrites
from vsched.writes.claims.transactions import TransactionReports, TransactionSettings
from vsched.writes.confirmations import Confirmations, ConfirmationSettings
from vsched.writes.events import EventSettings
from vsched.writes.eviction_backoff import EvictionBackoff, EvictionBackoffSettings
from vsched.writes.evictions import EvictionSettings, Evictor
from vsched.writes.limits import TokenBucket
from vsched.writes.locked_bindings import LockingDispatcher
from vsched.writes.writeback import Writeback, WritebackSettings
from vsched.writes.writer import Writer


class WritePath:
    """The parts that write, from the rate limit to the confirmation."""

    def __init__(self, base: Base, writeback: WritebackSettings | None, confirmations: ConfirmationSettings) -> None:
        options, client, clock, mirror, telemetry = base.options, base.client, base.clock, base.mirror, base.telemetry
        bucket = TokenBucket(options.api_qps, options.api_burst)
        sends = client, bucket, telemetry.process.request, base.election.holds, mirror.is_leaving
        self.writer = writer = Writer(*sends) if base.tracing is None else TracedWriter(base.tracing, *sends)
        events = EventSettings(options.scheduler_names[0], options.event_qps, 4 * options.event_qps)
        settings, statuses = writeback or WritebackSettings(events=events), StatusOutcomes(mirror)
        self.writeback = Writeback(
            client, writer, settings, clock, statuses.status, mirror, statuses.nomination, base.election.first.is_set
        )
        self.events = self.writeback.events
        self.events.on_refused.add(telemetry.worry)
        self.bind_backoff = BindBackoff(mirror.assumptions.forget)
        self.eviction_backoff = EvictionBackoff(mirror.assumptions, EvictionBackoffSettings())
        self.confirmations = Confirmations(client, mirror.assumptions, clock, telemetry.binding_lost, confirmations)
        outcomes = Outcomes(
            mirror, telemetry, self.bind_backoff, self.eviction_backoff, self.confirmations, self.writeback, clock
        )
        bound: Handlers[[Outcome]] = Handlers()
        bound.add(outcomes.binding)
        self.podgroups: PodGroupController | None = None
        notes = no_notes
        if options.schedule and options.podgroup_controller:
            names = frozenset(options.scheduler_names)
            single_pods = options.podgroups_of_single_pods
            parts = writer, self.events, mirror, names, telemetry.worry
            self.podgroups = PodGroupController(
                *parts, single_pods=single_pods, ends_runs=lambda: base.policy.policy.ends_runs()
            )
            notes = self.podgroups.notes
        sending = DispatchSettings(options.max_in_flight)
        self.dispatcher: Dispatcher = LockingDispatcher(client, writer, bound, sending, clock, notes)
        self.dispatcher.goes_before(self.writeback.precedence)
        reports = TransactionReports(
            outcomes.undone,
            outcomes.binding,
            lambda told: telemetry.worry(log_words.CLAIMS_NOT_RELEASED, problem=told),
            nullcontext if base.tracing is None else base.tracing.claims,
        )
        self.claims = ClaimWrites(
            client,
            writer,
            self.dispatcher,
            mirror,
            clock,
            reports,
            lambda: rules_of(base.policy.policy).bind_seconds,
            TransactionSettings(),
        )
        bound.add(self.claims.gangs.answered)
        mirror.events.on_claim.add(self.claims.gangs.changed)
        evictions = EvictionSettings(
            delete=options.eviction_mode == "delete", asks_seconds=options.cooperative_eviction_seconds
        )
        self.evictor = Evictor(
            writer, outcomes.eviction, evictions, clock, outcomes.withdrawal, lambda uid: mirror.task(uid) is not None
        )
        elected, leads = options.leader_elect, base.election.holds
        self.shards: ShardMirror | None = None
        """None where this daemon decides for the whole cluster."""
        if isinstance(base.election, ShardElection):
            division = ShardDivision(options.shards, options.shard_by, options.node_pool_label)
            handover = ShardHandover(base.election, self.dispatcher, self.claims, base.trigger.pull)
            self.shards = ShardMirror(
                mirror,
                base.election,
                division,
                client,
                options.scheduler_names,
                clock,
                base.trigger.pull,
                handover,
            )
        ours = (lambda task: True) if self.shards is None else self.shards.owns
        self.rivals = RivalSchedulers(
            options.scheduler_names, clock, leads, self.events, telemetry, ours, elected=elected
        )
        if self.shards is not None:
            self.shards.on_moved.add(self.rivals.took_over)
        mirror.events.on_foreign.add(self.rivals.bound)
        self.policy_status: PolicyStatus | None = None
        self.rollout: RolloutKeeper | None = None
        """Both are None where the policy is not that of a ConfigMap."""
        if isinstance(base.policy, PolicyMap):
            self.policy_status = PolicyStatus(base.policy, writer, self.events)
            self.rollout = RolloutKeeper(base.policy, writer, self.events, telemetry, clock, self.shards)
            base.policy.divide(options.shards)
        self._signs = leader_signs(options, client, writer, telemetry.worry)

    def answered_again(self) -> None:
        """The API server answers again: what it did not hear is decided anew at once."""
        self.bind_backoff.release()
        self.claims.answered_again()

    async def settle(self, shard: int) -> None:
        """Wait until what was decided for a shard that is being given back is carried out."""
        if self.shards is not None:
            await self.shards.settle(shard)
        if self.rollout is not None:
            await self.rollout.settle()

    def tasks(self, catch_up: Callable[[], Awaitable[None]]) -> tuple[LongLived, ...]:
        """What runs for long; ``catch_up`` waits until the mirror has everything that the API server has by now."""
        tasks = [
            LongLived("bindings", self.dispatcher.run, words.BINDINGS, acts=True),
            LongLived("claims", self.claims.run, words.CLAIMS, acts=True),
            LongLived("evictions", self.evictor.run, words.EVICTIONS, acts=True),
            LongLived("reprieves", self.eviction_backoff.run, words.REPRIEVES),
            LongLived("confirmations", self.confirmations.run, words.CONFIRMATIONS),
            LongLived("setbacks", self.bind_backoff.run, words.SETBACKS),
            LongLived("writeback", self.writeback.run, words.WRITEBACK, acts=True),
        ]
        if self.policy_status is not None:
            says = words.POLICY_STATUS
            tasks.append(LongLived("policy status", self.policy_status.run, says, once=True))
        if self.rollout is not None:
            tasks.append(LongLived("rollout", self.rollout.run, words.ROLLOUT, acts=True))
        shards = () if self.shards is None else self.shards.tasks(catch_up)
        return (*tasks, *shards, *self._signs)
