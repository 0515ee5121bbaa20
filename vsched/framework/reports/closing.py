"""Builds the report of a cycle from a session whose actions have run.

The report has two parts. The effects are bindings, evictions, nominations and removed gates: the daemon writes them to
the API server. The outcomes say how jobs, pending tasks, queues and namespaces stand after the cycle.
"""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from vsched.framework.codes import Code
from vsched.framework.jobs import JobView
from vsched.framework.nodes.why import NodeReasons
from vsched.framework.obstacles import UNSUPPORTED
from vsched.framework.refusal import Refusal
from vsched.framework.reports.effects import bound_by, decided
from vsched.framework.reports.limits import SILENT
from vsched.framework.reports.planned import planned_start, with_start
from vsched.framework.reports.releases import releases
from vsched.framework.reports.unschedulable import UnschedulableReasons, in_sight, refusal_of
from vsched.framework.session import PIPELINED, Session
from vsched.framework.subgroups import Composite
from vsched.framework.trace import Trace
from vsched.model.jobs.advice import Advice, advised, headline_of
from vsched.model.jobs.job import STATED, Condition
from vsched.model.jobs.native import title_of
from vsched.model.jobs.runs import with_condition
from vsched.model.plan import (
    SUB_GROUPS_MAX,
    CycleReport,
    JobOutcome,
    NamespaceOutcome,
    QueueOutcome,
    SubGroupOutcome,
    Unschedulable,
)
from vsched.model.pods.status import SCHEDULED, Phase, Status
from vsched.model.pods.task import Task

NOTICE, NO_SUCH_CLASS = "PriorityClassMissing", "NoSuchPriorityClass"


def close(session: Session, trace: Trace) -> CycleReport:
    """The report of a session whose actions have run."""
    with trace.span("close", "report"):
        reasons = UnschedulableReasons(session)
        jobs: dict[str, JobOutcome] = {}
        unschedulable: dict[str, Unschedulable] = {}
        bound = bound_by(session)
        for view in _views(session):
            condition = session.plugins.job_condition(view)
            jobs[view.key] = job_outcome(reasons, view, condition, session.snapshot.advice.get(view.key))
            for verdict in _verdicts(reasons, view, jobs[view.key], bound):
                unschedulable[f"{verdict.namespace}/{verdict.name}"] = verdict
        for verdict in _verdicts_of_strays(session):
            unschedulable[f"{verdict.namespace}/{verdict.name}"] = verdict
        queues = {name: queue_outcome(session, name) for name in sorted(session.snapshot.queues)}
        namespaces = namespace_outcomes(session)
    return msgspec.structs.replace(
        decided(session),
        jobs=jobs,
        unschedulable=unschedulable,
        queues=queues,
        namespaces=namespaces,
        released=releases(session),
        spans=trace.spans(),
    )


def _views(session: Session) -> Iterable[JobView]:
    """The jobs to report: those of the session, those that it skipped, those with victims, those that changed.

    "Changed" means changed since the last cycle. Each job comes once.
    """
    yield from session.jobs.values()
    yield from session.stranded.values()
    with_victims = {key: view for key, view in session.victimised.items() if view.moved}
    yield from with_victims.values()
    jobs = session.snapshot.jobs
    for key in session.snapshot.changed:
        if key not in session.jobs and key not in session.stranded and key not in with_victims and key in jobs:
            yield JobView(jobs[key])


# -- jobs -----------------------------------------------------------------------------------------------------------


def job_outcome(
    waiting: UnschedulableReasons, view: JobView, condition: Condition | None, advice: Advice | None
) -> JobOutcome:
    """A job's status as it should be written (reference 1.10)."""
    spec, counts = view.spec, view.job.counts
    stays_over = _stays_over(view)
    condition = None if stays_over else condition
    phase = next_phase(view, condition)
    running, succeeded, failed = counts[Status.RUNNING], counts[Status.SUCCEEDED], counts[Status.FAILED]
    if stays_over:
        succeeded, failed = max(succeeded, spec.succeeded), max(failed, spec.failed)
    written = (spec.written_phase or spec.phase, spec.running, spec.succeeded, spec.failed, spec.conditions)
    planned = planned_start(waiting.session, view.key)
    headline = with_start(waiting.session, waiting.of(view), planned)
    if headline.code == Code.UNSUPPORTED and view.ready < max(1, view.min_member):
        # This reason overrides what plugins say: a cluster autoscaler must not add nodes for such a job.
        message = headline.message
        condition = Condition("Unschedulable", "True", UNSUPPORTED, message)
    elif condition is not None and condition.kind == "Unschedulable":
        headline = headline if headline.message else waiting.otherwise(view, condition.message)
        message = advised(headline.message, advice)
        # The reason stays one of the reference's reasons, because tools look for them.
        condition = msgspec.structs.replace(condition, message=message)
    else:
        message = advised(headline.message, advice)
    conditions = noticed(merged(spec.conditions, condition), view.job.notice)
    run = waiting.session.plugins.run_condition(view)
    conditions = conditions if run is None else with_condition(conditions, run)
    if phase == Phase.COMPLETED and not view.pending_count and not view.waiting:
        headline, message = SILENT, ""  # some of its pods failed, and no pod waits
    settled = waiting.session.places.settled(view)
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
        sub_groups=_sub_groups(waiting.session, view),
        planned=planned,
        ahead_of="" if waiting.session.kept is None else waiting.session.kept.ahead_of(view),
    )


def _sub_groups(session: Session, view: JobView) -> tuple[SubGroupOutcome, ...]:
    """Where its sub-groups are that ask for closeness themselves."""
    found = session.places.settled_groups(view, SUB_GROUPS_MAX)
    return tuple(SubGroupOutcome(group.name, domain.name, domain.level) for group, domain in found)


def next_phase(view: JobView, condition: Condition | None) -> str:
    """The phase of reference 1.10. Tasks that this cycle placed do not count as scheduled until they are bound."""
    if _stays_over(view):
        return Phase.COMPLETED
    counts = view.job.counts
    unschedulable = condition is not None and condition.kind == "Unschedulable"
    if view.running and unschedulable:
        return Phase.UNKNOWN
    leaving = (
        sum(1 for task in view.job.tasks.values() if task.node and task.status is Status.RELEASING)
        if counts[Status.RELEASING]
        else 0
    )
    scheduled = sum(counts[status] for status in SCHEDULED) + leaving
    if scheduled >= view.min_member:
        finished = counts[Status.SUCCEEDED] + counts[Status.FAILED]
        return Phase.COMPLETED if scheduled == finished else Phase.RUNNING
    # A job whose places are being freed keeps its admission: if it had to enter again, it would lose those places.
    has_places = view.waiting > 0 and view.is_pipelined and not view.waiting_to_enter
    return Phase.INQUEUE if view.phase == Phase.INQUEUE or has_places else Phase.PENDING


def _stays_over(view: JobView) -> bool:
    """Whether a completed job stays completed: it has no pods but finished ones, which may have been deleted."""
    counts = view.job.counts
    return view.phase == Phase.COMPLETED and counts[Status.SUCCEEDED] + counts[Status.FAILED] == len(view.job.tasks)


def merged(conditions: tuple[Condition, ...], latest: Condition | None) -> tuple[Condition, ...]:
    """The conditions with ``latest`` in the place of its type; other stated conditions that were true become false.

    A condition whose status did not change keeps its time. One whose status changed gets time 0: it is not set yet.
    """
    if latest is None:
        return conditions
    before = next((one for one in conditions if one.kind == latest.kind and one.status == latest.status), None)
    if before is not None:
        latest = msgspec.structs.replace(latest, since=before.since)
    kept = tuple(
        msgspec.structs.replace(one, status="False", reason=latest.reason, message="", since=0.0)
        if one.kind in STATED and one.status == "True"
        else one
        for one in conditions
        if one.kind != latest.kind
    )
    at = next((at for at, one in enumerate(conditions) if one.kind == latest.kind), len(kept))
    return (*kept[:at], latest, *kept[at:])


def noticed(conditions: tuple[Condition, ...], notice: str) -> tuple[Condition, ...]:
    """The conditions with the one that says whether the job's PriorityClass is missing (``notice``) or found."""
    known = next((one for one in conditions if one.kind == NOTICE), None)
    if notice:
        latest = Condition(NOTICE, "True", NO_SUCH_CLASS, notice)
        if known is not None and (known.status, known.message) == ("True", notice):
            return conditions
    elif known is None or known.status == "False":
        return conditions
    else:
        latest = Condition(NOTICE, "False", "PriorityClassFound")
    return tuple(latest if one is known else one for one in conditions) if known is not None else (*conditions, latest)


# -- tasks ----------------------------------------------------------------------------------------------------------


def _verdicts(
    waiting: UnschedulableReasons, view: JobView, outcome: JobOutcome, bound: set[str]
) -> Iterable[Unschedulable]:
    """Why each pending task that this cycle did not bind is unschedulable."""
    session = waiting.session
    if not view.pending_count and not view.waiting:
        return
    refusal, refusals = session.job_refusals.get(view.key), session.task_refusals
    tried, moved = session.tried, view.moved
    gang = headline_of(outcome.message)
    for uid, task in view.job.pending.items():
        if task.unsupported:
            yield Unschedulable(
                uid, task.namespace, task.name, view.key, UNSUPPORTED, task.unsupported, {UNSUPPORTED: 1}
            )
            continue
        if uid in bound or task.gated:
            continue
        fits = uid in tried or uid in moved
        # Most of the thousands of waiting tasks have no refusal of their own, so the lookup is skipped for them.
        own = refusal_of(session, view, uid) if uid in refusals or uid in moved else None
        why = own or refusal
        if isinstance(why, NodeReasons):
            explained = waiting.holders.explain(view.key, task, why)
            kept = session.protected.get(view.key)
            named = explained.named(explained.why.message)
            why = explained.why._replace(message=f"{kept.message}; {named}" if kept is not None else named)
        reason, message, reasons = _task_reason(
            waiting, view, outcome, gang, why, _waits_for(view, task) if fits else ""
        )
        yield Unschedulable(task.uid, task.namespace, task.name, view.key, reason, message, reasons)


def _waits_for(view: JobView, task: Task) -> str:
    """What has to be so before a task with room on a node is bound."""
    groups = view.sub_groups
    if groups is not None and view.is_ready and not groups.are_whole((task,)):
        lacking = next((one for one in groups.path(groups.of(task)) if not one.is_ready), groups.of(task))
        what = " groups" if isinstance(lacking, Composite) else ""
        return f"its sub-group {lacking.name} reaches its minimum of {lacking.minimum}{what}"
    return f"its gang {view.key} reaches its minimum of {view.min_member}"


def _verdicts_of_strays(session: Session) -> Iterable[Unschedulable]:
    """Why pods whose PodGroup does not exist are unschedulable. No job reports them, so they are reported here."""
    for key, job in session.snapshot.strays.items():
        message = no_such_group(key)
        for uid, task in job.pending.items():
            yield Unschedulable(
                uid, task.namespace, task.name, key, "Unschedulable", message, {Code.NO_POD_GROUP.value: 1}
            )


def no_such_group(key: str) -> str:
    """The message for a pod that names a PodGroup which does not exist."""
    return f"{title_of(key)} does not exist: its pods wait for it to be created"


def _task_reason(
    waiting: UnschedulableReasons,
    view: JobView,
    outcome: JobOutcome,
    gang: str,
    why: NodeReasons | Refusal | None,
    fits: str,
) -> tuple[str, str, dict[str, int]]:
    """Reason, message, and number of nodes by reason.

    ``gang`` is the message that says why its job waits, and ``fits`` what a task waits for that found a node.
    """
    if isinstance(why, Refusal):
        if why.reason == PIPELINED and gang and not in_sight(view):
            return "Unschedulable", f"{why.message}, and its gang {view.key} waits: {gang}", dict(outcome.reasons)
        if why.code is Code.CLAIM:
            # Words of kube-scheduler for a pod that no node can take.
            nodes = len(waiting.session.nodes)
            return "Unschedulable", f"0/{nodes} nodes are available: {why.message}.", {why.reason: 1}
        reason = UNSUPPORTED if why.code is Code.UNSUPPORTED else "Unschedulable"
        return reason, waiting.refused(view, why).message, {why.reason: 1}
    if why is not None:
        return "Unschedulable", why.message, dict(why.reasons)
    if fits:
        return "Schedulable", f"would fit, and waits until {fits}", {}
    if gang and not view.is_ready:
        return "Unschedulable", f"its gang {view.key} waits: {gang}", dict(outcome.reasons)
    return "Unschedulable", "not tried in this cycle", {}


# -- queues and namespaces ------------------------------------------------------------------------------------------


def queue_outcome(session: Session, name: str) -> QueueOutcome:
    """A queue's share of the cluster after the cycle."""
    queue = session.snapshot.queues[name]
    names = session.snapshot.axis.names
    division = session.plugins.division(queue)
    held = session.usage.queue(name)
    if division is not None and division.devices:
        held = {**held, **division.devices}
    capability = queue.capability if division is None else division.capability
    problem = None if division is None else division.problem
    lost = f"spec.priorityClassName: PriorityClass {queue.missing_class} does not exist" if queue.missing_class else ""
    past = session.plugins.past_use(queue)
    return QueueOutcome(
        name=name,
        weight=queue.weight,
        share=0.0 if division is None else division.share,
        allocated=_named(names, held.items()),
        subtree={} if division is None else _named(names, division.subtree.items()),
        deserved={} if division is None else _named(names, ((c, round(v)) for c, v in division.deserved.items())),
        capability={names[column]: value for column, value in sorted(capability)},
        guarantee=_named(names, queue.guarantee),
        overused=division is not None and division.overused,
        problem_reason=problem.reason if problem is not None else NO_SUCH_CLASS if lost else "",
        problem=problem.message if problem is not None else lost,
        used_times=None if past is None else past.times,
        used_seconds=0.0 if past is None else past.seconds,
    )


def namespace_outcomes(session: Session) -> dict[str, NamespaceOutcome]:
    """What each namespace holds in each queue."""
    names, total = session.snapshot.axis.names, session.snapshot.total
    outcomes: dict[str, NamespaceOutcome] = {}
    for queue, namespace in session.usage.namespaces():
        held = session.usage.namespace(queue, namespace)
        known = session.snapshot.namespaces.get(namespace)
        share = max((value / total[column] for column, value in held.items() if total[column]), default=0.0)
        outcomes[f"{queue}/{namespace}"] = NamespaceOutcome(
            queue, namespace, 1 if known is None else known.weight, share, _named(names, held.items())
        )
    return outcomes


def _named(names: list[str], amounts: Iterable[tuple[int, int]]) -> dict[str, int]:
    return {names[column]: value for column, value in sorted(amounts) if value}
