"""The rights that an account needs for a daemon's options and policy, each with its reasons."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from vsched import api
from vsched.api.resources import CONFIG_MAPS, HEEDED, PODS, SECRETS, VCJOB, VOLCANO_CRON_JOB
from vsched.collectors.custom_metrics import DEFAULTS
from vsched.collectors.custom_metrics import GROUP as CUSTOM_METRICS
from vsched.collectors.metrics_server import GROUP as METRICS
from vsched.controllers.vcjobs.rivals import VOLCANO_LEASE
from vsched.daemon.history.stored import place_of
from vsched.daemon.lead.leader_address import SLICES
from vsched.daemon.options import Options, leader_pod_of, leader_service_of, tls_secret_of, workloads_of
from vsched.daemon.permissions.requests import (
    OF_JOBS,
    OF_LOCKS,
    OF_NODES,
    OVERDUE,
    REQUESTS,
    RequestKind,
    keeps_queues,
    places,
)
from vsched.daemon.policy.config_map import map_key
from vsched.daemon.system.certificates import HOOKS
from vsched.daemon.watches import FOLLOWED, Use, followed_workloads
from vsched.daemon.words import rights as words
from vsched.kube.lease.record import LEASES
from vsched.plugins.deviceshare import locks_nodes
from vsched.plugins.walltime import WallTime
from vsched.settings import Settings
from vsched.settings.metrics import MetricsSource


class Right(NamedTuple):
    """One thing that an account must be allowed to do."""

    verb: str
    group: str
    """Empty for the core group."""
    resource: str
    """With its subresource, as ``pods/binding``."""
    namespace: str = ""
    """The only namespace it is needed in; empty for all of them."""
    name: str = ""
    """The only object it is needed for; empty for all of them."""


Reason = tuple[Right, str]
"""A right, and what needs it: one of ``words.rights``."""

FOLLOWED_FOR: dict[str, str] = {
    **dict.fromkeys(("Node", "Pod", "Namespace", "ResourceQuota", "PriorityClass"), words.CLUSTER),
    **dict.fromkeys(("Queue", "PodGroup"), words.QUEUES_READ),
    "PodDisruptionBudget": words.BUDGETS,
    **dict.fromkeys((api.NATIVE_POD_GROUP, "CompositePodGroup", "Workload"), words.NATIVE_READ),
    **dict.fromkeys(
        ("Service", "ReplicationController", "ReplicaSet", "StatefulSet", "DaemonSet", "Job"), words.SPREAD
    ),
    **dict.fromkeys(("Consumer", "Allocation", "Bucket"), words.ARBITRATE),
    **dict.fromkeys(
        ("PersistentVolumeClaim", "PersistentVolume", "StorageClass", "CSIStorageCapacity", "CSINode"), words.STORAGE
    ),
    **dict.fromkeys(("CSIDriver", "VolumeAttachment"), words.STORAGE),
    **dict.fromkeys(("ResourceClaim", "ResourceSlice", "DeviceClass", "DeviceTaintRule"), words.DEVICES_READ),
    "HyperNode": words.NEARNESS,
    **dict.fromkeys(("NodeResourceTopology", "Numatopology"), words.ZONES),
    "Eviction": words.RESPONDERS_READ,
    "Command": words.COMMANDS,
    VCJOB: words.JOBS_READ,
    **dict.fromkeys((VOLCANO_CRON_JOB, "JobFlow", "JobTemplate"), words.JOBS_READ),
    **dict.fromkeys(("ProvisioningRequest", "CapacityBuffer", "NodePool"), words.AUTOSCALERS),
    "NodeShard": words.SHARD_READ,
}
"""What each kind is followed for; others are kinds of workloads."""

OF_JOB_RUNNERS: dict[str, str] = {
    "Namespace": words.NAMESPACES,
    **dict.fromkeys((VCJOB, VOLCANO_CRON_JOB, "JobFlow", "JobTemplate"), words.JOBS_READ),
    "Pod": words.JOB_PODS,
    **dict.fromkeys(("PodGroup", "PriorityClass"), words.JOB_GROUPS),
    "PersistentVolumeClaim": words.JOB_CLAIMS,
    "Command": words.COMMANDS,
}
"""The same where a process runs vcjobs and nothing else."""


def needed(options: Options, settings: Settings | None = None, namespace: str = "") -> frozenset[Right]:
    """The rights that a daemon needs; the arguments are those of ``reasons``."""
    return frozenset(reasons(options, settings, namespace))


def reasons(options: Options, settings: Settings | None = None, namespace: str = "") -> Mapping[Right, Sequence[str]]:
    """The rights that a daemon needs for its options and, where it is given, for its policy, each with its reasons.

    ``namespace`` is that of the Lease and of the usage history where the options do not name one.
    """
    found: defaultdict[Right, dict[str, None]] = defaultdict(dict)
    for right, why in _needs(options, settings, namespace):
        found[right][why] = None
    return {right: tuple(whys) for right, whys in found.items()}


def _needs(options: Options, settings: Settings | None, namespace: str) -> Iterator[Reason]:
    yield from _of_watches(options)
    yield from _of_policy(options, settings)
    if options.shadow:
        return
    yield from _asked(REQUESTS, options)
    for where in options.job_namespaces or ("",):
        yield from _asked(OF_JOBS, options, where)
    if options.runs_jobs and options.volcano_namespace:
        # In any namespace, as there cannot be a Role in one that does not exist.
        yield Right("get", LEASES.group, LEASES.plural, "", VOLCANO_LEASE), words.VOLCANO
    for name in options.lease_names:
        yield from _of_lease(options.lease.namespace or namespace, name)
    if options.keeps_history and places(options):
        at_home = place_of(options, namespace)
        for verb in ("get", "patch"):
            yield Right(verb, CONFIG_MAPS.group, CONFIG_MAPS.plural, *at_home), words.HISTORY
        yield Right("create", CONFIG_MAPS.group, CONFIG_MAPS.plural, at_home[0]), words.HISTORY
    if options.policy_map:
        at = map_key(options.policy_map)
        yield Right("patch", CONFIG_MAPS.group, CONFIG_MAPS.plural, at.namespace, at.name), words.POLICY_STATUS
    if options.tls_secret:
        for verb in ("get", "patch"):
            yield Right(verb, SECRETS.group, SECRETS.plural, *tls_secret_of(options)), words.CERTIFICATE
    if options.webhook_configuration:
        for hooks in HOOKS:
            for verb in ("get", "patch"):
                yield Right(verb, hooks.group, hooks.plural, "", options.webhook_configuration), words.TRUST
    if options.leader_endpoints:
        service = leader_service_of(options)
        for verb in ("create", "patch"):
            yield Right(verb, SLICES.group, SLICES.plural, *service), words.LEADER_ENDPOINTS
    if options.leader_pod:
        for verb in ("list", "patch"):
            yield Right(verb, PODS.group, PODS.plural, leader_pod_of(options)[0]), words.LEADER_POD
    if settings is not None and settings.policy.autoscaling.provisioning_request:
        yield from _asked(OF_NODES, options)
    if settings is not None and locks_nodes(settings.policy):
        yield from _asked(OF_LOCKS, options)
    if settings is not None and settings.policy.plugin(WallTime.name) is not None:
        yield from _asked(OVERDUE, options)


def _asked(table: Iterable[RequestKind], options: Options, namespace: str = "") -> Iterator[Reason]:
    for each in table:
        if each.when(options):
            yield Right(each.verb, each.group, each.resource, namespace), each.why


def _of_watches(options: Options) -> Iterator[Reason]:
    """What is followed."""
    table = {} if options.vcjobs == "only" else followed_workloads(workloads_of(options))
    for kind, followed in (FOLLOWED | table).items():
        if _is_followed(kind, followed.use, options):
            why = _followed_for(kind, options)
            for verb in ("list", "watch"):
                yield Right(verb, followed.resource.group, followed.resource.plural), why


def _followed_for(kind: str, options: Options) -> str:
    if options.vcjobs == "only":
        return OF_JOB_RUNNERS[kind]
    if kind == VCJOB and not options.runs_jobs:
        return words.JOBS_TOLD
    return FOLLOWED_FOR[kind] if kind in FOLLOWED else words.OPERATORS


def _of_policy(options: Options, settings: Settings | None) -> Iterator[Reason]:
    """What is read of the policy, and for it."""
    if options.policy_map:
        at = map_key(options.policy_map)
        for verb in ("get", "list", "watch"):
            yield Right(verb, CONFIG_MAPS.group, CONFIG_MAPS.plural, at.namespace, at.name), words.POLICY
    devices = settings.policy.device_config() if settings is not None and options.schedule else None
    if devices is not None:
        for verb in ("list", "watch"):
            yield Right(verb, CONFIG_MAPS.group, CONFIG_MAPS.plural, *devices), words.GEOMETRIES
    if settings is not None and settings.metrics is not None:
        yield from _of_usage(settings.metrics, settings.policy.usage_periods())


def _is_followed(kind: str, use: Use, options: Options) -> bool:
    if options.vcjobs == "only":
        return kind in OF_JOB_RUNNERS
    if options.shadow and kind in HEEDED:
        return False  # these are followed for controllers alone
    wanted = {Use.BOTH: True, Use.SCHEDULING: options.schedule, Use.ARBITRATION: options.arbitrate}
    heeded = {"Command": keeps_queues(options) or options.runs_jobs, VCJOB: options.follows_jobs}
    heeded["NodeShard"] = options.masks_nodes
    heeded |= dict.fromkeys((VOLCANO_CRON_JOB, "JobFlow", "JobTemplate"), options.runs_jobs)
    return wanted[use] and heeded.get(kind, True)


def _of_lease(namespace: str, name: str) -> Iterator[Reason]:
    """Nobody can be allowed to create under one name only: the name is in the body."""
    yield Right("create", LEASES.group, LEASES.plural, namespace), words.LEASE
    for verb in ("get", "list", "update", "watch"):
        yield Right(verb, LEASES.group, LEASES.plural, namespace, name), words.LEASE


def _of_usage(source: MetricsSource, periods: Iterable[str]) -> Iterator[Reason]:
    """What a source of usage is asked through the cluster, and the Secrets that it is asked with."""
    if source.kind == "metrics_server":
        yield Right("list", METRICS, "nodes"), words.USAGE
    if source.kind == "prometheus_adaptor":
        asked = source.queries
        names = (asked.cpu or DEFAULTS.cpu, asked.memory or DEFAULTS.memory, asked.cpu_spread, asked.memory_spread)
        for metric in {name.replace("{period}", period) for name in names if name for period in periods}:
            yield Right("get", CUSTOM_METRICS, f"nodes/{metric}"), words.USAGE
    hidden = (source.hidden_password, source.hidden_token, source.elasticsearch.hidden_password)
    for secret in (each.secret for each in hidden):
        if secret.name:
            yield Right("get", SECRETS.group, SECRETS.plural, secret.namespace, secret.name), words.CREDENTIALS
