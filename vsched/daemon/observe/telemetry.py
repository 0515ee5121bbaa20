"""Everything that a daemon counts and logs about its work.

Other modules report facts here; this one turns them into metrics, log lines and rows of the history.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence

import msgspec
from prometheus_client import CollectorRegistry

from vsched.arbitrator.taking.placing import ACTION as ARBITRATE
from vsched.clock import Clock
from vsched.daemon.observe.process_telemetry import ProcessTelemetry
from vsched.daemon.observe.settings import ObserveSettings
from vsched.daemon.observe.summary import SessionSummary
from vsched.daemon.observe.transactions import Transactions
from vsched.daemon.observe.wasted_evictions import GRANTED, WastedEvictions, kept_by, promised_by
from vsched.daemon.policy.rollout.figures import Counts, note
from vsched.daemon.triggers import Reason
from vsched.daemon.words import log as words
from vsched.handlers import Handlers
from vsched.log import logger
from vsched.model.dump.cycle import RecordingHead
from vsched.model.plan import Bind, CycleReport, Evict, Withdraw
from vsched.model.pods.task import Task
from vsched.model.snapshot import Snapshot
from vsched.proof.verify import RuleFinding
from vsched.web.findings import Arbitrated, Findings
from vsched.web.metrics.counters import Metrics
from vsched.web.metrics.gauges import Gauges, NumberGauges
from vsched.web.metrics.usage_counters import UsageMetrics
from vsched.web.overview.history import SessionHistory, session_row
from vsched.web.overview.past_shares import hourly_shares
from vsched.web.overview.share_history import ShareHistory
from vsched.web.overview.shares import PodCounts, counting, queue_shares
from vsched.writes.bindings import BindOutcome, Outcome
from vsched.writes.evictions import EvictionOutcome, EvictionVerdict
from vsched.writes.limits import TokenBucket

RESULTS = {
    BindOutcome.BOUND: "scheduled",
    BindOutcome.GONE: "error",
    BindOutcome.REFUSED: "error",
    BindOutcome.GAVE_UP: "error",
    BindOutcome.UNDONE: "error",
    BindOutcome.DROPPED: "error",
}
"""The label of ``volcano_schedule_attempts_total`` for each outcome of a binding."""

LINE_SECONDS = 1.0
"""The least time between two log lines about sessions."""
FAILURES_PER_SECOND = 5.0
"""Log lines about failed bindings and evictions: an outage fails thousands."""
MOST_AWAITED = 10_000
"""How many accepted bindings are timed until the watch shows them."""
PREEMPT = "preempt"
"""The action that Volcano's numbers of preemptions are about."""


class Timing(msgspec.Struct, frozen=True):
    """How long the parts of one session took, in seconds."""

    reason: Reason
    snapshot: float
    decide: float
    handover: float

    @property
    def parts(self) -> tuple[float, float, float]:
        return self.snapshot, self.decide, self.handover

    @property
    def total(self) -> float:
        return sum(self.parts)


class Telemetry:
    """Counts and logs sessions, arbitration, bindings and evictions."""

    def __init__(
        self,
        clock: Clock,
        task_of: Callable[[str], Task | None] = lambda uid: None,
        settings: ObserveSettings | None = None,
    ) -> None:
        settings = settings or ObserveSettings()
        self.registry = CollectorRegistry()
        self.metrics = Metrics(self.registry)
        self.process = ProcessTelemetry(self.metrics)
        """What the daemon counts and logs of itself."""
        self._log = logger("vsched")
        self.findings = Findings()
        self.history = SessionHistory()
        self.shares = ShareHistory()
        self._shares_since = 0.0
        """When the usage history began that the shares were filled from, seconds since the epoch."""
        self._clock = clock
        self._created: dict[str, float] = {}
        """Creation times of pods whose bindings are under way; bounded by the dispatcher's queue."""
        self._accepted: dict[str, float] = {}
        """By pod's uid: when its binding was accepted, until the watch shows it."""
        self._wasted = WastedEvictions(
            task_of,
            self._count_wasted,
            bound_seconds=settings.wasted_seconds,
            look_seconds=settings.wasted_look_seconds,
        )
        self.follows = self._wasted.follows
        """Whether evictions for a beneficiary are still followed."""
        self.on_outcome: Handlers[[Outcome]] = Handlers()
        """Called with each binding that has ended."""
        self.on_eviction: Handlers[[EvictionOutcome]] = Handlers()
        """Called with each eviction that has ended."""
        self.on_useless: Handlers[[str, str]] = Handlers()
        """Called with the beneficiary and the node of wasted evictions."""
        self.on_loop: Handlers[[str, str]] = Handlers()
        """Called with two jobs that take from each other in turn."""
        self.measured = Counts()
        """What happened since the keeper of the policy's rollout asked last; bounded by the classes of times."""
        self.shadowed = Counts()
        """The same of a candidate that decides beside the policy in force."""
        self.measured_from = 0.0
        """Waits of pods that were created earlier are not among these; seconds since the epoch."""
        self._bind_stage = self.metrics.stage.labels("Bind")
        self._task_assumed, self._task_bound = map(self.metrics.task.labels, ("Assumed", "Bound"))
        self._transactions = Transactions()
        self._last_failure = ""
        self._last_arbitration_error = ""
        """The error of the last round of arbitration; empty if it had none."""
        self._summary = SessionSummary()
        self._next_line_at = 0.0
        self._failure_lines = TokenBucket(FAILURES_PER_SECOND, FAILURES_PER_SECOND, clock.monotonic)
        self._unlogged = 0
        """Failures that were counted and not logged."""
        self.registry.register(Gauges(self.findings))
        self._used = UsageMetrics(self.findings)
        self.registry.register(self._used)

    def read_off(self, numbers: Callable[[], Mapping[str, Mapping[str, float]]]) -> None:
        """Have these numbers among the metrics, asked for at every scrape: by name, then by the only label."""
        self.registry.register(NumberGauges(numbers))

    def take_measured(self) -> Counts:
        """What happened since this was asked last."""
        found, self.measured = self.measured, Counts()
        return found

    def take_shadowed(self) -> Counts:
        """The same of the candidate in a shadow step."""
        found, self.shadowed = self.shadowed, Counts()
        return found

    def note(self, event: str, **fields: object) -> None:
        """Log a step of the daemon's life: started, synced, stopping."""
        self._log.info(event, **fields)

    def worry(self, event: str, **fields: object) -> None:
        """Log a warning: something that a person should know, though the daemon goes on."""
        self._log.warning(event, **fields)

    # -- sessions

    def assumed(self, snapshot: Snapshot, report: CycleReport) -> Iterator[None]:
        """Count the pods that are to be bound, one a step; call it before their bindings are sent."""
        for bind in report.binds:
            self._assumed(snapshot, bind)
            yield

    def telling(self, snapshot: Snapshot, report: CycleReport, timing: Timing) -> Iterator[None]:
        """Count and log a session that has ended, and keep its results, in steps; other tasks may run in between."""
        self._last_failure = ""
        placed: list[str] = []
        yield from self.findings.taking(snapshot, report, placed)
        for key in placed:
            self.metrics.job_latency.observe(self._age_ms(snapshot.jobs[key].spec.created))
            yield
        self.history.add(session_row(self.findings.cycles, snapshot.now, timing.reason.value, timing.parts, report))
        if self.shares.is_due(snapshot.now):
            counts: PodCounts = Counter()
            yield from counting(snapshot, report.binds, counts)
            shares = queue_shares(snapshot, report, counts)
            self.shares.add(snapshot.now, shares)
            self._restore_shares(snapshot)
            self._used.read(snapshot.history, shares)
            yield
        self._measure(report, timing)
        if report.evictions:
            self.history.evictions.decided(snapshot.now, report.evictions, snapshot.jobs)
            self._transactions.decided(self.findings.cycles, report.evictions)
            self._wasted.decided(report.evictions, kept_by(snapshot, report))
        self._wasted.look(self._clock.monotonic(), snapshot.nodes.statics)
        if report.unschedulable:
            self.metrics.attempts.labels("unschedulable").inc(len(report.unschedulable))
        self._summary.add(report, timing.total)
        self._log_summary()

    def _restore_shares(self, snapshot: Snapshot) -> None:
        """Fill the shares of the past week once the usage history goes back further: it was restored then."""
        since = snapshot.history.since
        if since != self._shares_since and self.shares.restore(hourly_shares(snapshot.history, snapshot.queues)):
            self._shares_since = since

    def _log_summary(self) -> None:
        """Log sessions that did something, at most once a second: under load there are a hundred a second."""
        summary = self._summary
        if summary.placed + summary.evicted and self._clock.monotonic() >= self._next_line_at:
            self._next_line_at = self._clock.monotonic() + LINE_SECONDS
            self._summary = SessionSummary()
            self._log.info(
                "sessions",
                sessions=summary.sessions,
                placed=summary.placed,
                evicted=summary.evicted,
                waiting=summary.waiting,
                longest_ms=round(summary.longest_seconds * 1e3, 1),
            )

    def _measure(self, report: CycleReport, timing: Timing) -> None:
        metrics = self.metrics
        metrics.e2e.observe(timing.total * 1e3)
        note(self.measured.sessions, timing.total)
        metrics.cycle.labels(timing.reason.value).observe(timing.decide)
        metrics.snapshot.observe(timing.snapshot)
        metrics.handover.observe(timing.handover)
        for kind, name, seconds in report.spans:
            match kind:
                case "action":
                    metrics.action.labels(name).observe(seconds * 1e3)
                case "open":
                    metrics.plugin.labels(name, "OnSessionOpen").observe(seconds * 1e3)
                case "plugin":
                    metrics.plugin_answers.labels(name).observe(seconds)
                case "session":
                    metrics.open_session.observe(seconds * 1e3)

    def _assumed(self, snapshot: Snapshot, bind: Bind) -> None:
        job = snapshot.jobs.get(bind.job)
        task = job.tasks.get(bind.uid) if job is not None else None
        if task is not None and task.created:
            self._created[bind.uid] = task.created
            self._task_assumed.observe(self._age_ms(task.created))

    def _age_ms(self, created: float) -> float:
        # The creation time stamp has whole seconds only, so an age may come out a little negative.
        return max(0.0, self._clock.now() - created) * 1e3

    def _count_victim(self, uid: str, *, evicted: bool) -> None:
        """Victims of one beneficiary by one action of a session are one transaction, once one of them is evicted."""
        transaction = self._transactions.answered(uid, evicted=evicted)
        if transaction is None:
            return
        if not evicted:
            self.history.refused(transaction.session)
            return
        self._summary.evicted += 1
        if transaction.evicted == 1:
            self.metrics.eviction_transactions.labels(transaction.action).inc()
        if transaction.action == PREEMPT:
            self.metrics.preemptions.inc(transaction.evicted == 1)
            self.metrics.victims.set(transaction.evicted)

    def _count_wasted(self, beneficiary: str, node: str, counts: Mapping[str, int]) -> None:
        for action, count in counts.items():
            self.metrics.useless.labels(action).inc(count)
            self.measured.in_vain += count
        self._log.warning(
            words.WASTED,
            beneficiary=beneficiary,
            node=node,
            evictions=sum(counts.values()),
        )
        self.on_useless(beneficiary, node)

    def looped(self, eviction: Evict, seconds: float) -> None:
        """A job took from one that had taken from it before."""
        self.metrics.loops.labels(eviction.action).inc()
        jobs = {"beneficiary": eviction.beneficiary, "victim": eviction.job}
        self._log.warning(words.EVICT_EACH_OTHER, **jobs, no_evictions_between_them_seconds=seconds)
        self.on_loop(eviction.beneficiary, eviction.job)

    def kept(self, head: RecordingHead, size: int) -> None:
        """A cycle in which something looked wrong was kept."""
        self.metrics.recordings.labels(head.why).inc()
        fetch = words.fetch(head.number)
        self._log.warning(
            words.SESSION_RECORDED, number=head.number, why=head.why, says=head.says, bytes=size, fetch=fetch
        )

    def verified(self, number: int, findings: Sequence[RuleFinding] | None) -> None:
        """A session was checked against the rules; None where that took too long."""
        broken = [one for one in findings or () if one.violations]
        self.metrics.verified.labels("given up" if findings is None else "violated" if broken else "kept").inc()
        for one in broken:
            self.metrics.violations.labels(one.rule).inc(len(one.violations))
            first = {"says": one.violations[0], "violations": len(one.violations)}
            self._log.warning(words.VIOLATED, session=number, rule=one.rule, **first)

    def kept_by_sessions(self, counts: Mapping[str, tuple[int, int]]) -> None:
        """Answers that sessions had kept, and those that they worked out, by owner, since it was last told."""
        for owner, (hits, misses) in counts.items():
            self.metrics.memo.labels(owner, "hit").inc(hits)
            self.metrics.memo.labels(owner, "miss").inc(misses)

    def session_failed(self, error: Exception, pause_seconds: float) -> None:
        """A session ended in an error: logged with its traceback the first time, in one line after that."""
        self.metrics.failed_cycles.inc()
        text = f"{type(error).__name__}: {error}"
        if text == self._last_failure:
            self._log.warning(words.SESSION_FAILED_AGAIN, error=text, next_in_seconds=round(pause_seconds, 1))
        else:
            self._last_failure = text
            self._log.error(words.SESSION_FAILED, next_in_seconds=round(pause_seconds, 1), exc_info=error)

    # -- arbitration

    def arbitrated(self, found: Arbitrated, seconds: float) -> None:
        """The cluster was divided among namespaces, and what follows was handed over."""
        before = self.findings.arbitrated
        self._last_arbitration_error = ""
        self.findings.take_arbitrated(found)
        self.metrics.arbitration.observe(seconds)
        self.metrics.arbitrations.labels("success").inc()
        self._wasted.decided(found.verdict.evictions, promised_by(found.verdict))
        known = before.verdict.overused if before is not None else {}
        for namespace, overuse in found.verdict.overused.items():
            if namespace not in known and self._failure_lines.try_take():
                self._log.info("overused", namespace=namespace, short=overuse.claimants[:10])

    def arbitration_failed(self, error: Exception, pause_seconds: float) -> None:
        """A round of arbitration ended in an error: logged the first time, only counted after that."""
        self.metrics.arbitrations.labels("failure").inc()
        text = f"{type(error).__name__}: {error}"
        if text != self._last_arbitration_error:
            self._last_arbitration_error = text
            self._log.error(words.ARBITRATION_FAILED, next_in_seconds=round(pause_seconds, 1), exc_info=error)

    # -- writes

    def awaiting(self, uid: str) -> None:
        """A binding was accepted, and the watch does not show it yet."""
        if len(self._accepted) >= MOST_AWAITED:
            del self._accepted[next(iter(self._accepted))]
        self._accepted[uid] = self._clock.monotonic()

    def arrived(self, uid: str) -> None:
        """The watch shows what became of a pod that was to be bound."""
        accepted_at = self._accepted.pop(uid, None)
        if accepted_at is not None:
            self.metrics.watch_lag.observe(self._clock.monotonic() - accepted_at)

    def outcome(self, outcome: Outcome) -> None:
        """A binding has ended, well or not."""
        self.on_outcome(outcome)
        created = self._created.pop(outcome.bind.uid, None)
        self.metrics.bindings.labels(outcome.verdict.value).inc()
        self.metrics.attempts.labels(RESULTS[outcome.verdict]).inc()
        self.metrics.bind_seconds.observe(outcome.seconds)
        self._bind_stage.observe(outcome.seconds * 1e3)
        if outcome.bound:
            self.metrics.bound.inc()
            self.history.bound += 1
            if created is not None:
                age_ms = self._age_ms(created)
                self._task_bound.observe(age_ms)
                if created >= self.measured_from:
                    note(self.measured.waits, age_ms / 1e3)
            return
        if outcome.verdict is not BindOutcome.GONE:  # a pod may be deleted at any time: nothing has failed
            self._log_failed("binding failed", outcome.bind, outcome)

    def binding_lost(self, bind: Bind) -> None:
        """A binding was accepted, and the API server no longer knows it."""
        self.metrics.lost.inc()
        if self._failure_lines.try_take():
            problem = words.ACCEPTED_AND_GONE
            self._log.warning(words.BINDING_LOST, pod=f"{bind.namespace}/{bind.name}", node=bind.node, problem=problem)
        else:
            self._unlogged += 1

    def eviction(self, outcome: EvictionOutcome) -> None:
        """An eviction has ended, well or not."""
        self.on_eviction(outcome)
        eviction, verdict = outcome.eviction, outcome.verdict
        self.metrics.evictions.labels(eviction.action, verdict.value).inc()
        self.metrics.eviction_seconds.observe(outcome.seconds)
        if verdict is EvictionVerdict.REQUESTED:
            self.history.evictions.answered(self._clock.now(), eviction, verdict.value, "")
            return
        self._wasted.answered(eviction, verdict)
        self._count_victim(eviction.uid, evicted=verdict in GRANTED)
        self.history.evicted += verdict is EvictionVerdict.EVICTED
        self.measured.evictions += verdict is EvictionVerdict.EVICTED
        said = "" if verdict in GRANTED else outcome.message
        self.history.evictions.answered(self._clock.now(), eviction, verdict.value, said)
        if verdict is EvictionVerdict.EVICTED and eviction.action == ARBITRATE:
            self.findings.arbitrated_away[eviction.namespace] += 1
        if verdict in (EvictionVerdict.EVICTED, EvictionVerdict.GONE):
            self._log.debug(
                "eviction",
                pod=f"{eviction.namespace}/{eviction.name}",
                node=eviction.node,
                verdict=verdict.value,
                action=eviction.action,
                beneficiary=eviction.beneficiary,
            )
            return
        self._log_failed("eviction failed", eviction, outcome, action=eviction.action, beneficiary=eviction.beneficiary)

    def withdrawal(self, withdrawal: Withdraw, verdict: EvictionVerdict, message: str) -> None:
        """A request that a pod ends by itself was withdrawn, or could not be for now."""
        self.metrics.evictions.labels(withdrawal.action, verdict.value).inc()
        told = Evict.__struct_fields__[: Evict.__struct_fields__.index("wait")]
        about = Evict(*(getattr(withdrawal, name) for name in told))
        if verdict is EvictionVerdict.WITHDRAWN:
            self._wasted.answered(about, verdict)
            self._count_victim(about.uid, evicted=False)
            self.history.evictions.answered(self._clock.now(), about, verdict.value, withdrawal.why)
        elif verdict is EvictionVerdict.GAVE_UP and self._failure_lines.try_take():
            pod = f"{withdrawal.namespace}/{withdrawal.name}"
            self._log.warning(words.NOT_WITHDRAWN, pod=pod, node=withdrawal.node, message=message)

    def _log_failed(self, event: str, effect: Bind | Evict, outcome: Outcome | EvictionOutcome, **fields: str) -> None:
        if not self._failure_lines.try_take():
            self._unlogged += 1
            return
        unsaid, self._unlogged = self._unlogged, 0
        self._log.warning(
            event,
            pod=f"{effect.namespace}/{effect.name}",
            node=effect.node,
            verdict=outcome.verdict.value,
            code=outcome.code,
            message=outcome.message,
            unsaid=unsaid,
            **fields,
        )
