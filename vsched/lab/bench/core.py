"""``vsched bench``: measures the decision core, from a mirror built in memory."""

from __future__ import annotations

import resource
from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path
from time import perf_counter
from typing import Any

import click
import numpy as np
from rich.table import Table

from vsched.cli.options import typed_flags
from vsched.daemon.system.tuning import listed, tuned
from vsched.errors import BadInput
from vsched.framework.cycle import run_cycle
from vsched.framework.policy import Policy
from vsched.framework.trace import Trace
from vsched.lab import words as common
from vsched.lab.bench.backlog import NODES, REASONS, measure_backlog
from vsched.lab.bench.backlog import rows as backlog_rows
from vsched.lab.bench.claims import compare, measure_plain
from vsched.lab.bench.compared import measure_rules, measure_tiers
from vsched.lab.bench.compared import rows as compared_rows
from vsched.lab.bench.grow.options import GROW_EPILOG, Sizes, grow_from, one_size, out_option
from vsched.lab.bench.growth import capacity_policy, measure_nominated, measure_tree, rows
from vsched.lab.bench.mixed import measure_mixed
from vsched.lab.bench.mixed import rows as mixed_rows
from vsched.lab.bench.report import figures_table, json_option, pair, print_result, seed_option
from vsched.lab.bench.shards import measure_shards
from vsched.lab.bench.shards import rows as shard_rows
from vsched.lab.bench.suite import measure_suite
from vsched.lab.bench.victims import TAKING_POLICY, Cost, FullWorld, measure_taking
from vsched.lab.bench.words import core as words
from vsched.lab.bench.world import MirrorFeeder, World
from vsched.lab.claiming import DEVICES, VOLUMES
from vsched.model.memo import Memo
from vsched.model.plan import CycleReport
from vsched.settings import default_settings, load_file, load_text
from vsched.settings.installed import registry

EPILOG = (
    """\b
Examples:
  vsched bench
  vsched bench --pods 10000 --gang 1 --shapes 10000
  vsched bench --running 50000 --pods 2000 --json
  vsched bench --running 50000 --pods 2000 --full
  vsched bench --running 50000 --full --config config/policies/capacity.yaml
  vsched bench --queues 1000 --queue-levels 4 --pods 5000 --gang 1
  vsched bench --nominated 1 --pods 5000 --gang 1
  vsched bench --claims devices --pods 10000
  vsched bench --nodes 1000 --pods 0 --backlog 27600
  vsched bench --nodes 1000 --pods 0 --backlog 10000 --gang 1 --waiting-for admission
  vsched bench --tiers 4
  vsched bench --rules --pods 10000 --gang 100
  vsched bench --mixed --nodes 1000 --pods 0
  vsched bench --shards 2

\b
idle_cycle_ms       a cycle when nothing has changed
one_pod_cycle_ms    after one more pod came; bound_pod_cycle_ms: after the watch showed
                    its binding; ended_pod_cycle_ms: after it ended

\b
--full also measures reclaim and preempt ("taking" in the JSON): whole cycles on
nodes that the running pods fill, one queue holding it all, another deserving half.
  verdict_ms  a gang of 100 asks to reclaim and one to preempt, and nothing can be
              freed: all running gangs are at their minimum
  backlog_ms  so do 300 more gangs of --gang pods
  reclaim_ms  the running gangs may shrink: a gang of 100 of the other queue gets room
  preempt_ms  the same for an urgent gang of their own queue
  evictions   of one cycle of each
Without --config this is measured with the built-in twin of
config/policies/taking-back.yaml (priority, gang, conformance and proportion decide).

\b
--queue-levels and --nominated measure how cost grows, by the first cycle
(processor time):
  tree        queues as leaves of a tree, and the same queues side by side; without
              --config the plugin capacity divides, with enableHierarchy in the tree
  nominated   with nodes kept for pods, what backfill takes of it, and without

\b
--tiers makes a tree of HyperNodes over the nodes. Each gang has to be in one of
their domains (networkTopology, hard), and gets the closest with room. "tiers" in
the JSON compares the first cycle with that of the same gangs without.

\b
--rules measures gangs with rules about their own pods: one pod a host (required
anti-affinity), spread over zones (DoNotSchedule), and close by zone (preferred
affinity). "rules" in the JSON compares the first cycle of each with that
of the same gangs without.

\b
--mixed measures gangs of several kinds of pods that do not fit one after the other,
each alone on nodes that all have different room. "mixed" in the JSON has the first
session of each, one in which nothing has changed, and the steps of the search.

\b
--shards compares one daemon with several at a time, each a process that decides for
its part of the queues on its part of the nodes:
  times       how many times as fast, by the clock: for a quiet machine with as
              many cores
  times_cpu   the same by processor time; times_cpu_with_others with what it
              takes to read the bindings of the other daemons

\b
--backlog measures cycles (processor time) while so many pods wait in vain in gangs
of --gang, on nodes that running pods fill:
  first_cycle_ms      the first one, which finds out why each waits
  unchanged_cycle_ms  cycles between which nothing changes
  one_pod_cycle_ms    cycles between which one more pod comes
With --waiting-for admission most PodGroups wait to be admitted, and with capability
their queue may hold half of what waits in it.

\b
--claims measures pods with claims against the same pods without, which run in a
process of their own ("claims" in the JSON):
  volumes     every other gang has claims that wait for their first pod, the
              others have claims that are bound to volumes of one zone
  devices     each pod has a claim for one device, of a model that a CEL selector names

\b
--suite reads a performance-config.yaml of kube-scheduler's scheduler_perf, with its
templates beside it, and prints pods/s of cycle time beside each threshold:
  vsched bench --suite misc/performance-config.yaml --label performance
  vsched bench --suite misc/performance-config.yaml --workload 'SchedulingBasic/5000*'
Without --config, the policy does what kube-scheduler does by default: its filters and
scores, pods by priority, and preempt. What is left out is said with its reason.

"""
    + GROW_EPILOG
)
REPEATS = 30
PODS_ONE_BY_ONE = 100
"""More, as the first pods of each shape are scored on all nodes, or on most of them."""
ONE_POD = ("one_pod", "bound_pod", "ended_pod")
"""What happens to one pod between cycles: it comes, the watch shows its binding, it has ended."""
TAKING_LABELS = {
    words.IN_VAIN: "verdict",
    words.BACKLOG_IN_VAIN: "backlog",
    words.GANG_RECLAIMS: "reclaim",
    words.GANG_PREEMPTS: "preempt",
}
"""The measurements on a full cluster, by their label."""

FIGURES = {
    "pods placed": "placed",
    words.CYCLE_SECONDS: "seconds",
    "pods a second": "pods_per_second",
    words.NOTHING_NEW: "idle_cycle_ms",
    words.ONE_NEW_POD: "one_pod_cycle_ms",
    words.BINDING_SHOWN: "bound_pod_cycle_ms",
    words.POD_ENDED: "ended_pod_cycle_ms",
    common.PEAK_MEMORY: "rss_mb",
}
CLAIM_FIGURES = {
    words.WITHOUT_CLAIMS_PODS: "plain_pods_per_second",
    words.TIMES_AS_SLOW: "times_plain",
    words.WITHOUT_CLAIMS_MEMORY: "plain_rss_mb",
    words.MORE_MEMORY: "more_mb",
}
SPREADS = {
    "cycle": "cycle_ms",
    "snapshot": "snapshot_ms",
    words.TAKING_FOR_GRANTED: "assume_ms",
}


class CycleTimer:
    """Runs cycles and keeps their times."""

    def __init__(self, crowd: MirrorFeeder, policy: Policy) -> None:
        self._mirror, self._policy, self._memo = crowd.mirror, policy, Memo()
        self.snapshots: list[float] = []
        self.cycles: list[float] = []
        """Seconds of each cycle, with its snapshot."""
        self.assumes: list[float] = []

    def cycle(self, trace: Trace | None = None) -> CycleReport:
        """Take a snapshot, decide, and assume the decisions in the mirror."""
        start = perf_counter()
        snapshot = self._mirror.snapshot(0.0)
        seen = perf_counter()
        report = run_cycle(snapshot, self._policy, registry(), trace, memo=self._memo)
        decided = perf_counter()
        self._mirror.assumptions.assume(report)
        self.snapshots.append(seen - start)
        self.cycles.append(decided - start)
        self.assumes.append(perf_counter() - decided)
        return report

    def milliseconds(self, before: Callable[[], None] = lambda: None) -> float:
        """The median time of a cycle, each run after ``before``."""
        return _median(self._seconds(before) for _ in range(REPEATS))

    def after_one_pod(self, crowd: MirrorFeeder) -> dict[str, float]:
        """The same after one pod came, after the watch showed its binding, and after it ended."""
        found: dict[str, list[float]] = {name: [] for name in ONE_POD}
        for _ in range(PODS_ONE_BY_ONE):
            crowd.add_gangs(1, gang=1)
            report = self.cycle()
            found["one_pod"].append(self.cycles[-1])
            for bind in report.binds:
                found["bound_pod"].append(self._seconds(partial(crowd.show_bound, bind.node)))
            found["ended_pod"].append(self._seconds(crowd.end_latest))
        return {name: _median(seconds) for name, seconds in found.items() if seconds}

    def _seconds(self, before: Callable[[], None]) -> float:
        before()
        self.cycle()
        return self.cycles[-1]


def _median(seconds: Iterable[float]) -> float:
    """In milliseconds."""
    return round(float(np.median([*seconds]) * 1000), 3)


def measure(world: World, policy: Policy) -> dict[str, Any]:
    """The result as one document."""
    crowd = MirrorFeeder(world)
    crowd.fill()
    listed()
    profile = Trace(perf_counter, plugins=True)
    run_cycle(
        crowd.mirror.snapshot(0.0), policy, registry(), profile
    )  # it decides the same as the measured cycle, and its decisions are dropped
    watch, placed = CycleTimer(crowd, policy), 0
    while binds := len(watch.cycle().binds):
        placed += binds
    busy = sum(watch.cycles)
    crowd.mirror.snapshot(0.0)
    timed = CycleTimer(crowd, policy)
    idle = timed.milliseconds()
    after = timed.after_one_pod(crowd)
    return {
        "placed": placed,
        "seconds": round(busy, 4),
        "pods_per_second": round(placed / busy) if busy else 0,
        "cycle_ms": _spread(watch.cycles),
        "snapshot_ms": _spread(watch.snapshots),
        "assume_ms": _spread(watch.assumes),
        "idle_cycle_ms": idle,
        **{f"{name}_cycle_ms": after.get(name, 0.0) for name in ONE_POD},
        "rss_mb": _peak_mb(),
        "profile": _shares(profile),
    }


def _spread(seconds: list[float]) -> dict[str, float]:
    return {
        "p50": round(float(np.percentile(seconds, 50)) * 1000, 3),
        "p99": round(float(np.percentile(seconds, 99)) * 1000, 3),
    }


def _peak_mb() -> int:
    return round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)


def _shares(trace: Trace) -> dict[str, dict[str, float]]:
    """Each action's and plugin's part of the time; only parts, because measuring plugins takes time itself."""
    total = sum(seconds for (kind, _), seconds in trace.seconds.items() if kind != "plugin") or 1.0
    shares: dict[str, dict[str, float]] = {}
    for (kind, name), seconds in sorted(trace.seconds.items(), key=lambda entry: -entry[1]):
        if kind in ("action", "plugin"):
            shares.setdefault(kind, {})[name] = round(seconds / total, 4)
    return shares


@click.command("bench", epilog=EPILOG, context_settings={"show_default": True})
@click.option("--nodes", type=Sizes(1, 100_000), default=5000)
@click.option("--pods", type=Sizes(0, 1_000_000), default=50_000, help="Pods to place.")
@click.option("--gang", type=click.IntRange(1, 10_000), default=20, help="Pods in a gang.")
@click.option("--shapes", type=click.IntRange(1, 1_000_000), default=20, help="Different requests.")
@click.option("--queues", type=click.IntRange(1, 10_000), default=10)
@click.option("--namespaces", type=click.IntRange(1, 10_000), default=10)
@click.option(
    "--queue-levels", type=click.IntRange(1, 8), default=1, help="Levels of a tree that has the queues as leaves."
)
@click.option("--nominated", type=click.IntRange(0, 10_000), default=0, help="Pods with a nominated node.")
@click.option("--running", type=click.IntRange(0, 1_000_000), default=0, help="Pods that run already.")
@click.option("--tiers", type=click.IntRange(0, 8), default=0, help="Tiers of HyperNodes; each gang is in one domain.")
@click.option("--one-a-host", is_flag=True, help="Pods of a gang refuse to share a host (required anti-affinity).")
@click.option("--rules", is_flag=True, help="Also measure gangs with rules about their own pods (see below).")
@click.option("--mixed", is_flag=True, help="Also measure gangs of several kinds of pods (see below).")
@click.option("--full", is_flag=True, help="Also measure preempt and reclaim, on nodes that the running pods fill.")
@click.option(
    "--backlog", type=click.IntRange(0, 1_000_000), default=0, help="Also measure cycles while this many pods wait."
)
@click.option("--waiting-for", type=click.Choice(REASONS), default=NODES, help="What the pods of --backlog wait for.")
@click.option(
    "--claims",
    type=click.Choice([VOLUMES, DEVICES]),
    help="Each pod to place has a claim of its own; also measure the same without.",
)
@click.option("--config", metavar="POLICY", help="Policy file  [default: the built-in policy]")
@click.option(
    "--suite",
    "suites",
    metavar="FILE",
    multiple=True,
    type=click.Path(path_type=Path),
    help="Measure the workloads of a file of kube-scheduler's scheduler_perf (see below); may be repeated.",
)
@click.option("--workload", "workloads", metavar="PATTERN", multiple=True, help="With --suite: these workloads only.")
@click.option("--label", "labels", metavar="LABEL", multiple=True, help="With --suite: workloads with this label only.")
@click.option("--live", is_flag=True, help="With --suite: over HTTP, with an embedded cluster and a daemon.")
@click.option("--grow", is_flag=True, help="Measure how time and memory grow with --nodes and running --pods (below).")
@click.option(
    "--shards", type=click.IntRange(0, 8), default=0, help="Compare one daemon with one for each shard (below)."
)
@out_option
@seed_option
@json_option
@click.pass_context
def command(
    context: click.Context,
    /,
    config: str | None,
    full: bool,
    rules: bool,
    mixed: bool,
    backlog: int,
    waiting_for: str,
    claims: str | None,
    suites: tuple[Path, ...],
    workloads: tuple[str, ...],
    labels: tuple[str, ...],
    live: bool,
    grow: bool,
    shards: int,
    out: Path | None,
    as_json: bool,
    **numbers: Any,
) -> None:
    """Measure whole cycles until nothing more can be placed: pods per second, and the cost of a cycle."""
    if grow:
        grow_from(context, out, as_json=as_json)
        return
    if out is not None:
        raise click.UsageError(words.OUT_WITHOUT_GROW)
    numbers |= {name: one_size(name, numbers[name]) for name in ("nodes", "pods")}
    if suites:
        _refuse_others()
        measure_suite(suites, workloads, labels, config, live=live, as_json=as_json)
        return
    if workloads or labels or live:
        raise click.UsageError(words.WITHOUT_SUITE)
    if waiting_for != NODES and not backlog:
        raise click.UsageError(words.WITHOUT_BACKLOG)
    world = World(**numbers, claims=claims or "")
    if full and world.running < 2:
        raise click.UsageError(words.FULL_WITHOUT_RUNNING)
    policy = flat = (load_file(config, registry()) if config else default_settings(registry())).policy
    if shards:
        found = measure_shards(world, config, shards)
        print_result(found, as_json, lambda result: [figures_table(shard_rows(result))])
        return
    taking = _taking_policy(config, policy) if full else None
    if world.queue_levels > 1 and not config:
        policy, flat = (capacity_policy(in_a_tree=in_a_tree) for in_a_tree in (True, False))
    plain = measure_plain(_arguments(config, numbers)) if claims else {}
    with tuned():
        result = measure(world, policy)
        if world.queue_levels > 1:
            result["tree"] = measure_tree(world, policy, flat)
        if world.nominated:
            result["nominated"] = measure_nominated(world, policy)
        if rules:
            result["rules"] = measure_rules(world, policy)
        if mixed:
            result["mixed"] = measure_mixed(world.nodes, policy)
        if world.tiers:
            result["tiers"] = measure_tiers(world, policy)
        if taking is not None:
            filled = FullWorld(nodes=world.nodes, running=world.running, gang=world.gang)
            result["taking"] = _victim_figures(measure_taking(filled, taking, REPEATS))
            result["rss_mb"] = _peak_mb()
        if backlog:
            result["backlog"] = measure_backlog(world.nodes, backlog, world.gang, policy, waiting_for)
    if claims:
        result["claims"] = compare(result, plain)
    print_result(result, as_json, lambda result: [as_table(result)])


def _refuse_others() -> None:
    """Refuse options that say what the files of a suite say themselves."""
    own = ("suites", "workloads", "labels", "live", "config", "as_json")
    for name, flag in typed_flags().items():
        if name not in own:
            raise click.UsageError(words.not_with_suite(flag))


def _arguments(config: str | None, numbers: dict[str, Any]) -> list[str]:
    """The command line of the same bench without claims."""
    given = {**numbers, "config": config}
    pairs = [(f"--{name.replace('_', '-')}", value) for name, value in given.items() if value not in (None, False)]
    return [word for name, value in pairs for word in ((name,) if value is True else (name, str(value)))]


def _victim_figures(costs: dict[str, Cost]) -> dict[str, Any]:
    """The times and evictions of the victim search, as in the document."""
    times = {f"{name}_ms": _spread(cost.seconds) for name, cost in costs.items()}
    return {**times, "evictions": {name: cost.evictions for name, cost in costs.items()}}


def _taking_policy(config: str | None, given: Policy) -> Policy:
    """The policy for the victim search: that of the file, else one that reclaims and preempts."""
    if config is None:
        return load_text(TAKING_POLICY, common.BUILT_IN_POLICY, registry()).policy
    if not {"preempt", "reclaim"} & set(given.actions):
        raise BadInput(words.takes_nothing_back(config, ", ".join(given.actions)))
    return given


def as_table(result: dict[str, Any]) -> Table:
    """The result as a table."""
    lines = [(label, f"{result[key]:,}") for label, key in FIGURES.items()]
    lines += [(f"{label} p50 / p99 (ms)", pair(result[key])) for label, key in SPREADS.items()]
    for label, key in TAKING_LABELS.items() if "taking" in result else ():
        evictions = result["taking"]["evictions"][key]
        evicted = f", {evictions} evicted" if evictions else ""
        lines.append((f"{label} p50 / p99 (ms)", f"{pair(result['taking'][f'{key}_ms'])}{evicted}"))
    lines += [*rows(result), *compared_rows(result), *mixed_rows(result), *backlog_rows(result)]
    if "claims" in result:
        lines += [(label, f"{result['claims'][key]:,}") for label, key in CLAIM_FIGURES.items()]
    for kind, shares in result["profile"].items():
        most = ", ".join(f"{name} {share:.0%}" for name, share in list(shares.items())[:6])
        lines.append((words.time_by(kind), most))
    return figures_table(lines)
