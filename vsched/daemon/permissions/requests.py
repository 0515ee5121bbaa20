"""Every request that a daemon makes of the API server, as a table, each with the reason why its account may make it.

The chart's roles are checked against this table, and this table against the places in the code that make requests.
``/version`` and the discovery of what is served need no row: any account may ask for them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from vsched.api.resources import (
    AUTOSCALING_GROUP,
    BATCH_GROUP,
    COMMANDS,
    CONFIG_MAPS,
    DEVICE_CLASSES,
    DEVICE_GROUP,
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
    VCJOBS,
    VOLCANO_CRON_JOBS,
    VOLUME_CLAIMS,
    VOLUMES,
)
from vsched.daemon.options import Options
from vsched.daemon.words import rights as words
from vsched.kube.paths import ApiResource
from vsched.model.arbitration.records import ARBITRATOR_GROUP
from vsched.model.jobs.native import API_GROUP
from vsched.web.serve.reviews import ACCESS_REVIEWS, TOKEN_REVIEWS

When = Callable[[Options], bool]


class RequestKind(NamedTuple):
    """A kind of request, the place in the code that makes it, and what it is for."""

    why: str
    """What needs it, and what stops without it: one of ``words.rights``."""
    where: str
    """Module below the package, and function or class and method."""
    verb: str
    group: str
    resource: str
    when: When = lambda options: True


def places(options: Options) -> bool:
    """Whether this process places pods."""
    return options.schedule and options.vcjobs != "only"


def runs_jobs(options: Options) -> bool:
    return options.runs_jobs


def keeps_queues(options: Options) -> bool:
    return places(options) and options.queue_controller


def _decides(options: Options) -> bool:
    return options.vcjobs != "only"


def _arbitrates(options: Options) -> bool:
    return options.arbitrate


def _evicts(options: Options) -> bool:
    return _decides(options) and options.eviction_mode == "eviction"


def _deletes(options: Options) -> bool:
    return _decides(options) and options.eviction_mode == "delete"


def _asks(options: Options) -> bool:
    return places(options) and options.cooperative_eviction_seconds > 0


def _reviews_tokens(options: Options) -> bool:
    return options.access.authentication == "tokenreview"


def _reviews_access(options: Options) -> bool:
    return _reviews_tokens(options) and not options.access.named


def _keeps_podgroups(options: Options) -> bool:
    return places(options) and options.podgroup_controller


def _opens_gates(options: Options) -> bool:
    return places(options) and options.gate_controller


def _masks_nodes(options: Options) -> bool:
    return options.masks_nodes


_QUEUES = "controllers.queue_controller.QueueController"
_PODGROUPS = "controllers.podgroup_controller"
_VCJOBS = "controllers.vcjobs"
_WRITES = f"{_VCJOBS}.writes.JobWrites"
_MAKERS = "controllers.flows.controller.MakerController"
_PATCH = "writes.claims.patches.patch"
_SHARED = "controllers.allocation_bodies"

_MADE: tuple[tuple[str, ApiResource], ...] = (
    (words.JOB_PODS, PODS),
    (words.JOB_GROUPS, PODGROUPS),
    (words.JOB_NAMES, SERVICES),
    (words.JOB_NAMES, CONFIG_MAPS),
    (words.JOB_NAMES, NETWORK_POLICIES),
    (words.JOB_CLAIMS, VOLUME_CLAIMS),
)
"""What is made for vcjobs, Secrets apart, which are not read."""


def _row(why: str, where: str, verbs: str, group: str, resources: str, when: When) -> tuple[RequestKind, ...]:
    """One kind of request for each of several verbs and resources."""
    return tuple(
        RequestKind(why, where, verb, group, resource, when) for resource in resources.split() for verb in verbs.split()
    )


REQUESTS: tuple[RequestKind, ...] = (
    *_row(words.BIND, "writes.bindings.binding_write", "create", "", "pods/binding", places),
    *_row(words.BOUND, "writes.bindings.node_of", "get", "", "pods", places),
    *_row(words.EVICT, "writes.bodies.eviction_write", "create", "", "pods/eviction", _evicts),
    *_row(words.DELETE_VICTIMS, "writes.bodies.deletion_write", "delete", "", "pods", _deletes),
    *_row(words.COOPERATE, "writes.requests._annotate", "patch", "", "pods", _asks),
    # Where the cluster serves EvictionRequests. Applying an object creates it, too.
    *_row(
        words.COOPERATE, "writes.requests.responders_write", "create patch", LIFECYCLE_GROUP, "evictionrequests", _asks
    ),
    *_row(words.COOPERATE, "writes.requests.release_write", "patch", LIFECYCLE_GROUP, "evictionrequests", _asks),
    *(
        RequestKind(why, "writes.claims.settling.Settling._read", "get", resource.group, resource.plural, places)
        for why, resource in (
            (words.BOUND, PODS),
            (words.VOLUMES, VOLUME_CLAIMS),
            (words.VOLUMES, VOLUMES),
            (words.DEVICES, RESOURCE_CLAIMS),
            (words.DEVICES, DEVICE_CLASSES),
        )
    ),
    *_row(words.VOLUMES, "writes.claims.patches.opening", "patch", "", "persistentvolumeclaims", places),
    *_row(words.DEVICES, "writes.claims.patches.opening", "patch", DEVICE_GROUP, "resourceclaims", places),
    *_row(words.VOLUMES, _PATCH, "patch", "", "persistentvolumeclaims persistentvolumes", places),
    *_row(words.DEVICES, _PATCH, "patch", DEVICE_GROUP, "resourceclaims resourceclaims/status", places),
    # Nobody asks for this one: from Kubernetes 1.36 on, the API server checks it when an allocation changes.
    *_row(words.DEVICES, _PATCH, "patch update", DEVICE_GROUP, "resourceclaims/binding", places),
    *_row(words.DEVICES, "writes.claims.patches.delete", "delete", DEVICE_GROUP, "resourceclaims", places),
    *_row(words.DEVICES, "writes.claims.extended._create", "create", DEVICE_GROUP, "resourceclaims", places),
    *_row(words.DEVICES, "writes.claims.extended._pod_status", "patch", "", "pods/status", places),
    *_row(words.CONDITIONS, "writes.bodies.pod_status_write", "patch", "", "pods/status", _decides),
    RequestKind(words.EVENTS, "writes.bodies.event_create", "create", "", "events"),
    RequestKind(words.EVENTS, "writes.bodies.event_count", "patch", "", "events"),
    # Definitions with a status subresource and without: which of the two it is, only the API server knows.
    *_row(
        words.GROUP_STATUS,
        "writes.bodies._podgroup_patch",
        "patch",
        BATCH_GROUP,
        "podgroups podgroups/status",
        places,
    ),
    *_row(words.DOMAIN, "writes.bodies.domain_write", "patch", BATCH_GROUP, "podgroups", places),
    *_row(
        words.GROUP_STATUS,
        "writes.bodies.native_condition_write",
        "patch",
        API_GROUP,
        "podgroups/status compositepodgroups/status",
        places,
    ),
    *_row(words.QUEUE_STATUS, "writes.bodies.queue_write", "patch", BATCH_GROUP, "queues queues/status", places),
    *_row(words.NEARNESS_STATUS, "writes.bodies.hypernode_write", "patch", TOPOLOGY_GROUP, "hypernodes/status", places),
    *_row(words.QUEUE_STATES, f"{_QUEUES}._dismiss", "get", BATCH_GROUP, "queues", keeps_queues),
    *_row(words.QUEUE_STATES, f"{_QUEUES}._is_behind", "get", BATCH_GROUP, "queues", keeps_queues),
    *_row(words.QUEUE_STATES, f"{_QUEUES}._annotate", "patch", BATCH_GROUP, "queues", keeps_queues),
    *_row(words.QUEUE_STATES, f"{_QUEUES}._set_state", "patch", BATCH_GROUP, "queues queues/status", keeps_queues),
    *_row(words.QUEUE_STATES, f"{_QUEUES}._make_missing", "create", BATCH_GROUP, "queues", keeps_queues),
    *_row(
        words.COMMANDS,
        "controllers.queue_records.Order.deletion",
        "delete",
        COMMANDS.group,
        "commands",
        keeps_queues,
    ),
    *_row(
        words.GROUPS,
        f"{_PODGROUPS}.PodGroupController._change",
        "create patch",
        BATCH_GROUP,
        "podgroups",
        _keeps_podgroups,
    ),
    *_row(words.GROUPS, f"{_PODGROUPS}._deletion", "delete", BATCH_GROUP, "podgroups", _keeps_podgroups),
    *_row(words.NAMES, f"{_PODGROUPS}.PodGroupController._name", "patch", "", "pods", _keeps_podgroups),
    *_row(
        words.SHARD_STATUS,
        "controllers.sharding.nodeshards.status_write",
        "patch",
        NODE_SHARDS.group,
        "nodeshards/status",
        _masks_nodes,
    ),
    *_row(words.GATES, "controllers.gates.gate_write", "patch", "", "pods", _opens_gates),
    *_row(words.ARBITRATE, f"{_SHARED}._create", "create", ARBITRATOR_GROUP, "consumers allocations", _arbitrates),
    *_row(words.ARBITRATE, f"{_SHARED}.spec_write", "patch", ARBITRATOR_GROUP, "allocations", _arbitrates),
    *(
        RequestKind(
            words.ARBITRATE, f"{_SHARED}.status_write", "patch", ARBITRATOR_GROUP, f"{kind}/status", _arbitrates
        )
        for kind in ("allocations", "consumers", "buckets")
    ),
    *_row(words.ARBITRATE, f"{_SHARED}.allocation_delete", "delete", ARBITRATOR_GROUP, "allocations", _arbitrates),
    RequestKind(
        words.CALLERS,
        "web.serve.reviews._review",
        "create",
        TOKEN_REVIEWS.group,
        TOKEN_REVIEWS.plural,
        _reviews_tokens,
    ),
    RequestKind(
        words.CALLERS,
        "web.serve.reviews._review",
        "create",
        ACCESS_REVIEWS.group,
        ACCESS_REVIEWS.plural,
        _reviews_access,
    ),
)
"""What is asked about objects anywhere in the cluster, apart from what the mirror follows."""

OF_JOBS: tuple[RequestKind, ...] = (
    *_row(words.JOBS, f"{_VCJOBS}.controller.JobController._dismiss", "get", VCJOBS.group, "jobs", runs_jobs),
    *_row(words.JOBS, f"{_WRITES}._write_status", "update", VCJOBS.group, "jobs/status", runs_jobs),
    *_row(words.JOBS, f"{_WRITES}.write_defaults", "patch", VCJOBS.group, "jobs", runs_jobs),
    *_row(words.JOBS, f"{_WRITES}._delete_job", "delete", VCJOBS.group, "jobs", runs_jobs),
    *(
        RequestKind(why, f"{_WRITES}._create", verb, resource.group, resource.plural, runs_jobs)
        for why, resource in _MADE
        for verb in ("create", "get")
    ),
    *(
        RequestKind(why, f"{_WRITES}._delete", "delete", resource.group, resource.plural, runs_jobs)
        for why, resource in _MADE
        if resource != VOLUME_CLAIMS
    ),
    *_row(words.JOB_KEYS, f"{_WRITES}._create", "create", SECRETS.group, "secrets", runs_jobs),
    *_row(words.JOB_KEYS, f"{_WRITES}._has_secret", "create", SECRETS.group, "secrets", runs_jobs),
    *_row(words.JOB_GROUPS, f"{_WRITES}._write_group", "patch", BATCH_GROUP, "podgroups", runs_jobs),
    *_row(words.JOB_NAMES, f"{_WRITES}._delete_objects", "get", "", "services", runs_jobs),
    *_row(words.JOB_NAMES, f"{_WRITES}._update_data", "patch", "", "configmaps", runs_jobs),
    *_row(words.JOBS_MADE, f"{_MAKERS}._create", "create get", VCJOBS.group, "jobs", runs_jobs),
    *_row(words.JOBS_MADE, f"{_MAKERS}._delete", "delete", VCJOBS.group, "jobs", runs_jobs),
    *(
        RequestKind(
            words.JOBS_MADE, f"{_MAKERS}._write_status", "update", each.group, f"{each.plural}/status", runs_jobs
        )
        for each in (VOLCANO_CRON_JOBS, JOB_FLOWS, JOB_TEMPLATES)
    ),
    *_row(words.COMMANDS, "controllers.queue_records.Order.deletion", "delete", COMMANDS.group, "commands", runs_jobs),
)
"""What is asked in the namespaces of vcjobs."""

_PROVISIONING = "controllers.provisioning"
OF_NODES: tuple[RequestKind, ...] = (
    *_row(words.BUY, f"{_PROVISIONING}.controller.ProvisioningController._create", "get", "", "pods", places),
    *_row(words.BUY, f"{_PROVISIONING}.bodies.template_write", "create", "", "podtemplates", places),
    *_row(
        words.BUY, f"{_PROVISIONING}.bodies.request_write", "create", AUTOSCALING_GROUP, "provisioningrequests", places
    ),
    *_row(words.BUY, f"{_PROVISIONING}.bodies.deletions", "delete", AUTOSCALING_GROUP, "provisioningrequests", places),
    *_row(words.BUY, f"{_PROVISIONING}.bodies.deletions", "delete", "", "podtemplates", places),
)
"""What is asked where the policy asks for nodes by ProvisioningRequests."""

OF_LOCKS: tuple[RequestKind, ...] = (
    *_row(words.LOCKS, "writes.locked_bindings.LockingDispatcher._read", "get", "", "nodes", places),
    *_row(words.LOCKS, "writes.locked_bindings.lock_write", "patch", "", "nodes", places),
)
"""What is asked where the policy locks nodes."""

OVERDUE: tuple[RequestKind, ...] = _row(words.OVERDUE, "writes.bodies.deletion_write", "delete", "", "pods", places)
"""What is asked where the policy ends jobs whose wall time is over."""

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
        *(request.where for request in (*REQUESTS, *OF_JOBS, *OF_NODES, *OF_LOCKS, *OVERDUE)),
        *(*_LEASE, *_USAGE, *_MIRROR, *_ANYBODY, *_PASSED_ON),
        "controllers.vcjobs.rivals.VolcanoControllers._read_lease",
        "daemon.parts.shard_mirror.ShardMirror._has_all_pods",
        "daemon.lead.leader_address.LeaderLabel.former",
        "daemon.lead.leader_address.label_write",
        "daemon.lead.leader_address.slice_write",
        *(f"daemon.history.stored.HistoryObject.{method}" for method in ("read", "_create", "_patch")),
        "daemon.policy.config_map.PolicyMap.open",
        "daemon.policy.config_map.PolicyMap.ask",
        *(f"daemon.system.certificates.CertificateKeeper.{method}" for method in ("_pair", "_trust")),
        "daemon.parts.rollout.RolloutKeeper._write",
        "daemon.policy.config_map.PolicyStatus._annotate",
    }
)
"""Every place in the code that makes requests; what each needs is in the tables above or in ``needs``."""
