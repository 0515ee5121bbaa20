"""The policy: the actions and plugins that a session runs, and their arguments.

A policy is an immutable value, complete and checked. ``vsched.settings`` reads the policy file, checks it and builds
the policy.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from math import inf
from typing import Annotated, NamedTuple, Protocol, Self, runtime_checkable

import msgspec

from vsched.framework.callout import CalloutEndpoint
from vsched.model.history.records import Decay
from vsched.model.jobs.job import Job
from vsched.model.nodes.usage import DEFAULT_PERIOD
from vsched.model.queues.queue import Queue
from vsched.model.topology.tiers import LabelTier

Seconds = Annotated[float, msgspec.Meta(ge=0, extra={"duration": True})]
"""A length of time; the file writes it with units (``1m30s``)."""


def inert(why: str) -> msgspec.Meta:
    """Marks an argument that is accepted but has no effect, so that policy files of Volcano work; ``why`` says why."""
    return msgspec.Meta(extra={"inert": why})


@runtime_checkable
class Normalising(Protocol):
    """Arguments that replace bad values by the values that Volcano uses in their place."""

    def normalised(self) -> Self:
        """The arguments in force, with bad values replaced; arguments that are normal already stay as they are.

        Raises ValueError or BadInput with one line where the arguments contradict each other. If the line begins with a
        key and a colon (``binpack.weight: …``), the error names that key's place in the file.
        """


@runtime_checkable
class NamingPlugins(Protocol):
    """Arguments with keys that name plugins (``QueueScoreOrder.drf.weight``)."""

    def named_plugins(self) -> Mapping[str, str]:
        """Names of plugins by the key that names them."""


@runtime_checkable
class NeedsPlugins(Protocol):
    """Arguments that have an effect only with certain plugins."""

    def needed_plugins(self) -> Mapping[str, str]:
        """Names of plugins by the key that needs them, as far as these keys are given."""


@runtime_checkable
class ReadsUsage(Protocol):
    """Arguments of a plugin that reads the measured usage of nodes."""

    def usage_periods(self) -> Iterable[str]:
        """The periods whose averages it reads, as written: ``5m``, ``1h``."""


@runtime_checkable
class EndsRuns(Protocol):
    """Arguments of a plugin that ends jobs which have run for as long as they may."""

    def longest_run(self, job: Job, queues: Mapping[str, Queue]) -> float:
        """For how long a job may run, seconds; infinite for no limit."""


@runtime_checkable
class ReadsHistory(Protocol):
    """Arguments of a plugin that reads what holders have used over time."""

    def decays(self) -> Iterable[Decay]:
        """The decays that it reads."""


@runtime_checkable
class CallsOut(Protocol):
    """Arguments of a plugin that calls a service."""

    @property
    def endpoint(self) -> CalloutEndpoint:
        """Where the service is."""


@runtime_checkable
class NamesTiers(Protocol):
    """Arguments of a plugin that finds domains of nodes by their labels."""

    def label_tiers(self) -> Sequence[LabelTier]:
        """The tiers that follow from labels, closest first."""


class DeviceConfigAt(NamedTuple):
    """The ConfigMap that says how shared devices may be divided."""

    namespace: str
    name: str


@runtime_checkable
class ReadsDeviceConfig(Protocol):
    """Arguments of a plugin that gives out shared devices."""

    def device_config(self) -> DeviceConfigAt | None:
        """The ConfigMap that says how they may be divided; None where it needs none."""


class Switches(msgspec.Struct, frozen=True, kw_only=True):
    """Which extension points of a plugin are on; ``hierarchy`` is a mode of the plugin, not an extension point."""

    job_order: bool = True
    task_order: bool = True
    queue_order: bool = True
    namespace_order: bool = True
    queue_score_order: bool = True
    sub_job_order: bool = True
    cluster_order: bool = False
    job_ready: bool = True
    sub_job_ready: bool = True
    job_pipelined: bool = True
    sub_job_pipelined: bool = True
    job_enqueued: bool = True
    job_starving: bool = True
    overused: bool = True
    allocatable: bool = True
    preemptive: bool = True
    preemptable: bool = True
    reclaimable: bool = True
    victim: bool = True
    predicate: bool = True
    best_node: bool = True
    node_order: bool = True
    hyper_node_order: bool = True
    hyper_node_gradient: bool = True
    target_job: bool = True
    reserved_nodes: bool = True
    hierarchy: bool = False

    def enabled(self, point: str) -> bool:
        """Whether the point is on; a point without a switch (empty name) always is."""
        return not point or bool(getattr(self, point))


class PluginConf(msgspec.Struct, frozen=True):
    """One plugin's place in the policy."""

    name: str
    args: msgspec.Struct
    """An instance of the plugin's own ``args_type``."""
    switches: Switches = Switches()


class PluginTier(msgspec.Struct, frozen=True):
    """Plugins that decide together, in order. Where tiers disagree, the earlier tier decides."""

    plugins: tuple[PluginConf, ...]


class Autoscaling(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How nodes are asked for that gangs lack."""

    provisioning_request: bool = msgspec.field(default=False, name="provisioningRequest")
    """Ask by one ProvisioningRequest for each gang; else pods say ``Unschedulable``."""
    class_name: Annotated[str, msgspec.Meta(min_length=1, max_length=253)] = msgspec.field(
        default="best-effort-atomic-scale-up.autoscaling.x-k8s.io", name="class"
    )
    """The ``provisioningClassName`` of the requests."""
    parameters: dict[str, str] = {}
    """The ``parameters`` of the requests."""
    retries: Annotated[int, msgspec.Meta(ge=0, le=100)] = 3
    """How often nodes for a gang are asked for again after a failure."""
    back_off: Seconds = msgspec.field(default=60.0, name="backOff")
    """How long after the first failure; each time it doubles."""
    longest_back_off: Seconds = msgspec.field(default=1800.0, name="longestBackOff")
    admit: bool | None = None
    """Admit jobs that lack nothing but nodes; not given: where nodes are asked for by ProvisioningRequests."""
    hold_evictions: Seconds = msgspec.field(default=900.0, name="holdEvictions")
    """For how long no pod is evicted for a gang, from its first request on, while nodes are on their way."""
    keep_nodes: Seconds = msgspec.field(default=600.0, name="keepNodes")
    """For how long provisioned nodes are kept for their gang; one that has not started by then asks again. 0 for never:
    nothing is kept, and nodes are asked for again only once the autoscaler says that it keeps them no longer."""

    @property
    def admits(self) -> bool:
        """Whether the size of the cluster is no limit to admission."""
        return self.provisioning_request if self.admit is None else self.admit


NO_AUTOSCALING = Autoscaling()


class Policy(msgspec.Struct, frozen=True):
    """The actions to run in order, the plugins by tier, and the arguments of the actions."""

    actions: tuple[str, ...]
    tiers: tuple[PluginTier, ...]
    action_args: Mapping[str, msgspec.Struct] = {}
    """Arguments by action; an instance of the action's own ``args_type``. Read only."""
    autoscaling: Autoscaling = NO_AUTOSCALING

    def plugins(self) -> Iterator[PluginConf]:
        """Every plugin, tier by tier."""
        for tier in self.tiers:
            yield from tier.plugins

    def plugin(self, name: str) -> PluginConf | None:
        """The plugin of that name, None where the policy does not use it."""
        return next((conf for conf in self.plugins() if conf.name == name), None)

    def with_plugin(self, conf: PluginConf) -> Policy:
        """The policy with one more plugin in its last tier; unchanged where it has that plugin already."""
        if self.plugin(conf.name) is not None:
            return self
        *others, last = self.tiers or (PluginTier(()),)
        return msgspec.structs.replace(self, tiers=(*others, PluginTier((*last.plugins, conf))))

    def longest_runs(self, queues: Mapping[str, Queue]) -> Callable[[Job], float]:
        """Tells for how long a job may run before a plugin ends it, seconds; infinite for no limit."""
        limits = [conf.args for conf in self.plugins() if isinstance(conf.args, EndsRuns)]
        return lambda job: min((args.longest_run(job, queues) for args in limits), default=inf)

    def ends_runs(self) -> bool:
        """Whether a plugin ends jobs that have run for as long as they may."""
        return any(isinstance(conf.args, EndsRuns) for conf in self.plugins())

    def calls_out(self) -> bool:
        """Whether cycles may wait for services that plugins call."""
        return any(isinstance(conf.args, CallsOut) for conf in self.plugins())

    def decays(self) -> tuple[Decay, ...]:
        """The decays of usage history that plugins read, each once."""
        readers = (conf.args for conf in self.plugins() if isinstance(conf.args, ReadsHistory))
        return tuple(dict.fromkeys(decay for reader in readers for decay in reader.decays()))

    def device_config(self) -> DeviceConfigAt | None:
        """The ConfigMap that says how shared devices may be divided; None where no plugin needs it."""
        found = (conf.args.device_config() for conf in self.plugins() if isinstance(conf.args, ReadsDeviceConfig))
        return next((one for one in found if one is not None), None)

    def label_tiers(self) -> tuple[LabelTier, ...]:
        """The tiers that follow from labels of nodes, beside those of HyperNodes; closest first."""
        naming = (conf.args for conf in self.plugins() if isinstance(conf.args, NamesTiers))
        return tuple(tier for one in naming for tier in one.label_tiers())

    def usage_periods(self) -> tuple[str, ...]:
        """The periods for which plugins read node usage, sorted; the default period where no plugin names any."""
        readers = (conf.args for conf in self.plugins() if isinstance(conf.args, ReadsUsage))
        return tuple(sorted({period for reader in readers for period in reader.usage_periods()})) or (DEFAULT_PERIOD,)
