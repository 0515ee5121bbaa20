"""The options of a daemon; the command line fills them in."""

from __future__ import annotations

import re
from ipaddress import ip_address, ip_network
from pathlib import Path
from typing import Literal

import msgspec

from vsched.arbitrator.rules import ArbitrationRules
from vsched.controllers.flows.probes import Network
from vsched.daemon.access_options import AccessOptions, check_access
from vsched.daemon.words import options as words
from vsched.daemon.words import shadow as shadow_words
from vsched.errors import BadInput
from vsched.kube.lease.record import LeaseSettings, lease_name
from vsched.kube.paths import is_name, namespace_and_name
from vsched.mirror.ingest.workload_kinds import NO_WORKLOADS, WorkloadTable
from vsched.model.jobs.spec import USER
from vsched.model.nodes.groups import GROUP
from vsched.settings.workloads import load_table

LABEL_VALUE = re.compile(r"[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?")
LABEL_KEY = re.compile(r"([a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?/)?" + LABEL_VALUE.pattern)
OTLP_ENDPOINT = re.compile(r"https?://[^\s/?#@]+(/[^\s?#]*)?")
EvictionMode = Literal["eviction", "delete"]
"""Evict pods, which disruption budgets may still refuse, or delete them as Volcano does.

The victims are the same: budgets limit the choice of victims in both modes.
"""


ShardingMode = Literal["none", "soft", "hard"]
"""Whether the nodes of the own NodeShard do not matter, come first, or are the only ones."""
ShardBy = Literal["queue", "node-pool"]
MemoMode = Literal["on", "off", "prove"]
"""Whether the queue of a job says which shard it belongs to, or the pool of nodes that it asks for."""
VcjobsMode = Literal["here", "apart", "only"]
"""Which process runs vcjobs: this one, another one of vsched, or this one, which then does nothing else."""
SHARDS_MAX = 32


class Options(msgspec.Struct, frozen=True, kw_only=True):
    """All options of a daemon."""

    scheduler_names: tuple[str, ...] = ("vsched",)
    """Pods with any of these in ``spec.schedulerName`` are ours."""
    ignored: tuple[str, ...] = ()
    """What is not supported and is to be ignored where pods and PodGroups ask for it: words of ``IGNORABLE``."""
    default_queue: str = "default"
    """The queue of PodGroups that name none."""
    queue_controller: bool = True
    """Control the states of queues, and create the queues that must exist; off where Volcano's controllers do."""
    command_namespaces: tuple[str, ...] = ()
    """Commands about queues are taken from these namespaces; none means the daemon's own. Whoever may make one there
    may close any queue, whatever RBAC says of Queues."""
    podgroup_controller: bool = True
    """Create PodGroups for pods of ours that name none; off where Volcano's controllers do."""
    podgroups_of_single_pods: bool = False
    """Create one for each pod without a controller, too, as Volcano's controllers do."""
    job_controller: bool = True
    """Run vcjobs (Jobs of ``batch.volcano.sh``), CronJobs and JobFlows; off where Volcano's controllers do."""
    vcjobs: VcjobsMode = "here"
    """Who makes what vcjobs consist of. ``only`` and ``apart`` are two processes, so that the account that places pods
    and serves HTTP need not be able to make pods, Services, ConfigMaps and Secrets."""
    job_namespaces: tuple[str, ...] = ()
    """The namespaces whose vcjobs, CronJobs and JobFlows are run; none means all."""
    volcano_namespace: str = "volcano-system"
    """Where Volcano's controllers are looked for: while they run, vcjobs are left to them. Empty for nowhere."""
    pod_networks: tuple[str, ...] = ()
    """The networks (CIDR) of pods that probes of JobFlows may ask; none means all but addresses that no pod has."""
    workloads_file: Path | None = None
    """A table of workload kinds whose pods form gangs, besides the built-in one; edits of it count at once."""
    gate_controller: bool = True
    """Remove the scheduling gates of pods that wait for room in their queue; otherwise these are gates like others."""
    schedule: bool = True
    """Place pods; off for an arbitrator alone, beside other schedulers."""
    shadow: bool = False
    """Decide beside the scheduler that is in charge of these pods, and write nothing."""
    shadow_log: Path | None = None
    """A folder for what a shadow finds; None keeps sums in memory alone."""
    shadow_log_bytes: int = 256 << 20
    """The most that is kept there."""
    advise: bool = True
    """Search for changes that would let waiting jobs start, and show them as advice."""
    verify: float = 0.01
    """The share of sessions that are checked against the rules, at most; 0 for none."""
    memo: MemoMode = "on"
    """Whether sessions keep answers that have not changed; ``prove`` makes each of them anew as well, and compares."""
    arbitrate: bool = False
    """Divide the cluster among namespaces by their Consumers."""
    sharding_mode: ShardingMode = "none"
    """What the nodes of the own NodeShard mean: nothing, they come first, or they are the only ones."""
    sharding_name: str = "volcano"
    """The name of the own NodeShard."""
    shards: int = 1
    """Into how many shards the work is divided; with more than one, each has a Lease, and several daemons act."""
    shard_by: ShardBy = "queue"
    """What of a job says which shard it belongs to."""
    node_pool_label: str = GROUP
    """The label of nodes that names their pool."""
    rules: ArbitrationRules = ArbitrationRules()
    """How to arbitrate."""
    policy_file: Path | None = None
    """None for the built-in policy."""
    policy_map: str = ""
    """Namespace, name and key of a ConfigMap that has the policy, with slashes between; empty for none."""
    policy_files: tuple[str, ...] = ()
    """Directories that the policy may name files below."""
    policy_env_prefix: str = "VSCHED_SOURCE_"
    """How the names of variables begin that the policy may name."""
    policy_secrets: tuple[str, ...] = ()
    """Namespaces of Secrets that the policy may name, besides that of the pod."""
    user_key: str = USER
    """The annotation or label that names the user of pods and PodGroups."""
    streaming_lists: bool = False
    """Have lists come with their watches where the API server offers that: one request a kind in place of two.

    This takes a little less memory and processor time. It is off because new pods come after the whole list then, while
    in pages they are placed at once: the watch is open before the second page."""
    history: bool = True
    """Keep the usage history in a ConfigMap, so that it survives restarts."""
    history_period_seconds: float = 300.0
    """It is written this often; 0 for never, as without ``history``."""
    history_from_prometheus: bool = False
    """Where there is no such ConfigMap, work the history out of what the policy's Prometheus knows."""
    period_seconds: float = 1.0
    """A session starts at least this often."""
    window_seconds: float = 0.01
    """How long the first change waits for further ones, so that they are decided together; up to five times as long
    while changes keep coming. After a rest of this length it does not wait."""
    listen_address: str = ":8080"
    """Metrics and views; empty for none."""
    healthz_address: str = ":11251"
    """Liveness and readiness; empty for none."""
    api_qps: float = 2000.0
    """Writes a second, in the long run, all kinds together."""
    api_burst: int = 2000
    max_in_flight: int = 32
    """Bindings on the wire at once."""
    leader_elect: bool = False
    """Act only while holding the Lease: for several daemons of which one at a time acts."""
    lease: LeaseSettings = LeaseSettings()
    leader_endpoints: str = ""
    """Namespace and name of a Service without a selector: the leader writes its address into an EndpointSlice of it.
    Empty for none."""
    advertise_address: str = ""
    """That address."""
    leader_pod: str = ""
    """Namespace and name of the pod this process runs in: the leader's has a label; empty for none."""
    webhook_address: str = ""
    """Where the API server asks about Consumers and vcjobs; empty for nowhere."""
    tls_cert_file: Path | None = None
    """Certificate and key of what is served over TLS; read again when they change."""
    tls_key_file: Path | None = None
    tls_secret: str = ""
    """Namespace and name of a Secret: the pair is made and renewed in it, and written to these files. Empty where
    others write these."""
    tls_names: tuple[str, ...] = ()
    """The DNS names that the pair is made for."""
    webhook_configuration: str = ""
    """The name of webhook configurations that are told which authority to trust; empty for none."""
    access: AccessOptions = AccessOptions()
    """Who may ask, and where over TLS."""
    eviction_mode: EvictionMode = "eviction"
    cooperative_eviction_seconds: float = 3600.0
    """How long pods that opt in are asked to end by themselves before they are evicted, at most; 0: not at all."""
    recordings: int = 8
    """Cycles in which something looked wrong that are kept, to be fetched and run again; 0 for none."""
    record_work: Path | None = None
    """The folder where the cluster's work is recorded; None for nowhere."""
    record_work_bytes: int = 512 << 20
    """The oldest files there go where all together are larger."""
    record_anonymous: bool = False
    """Record made-up names."""
    audit_log: Path | None = None
    """The file that decisions are logged in; None for none."""
    audit_log_bytes: int = 100 << 20
    """A longer file is put aside."""
    audit_log_files: int = 10
    """So many files are kept, with the one that is written."""
    otlp_endpoint: str = ""
    """The URL of the collector that traces are sent to, by OTLP over HTTP; empty for none."""
    audit_log_otlp: bool = False
    """Whether decisions are sent there, too, as log records."""
    trace_share: float = 1.0
    """The share of sessions that are traced, at most."""
    event_qps: float = 50.0
    """Events a second in the long run; four times as many at once."""
    drain_seconds: float = 5.0
    """How long decisions may still be carried out after the signal to stop."""
    handover_seconds: float = 0.5
    """The same with ``leader_elect``, if that is less: the next leader decides again what was not sent."""

    @property
    def keeps_history(self) -> bool:
        """Whether the usage history is kept in a ConfigMap; an arbitrator alone counts none, a shadow writes none."""
        return self.schedule and self.history and self.history_period_seconds > 0 and not self.shadow

    @property
    def lease_names(self) -> tuple[str, ...]:
        """The names of the Leases; none without an election."""
        if not self.leader_elect:
            return ()
        name = self.lease.name
        return (name,) if self.shards == 1 else tuple(lease_name(name, shard) for shard in range(self.shards))

    @property
    def masks_nodes(self) -> bool:
        """Whether NodeShards say which nodes are ours."""
        return self.schedule and self.sharding_mode != "none"

    @property
    def follows_jobs(self) -> bool:
        """Whether vcjobs are run by this process, or by another one beside it."""
        return self.schedule and self.job_controller

    @property
    def runs_jobs(self) -> bool:
        """Whether this process runs vcjobs."""
        return self.follows_jobs and self.vcjobs != "apart"


def workloads_of(options: Options) -> WorkloadTable:
    """The table of workload kinds; raises BadInput. Empty where no pods are placed."""
    return load_table(options.workloads_file) if options.schedule else NO_WORKLOADS


def networks_of(options: Options) -> tuple[Network, ...]:
    """The networks of pods; raises BadInput."""
    found = []
    for text in options.pod_networks:
        try:
            found.append(ip_network(text))
        except ValueError as error:
            raise BadInput(f"--pod-network: {error} (expected a network, as 10.244.0.0/16)") from None
    return tuple(found)


def check(options: Options) -> None:
    """Raise BadInput where options do not go together."""
    if options.policy_file is not None and options.policy_map:
        raise BadInput(words.TWO_POLICIES)
    for name in options.command_namespaces:
        if not is_name(name):
            raise BadInput(words.bad_command_namespace(name))
    _check_vcjobs(options)
    if options.volcano_namespace and not is_name(options.volcano_namespace):
        raise BadInput(words.bad_volcano_namespace(options.volcano_namespace))
    networks_of(options)
    if not LABEL_KEY.fullmatch(options.user_key):
        raise BadInput(words.bad_user_key(options.user_key))
    if not options.policy_env_prefix:
        raise BadInput(words.ENV_PREFIX_EXPECTED)
    for directory in options.policy_files:
        if not directory.startswith("/"):
            raise BadInput(words.directory_expected(directory))
    if not options.schedule and not options.arbitrate:
        raise BadInput(words.NOTHING_TO_DO)
    if options.record_work is not None and (options.shards > 1 or not options.schedule):
        raise BadInput(words.NO_WORK_TO_RECORD)
    if options.workloads_file is not None and not options.schedule:
        raise BadInput(words.NO_WORKLOADS)
    if options.webhook_address and not options.arbitrate and not options.follows_jobs:
        raise BadInput(words.NOTHING_TO_REVIEW)
    if options.webhook_address and options.tls_cert_file is None:
        raise BadInput(words.WEBHOOK_WITHOUT_TLS)
    if options.otlp_endpoint and not OTLP_ENDPOINT.fullmatch(options.otlp_endpoint):
        raise BadInput(words.bad_otlp_endpoint(options.otlp_endpoint))
    if options.audit_log_otlp and not options.otlp_endpoint:
        raise BadInput(words.AUDIT_WITHOUT_ENDPOINT)
    _check_shadow(options)
    if options.tls_secret:
        tls_secret_of(options)
        if not options.tls_names or options.tls_cert_file is None or options.tls_key_file is None:
            raise BadInput(words.SECRET_WITHOUT_NAMES)
    elif options.tls_names or options.webhook_configuration:
        raise BadInput(words.NAMES_WITHOUT_SECRET)
    check_access(options.access, options.listen_address, tls=options.tls_cert_file is not None)
    _check_shards(options)
    if not is_name(options.sharding_name):
        raise BadInput(words.bad_sharding_name(options.sharding_name))
    if options.leader_endpoints:
        leader_service_of(options)
        port_of(options)
        _check_address(options.advertise_address)
    if options.leader_pod:
        leader_pod_of(options)
        if not LABEL_VALUE.fullmatch(options.lease.name):
            name = options.lease.name
            raise BadInput(words.bad_lease_name(name))


def _check_vcjobs(options: Options) -> None:
    """Who runs vcjobs and nothing else takes no flag that is for something else."""
    for name in options.job_namespaces:
        if not is_name(name):
            raise BadInput(words.bad_job_namespace(name))
    if options.job_namespaces and not options.follows_jobs:
        raise BadInput(words.JOB_NAMESPACES_WITHOUT_JOBS)
    of_others = {
        "--no-schedule": not options.schedule,
        "--no-job-controller": not options.job_controller,
        "--arbitrate": options.arbitrate,
        "--shadow": options.shadow,
        "--shards": options.shards > 1,
        "--webhook-address": bool(options.webhook_address),
        "--scheduler-conf": options.policy_file is not None,
        "--scheduler-configmap": bool(options.policy_map),
        "--workloads": options.workloads_file is not None,
        "--leader-endpoints": bool(options.leader_endpoints),
        "--leader-pod": bool(options.leader_pod),
        "--record-work": options.record_work is not None,
        "--audit-log": options.audit_log is not None,
        "--otlp-endpoint": bool(options.otlp_endpoint),
        "--scheduler-sharding-mode": options.masks_nodes,
    }
    for flag, given in of_others.items():
        if options.vcjobs == "only" and given:
            raise BadInput(words.not_with_vcjobs_only(flag))


def _check_shadow(options: Options) -> None:
    """A shadow refuses what it would have to write for; controllers, which are on unless switched off, are left out."""
    writing = {
        "--no-schedule": not options.schedule,
        "--arbitrate": options.arbitrate,
        "--shards": options.shards > 1,
        "--leader-elect": options.leader_elect,
        "--leader-endpoints": bool(options.leader_endpoints),
        "--leader-pod": bool(options.leader_pod),
        "--webhook-address": bool(options.webhook_address),
        "--scheduler-sharding-mode": options.masks_nodes,
        "--history-from-prometheus": options.history_from_prometheus,
        "--otlp-endpoint": bool(options.otlp_endpoint),
        "--audit-log": options.audit_log is not None,
        "--tls-secret": bool(options.tls_secret),
        "--authentication tokenreview": options.access.authentication == "tokenreview",
    }
    if options.shadow_log is not None and not options.shadow:
        raise BadInput(shadow_words.LOG_WITHOUT_SHADOW)
    for flag, given in writing.items():
        if options.shadow and given:
            raise BadInput(words.not_in_a_shadow(flag))


def _check_shards(options: Options) -> None:
    if not 1 <= options.shards <= SHARDS_MAX:
        raise BadInput(words.bad_shards(options.shards, SHARDS_MAX))
    if options.shards > 1 and not options.leader_elect:
        raise BadInput(words.SHARDS_WITHOUT_LEASES)
    if not LABEL_KEY.fullmatch(options.node_pool_label):
        raise BadInput(words.bad_node_pool_label(options.node_pool_label))


def leader_service_of(options: Options) -> tuple[str, str]:
    """Namespace and name of the Service that leads to the leader; raises BadInput."""
    return namespace_and_name("--leader-endpoints", options.leader_endpoints)


def tls_secret_of(options: Options) -> tuple[str, str]:
    """Namespace and name of the Secret with the certificate; raises BadInput."""
    return namespace_and_name("--tls-secret", options.tls_secret)


def leader_pod_of(options: Options) -> tuple[str, str]:
    """Namespace and name of the pod that this process runs in; raises BadInput."""
    return namespace_and_name("--leader-pod", options.leader_pod)


def port_of(options: Options) -> int:
    """The port of the leader; raises BadInput for port 0."""
    port = options.listen_address.rpartition(":")[2]
    if not port.isdigit() or not int(port):
        address = options.listen_address
        raise BadInput(words.no_port(address))
    return int(port)


def _check_address(text: str) -> None:
    try:
        ip_address(text)
    except ValueError:
        raise BadInput(words.bad_advertise_address(text)) from None
