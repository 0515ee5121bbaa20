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
from vsched.cli.flags.periods import PERIOD, Period
from vsched.cli.flags.shares import SHARE
from vsched.cli.run.access import access_flags, access_of
from vsched.daemon.options import SHARDS_MAX, Options
from vsched.log import LEVELS, LogFormat, configure
from vsched.together import run_fast

EPILOG = """\b
Examples:
  vsched run --kubeconfig ~/.kube/config --scheduler-conf config/scheduler.yaml
  vsched run --scheduler-name vsched --scheduler-name volcano     (in a pod)
  vsched run --ignore-unsupported volumes     (as Volcano without its volume binding: claims bind no pod to a node)
  vsched run --verify 100%                (check as many sessions against the rules as time allows)
  vsched run --arbitrate                  (place pods, and divide the cluster among namespaces)
  vsched run --arbitrate --no-schedule    (divide it only: others place the pods)

Every flag can be set by environment, as VSCHED_SCHEDULER_CONF.
"""

_DEFAULTS = Options()
flag = flags_of(Options)


@by_environment
@click.command("run", epilog=EPILOG, context_settings={"auto_envvar_prefix": "VSCHED", "show_default": True})
@cluster_flags
@flag("--scheduler-name", "pods with this spec.schedulerName are ours; repeatable", "scheduler_names")
@flag("--scheduler-conf", "policy file; without one, the built-in one", "policy_file")
@flag(
    "--scheduler-configmap",
    "ConfigMap with the policy, watched through the API; without KEY, volcano-scheduler.conf or the only one",
    "policy_map",
    metavar="NAMESPACE/NAME[/KEY]",
)
@flag(
    "--policy-files",
    "the policy may name files below this (passwordFile, tokenFile, tls.caFile ...); repeatable  [default: none]",
    metavar="DIRECTORY",
)
@flag("--policy-env-prefix", "the policy may name variables that begin with this (passwordEnv, tokenEnv)")
@flag(
    "--policy-secrets",
    "the policy may name Secrets of this namespace; repeatable  [default: the pod's own alone]",
    metavar="NAMESPACE",
)
@flag("--schedule-period", "time after which a session starts anyway", "period_seconds", type=PERIOD, default="1s")
@click.option(
    "--coalesce",
    "window_ms",
    type=click.FloatRange(0, 10_000),
    default=10.0,
    help="milliseconds a change waits for more of them, at most; up to five times as long while they keep coming",
)
@flag("--default-queue", "queue of PodGroups that name none")
@flag(
    "--queue-controller",
    "look after the states of queues, and make the root and the default one; off where Volcano's controllers do",
)
@flag(
    "--command-namespace",
    "take Commands about queues from this namespace; repeatable  [default: that of the pod, else of the context]",
    "command_namespaces",
)
@flag(
    "--podgroup-controller",
    "make PodGroups for pods and plain workloads that name none; off where Volcano's controllers do",
)
@flag("--job-controller", "run vcjobs, CronJobs and JobFlows of Volcano; off where its controllers do")
@flag(
    "--volcano-namespace",
    "while Volcano's controllers run in this namespace, vcjobs are left to them; '' to look for them nowhere",
    metavar="NAMESPACE",
)
@flag(
    "--pod-network",
    "probes of JobFlows ask pods in this network (CIDR) and no others; repeatable  [default: all but addresses that no "
    "pod has]",
    "pod_networks",
)
@flag(
    "--gate-controller",
    "open the queue-allocation gate of pods once their queue has room; off where Volcano's scheduler does",
)
@ignore_flag
@flag("--listen-address", "address of metrics and views; '' for none")
@flag("--healthz-address", "address of health checks; '' for none")
@flag("--kube-api-qps", "writes a second", "api_qps", type=click.FloatRange(1, 100_000))
@flag("--kube-api-burst", "writes at once", "api_burst", type=click.IntRange(1, 1_000_000))
@flag("--max-in-flight", "bindings on the wire at once", type=click.IntRange(1, 64))
@flag(
    "--eviction-mode",
    "how victims go: the API server is asked to evict them, or they are deleted; disruption budgets bind who is "
    "chosen either way, but a deletion does not ask whether they still let the pod go",
)
@click.option(
    "--cooperative-eviction",
    type=Period(zero=True, bounded=False),
    default="1h",
    help="how long victims that opt in are asked to end by themselves before they are evicted, at most; 0 for never",
)
@flag("--schedule", "place pods; off for an arbitrator beside other schedulers")
@flag(
    "--recordings",
    "cycles in which something looked wrong that are kept for vsched dump; 0 for none",
    type=click.IntRange(0, 100),
)
@flag(
    "--advise",
    "look for what would let waiting jobs start, in what time sessions leave, and say it with why they wait",
)
@flag(
    "--verify",
    "sessions that are checked against the rules, at most, in what time sessions leave; 0 for none",
    type=SHARE,
    default="1%",
)
@flag(
    "--workloads",
    "YAML file with kinds of workloads whose pods are gangs, besides the built-in ones; read again when it changes",
    "workloads_file",
    metavar="FILE",
)
@flag("--user-key", "annotation or label that names the user of a PodGroup, workload or pod")
@flag(
    "--streaming-lists",
    "have lists come with their watches where the API server offers that: less memory, but new pods wait for the list",
)
@flag("--history", "keep the usage history in a ConfigMap, so that it survives restarts")
@flag(
    "--history-period",
    "it is written this often, and at the end; 0 for never, as with --no-history",
    "history_period_seconds",
    type=Period(zero=True),
    default="5m",
)
@flag(
    "--history-from-prometheus",
    "where there is no such ConfigMap, work out what queues held in the past week from the policy's Prometheus",
)
@flag(
    "--scheduler-sharding-mode",
    "what the NodeShard of our name means: none of its nodes matter, they come first (soft), or they are the only "
    "ones (hard)",
    "sharding_mode",
)
@flag("--scheduler-sharding-name", "the name of our NodeShard", "sharding_name")
@flag("--arbitrate", "divide the cluster among namespaces by their Consumers, and take back what is overused")
@click.option(
    "--arbitrate-interval", type=PERIOD, default="1s", help="what namespaces deserve is worked out at least this often"
)
@click.option(
    "--arbitrate-grace",
    type=Period(zero=True),
    default="10s",
    help="how long a namespace may be overused before pods are evicted: its controllers may choose their victims first",
)
@click.option(
    "--arbitrate-evictions",
    type=click.IntRange(1, 1000),
    default=_DEFAULTS.rules.evictions_per_round,
    help="pods evicted in one round of arbitration, at most",
)
@flag("--webhook-address", "address where the API server has Consumers and vcjobs reviewed, over TLS; '' for none")
@flag("--tls-cert-file", "certificate of what is served over TLS, in PEM form; taken up anew when it changes")
@flag("--tls-private-key-file", "its key", "tls_key_file")
@access_flags
@click.option(
    "--leader-elect/--no-leader-elect",
    default=None,
    help="act only while holding the Lease; on with --arbitrate and --shards, else off, unless it is said here",
)
@click.option("--leader-elect-resource-namespace", default="", help="where the Lease is  [default: that of the pod]")
@click.option("--leader-elect-resource-name", default=_DEFAULTS.lease.name, help="which Lease it is")
@click.option(
    "--leader-elect-lease-duration", type=PERIOD, default="15s", help="how long others wait for a sign of the leader"
)
@click.option(
    "--leader-elect-renew-deadline", type=PERIOD, default="10s", help="how long the leader tries before it gives up"
)
@click.option(
    "--leader-elect-retry-period", type=PERIOD, default="2s", help="between two attempts to get or keep the Lease"
)
@flag(
    "--leader-endpoints",
    "Service without a selector, as NAMESPACE/NAME: the leader writes its address into an EndpointSlice of it, so "
    "that kube-scheduler asks no other",
)
@flag("--advertise-address", "that address; in a pod, the pod's")
@flag(
    "--leader-pod",
    "this pod, as NAMESPACE/NAME: the leader's has the label vsched.io/leader, which a Service selects",
)
@flag(
    "--shards",
    "divide the work into so many shards, each with a Lease of its own: several daemons act, each for some of them",
    type=click.IntRange(1, SHARDS_MAX),
)
@flag("--shard-by", "what of a job says which shard it belongs to: its queue, or the pool of nodes that it selects")
@flag("--node-pool-label", "with --shard-by node-pool: the label of nodes that names their pool")
@flag("--event-qps", "Events a second", type=click.FloatRange(0.1, 10_000))
@click.option("--log-level", type=click.Choice(tuple(LEVELS)), default="info", help="what is worth a line")
@click.option(
    "--log-format",
    type=click.Choice([*(form.value for form in LogFormat), "auto"]),
    default="auto",
    help="auto: console on a terminal, else json",
)
def command(cluster: ClusterFlags, log_level: str, log_format: str, window_ms: float, **flags: Any) -> None:
    """Schedule the pods of a cluster until told to stop (SIGTERM, SIGINT); SIGHUP reads the policy file again."""
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
    flags["cooperative_eviction_seconds"] = flags.pop("cooperative_eviction")
    more = {"rules": rules, "lease": lease, "access": access_of(flags)}
    return msgspec.convert({**flags, "window_seconds": window_ms / 1000, **more}, Options)
