"""What all parts of a daemon share: its options, the client, the policy, the mirror, telemetry, the election."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass

from vsched.clock import Clock
from vsched.daemon.lead.election import Election, LeaseElection, NoElection
from vsched.daemon.lead.shards import ShardElection
from vsched.daemon.observe.settings import ObserveSettings
from vsched.daemon.observe.telemetry import Telemetry
from vsched.daemon.observe.tracing import Tracing
from vsched.daemon.options import Options, workloads_of
from vsched.daemon.policy.reload import PolicyInForce
from vsched.daemon.triggers import Trigger
from vsched.daemon.words import states as words
from vsched.framework.policy import Policy
from vsched.framework.registry import Registry
from vsched.kube.client import ApiClient
from vsched.mirror.events import MirrorEvents
from vsched.mirror.mirror import Mirror
from vsched.mirror.stores import MirrorSettings
from vsched.plugins.allocation import ALLOCATION
from vsched.settings import Settings


@dataclass(frozen=True, slots=True)
class Base:
    """The parts that all others use."""

    options: Options
    client: ApiClient
    registry: Registry
    clock: Clock
    policy: PolicyInForce
    trigger: Trigger
    """What starts the next session."""
    mirror: Mirror
    """The mirror of the cluster."""
    telemetry: Telemetry
    election: Election
    observing: ObserveSettings
    tracing: Tracing | None
    """None where nothing is traced."""
    stopping: asyncio.Event
    """Set once the daemon is to end."""

    def settings(self) -> Settings:
        return self.policy.settings

    def policy_of_sessions(self) -> Policy:
        """The policy in force; with arbitration, including the plugin that enforces its limits."""
        policy = self.policy.policy
        return policy.with_plugin(ALLOCATION) if self.options.arbitrate else policy

    def role(self) -> str:
        """The role of this process now: ``leader`` acts, any other only watches."""
        return "stopping" if self.stopping.is_set() else self.election.role

    def lease(self) -> Mapping[str, object]:
        """Why the own Lease cannot be had, read or kept; empty where it can."""
        return {"problem": self.election.problem} if self.election.problem else {}

    def idle(self) -> str:
        """Why this daemon does not act; empty if it does."""
        return "" if self.election.holds() else words.not_the_leader(self.role())


def make_base(
    options: Options,
    client: ApiClient,
    registry: Registry,
    clock: Clock,
    policy: PolicyInForce,
    trigger: Trigger,
    observing: ObserveSettings,
    tracing: Tracing | None = None,
) -> Base:
    """The parts for these options."""
    mirror = Mirror(
        MirrorSettings(
            frozenset(options.scheduler_names if options.schedule else ()),
            options.default_queue,
            # With its controller on, this daemon opens new queues itself.
            open_without_state=options.queue_controller,
            arbitrating=options.arbitrate,
            queue_gates=options.gate_controller,
            ignored=frozenset(options.ignored),
            asks_seconds=options.cooperative_eviction_seconds,
            workloads=workloads_of(options),
        ),
        MirrorEvents(on_change=trigger.pull, on_calm_change=trigger.pull_later),
    )
    mirror.history.keep(policy.policy.decays())
    telemetry = Telemetry(clock, mirror.task, observing)
    mirror.events.on_arrival.add(telemetry.arrived)
    stopping = asyncio.Event()
    election = make_election(options, client, telemetry, stopping)
    if isinstance(election, ShardElection):
        election.on_shards.add(trigger.pull)
    shared = options, client, registry, clock, policy, trigger, mirror, telemetry
    return Base(*shared, election, observing, tracing, stopping)


def make_election(options: Options, client: ApiClient, telemetry: Telemetry, stopping: asyncio.Event) -> Election:
    """The election that the options ask for; a daemon that loses its Lease is to end."""
    if not options.leader_elect:
        return NoElection()
    if options.shards > 1:
        lost, told = stopping.set, telemetry.process.answered
        return ShardElection(options.lease, options.shards, client.connection, telemetry, lost, on_answer=told)
    return LeaseElection(
        options.lease, client.connection, telemetry, on_lost=stopping.set, on_answer=telemetry.process.answered
    )


def period_seconds(options: Options, policy: PolicyInForce) -> float:
    """The longest time between two sessions: by the policy, else by the flag; at most the arbitration interval."""
    seconds = policy.settings.period_seconds or options.period_seconds
    return min(seconds, options.rules.interval_seconds) if options.arbitrate else seconds
