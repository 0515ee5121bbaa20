"""Gauges of jobs, of waiting pods by reason, and of shares of the cluster."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from itertools import chain, islice

from prometheus_client.core import GaugeMetricFamily, Metric

from vsched.framework.codes import Code
from vsched.model.amounts.resources import Vector, add
from vsched.model.jobs.job import Job
from vsched.model.plan import PLANNED_NODES_MAX, SUB_GROUPS_MAX, JobOutcome, Unschedulable
from vsched.model.pods.status import Phase
from vsched.model.pods.task import Task
from vsched.model.snapshot import Snapshot
from vsched.web.findings import Findings
from vsched.web.metrics.listing import Listing

MOST_JOBS = 1_000
"""How many jobs have series of their own; the totals include all."""
MOST_NAMESPACES = 1_000
"""How many namespaces have series of their own; the share of the others together is that of ``other``."""
MOST_TIERS = 32
"""How many tiers have series of their own, the closest; jobs in the others together are ``other``."""
MOST_REASONS = 40
"""How many reasons have series of their own, those of most pods; the others together are ``other``."""

GATED, UNTRIED, INCOMPLETE, OTHER = "gated", "not tried yet", "its gang is incomplete", "other"
_PARTICULAR = (
    (re.compile(r" \{.*"), ""),
    (re.compile(r"had \S+ usage above .*"), "had usage above the threshold"),
    (re.compile(r"(?:no|fewer than \d+) ((?:healthy )?)devices?(?= |$)"), r"too few \1devices"),
    (re.compile(r"devices with \d[\d.]*(?: MiB|%) of"), "devices with enough"),
)
"""Reasons that contain a value (the taint, the threshold, the memory of a device), and the reason without it."""
_PHASES = (Phase.PENDING, Phase.INQUEUE, Phase.RUNNING, Phase.UNKNOWN, Phase.COMPLETED)


def of_jobs(snapshot: Snapshot, findings: Findings, namespaces: Listing) -> Iterator[Metric]:
    """All families about jobs, waiting pods, and namespaces."""
    waiting = [job for key in snapshot.active if (job := snapshot.jobs.get(key)) is not None and job.pending]
    tasks = GaugeMetricFamily("volcano_unschedule_task_count", "Pending pods of a job.", labels=("job_id",))
    for job in islice(waiting, MOST_JOBS):
        tasks.add_metric((job.key,), len(job.pending))
    yield tasks
    yield GaugeMetricFamily("volcano_unschedule_job_count", "Jobs with pending pods.", value=len(waiting))
    yield _phases(snapshot)
    yield _pending(waiting, dict(findings.pods))
    particular = dict(findings.particular)
    yield from _places(particular)
    yield from _planned(particular)
    yield _retries(findings.retries)
    yield _shares(snapshot)
    yield from _namespaces(snapshot, namespaces)
    yield from _placed(snapshot, dict(findings.placed_at))


def _phases(snapshot: Snapshot) -> Metric:
    phases = GaugeMetricFamily("vsched_jobs", "PodGroups by phase.", labels=("phase",))
    for phase, count in {**dict.fromkeys(_PHASES, 0), **dict(snapshot.phases)}.items():
        phases.add_metric((phase,), count)
    return phases


def _places(outcomes: Mapping[str, JobOutcome]) -> Iterator[Metric]:
    """How close jobs that ask for closeness are, and how many of them wait for it."""
    found = outcomes.values()
    yield _by_tier(
        "vsched_topology_jobs",
        "Jobs with a topology constraint and placed pods, by the tier of the smallest domain that contains them.",
        (outcome.tier for outcome in found if outcome.tier is not None),
    )
    yield _by_tier(
        "vsched_topology_sub_groups",
        f"The same for sub-groups, at most {SUB_GROUPS_MAX} of a job.",
        (group.tier for outcome in found for group in outcome.sub_groups),
    )
    waiting = sum(outcome.code == Code.TOPOLOGY for outcome in outcomes.values())
    yield GaugeMetricFamily(
        "vsched_topology_waiting_jobs",
        "Jobs that wait because no topology domain they may use has enough free resources.",
        value=waiting,
    )


def _planned(outcomes: Mapping[str, JobOutcome]) -> Iterator[Metric]:
    """How many jobs have a planned start, how many began before it, and how many wait because room is kept."""
    planned = [outcome.planned for outcome in outcomes.values() if outcome.planned is not None]
    yield GaugeMetricFamily("vsched_planned_starts", "Jobs with a planned start.", value=len(planned))
    ahead = {key for one in planned for key in one.ahead}
    yield GaugeMetricFamily(
        "vsched_backfilled_jobs",
        f"Jobs that run on nodes reserved for the start of one that came before, {PLANNED_NODES_MAX} of each.",
        value=len(ahead),
    )
    waiting = sum(outcome.code == Code.RESERVED for outcome in outcomes.values())
    yield GaugeMetricFamily(
        "vsched_reserved_waiting_jobs",
        "Jobs that wait because nodes are reserved for planned starts, or for gangs whose nodes are being provisioned.",
        value=waiting,
    )


def _by_tier(name: str, help_text: str, tiers: Iterable[int]) -> Metric:
    reached = Counter(tiers)
    family = GaugeMetricFamily(name, help_text, labels=("tier",))
    listed = sorted(reached)[:MOST_TIERS]
    for tier in listed:
        family.add_metric((str(tier),), reached[tier])
    if len(listed) < len(reached):
        family.add_metric((OTHER,), sum(reached.values()) - sum(reached[tier] for tier in listed))
    return family


# -- why pods wait


def _pending(waiting: Iterable[Job], verdicts: Mapping[str, Unschedulable]) -> Metric:
    """How many pods wait, by the reason that most nodes have."""
    counts: Counter[str] = Counter()
    for task in chain.from_iterable(job.pending.values() for job in waiting):
        counts[GATED if task.at_gate else reason_of(task, verdicts.get(task.key))] += 1
    family = GaugeMetricFamily("vsched_pending_pods", "Pending pods, by the main reason.", labels=("reason",))
    ranked = sorted(counts.items(), key=lambda entry: (-entry[1], entry[0]))
    named = dict(ranked[:MOST_REASONS])
    if len(ranked) > MOST_REASONS:
        named[OTHER] = named.get(OTHER, 0) + sum(count for _, count in ranked[MOST_REASONS:])
    for reason, count in named.items():
        family.add_metric((reason,), count)
    return family


def reason_of(task: Task, verdict: Unschedulable | None) -> str:
    """Why a pod waits, without values that differ between pods or nodes."""
    if verdict is None or verdict.uid != task.uid:
        return UNTRIED
    if not verdict.reasons:
        return INCOMPLETE if verdict.fits else UNTRIED
    reason = min(verdict.reasons, key=lambda reason: (-verdict.reasons[reason], reason))
    for particular, general in _PARTICULAR:
        reason = particular.sub(general, reason)
    return reason


def _retries(retries: Mapping[str, int]) -> Metric:
    # A counter in all but its type: the library ends the names of counters in _total, and this one does not.
    family = GaugeMetricFamily(
        "volcano_job_retry_counts", "Sessions that did not place the minimum of a job.", labels=("job_id",)
    )
    for key, count in islice(retries.items(), MOST_JOBS):
        family.add_metric((key,), count)
    return family


# -- shares


def dominant(held: Vector, snapshot: Snapshot) -> float:
    """The dominant share: the largest part of the cluster's total of any resource."""
    total = snapshot.total
    return max((value / total[column] for column, value in held.items() if total[column]), default=0.0)


def _shares(snapshot: Snapshot) -> Metric:
    family = GaugeMetricFamily(
        "volcano_job_share", "Dominant share of a job in the cluster.", labels=("job_ns", "job_id")
    )
    holders = chain.from_iterable(list(jobs.values()) for jobs in list(snapshot.holders.values()))
    for job in islice(holders, MOST_JOBS):
        family.add_metric((job.spec.namespace, job.key), dominant(job.allocated, snapshot))
    return family


def _namespaces(snapshot: Snapshot, listing: Listing) -> Iterator[Metric]:
    """Shares of namespaces in all queues together, under Volcano's names."""
    held: dict[str, Vector] = {}
    for (_, namespace), amounts in list(snapshot.shares.items()):
        add(held.setdefault(namespace, {}), dict(amounts).items())
    families = {
        what: GaugeMetricFamily(f"volcano_namespace_{what}", says, labels=("namespace_name",))
        for what, says in _NAMESPACE_NUMBERS.items()
    }
    shares = {namespace: dominant(amounts, snapshot) for namespace, amounts in held.items()}
    listed, others = listing.choose(shares)
    for namespace in listed:
        share, known = shares[namespace], snapshot.namespaces.get(namespace)
        weight = 1 if known is None else known.weight
        for what, value in (("share", share), ("weight", weight), ("weighted_share", share / weight)):
            families[what].add_metric((namespace,), value)
    if others:
        together: Vector = {}
        for namespace in others:
            add(together, held[namespace].items())
        families["share"].add_metric((OTHER,), dominant(together, snapshot))
    yield from families.values()


_NAMESPACE_NUMBERS = {
    "share": "Dominant share of a namespace in the cluster.",
    "weight": "Weight of a namespace.",
    "weighted_share": "Share of a namespace divided by its weight.",
}


# -- how long it took


def _placed(snapshot: Snapshot, placed_at: Mapping[str, float]) -> Iterator[Metric]:
    """How long jobs took from their creation to running, under Volcano's names."""
    labels = ("job_name", "queue", "job_namespace")
    duration, start, last = (
        GaugeMetricFamily(f"volcano_e2e_job_scheduling_{what}", says, labels=labels)
        for what, says in _PLACING_TIMES.items()
    )
    for key, at in islice(placed_at.items(), MOST_JOBS):
        job = snapshot.jobs.get(key)
        if job is not None:
            values = (job.spec.name, job.spec.queue, job.spec.namespace)
            duration.add_metric(values, max(0.0, at - job.spec.created) * 1e3)
            start.add_metric(values, job.spec.created)
            last.add_metric(values, at)
    yield from (duration, start, last)


_PLACING_TIMES = {
    "duration": "Milliseconds from the creation of a job until it runs.",
    "start_time": "When a job was created, seconds since the epoch.",
    "last_time": "When a job was first seen running, seconds since the epoch.",
}
