"""``vsched run``: the scheduler daemon; its flags become ``Options``."""

from __future__ import annotations

import sys
from typing import Any

import click
import msgspec

from vsched.cli.ask.cluster import ClusterFlags, cluster_flags
from vsched.cli.flags.environment import by_environment
from vsched.cli.flags.fields import flags_of
from vsched.cli.flags.ignoring import ignore_flag
from vsched.cli.flags.values import BYTES, PERIOD, SHARE, Period
from vsched.cli.run.access import access_flags, access_of
from vsched.daemon.options import SHARDS_MAX, Options
from vsched.log import LEVELS, LogFormat, configure
from vsched.together import run_fast

EPILOG = """\b
Examples:
  vsched run --kubeconfig ~/.kube/config --scheduler-conf config/scheduler.yaml
  vsched run --scheduler-name vsched --scheduler-name volcano     (in a pod)
  vsched run --ignore-unsupported volumes     (ignore volume claims, as Volcano without volume binding)
  vsched run --verify 100%                (check as many sessions as time allows)
  vsched run --arbitrate                  (place pods, and divide the cluster among namespaces)
  vsched run --arbitrate --no-schedule    (divide it only: another scheduler places the pods)
  vsched run --audit-log /var/log/vsched/audit.jsonl     (who was bound or evicted, for whom, why, by which policy)
  vsched run --otlp-endpoint http://collector:4318 --trace-share 10%     (needs pip install 'vsched[otel]')
  vsched run --vcjobs only --job-namespace team-a     (run vcjobs, beside a daemon with --vcjobs apart)
  vsched run --shadow --scheduler-conf candidate.yaml     (write nothing: see what vsched would do in place of Volcano)

Every flag can be set by environment, as VSCHED_SCHEDULER_CONF.
"""

_DEFAULTS = Options()
flag = flags_of(Options)


@by_environment
@click.command("run", epilog=EPILOG, context_settings={"auto_envvar_prefix": "VSCHED", "show_default": True})
@cluster_flags
@flag(
    "--scheduler-name",
    "scheduler_names",
    help="schedule pods with this spec.schedulerName; repeatable  [default: vsched; volcano with --shadow]",
    default=(),
)
@flag("--scheduler-conf", "policy_file", help="policy file  [default: the built-in policy]")
@flag(
    "--scheduler-configmap",
    "policy_map",
    help="ConfigMap with the policy, watched through the API; without KEY, volcano-scheduler.conf or the only one",
    metavar="NAMESPACE/NAME[/KEY]",
)
@flag(
    "--policy-files",
    help="the policy may name files below this (passwordFile, tokenFile, tls.caFile ...); repeatable  [default: none]",
    metavar="DIRECTORY",
)
@flag("--policy-env-prefix", help="the policy may name variables that begin with this (passwordEnv, tokenEnv)")
@flag(
    "--policy-secrets",
    help="the policy may name Secrets of this namespace; repeatable  [default: the pod's own alone]",
    metavar="NAMESPACE",
)
@flag("--schedule-period", "period_seconds", help="longest time between sessions", type=PERIOD, default="1s")
@click.option(
    "--coalesce",
    "window_ms",
    type=click.FloatRange(0, 10_000),
    default=10.0,
    help="milliseconds that a change waits for more changes, unless there was no session for as long; "
    "up to five times as long while changes keep coming",
)
@flag("--default-queue", help="queue of PodGroups that name none")
@flag(
    "--queue-controller",
    help="manage queue states, and create the root and default queues; off if Volcano's controllers do",
)
@flag(
    "--command-namespace",
    "command_namespaces",
    help="accept Commands for queues in this namespace; repeatable  [default: that of the pod, else of the context]",
)
@flag(
    "--podgroup-controller",
    help="create PodGroups for workloads and gangs without one; off if Volcano's controllers do",
)
@flag(
    "--podgroups-of-single-pods",
    help="create one for each pod without a controller and each Job of one pod, too, as Volcano's controllers do",
)
@flag("--job-controller", help="run Volcano's vcjobs, CronJobs and JobFlows; off if its controllers do")
@flag(
    "--vcjobs",
    help="run vcjobs in this process (here), leave them to another one (apart), or run only them (only), so that each "
    "process can have an account of its own",
)
@flag(
    "--job-namespace",
    "job_namespaces",
    help="run the vcjobs, CronJobs and JobFlows of this namespace only; repeatable  [default: all]",
)
@flag(
    "--volcano-namespace",
    help="leave vcjobs to Volcano's controllers while they run in this namespace; '' to not look for them",
    metavar="NAMESPACE",
)
@flag(
    "--pod-network",
    "pod_networks",
    help="send probes of JobFlows to this network (CIDR) only; repeatable  "
    "[default: all addresses that a pod can have]",
)
@flag(
    "--gate-controller",
    help="remove the queue-allocation gate of pods once their queue admits them; off if Volcano's scheduler does",
)
@ignore_flag
@flag("--listen-address", help="address of metrics and views; '' for none")
@flag("--healthz-address", help="address of health checks; '' for none")
@flag("--kube-api-qps", "api_qps", help="writes to the API server per second", type=click.FloatRange(1, 100_000))
@flag("--kube-api-burst", "api_burst", help="burst of writes to the API server", type=click.IntRange(1, 1_000_000))
@flag("--max-in-flight", help="bindings sent at the same time", type=click.IntRange(1, 64))
@flag(
    "--eviction-mode",
    help="use the Eviction API, or delete victims; victims are chosen within disruption budgets either way, but a "
    "deletion does not check them again",
)
@click.option(
    "--cooperative-eviction",
    type=Period(zero=True, bounded=False),
    default="1h",
    help="longest time that victims that opt in get to end by themselves before they are evicted; 0 for none",
)
@flag("--schedule", help="schedule pods; off for an arbitrator beside other schedulers")
@flag(
    "--shadow",
    help="decide beside the scheduler that is in charge of these pods, and write nothing to the cluster",
)
@flag("--shadow-log", help="with --shadow: folder that its findings are logged in", metavar="FOLDER")
@flag(
    "--shadow-log-size",
    "shadow_log_bytes",
    help="remove the oldest days of that log beyond this size",
    type=BYTES,
    default="256Mi",
)
@flag(
    "--recordings",
    help="most recordings of sessions in which something looked wrong, for vsched dump; 0 for none",
    type=click.IntRange(0, 100),
)
@flag(
    "--advise",
    help="look for changes that would let waiting jobs start while no session runs, and add them to the messages",
)
@flag(
    "--verify",
    help="largest share of sessions to check against the rules while no session runs; 0 for none",
    type=SHARE,
    default="1%",
)
@flag(
    "--memo",
    help="keep answers that have not changed from session to session; prove makes each of them anew as well, and "
    "ends a session that finds a difference",
)
@flag(
    "--workloads",
    "workloads_file",
    help="YAML file with more kinds of workloads whose pods are gangs; reloaded when it changes",
    metavar="FILE",
)
@flag("--user-key", help="annotation or label that names the user of a PodGroup, workload or pod")
@flag(
    "--streaming-lists",
    help="use streaming lists (WatchList) if the API server has them: less memory, but new pods wait for the list",
)
@flag("--history", help="store the usage history in a ConfigMap, so that it survives restarts")
@flag(
    "--history-period",
    "history_period_seconds",
    help="how often it is written, besides at the end; 0 for never, as with --no-history",
    type=Period(zero=True),
    default="5m",
)
@flag(
    "--history-from-prometheus",
    help="without that ConfigMap, take the past week of the queues from the policy's Prometheus",
)
@flag(
    "--scheduler-sharding-mode",
    "sharding_mode",
    help="how to use the NodeShard of our name: not at all (none), prefer its nodes (soft), or use no others (hard)",
)
@flag("--scheduler-sharding-name", "sharding_name", help="name of our NodeShard")
@flag("--arbitrate", help="divide the cluster among namespaces by their Consumers, and evict pods of overused ones")
@click.option(
    "--arbitrate-interval",
    type=PERIOD,
    default="1s",
    help="longest time between divisions of the cluster among namespaces",
)
@click.option(
    "--arbitrate-grace",
    type=Period(zero=True),
    default="10s",
    help="how long a namespace may be overused before its pods are evicted",
)
@click.option(
    "--arbitrate-evictions",
    type=click.IntRange(1, 1000),
    default=_DEFAULTS.rules.evictions_per_round,
    help="most pods evicted in one round of arbitration",
)
@flag("--webhook-address", help="address of the admission webhooks for Consumers and vcjobs, over TLS; '' for none")
@flag("--tls-cert-file", help="TLS certificate, PEM; reloaded when it changes")
@flag("--tls-private-key-file", "tls_key_file", help="its key")
@flag(
    "--tls-secret",
    help="make the certificate, renew it in this Secret, which has to exist, and write it to these two files",
    metavar="NAMESPACE/NAME",
)
@flag("--tls-name", "tls_names", help="with --tls-secret: DNS name that the certificate is for; repeatable")
@flag(
    "--webhook-configuration",
    help="with --tls-secret: webhook configurations of this name trust the certificate",
    metavar="NAME",
)
@access_flags
@click.option(
    "--leader-elect/--no-leader-elect",
    default=None,
    help="act only while holding the Lease  [default: on with --arbitrate and --shards, else off]",
)
@click.option(
    "--leader-elect-resource-namespace", default="", help="namespace of the Lease  [default: that of the pod]"
)
@click.option("--leader-elect-resource-name", default=_DEFAULTS.lease.name, help="name of the Lease")
@click.option(
    "--leader-elect-lease-duration",
    type=PERIOD,
    default="15s",
    help="how long the others wait for a renewal before they take over",
)
@click.option(
    "--leader-elect-renew-deadline",
    type=PERIOD,
    default="10s",
    help="how long the leader tries to renew before it gives up",
)
@click.option(
    "--leader-elect-retry-period", type=PERIOD, default="2s", help="time between attempts to acquire or renew the Lease"
)
@flag(
    "--leader-endpoints",
    help="Service without a selector, as NAMESPACE/NAME: the leader writes its address into an EndpointSlice of it, so "
    "that kube-scheduler asks no other",
)
@flag("--advertise-address", help="that address  [default: that of the pod]")
@flag(
    "--leader-pod",
    help="this pod, as NAMESPACE/NAME: while it leads it has the label vsched.io/leader, for a Service to select",
)
@flag(
    "--shards",
    help="number of shards, each with its own Lease: several daemons act, each for some of the shards",
    type=click.IntRange(1, SHARDS_MAX),
)
@flag("--shard-by", help="assign jobs to shards by their queue, or by the node pool that they select")
@flag("--node-pool-label", help="with --shard-by node-pool: the node label that names the pool")
@flag(
    "--record-work",
    help="record jobs, pods, nodes and queues in files in this folder, for vsched replay --trace  [default: none]",
    metavar="FOLDER",
)
@flag(
    "--record-work-size",
    "record_work_bytes",
    help="remove the oldest of these files beyond this size",
    type=BYTES,
    default="512Mi",
)
@flag("--record-anonymous", help="record made-up names, always the same in one folder")
@flag(
    "--audit-log",
    help="log each decision in this file, as a line of JSON: who gets what, who leaves for whom, why who waits  "
    "[default: none]",
    metavar="FILE",
)
@flag("--audit-log-size", "audit_log_bytes", help="put a longer file aside, as FILE.1", type=BYTES, default="100Mi")
@flag("--audit-log-files", help="most files of it to keep", type=click.IntRange(1, 1000))
@flag(
    "--otlp-endpoint",
    help="send traces of sessions, writes and claims to this OpenTelemetry collector, by OTLP over HTTP  "
    "[default: none]",
    metavar="URL",
)
@flag("--audit-log-otlp", help="send each decision to this collector, too, as a log record")
@flag("--trace-share", help="largest share of sessions to trace", type=SHARE, default="100%")
@flag("--event-qps", help="Events per second", type=click.FloatRange(0.1, 10_000))
@click.option("--log-level", type=click.Choice(tuple(LEVELS)), default="info", help="log level")
@click.option(
    "--log-format",
    type=click.Choice([*(form.value for form in LogFormat), "auto"]),
    default="auto",
    help="auto: console on a terminal, else json",
)
def command(cluster: ClusterFlags, log_level: str, log_format: str, window_ms: float, **flags: Any) -> None:
    """Schedule the pods of a cluster until stopped (SIGTERM, SIGINT); SIGHUP reloads the policy."""
    from vsched.daemon.serving import serve  # imported here, so that --help does not load numpy and aiohttp
    from vsched.daemon.system.tuning import TUNED, tuned
    from vsched.kube.auth.config import load_connection
    from vsched.settings.installed import registry

    if log_format == "auto":
        log_format = LogFormat.CONSOLE if sys.stderr.isatty() else LogFormat.JSON
    configure(log_level, log_format)
    options = options_of(flags, window_ms)
    plugins = registry()
    connection = load_connection(*cluster)
    with tuned():
        run_fast(serve(options, connection, plugins, TUNED))


def options_of(flags: dict[str, Any], window_ms: float) -> Options:
    """The options for parsed flags, without those for the connection and the log."""
    if flags["leader_elect"] is None:
        flags["leader_elect"] = flags["arbitrate"] or flags["shards"] > 1
    lease = {
        "namespace": flags.pop("leader_elect_resource_namespace"),
        "name": flags.pop("leader_elect_resource_name"),
        "duration_seconds": flags.pop("leader_elect_lease_duration"),
        "renew_deadline_seconds": flags.pop("leader_elect_renew_deadline"),
        "retry_seconds": flags.pop("leader_elect_retry_period"),
    }
    rules = {
        "interval_seconds": flags.pop("arbitrate_interval"),
        "grace_seconds": flags.pop("arbitrate_grace"),
        "evictions_per_round": flags.pop("arbitrate_evictions"),
    }
    flags["scheduler_names"] = flags["scheduler_names"] or (("volcano",) if flags["shadow"] else ("vsched",))
    flags["cooperative_eviction_seconds"] = flags.pop("cooperative_eviction")
    more = {"rules": rules, "lease": lease, "access": access_of(flags)}
    return msgspec.convert({**flags, "window_seconds": window_ms / 1000, **more}, Options)
