"""Every request that a daemon makes of the API server, as a table, and the rights that an account needs for them.

The chart's roles are checked against this table, and this table against the places in the code that make requests.
``/version`` and the discovery of what is served need no row: any account may ask for them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple

from vsched.api.resources import (
    AUTOSCALING_GROUP,
    BATCH_GROUP,
    COMMANDS,
    CONFIG_MAPS,
    DEVICE_CLASSES,
    DEVICE_GROUP,
    HEEDED,
    JOB_FLOWS,
    JOB_TEMPLATES,
    LIFECYCLE_GROUP,
    NETWORK_POLICIES,
    NODE_SHARDS,
    PODGROUPS,
    PODS,
    RESOURCE_CLAIMS,
    SECRETS,
    SERVICES,
    TOPOLOGY_GROUP,
    VCJOB,
    VCJOBS,
    VOLCANO_CRON_JOB,
    VOLCANO_CRON_JOBS,
    VOLUME_CLAIMS,
    VOLUMES,
)
from vsched.collectors.custom_metrics import DEFAULTS
from vsched.collectors.custom_metrics import GROUP as CUSTOM_METRICS
from vsched.collectors.metrics_server import GROUP as METRICS
from vsched.controllers.vcjobs.rivals import VOLCANO_LEASE
from vsched.controllers.vcjobs.writes import OBJECTS
from vsched.daemon.history.stored import place_of
from vsched.daemon.lead.leader_address import SLICES
from vsched.daemon.options import Options, leader_pod_of, leader_service_of, workloads_of
from vsched.daemon.policy.config_map import map_key
from vsched.daemon.watches import FOLLOWED, Use, followed_workloads
from vsched.kube.lease.record import LEASES
from vsched.model.arbitration.records import ARBITRATOR_GROUP
from vsched.model.jobs.native import API_GROUP
from vsched.plugins.deviceshare import locks_nodes
from vsched.settings import Settings
from vsched.settings.metrics import MetricsSource
from vsched.web.serve.reviews import ACCESS_REVIEWS, TOKEN_REVIEWS

When = Callable[[Options], bool]


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


class RequestKind(NamedTuple):
    """A kind of request, and the place in the code that makes it."""

    where: str
    """Module below the package, and function or class and method."""
    verb: str
    group: str
    resource: str
    when: When = lambda options: True


def _schedules(options: Options) -> bool:
    return options.schedule


def _arbitrates(options: Options) -> bool:
    return options.arbitrate


def _evicts(options: Options) -> bool:
    return options.eviction_mode == "eviction"


def _deletes(options: Options) -> bool:
    """Jobs whose wall time is over are deleted in either mode."""
    return options.schedule or options.eviction_mode == "delete"


def _asks(options: Options) -> bool:
    return options.schedule and options.cooperative_eviction_seconds > 0


def _keeps_queues(options: Options) -> bool:
    return options.schedule and options.queue_controller


def _reviews_tokens(options: Options) -> bool:
    return options.access.authentication == "tokenreview"


def _reviews_access(options: Options) -> bool:
    return _reviews_tokens(options) and not options.access.named


def _keeps_podgroups(options: Options) -> bool:
    return options.schedule and options.podgroup_controller


def _runs_jobs(options: Options) -> bool:
    return options.runs_jobs


def _obeys_commands(options: Options) -> bool:
    """Commands are for queues and for vcjobs."""
    return _keeps_queues(options) or _runs_jobs(options)


def _opens_gates(options: Options) -> bool:
    return options.schedule and options.gate_controller


def _masks_nodes(options: Options) -> bool:
    return options.masks_nodes


_QUEUES = "controllers.queue_controller.QueueController"
_PODGROUPS = "controllers.podgroup_controller"
_VCJOBS = "controllers.vcjobs"
_MAKERS = "controllers.flows.controller.MakerController"

REQUESTS: tuple[RequestKind, ...] = (
    RequestKind("writes.bindings.binding_write", "create", "", "pods/binding", _schedules),
    RequestKind("writes.bindings.node_of", "get", "", "pods", _schedules),
    RequestKind("writes.bodies.eviction_write", "create", "", "pods/eviction", _evicts),
    RequestKind("writes.bodies.deletion_write", "delete", "", "pods", _deletes),
    RequestKind("writes.requests._annotate", "patch", "", "pods", _asks),
    # Where the cluster serves EvictionRequests. Applying an object creates it, too.
    RequestKind("writes.requests.responders_write", "create", LIFECYCLE_GROUP, "evictionrequests", _asks),
    RequestKind("writes.requests.responders_write", "patch", LIFECYCLE_GROUP, "evictionrequests", _asks),
    RequestKind("writes.requests.release_write", "patch", LIFECYCLE_GROUP, "evictionrequests", _asks),
    *(
        RequestKind("writes.claims.settling.Settling._read", "get", resource.group, resource.plural, _schedules)
        for resource in (PODS, VOLUME_CLAIMS, VOLUMES, RESOURCE_CLAIMS, DEVICE_CLASSES)
    ),
    RequestKind("writes.claims.patches.opening", "patch", "", "persistentvolumeclaims", _schedules),
    RequestKind("writes.claims.patches.opening", "patch", DEVICE_GROUP, "resourceclaims", _schedules),
    RequestKind("writes.claims.patches.patch", "patch", "", "persistentvolumeclaims", _schedules),
    RequestKind("writes.claims.patches.patch", "patch", "", "persistentvolumes", _schedules),
    RequestKind("writes.claims.patches.patch", "patch", DEVICE_GROUP, "resourceclaims", _schedules),
    RequestKind("writes.claims.patches.patch", "patch", DEVICE_GROUP, "resourceclaims/status", _schedules),
    # Nobody asks for this one: from Kubernetes 1.36 on, the API server checks it when an allocation changes.
    RequestKind("writes.claims.patches.patch", "patch", DEVICE_GROUP, "resourceclaims/binding", _schedules),
    RequestKind("writes.claims.patches.patch", "update", DEVICE_GROUP, "resourceclaims/binding", _schedules),
    RequestKind("writes.claims.patches.delete", "delete", DEVICE_GROUP, "resourceclaims", _schedules),
    RequestKind("writes.claims.extended._create", "create", DEVICE_GROUP, "resourceclaims", _schedules),
    RequestKind("writes.claims.extended._pod_status", "patch", "", "pods/status", _schedules),
    RequestKind("writes.bodies.pod_status_write", "patch", "", "pods/status"),
    RequestKind("writes.bodies.event_create", "create", "", "events"),
    RequestKind("writes.bodies.event_count", "patch", "", "events"),
    # Definitions with a status subresource and without: which of the two it is, only the API server knows.
    RequestKind("writes.bodies._podgroup_patch", "patch", BATCH_GROUP, "podgroups", _schedules),
    RequestKind("writes.bodies._podgroup_patch", "patch", BATCH_GROUP, "podgroups/status", _schedules),
    RequestKind("writes.bodies.domain_write", "patch", BATCH_GROUP, "podgroups", _schedules),
    RequestKind("writes.bodies.native_condition_write", "patch", API_GROUP, "podgroups/status", _schedules),
    RequestKind("writes.bodies.native_condition_write", "patch", API_GROUP, "compositepodgroups/status", _schedules),
    RequestKind("writes.bodies.queue_write", "patch", BATCH_GROUP, "queues", _schedules),
    RequestKind("writes.bodies.queue_write", "patch", BATCH_GROUP, "queues/status", _schedules),
    RequestKind("writes.bodies.hypernode_write", "patch", TOPOLOGY_GROUP, "hypernodes/status", _schedules),
    RequestKind(f"{_QUEUES}._dismiss", "get", BATCH_GROUP, "queues", _keeps_queues),
    RequestKind(f"{_QUEUES}._is_behind", "get", BATCH_GROUP, "queues", _keeps_queues),
    RequestKind(f"{_QUEUES}._annotate", "patch", BATCH_GROUP, "queues", _keeps_queues),
    RequestKind(f"{_QUEUES}._set_state", "patch", BATCH_GROUP, "queues", _keeps_queues),
    RequestKind(f"{_QUEUES}._set_state", "patch", BATCH_GROUP, "queues/status", _keeps_queues),
    RequestKind(f"{_QUEUES}._make_missing", "create", BATCH_GROUP, "queues", _keeps_queues),
    RequestKind("controllers.queue_records.Order.deletion", "delete", COMMANDS.group, "commands", _obeys_commands),
    RequestKind(f"{_PODGROUPS}.PodGroupController._change", "create", BATCH_GROUP, "podgroups", _keeps_podgroups),
    RequestKind(f"{_PODGROUPS}.PodGroupController._change", "patch", BATCH_GROUP, "podgroups", _keeps_podgroups),
    RequestKind(f"{_PODGROUPS}.PodGroupController._name", "patch", "", "pods", _keeps_podgroups),
    RequestKind(f"{_VCJOBS}.controller.JobController._dismiss", "get", VCJOBS.group, "jobs", _runs_jobs),
    RequestKind(f"{_VCJOBS}.writes.JobWrites._write_status", "update", VCJOBS.group, "jobs/status", _runs_jobs),
    RequestKind(f"{_VCJOBS}.writes.JobWrites.write_defaults", "patch", VCJOBS.group, "jobs", _runs_jobs),
    RequestKind(f"{_VCJOBS}.writes.JobWrites._delete_job", "delete", VCJOBS.group, "jobs", _runs_jobs),
    *(
        RequestKind(f"{_VCJOBS}.writes.JobWrites._create", verb, resource.group, resource.plural, _runs_jobs)
        for resource in (PODS, PODGROUPS, *OBJECTS.values())
        for verb in ("create", "get")
        if (verb, resource) != ("get", SECRETS)
    ),
    *(
        RequestKind(f"{_VCJOBS}.writes.JobWrites._delete", "delete", resource.group, resource.plural, _runs_jobs)
        for resource in (PODS, PODGROUPS, SERVICES, CONFIG_MAPS, NETWORK_POLICIES)
    ),
    RequestKind(f"{_VCJOBS}.writes.JobWrites._write_group", "patch", BATCH_GROUP, "podgroups", _runs_jobs),
    RequestKind(f"{_VCJOBS}.writes.JobWrites._has_secret", "create", "", "secrets", _runs_jobs),
    RequestKind(f"{_VCJOBS}.writes.JobWrites._delete_objects", "get", "", "services", _runs_jobs),
    RequestKind(f"{_VCJOBS}.writes.JobWrites._update_data", "patch", "", "configmaps", _runs_jobs),
    RequestKind(f"{_MAKERS}._create", "create", VCJOBS.group, "jobs", _runs_jobs),
    RequestKind(f"{_MAKERS}._create", "get", VCJOBS.group, "jobs", _runs_jobs),
    RequestKind(f"{_MAKERS}._delete", "delete", VCJOBS.group, "jobs", _runs_jobs),
    *(
        RequestKind(f"{_MAKERS}._write_status", "update", resource.group, f"{resource.plural}/status", _runs_jobs)
        for resource in (VOLCANO_CRON_JOBS, JOB_FLOWS, JOB_TEMPLATES)
    ),
    RequestKind(
        "controllers.sharding.nodeshards.status_write", "patch", NODE_SHARDS.group, "nodeshards/status", _masks_nodes
    ),
    RequestKind("controllers.gates.gate_write", "patch", "", "pods", _opens_gates),
    RequestKind(f"{_PODGROUPS}._deletion", "delete", BATCH_GROUP, "podgroups", _keeps_podgroups),
    RequestKind("controllers.allocation_bodies._create", "create", ARBITRATOR_GROUP, "consumers", _arbitrates),
    RequestKind("controllers.allocation_bodies._create", "create", ARBITRATOR_GROUP, "allocations", _arbitrates),
    RequestKind("controllers.allocation_bodies.spec_write", "patch", ARBITRATOR_GROUP, "allocations", _arbitrates),
    RequestKind(
        "controllers.allocation_bodies.status_write", "patch", ARBITRATOR_GROUP, "allocations/status", _arbitrates
    ),
    RequestKind(
        "controllers.allocation_bodies.status_write", "patch", ARBITRATOR_GROUP, "consumers/status", _arbitrates
    ),
    RequestKind("controllers.allocation_bodies.status_write", "patch", ARBITRATOR_GROUP, "buckets/status", _arbitrates),
    RequestKind("web.serve.reviews._review", "create", TOKEN_REVIEWS.group, TOKEN_REVIEWS.plural, _reviews_tokens),
    RequestKind("web.serve.reviews._review", "create", ACCESS_REVIEWS.group, ACCESS_REVIEWS.plural, _reviews_access),
    RequestKind(
        "controllers.allocation_bodies.allocation_delete", "delete", ARBITRATOR_GROUP, "allocations", _arbitrates
    ),
)
"""What is asked about objects anywhere in the cluster, apart from what the mirror follows."""

_PROVISIONING = "controllers.provisioning"
_NODES: tuple[RequestKind, ...] = (
    RequestKind(f"{_PROVISIONING}.controller.ProvisioningController._create", "get", "", "pods"),
    RequestKind(f"{_PROVISIONING}.bodies.template_write", "create", "", "podtemplates"),
    RequestKind(f"{_PROVISIONING}.bodies.request_write", "create", AUTOSCALING_GROUP, "provisioningrequests"),
    RequestKind(f"{_PROVISIONING}.bodies.deletions", "delete", AUTOSCALING_GROUP, "provisioningrequests"),
    RequestKind(f"{_PROVISIONING}.bodies.deletions", "delete", "", "podtemplates"),
)
"""What is asked where the policy asks for nodes by ProvisioningRequests."""

_LOCKS: tuple[RequestKind, ...] = (
    RequestKind("writes.locked_bindings.LockingDispatcher._read", "get", "", "nodes"),
    RequestKind("writes.node_locks.lock_write", "patch", "", "nodes"),
)
"""What is asked where the policy locks nodes."""

_LEASE = tuple(f"kube.lease.candidate.Elector.{method}" for method in ("_look", "_create", "_replace", "ask"))
_USAGE = (
    "collectors.cluster_api.ClusterApi._get",
    "collectors.secrets.Keeper._from_cluster",
)
_MIRROR = (
    "kube.watch.listing.Lister._page",
    "kube.watch.listing.Lister.version",
    "kube.watch.reflector.Reflector._watch",
)
_ANYBODY = (
    "daemon.system.first_contact.reach",
    "kube.watch.discovery.Discovery._ask",
    "writes.status.writer.ServedResources._ask",
    "collectors.custom_metrics.CustomMetrics._served_version",
)
"""What every account may ask: the version, and what is served."""
_PASSED_ON = ("writes.writer.Writer._once",)
"""Sends what others make."""

CALLERS = frozenset(
    {
        *(request.where for request in (*REQUESTS, *_NODES, *_LOCKS)),
        *(*_LEASE, *_USAGE, *_MIRROR, *_ANYBODY, *_PASSED_ON),
        "controllers.vcjobs.rivals.VolcanoControllers._read_lease",
        "daemon.parts.shard_mirror.ShardMirror._has_all_pods",
        "daemon.lead.leader_address.LeaderLabel.former",
        "daemon.lead.leader_address.label_write",
        "daemon.lead.leader_address.slice_write",
        *(f"daemon.history.stored.HistoryObject.{method}" for method in ("read", "_create", "_patch")),
        "daemon.policy.config_map.PolicyMap.open",
        "daemon.policy.config_map.PolicyMap.ask",
        "daemon.parts.rollout.RolloutKeeper._write",
        "daemon.policy.config_map.PolicyStatus._annotate",
    }
)
"""Every place in the code that makes requests; what each needs is in ``REQUESTS`` or in ``needed``."""


def needed(options: Options, settings: Settings | None = None, namespace: str = "") -> frozenset[Right]:
    """The rights that a daemon needs for its options and, where it is given, for its policy.

    ``namespace`` is that of the Lease and of the usage history where the options do not name one.
    """
    rights = {*_of_watches(options), *_of_policy(options, settings)}
    if options.shadow:
        return frozenset(rights)
    rights |= {Right(each.verb, each.group, each.resource) for each in REQUESTS if each.when(options)}
    if _runs_jobs(options) and options.volcano_namespace:
        # In any namespace, as there cannot be a Role in one that does not exist.
        rights |= {Right("get", LEASES.group, LEASES.plural, "", VOLCANO_LEASE)}
    for name in options.lease_names:
        rights |= {*_of_lease(options.lease.namespace or namespace, name)}
    if options.keeps_history:
        at_home = place_of(options, namespace)
        rights |= {Right(verb, CONFIG_MAPS.group, CONFIG_MAPS.plural, *at_home) for verb in ("get", "patch")}
        rights |= {Right("create", CONFIG_MAPS.group, CONFIG_MAPS.plural, at_home[0])}
    if options.policy_map:
        at = map_key(options.policy_map)
        rights |= {Right("patch", CONFIG_MAPS.group, CONFIG_MAPS.plural, at.namespace, at.name)}
    if options.leader_endpoints:
        service = leader_service_of(options)
        rights |= {Right(verb, SLICES.group, SLICES.plural, *service) for verb in ("create", "patch")}
    if options.leader_pod:
        namespace = leader_pod_of(options)[0]
        rights |= {Right(verb, PODS.group, PODS.plural, namespace) for verb in ("list", "patch")}
    if settings is not None and settings.policy.autoscaling.provisioning_request and options.schedule:
        rights |= {Right(each.verb, each.group, each.resource) for each in _NODES}
    if settings is not None and locks_nodes(settings.policy) and options.schedule:
        rights |= {Right(each.verb, each.group, each.resource) for each in _LOCKS}
    return frozenset(rights)


def _of_watches(options: Options) -> Iterator[Right]:
    """What is followed."""
    for kind, followed in (FOLLOWED | followed_workloads(workloads_of(options))).items():
        if _is_followed(kind, followed.use, options):
            for verb in ("list", "watch"):
                yield Right(verb, followed.resource.group, followed.resource.plural)


def _of_policy(options: Options, settings: Settings | None) -> Iterator[Right]:
    """What is read of the policy, and for it."""
    if options.policy_map:
        at = map_key(options.policy_map)
        for verb in ("get", "list", "watch"):
            yield Right(verb, CONFIG_MAPS.group, CONFIG_MAPS.plural, at.namespace, at.name)
    devices = settings.policy.device_config() if settings is not None and options.schedule else None
    if devices is not None:
        for verb in ("list", "watch"):
            yield Right(verb, CONFIG_MAPS.group, CONFIG_MAPS.plural, *devices)
    if settings is not None and settings.metrics is not None:
        yield from _of_usage(settings.metrics, settings.policy.usage_periods())


def _is_followed(kind: str, use: Use, options: Options) -> bool:
    if options.shadow and kind in HEEDED:
        return False  # these are followed for controllers alone
    wanted = {Use.BOTH: True, Use.SCHEDULING: options.schedule, Use.ARBITRATION: options.arbitrate}
    heeded = {"Command": _keeps_queues(options) or _runs_jobs(options)}
    heeded["NodeShard"] = _masks_nodes(options)
    heeded |= dict.fromkeys((VCJOB, VOLCANO_CRON_JOB, "JobFlow", "JobTemplate"), _runs_jobs(options))
    return wanted[use] and heeded.get(kind, True)


def _of_lease(namespace: str, name: str) -> Iterator[Right]:
    """Nobody can be allowed to create under one name only: the name is in the body."""
    yield Right("create", LEASES.group, LEASES.plural, namespace)
    for verb in ("get", "list", "update", "watch"):
        yield Right(verb, LEASES.group, LEASES.plural, namespace, name)


def _of_usage(source: MetricsSource, periods: Iterable[str]) -> Iterator[Right]:
    """What a source of usage is asked through the cluster, and the Secrets that it is asked with."""
    if source.kind == "metrics_server":
        yield Right("list", METRICS, "nodes")
    if source.kind == "prometheus_adaptor":
        asked = source.queries
        names = (asked.cpu or DEFAULTS.cpu, asked.memory or DEFAULTS.memory, asked.cpu_spread, asked.memory_spread)
        for metric in {name.replace("{period}", period) for name in names if name for period in periods}:
            yield Right("get", CUSTOM_METRICS, f"nodes/{metric}")
    hidden = (source.hidden_password, source.hidden_token, source.elasticsearch.hidden_password)
    for secret in (each.secret for each in hidden):
        if secret.name:
            yield Right("get", SECRETS.group, SECRETS.plural, secret.namespace, secret.name)
