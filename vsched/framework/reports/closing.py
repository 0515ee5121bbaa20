"""Builds the report of a cycle from a session whose actions have run.

The report has two parts. The effects are bindings, evictions, nominations and removed gates: the daemon writes them to
the API server. The outcomes are the states of jobs, pending tasks, queues and namespaces after the cycle.
"""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from vsched.framework.codes import Code
from vsched.framework.jobs import JobView
from vsched.framework.obstacles import UNSUPPORTED
from vsched.framework.reports.effects import bound_by, decided
from vsched.framework.reports.holdings import NO_SUCH_CLASS, namespace_outcomes, queue_outcomes
from vsched.framework.reports.last import LastReport, Verdicts
from vsched.framework.reports.limits import SILENT, UnschedulableReason
from vsched.framework.reports.on_paper import give_up
from vsched.framework.reports.pending_pods import set_back
from vsched.framework.reports.plain import PlainJobs, PlainRecord
from vsched.framework.reports.planned import planned_start, unplanned, with_start
from vsched.framework.reports.releases import releases
from vsched.framework.reports.scaling import NO_NODES_WANTED, ScaleUps
from vsched.framework.reports.unschedulable import UnschedulableReasons
from vsched.framework.reports.verdicts import verdicts, verdicts_of_strays, with_refused, with_request
from vsched.framework.session import Session
from vsched.framework.trace import Trace
from vsched.model.jobs.advice import Advice, advised
from vsched.model.jobs.runs import with_condition
from vsched.model.jobs.spec import STATED, Condition
from vsched.model.plan import (
    SUB_GROUPS_MAX,
    CycleReport,
    JobOutcome,
    SubGroupOutcome,
)
from vsched.model.pods.status import Phase, Status

_SUCCEEDED, _FAILED, _RUNNING, _BOUND, _RELEASING, _BINDING = (
    Status.SUCCEEDED,
    Status.FAILED,
    Status.RUNNING,
    Status.BOUND,
    Status.RELEASING,
    Status.BINDING,
)
"""Looked up once: members of enumerations take long to look up in Python 3.11."""

BINDING_REFUSED = "BindingRefused"
"""The reason of a job that has nodes which the API server does not let its pods have."""
NOTICE = "PriorityClassMissing"
LAST = "reports"
"""The owner of ``LastReport``."""
_SOME = 256
OWN_REASONS = frozenset(
    (
        Code.QUEUE_NOT_FOUND,
        Code.QUEUE_CLOSED,
        Code.QUEUE_LEFT_OUT,
        Code.QUEUE_NOT_LEAF,
        Code.RUNNING_JOBS,
        Code.WALL_TIME,
        Code.CLAIM,
        Code.GATED,
        Code.REFUSED,
    )
)
"""Codes of causes that neither nodes nor more pods would mend: the PodGroup's condition has them as its reason."""


def close(session: Session, trace: Trace, before: CycleReport | None = None) -> CycleReport:
    """The report of a session whose actions have run.

    ``before`` is the previous report, if all its inputs are unchanged.
    """
    report = trace.timed("close", "report", _report, session, before)
    spans = trace.spans()
    return msgspec.structs.replace(report, spans=spans) if spans else report


def _report(session: Session, before: CycleReport | None) -> CycleReport:
    last = session.memo.take(LAST, LastReport) or LastReport()
    reasons = UnschedulableReasons(session)
    plain, bound = PlainJobs(reasons), bound_by(session)
    scaling = ScaleUps(reasons, bound, plain)

    def outcome_of(view: JobView) -> JobOutcome:
        return _outcome(reasons, plain, view, last)

    of_spans = last.spans.changed(session, plain, scaling, outcome_of)
    views = [*_active(session, of_spans), *_others(session).values()]
    outcomes = {view.key: outcome_of(view) for view in views}
    scale_ups = scaling.of([(view, outcomes[view.key]) for view in views], last.spans.segments)
    others = last.spans.answered(session, plain, scaling)
    views += map(session.jobs.__getitem__, others)
    outcomes |= {key: outcome_of(session.jobs[key]) for key in others}
    scale_ups |= others
    found: dict[str, Verdicts] = {}
    for view in views:
        scale_up = scale_ups.get(view.key, NO_NODES_WANTED)
        of_pods = verdicts(reasons, view, outcomes[view.key], bound, scale_up, last, plain)
        found[view.key] = with_refused(session, view, of_pods)
    jobs, unschedulable = last.turn(session, outcomes, found, verdicts_of_strays(session))
    while views:  # a hundred thousand views are freed little by little: other threads wait meanwhile
        del views[-_SOME:]
    session.memo.leave(LAST, last)
    if before is not None:
        queues, namespaces = before.queues, before.namespaces
    else:
        with session.statement():
            give_up(session)
            queues, namespaces = queue_outcomes(session), namespace_outcomes(session)
    return msgspec.structs.replace(
        decided(session),
        jobs=jobs,
        unschedulable=unschedulable,
        queues=queues,
        namespaces=namespaces,
        released=releases(session),
    )


def _active(session: Session, of_spans: Iterable[str]) -> Iterable[JobView]:
    """The active jobs to report on, in order: those in no span, and some of spans."""
    keys = {*session.waiting.keys_alone(), *of_spans}
    return session.jobs.values() if len(keys) == len(session.jobs) else map(session.jobs.__getitem__, sorted(keys))


def _others(session: Session) -> dict[str, JobView]:
    """The other jobs to report on: those that the session skipped, those with victims, and those that changed.

    "Changed" means changed since the last cycle.
    """
    with_victims = {key: view for key, view in session.victimised.items() if view.moved}
    views, jobs = {**session.stranded, **with_victims}, session.snapshot.jobs
    own = session.jobs
    for key in session.snapshot.changed:
        if key not in own and key not in views and (job := jobs.get(key)) is not None:
            views[key] = JobView(job)
    return views


def is_repeatable(session: Session) -> bool:
    """Whether the report is on active and skipped jobs alone, not on others that changed or lost pods."""
    jobs, stranded = session.jobs, session.stranded
    known = session.snapshot.jobs
    return not any(view.moved for view in session.victimised.values()) and all(
        key in jobs or key in stranded or key not in known for key in session.snapshot.changed
    )


# -- jobs -----------------------------------------------------------------------------------------------------------


def _outcome(reasons: UnschedulableReasons, plain: PlainJobs, view: JobView, last: LastReport) -> JobOutcome:
    """A job's outcome; that of the last cycle where it would be the same."""
    session, key = reasons.session, view.key
    advice, found, known = session.snapshot.advice.get(key), plain.look(view), last.records.get(key)
    if found is not None and known is not None and plain.holds(view, found, advice, known):
        return known.outcome
    headline = None if found is None else found.reason.headline
    outcome = job_outcome(reasons, view, session.plugins.job_condition(view), advice, headline)
    if found is not None:
        last.records[key] = PlainRecord(view.job, view.phase, advice, found, outcome)
    else:
        last.records.pop(key, None)
    return outcome


def job_outcome(
    waiting: UnschedulableReasons,
    view: JobView,
    condition: Condition | None,
    advice: Advice | None,
    headline: UnschedulableReason | None,
) -> JobOutcome:
    """A job's status as it should be written; ``headline`` is why it waits, where that is known already."""
    spec, counts = view.spec, view.job.counts
    stays_over = view.phase == Phase.COMPLETED and _stays_over(view)
    condition = None if stays_over else condition
    phase = Phase.COMPLETED if stays_over else next_phase(view, condition)
    running, succeeded, failed = counts[_RUNNING], counts[_SUCCEEDED], counts[_FAILED]
    if stays_over:
        succeeded, failed = max(succeeded, spec.succeeded), max(failed, spec.failed)
    written = (spec.written_phase or spec.phase, spec.running, spec.succeeded, spec.failed, spec.conditions)
    session, headline = waiting.session, waiting.of(view) if headline is None else headline
    planned = None if session.reserved.planned is None else planned_start(session, view.key)
    if planned is not None:
        headline = with_start(session, headline, planned)
    if session.snapshot.provisioning:
        headline = with_request(session, headline, view)
    if headline.code and headline.code == Code.UNSUPPORTED and view.ready < max(1, view.min_member):
        # This reason overrides what plugins say: a cluster autoscaler must not add nodes for such a job.
        message = headline.message
        condition = Condition("Unschedulable", "True", UNSUPPORTED, message)
    elif condition is not None and condition.kind == "Unschedulable":
        headline = headline if headline.message else waiting.otherwise(view, condition.message)
        message = advised(headline.message, advice)
        # Tools look for Volcano's reasons; but what has nothing to do with room or with pods is its own.
        reason = str(headline.code) if headline.code in OWN_REASONS else condition.reason
        condition = Condition("Unschedulable", condition.status, reason, message, condition.since)
    elif _lacks_bindings(session, view):
        message = headline.message
        condition = Condition("Unschedulable", "True", BINDING_REFUSED, message)
    else:
        message = advised(headline.message, advice)
    conditions = noticed(merged(spec.conditions, condition), view.job.notice)
    run = session.plugins.run_condition(view) if session.plugins.limits_runs else None
    conditions = conditions if run is None else with_condition(conditions, run)
    if phase == Phase.COMPLETED and not view.pending_count and not view.waiting:
        headline, message = SILENT, ""  # some of its pods failed, and no pod waits
    settled = session.places.settled(view) if view.asks_closeness else None
    return JobOutcome(
        key=view.key,
        queue=view.queue,
        phase=phase,
        min_member=view.min_member,
        ready=view.ready,
        pending=view.pending_count + view.waiting,
        running=running,
        succeeded=succeeded,
        failed=failed,
        conditions=conditions,
        code=str(headline.code),
        message=message,
        reasons=dict(headline.reasons),
        implicit=spec.implicit,
        changed=not spec.implicit and (phase, running, succeeded, failed, conditions) != written,
        domain="" if settled is None else settled.name,
        tier=None if settled is None else settled.level,
        sub_groups=_sub_groups(session, view) if view.asks_closeness else (),
        planned=planned,
        unplanned="" if session.reserved.planned is None else unplanned(session, view),
        ahead_of="" if session.reserved.planned is None else session.reserved.planned.ahead_of(view),
    )


def _lacks_bindings(session: Session, view: JobView) -> bool:
    """Whether the job has its minimum only with tasks that have a node and are refused their binding."""
    refused = len(set_back(session, view, (_BINDING,)))
    return bool(refused) and view.ready - refused < view.min_member


def _sub_groups(session: Session, view: JobView) -> tuple[SubGroupOutcome, ...]:
    """Where its sub-groups are that ask for closeness themselves."""
    found = session.places.settled_groups(view, SUB_GROUPS_MAX)
    return tuple(SubGroupOutcome(group.name, domain.name, domain.level) for group, domain in found)


def next_phase(view: JobView, condition: Condition | None) -> str:
    """The phase of a job that does not stay completed.

    Tasks that this cycle placed do not count as scheduled until they are bound.
    """
    counts = view.job.counts
    unschedulable = condition is not None and condition.kind == "Unschedulable"
    if view.running and unschedulable:
        return Phase.UNKNOWN
    finished = counts[_SUCCEEDED] + counts[_FAILED]
    scheduled = counts[_RUNNING] + counts[_BOUND] + finished
    if counts[_RELEASING]:
        scheduled += sum(1 for task in view.job.tasks.values() if task.node and task.status is _RELEASING)
    if scheduled >= view.min_member:
        return Phase.COMPLETED if scheduled == finished else Phase.RUNNING
    # A job whose places are being freed keeps its admission: if it had to enter again, it would lose those places.
    has_places = view.waiting > 0 and view.is_pipelined and not view.waiting_to_enter
    return Phase.INQUEUE if view.phase == Phase.INQUEUE or has_places else Phase.PENDING


def _stays_over(view: JobView) -> bool:
    """Whether a completed job stays completed: it has no pods but finished ones, which may have been deleted."""
    counts = view.job.counts
    return counts[_SUCCEEDED] + counts[_FAILED] == len(view.job.tasks)


def merged(conditions: tuple[Condition, ...], latest: Condition | None) -> tuple[Condition, ...]:
    """The conditions with ``latest`` in the place of its type; other stated conditions that were true become false.

    A condition whose status did not change keeps its time. One whose status changed gets time 0: it is not set yet.
    """
    if latest is None:
        return conditions
    if not conditions:
        return (latest,)
    if len(conditions) == 1 and (known := conditions[0]).kind == latest.kind and known.status == latest.status:
        if known.reason == latest.reason and known.message == latest.message:
            return conditions
        return (msgspec.structs.replace(latest, since=known.since),)
    before = next((one for one in conditions if one.kind == latest.kind and one.status == latest.status), None)
    if before is not None:
        latest = msgspec.structs.replace(latest, since=before.since)
    others = tuple(
        msgspec.structs.replace(one, status="False", reason=latest.reason, message="", since=0.0)
        if one.kind in STATED and one.status == "True"
        else one
        for one in conditions
        if one.kind != latest.kind
    )
    at = next((at for at, one in enumerate(conditions) if one.kind == latest.kind), len(others))
    return (*others[:at], latest, *others[at:])


def noticed(conditions: tuple[Condition, ...], notice: str) -> tuple[Condition, ...]:
    """The conditions with the one that says whether the job's PriorityClass is missing (``notice``) or found."""
    known = None
    for one in conditions:
        if one.kind == NOTICE:
            known = one
            break
    if notice:
        latest = Condition(NOTICE, "True", NO_SUCH_CLASS, notice)
        if known is not None and (known.status, known.message) == ("True", notice):
            return conditions
    elif known is None or known.status == "False":
        return conditions
    else:
        latest = Condition(NOTICE, "False", "PriorityClassFound")
    return tuple(latest if one is known else one for one in conditions) if known is not None else (*conditions, latest)
