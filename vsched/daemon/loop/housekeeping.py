"""The controllers that a daemon runs beside its sessions. Flags switch each of them off."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from vsched import api
from vsched.controllers.flows.controller import MakerController, MakerSettings
from vsched.controllers.gates import GateKeeper
from vsched.controllers.provisioning.controller import ProvisioningController
from vsched.controllers.queue_controller import QueueController
from vsched.controllers.sharding.nodeshards import NodeShards
from vsched.controllers.vcjobs.controller import JobController
from vsched.daemon.loop.job_reviews import JobReviews
from vsched.daemon.parts.base import Base
from vsched.daemon.parts.job_controllers import FOLLOWED_APART, followed_jobs, job_controllers
from vsched.daemon.parts.write_path import WritePath
from vsched.daemon.tasks import LongLived
from vsched.daemon.watches import TwoSinks
from vsched.daemon.words import tasks as words
from vsched.kube.watch.deltas import PartsSink


class Housekeeping:
    """What a cluster without other controllers needs, as far as the options ask for it."""

    def __init__(self, base: Base, writes: WritePath, makers: MakerSettings | None) -> None:
        self._base = base
        options, client, worry = base.options, base.client, base.telemetry.worry
        writer, events = writes.writer, writes.events
        self.queues: QueueController | None = None
        self.podgroups = writes.podgroups
        self.jobs: JobController | None = None
        self.makers: MakerController | None = None
        self.gates: GateKeeper | None = None
        if options.schedule and options.queue_controller:
            namespaces = frozenset(options.command_namespaces or (client.connection.namespace,))
            self.queues = QueueController(client, writer, events, options.default_queue, namespaces, worry)
            base.mirror.events.on_member.add(self.queues.member)
        if options.runs_jobs:
            self.jobs, self.makers = job_controllers(options, client, writer, events, base.clock, worry, makers)
        elif options.follows_jobs:
            self.jobs = followed_jobs(options, client, writer, events, base.clock, worry)
        self.provisioning: ProvisioningController | None = None
        if options.schedule:
            self.provisioning = ProvisioningController(
                client,
                writer,
                events,
                lambda: base.policy.policy.autoscaling,
                base.mirror.inputs,
                worry,
                base.clock,
            )
        self.node_shards: NodeShards | None = None
        if options.masks_nodes:
            mode, name = options.sharding_mode, options.sharding_name
            self.node_shards = NodeShards(mode, name, writer, base.mirror.inputs.mask, worry, base.clock)
        if options.schedule and options.gate_controller:
            self.gates = GateKeeper(writer, events, base.mirror.assumptions.ungate_failed)

    def listed(self) -> None:
        """The mirror is complete."""
        if self.queues is not None:
            self.queues.mirror_complete()
        if self.node_shards is not None:
            self.node_shards.settled()

    @property
    def sinks(self) -> Mapping[str, PartsSink[api.Object]]:
        """The receivers of watched objects besides the mirror, by kind."""
        sinks: dict[str, PartsSink[api.Object]] = {}
        others = (self.makers, self.provisioning, self.node_shards)
        for controller in (self.queues, self.podgroups, self.jobs, *others):
            if controller is not None:
                for kind, sink in controller.sinks.items():
                    if self._acts(controller) or kind in FOLLOWED_APART:
                        sinks[kind] = TwoSinks(sinks[kind], sink) if kind in sinks else sink
        return sinks

    def _acts(self, controller: object) -> bool:
        """False of the controller of vcjobs where another process runs them."""
        return controller is not self.jobs or self._base.options.runs_jobs

    def told_of_vcjob(self, namespace: str, name: str) -> str:
        """Why a vcjob may have no pods and no PodGroup; empty where there is no such vcjob, or nobody runs them."""
        return "" if self.jobs is None else self.jobs.told(namespace, name)

    def uncreated_of_vcjob(self, namespace: str, name: str) -> str:
        """Why pods of a vcjob that waits cannot be created; empty where none is known to be refused."""
        return "" if self.jobs is None else self.jobs.uncreated(namespace, name)

    def standing_back(self) -> Mapping[str, object]:
        """For ``/readyz``: why vcjobs are left alone, and why Volcano's Lease may not be read; empty otherwise."""
        return {} if self.jobs is None else self.jobs.shown()

    def flows(self) -> Mapping[str, object]:
        """For ``/readyz``: the CronJobs and JobFlows of Volcano; empty where there are none."""
        return {} if self.makers is None else self.makers.shown()

    def shard(self) -> Mapping[str, object]:
        """For ``/readyz``: the own NodeShard; empty where it does not matter."""
        return {} if self.node_shards is None else self.node_shards.to_dict()

    def job_reviews(self, ready: Callable[[], str]) -> JobReviews | None:
        """What webhooks are told of vcjobs, as far as ``ready`` finds no obstacle; None where nobody runs them."""
        if self.jobs is None:
            return None
        options, rivals = self._base.options, self.jobs.rivals
        return JobReviews(
            self._base.mirror, options.scheduler_names, options.default_queue, lambda: rivals.present, ready
        )

    @property
    def tasks(self) -> tuple[LongLived, ...]:
        """What runs for long."""
        tasks = []
        if self.queues is not None:
            tasks.append(LongLived("queues", self.queues.run, words.QUEUES, once=True))
        if self.podgroups is not None:
            what = words.PODGROUPS
            tasks.append(LongLived("podgroups", self.podgroups.run, what, once=True))
        if self.jobs is not None and self._base.options.runs_jobs:
            tasks.append(LongLived("vcjobs", self.jobs.run, words.VCJOBS, once=True))
        if self.makers is not None:
            what = words.FLOWS
            tasks.append(LongLived("flows", self.makers.run, what, once=True))
        if self.gates is not None:
            tasks.append(LongLived("gates", self.gates.run, words.GATES, acts=True))
        if self.provisioning is not None:
            what = words.PROVISIONING
            tasks.append(LongLived("provisioning", self.provisioning.run, what, acts=True))
        if self.node_shards is not None:
            what = words.NODE_SHARD
            tasks.append(LongLived("node shard", self.node_shards.run, what, once=True))
        return tuple(tasks)
