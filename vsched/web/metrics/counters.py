"""Counters and histograms of a daemon, under Volcano's names where the meaning is the same.

``gauges`` computes the gauges of queues and jobs at each scrape.
"""

from __future__ import annotations

from prometheus_client import CollectorRegistry, Gauge, Info

from vsched.proof.verify import RULES
from vsched.version import build
from vsched.web.metrics.tallies import Counter, Histogram

MILLISECONDS = (1, 2, 5, 10, 20, 50, 100, 200, 500, 1_000, 2_000, 5_000, 10_000, 30_000)
SECONDS = (0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 30.0)

KEPT = ("exception", "no-progress", "useless-eviction", "eviction-loop", "violation")
"""Reasons for which cycles are recorded."""
EVICTING = ("preempt", "reclaim", "gangpreempt", "gangreclaim", "consolidate", "arbitrate")
"""Actions whose evictions have a beneficiary."""


class Metrics:
    """Counters and histograms by the name they have in code."""

    def __init__(self, registry: CollectorRegistry) -> None:
        def histogram(name: str, says: str, *labels: str, buckets: tuple[float, ...] = MILLISECONDS) -> Histogram:
            return Histogram(registry, name, says, buckets, labels)

        def counter(name: str, says: str, *labels: str) -> Counter:
            return Counter(registry, name, says, labels)

        def gauge(name: str, says: str, *labels: str) -> Gauge:
            return Gauge(name, says, labels, registry=registry)

        found = build()
        what = {"version": found.version, "commit": found.commit, "python": found.python}
        Info("vsched_build", "Version, commit and Python of this build. Always 1.", registry=registry).info(what)

        # -- under Volcano's names
        self.e2e = histogram("volcano_e2e_scheduling_latency_milliseconds", "Duration of a whole session.")
        self.open_session = histogram("volcano_open_session_duration_milliseconds", "Duration of opening a session.")
        self.action = histogram(
            "volcano_action_scheduling_latency_milliseconds", "Duration of an action in a session.", "action"
        )
        self.plugin = histogram(
            "volcano_plugin_scheduling_latency_milliseconds",
            "Duration of opening a plugin in a session.",
            "plugin",
            "OnSession",
        )
        self.task = histogram(
            "volcano_task_scheduling_latency_milliseconds",
            "Time from the creation of a pod to each stage of its placement.",
            "stage",
        )
        self.stage = histogram(
            "volcano_scheduling_stage_duration_milliseconds", "Duration of a stage of placing a pod.", "stage"
        )
        self.job_latency = histogram(
            "volcano_e2e_job_scheduling_latency_milliseconds", "Time from the creation of a PodGroup until it runs."
        )
        self.attempts = counter("volcano_schedule_attempts_total", "Attempts to place a pod, by result.", "result")

        self.victims = gauge("volcano_pod_preemption_victims", "Victims of the latest preemption.")
        # A counter in all but its type: the library ends the names of counters in _total, and this one does not.
        self.preemptions = gauge("volcano_total_preemption_attempts", "Jobs for which preempt evicted pods.")
        self.eviction_transactions = counter(
            "volcano_eviction_transactions_total", "Jobs for which a session evicted pods, by action.", "action"
        )

        # -- new ones
        self.bound = counter("vsched_pods_bound_total", "Pods whose binding the API server accepted.")
        self.cycle = histogram(
            "vsched_cycle_seconds",
            "Duration of a scheduling cycle without its snapshot, by what started it.",
            "reason",
            buckets=SECONDS,
        )
        self.plugin_answers = histogram(
            "vsched_plugin_seconds",
            "Time spent in a plugin in a session; sampled.",
            "plugin",
            buckets=SECONDS,
        )
        self.snapshot = histogram("vsched_snapshot_seconds", "Duration of taking a snapshot.", buckets=SECONDS)
        self.handover = histogram(
            "vsched_handover_seconds", "Time from a decision until its writes are queued.", buckets=SECONDS
        )
        self.failed_cycles = counter("vsched_cycle_exceptions_total", "Sessions that ended in an error.")
        self.requests = counter(
            "vsched_api_writes_total", "Writes to the API server, each attempt counted.", "kind", "code"
        )
        self.request_seconds = histogram("vsched_api_write_seconds", "Duration of a write.", "kind", buckets=SECONDS)
        self.bindings = counter("vsched_bindings_total", "Placements by result.", "verdict")
        self.lost = counter(
            "vsched_lost_bindings_total", "Accepted bindings that the API server no longer has. Must stay 0."
        )
        self.bind_seconds = histogram(
            "vsched_binding_seconds", "Duration of a placement, with retries and waits.", buckets=SECONDS
        )
        self.evictions = counter("vsched_evictions_total", "Evictions by action and result.", "action", "verdict")
        self.eviction_seconds = histogram(
            "vsched_eviction_seconds", "Duration of an eviction, with retries and waits.", buckets=SECONDS
        )
        self.useless = counter(
            "vsched_useless_evictions_total",
            "Evictions after which the pods they were for were not placed. Must stay 0.",
            "action",
        )
        for action in EVICTING:
            self.useless.labels(action)  # a series that is not there cannot be seen to be 0
        self.loops = counter(
            "vsched_eviction_loops_total",
            "Evictions for jobs whose own pods were evicted for the victim's job before.",
            "action",
        )
        for action in EVICTING:
            self.loops.labels(action)
        self.recordings = counter(
            "vsched_recordings_total", "Sessions that were recorded because something looked wrong.", "reason"
        )
        for reason in KEPT:
            self.recordings.labels(reason)
        self.verified = counter(
            "vsched_verify_sessions_total", "Sessions that were checked against the rules, by result.", "result"
        )
        self.violations = counter(
            "vsched_verify_violations_total", "Checked decisions that violate a rule. Must stay 0.", "rule"
        )
        for rule in RULES:
            self.violations.labels(rule)
        self.memo = counter(
            "vsched_memo_answers_total",
            "Answers that sessions had kept (hit) or worked out (miss), by owner.",
            "owner",
            "result",
        )
        self.api_requests = counter(
            "vsched_api_requests_total",
            "Requests to the API server, with retries and watches. Code 0 means no answer.",
            "verb",
            "code",
        )
        self.watch_lag = histogram(
            "vsched_watch_lag_seconds",
            "Time from an accepted binding until the watch shows it.",
            buckets=SECONDS,
        )
        self.arbitration = histogram(
            "vsched_arbitration_seconds", "Duration of a round of arbitration.", buckets=SECONDS
        )
        self.arbitrations = counter("vsched_arbitration_rounds_total", "Rounds of arbitration, by result.", "result")
        self.advice = counter(
            "vsched_advice_searches_total", "Searches for changes that let a waiting job start, by result.", "result"
        )
        self.advice_seconds = counter(
            "vsched_advice_seconds_total", "CPU time of the searches for changes that let a waiting job start."
        )
        self.reloads = counter("vsched_policy_reloads_total", "Reloads of the policy, by result.", "result")
        self.reloaded = gauge(
            "vsched_policy_last_reload_timestamp_seconds", "Time of the last policy reload with this result.", "result"
        )
        self.generation = gauge("vsched_policy_generation", "The generation of the policy in force.")
        self.loop_lag = histogram("vsched_loop_lag_seconds", "Delay of the event loop.", buckets=SECONDS)
        self.loop_tasks = gauge("vsched_loop_tasks", "Number of tasks of the event loop.")
