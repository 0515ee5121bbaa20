"""The parts by which a daemon changes the cluster."""

from __future__ import annotations

from dataclasses import dataclass

from vsched.daemon.lead.leader_address import leader_signs
from vsched.daemon.observe.rival_schedulers import RivalSchedulers
from vsched.daemon.parts.base import Base
from vsched.daemon.parts.outcomes import Outcomes, StatusOutcomes
from vsched.daemon.policy.config_map import PolicyMap, PolicyStatus
from vsched.daemon.tasks import LongLived
from vsched.writes.bind_backoff import BindBackoff
from vsched.writes.bindings import Dispatcher, DispatchSettings
from vsched.writes.confirmations import Confirmations, ConfirmationSettings
from vsched.writes.events import EventRecorder, EventSettings
from vsched.writes.eviction_backoff import EvictionBackoff, EvictionBackoffSettings
from vsched.writes.evictions import EvictionSettings, Evictor
from vsched.writes.limits import TokenBucket
from vsched.writes.writeback import Writeback, WritebackSettings
from vsched.writes.writer import Writer


@dataclass(frozen=True, slots=True)
class WritePath:
    """The parts that write, from the rate limit to the confirmation."""

    writer: Writer
    dispatcher: Dispatcher
    evictor: Evictor
    writeback: Writeback
    bind_backoff: BindBackoff
    eviction_backoff: EvictionBackoff
    confirmations: Confirmations
    rivals: RivalSchedulers
    policy_status: PolicyStatus | None
    """None where the policy is not that of a ConfigMap."""
    signs: tuple[LongLived, ...]

    @property
    def events(self) -> EventRecorder:
        return self.writeback.events

    @property
    def tasks(self) -> tuple[LongLived, ...]:
        """What runs for long."""
        tasks = [
            LongLived("bindings", self.dispatcher.run, "carries placements out", acts=True),
            LongLived("evictions", self.evictor.run, "carries evictions out", acts=True),
            LongLived("reprieves", self.eviction_backoff.run, "lets refused victims be victims again, in time"),
            LongLived("confirmations", self.confirmations.run, "finds bindings that were accepted and are no more"),
            LongLived("setbacks", self.bind_backoff.run, "frees pods whose placements failed to be decided again"),
            LongLived("writeback", self.writeback.run, "writes statuses, conditions and Events", acts=True),
        ]
        if self.policy_status is not None:
            says = "says on the ConfigMap what became of the policy in it"
            tasks.append(LongLived("policy status", self.policy_status.run, says, acts=True))
        return (*tasks, *self.signs)


def make_write_path(
    base: Base, writeback_settings: WritebackSettings | None, confirmation_settings: ConfirmationSettings | None
) -> WritePath:
    """The parts for these options."""
    options, client, clock, cache, telemetry = base.options, base.client, base.clock, base.cache, base.telemetry
    bucket = TokenBucket(options.api_qps, options.api_burst)
    writer = Writer(client, bucket, telemetry.request, base.election.holds)
    events = EventSettings(options.scheduler_names[0], options.event_qps, 4 * options.event_qps)
    settings = writeback_settings or WritebackSettings(events=events)
    statuses = StatusOutcomes(cache)
    writeback = Writeback(client, writer, settings, clock, statuses.status, cache, statuses.nomination)
    bind_backoff = BindBackoff(cache.forget)
    eviction_backoff = EvictionBackoff(cache, EvictionBackoffSettings())
    confirmations = Confirmations(
        client, cache, clock, telemetry.binding_lost, confirmation_settings or ConfirmationSettings()
    )
    outcomes = Outcomes(cache, telemetry, bind_backoff, eviction_backoff, confirmations, writeback)
    rivals = RivalSchedulers(
        options.scheduler_names,
        clock,
        base.election.holds,
        writeback.events,
        telemetry,
        elected=options.leader_elect,
    )
    cache.on_foreign.add(rivals.bound)
    return WritePath(
        writer=writer,
        dispatcher=Dispatcher(writer, outcomes.binding, DispatchSettings(options.max_in_flight)),
        evictor=Evictor(writer, outcomes.eviction, EvictionSettings(options.eviction_mode == "delete"), clock),
        writeback=writeback,
        bind_backoff=bind_backoff,
        eviction_backoff=eviction_backoff,
        confirmations=confirmations,
        rivals=rivals,
        policy_status=(
            PolicyStatus(base.policy, writer, writeback.events) if isinstance(base.policy, PolicyMap) else None
        ),
        signs=leader_signs(options, client, writer, telemetry.worry),
    )
