"""Explains why a pod or a PodGroup waits in one session.

An explanation has the constraints, the binding one first, the place in the order of waiting jobs, the changes that
would help, and an estimate of the start.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property

from msgspec.structs import replace

from vsched.explain.changes import SIMULATIONS_MAX, changes
from vsched.explain.claims.constraints import (
    claim_constraints,
    device_constraints,
    short_classes,
    told_by_claims,
    with_others,
)
from vsched.explain.claims.states import Shortages, claims_of, nothing_missing
from vsched.explain.estimate.start_times import estimate
from vsched.explain.names import POD, POD_GROUP, find_pod, job_named, jobs_made_for, kinds_of
from vsched.explain.order import WaitingOrder, waiting_order
from vsched.explain.places import places_of
from vsched.explain.queues import explain_queue, past_use
from vsched.explain.records import ClaimState, Constraint, Explanation, Whereabouts
from vsched.explain.simulation import Asked, Goal, never, until
from vsched.explain.why.constraints import Examiner
from vsched.explain.why.holding import of_devices
from vsched.explain.why.planned import goes_before, nodes_may_come, note_of_nodes, why_no_start
from vsched.explain.why.undisturbed import undisturbed
from vsched.explain.words import reasons as words
from vsched.explain.words.owners import found_by, pods_to_come
from vsched.explain.words.requests import notes_of_requests
from vsched.framework.callout import Callout
from vsched.framework.codes import Code
from vsched.framework.cycle import run_actions
from vsched.framework.policy import Policy
from vsched.framework.registry import Registry
from vsched.framework.reports.verdicts import no_such_group
from vsched.framework.session import Session
from vsched.framework.unserved import of_job, unserved
from vsched.model.claims.plan import NOT_HAD
from vsched.model.jobs.advice import headline_of
from vsched.model.jobs.job import Job
from vsched.model.plan import CycleReport
from vsched.model.pods.status import Phase, Status
from vsched.model.pods.task import Task
from vsched.model.snapshot import Snapshot

__all__ = ["explain", "explain_queue"]

CHANGES_SHARE = 0.6
"""The part of the time for both searches in which changes are searched for; the rest is for the start."""
PODS_TOLD = 20
"""An explanation of a job lists at most this many different messages of its pods."""
ON_ITS_WAY = (Status.ALLOCATED, Status.BINDING, Status.BOUND)
UNSTARTED = (Status.PENDING, *ON_ITS_WAY)


def explain(
    snapshot: Snapshot,
    policy: Policy,
    registry: Registry,
    report: CycleReport,
    namespace: str,
    name: str,
    *,
    kind: str = "",
    callout: Callout | None = None,
    simulations: int = SIMULATIONS_MAX,
    spent: Asked = never,
    foreseen: Asked | None = None,
    over: Asked = never,
) -> Explanation | None:
    """Explain the state of the PodGroup, else of the pod, with this name; None if neither exists.

    The name of an object that one PodGroup was made for, such as a vcjob, stands for this PodGroup.

    ``kind`` chooses one of the two. ``report`` is what the session decided on the snapshot. ``simulations`` limits the
    search for changes that would help (0: no search), and ``spent`` returns True to end that search. ``foreseen``
    returns True to give up the estimate of the start; without ``foreseen`` there is no estimate. ``over`` returns True
    to end everything; explain then raises Spent if it has no explanation yet.
    """
    key = f"{namespace}/{name}"
    explaining = Explaining(snapshot, policy, registry, report, callout, over)
    known = explaining.known(key) if not kind else (kind,)
    if not known and len(made := jobs_made_for(snapshot, key)) == 1:
        key, known = made[0], (POD_GROUP,)
    if POD_GROUP in known and (job := explaining.job(key)) is not None:
        found, pod, key = explaining.of_job(job), "", job.key
    elif (task := explaining.pod(key)) is not None and POD in known:
        found, pod = explaining.of_pod(task), task.uid
    else:
        return None
    asked = explaining.job(found.job or key)
    refused = any(one.code == Code.UNSUPPORTED and one.lasting for one in found.constraints)
    refused = refused and (asked is None or not asked.awaits_class)
    if simulations and found.state in (Whereabouts.WAITS, Whereabouts.NEVER) and not refused:
        helping = changes(
            snapshot,
            policy,
            registry,
            report,
            found.job or key,
            pod=pod,
            order=explaining.order,
            simulations=simulations,
            spent=spent,
            over=over,
        )
        cut = () if helping.complete else (words.CUT_SHORT,)
        found = replace(found, changes=helping.changes, notes=(*found.notes, *cut))
    if foreseen is not None and found.state is Whereabouts.WAITS:
        goal = Goal(found.job or key, pod)
        start = estimate(snapshot, policy, registry, report, goal, explaining.order, foreseen, over)
        found = replace(found, start=start)
    return found


class Explaining:
    """Explains the pods and PodGroups of one session."""

    def __init__(
        self,
        snapshot: Snapshot,
        policy: Policy,
        registry: Registry,
        report: CycleReport,
        callout: Callout | None,
        over: Asked = never,
    ) -> None:
        self._snapshot = snapshot
        self._policy = policy
        self._registry = registry
        self._report = report
        self._callout = callout
        self._over = over

    @cached_property
    def order(self) -> WaitingOrder:
        """The order of the waiting jobs."""
        return waiting_order(self._snapshot, self._policy, self._registry)

    def known(self, key: str) -> tuple[str, ...]:
        """The kinds of the objects that have this name."""
        return kinds_of(self._snapshot, self._report, key)

    def job(self, key: str) -> Job | None:
        """The job of a key; also the job of stray pods, which name a PodGroup that does not exist."""
        return job_named(self._snapshot, key)

    def pod(self, key: str) -> Task | None:
        """The pod of a key."""
        return find_pod(self._snapshot, self._report, key)

    def _starts(self, key: str, waits: bool) -> Iterator[str]:
        """Notes on planned starts."""
        yield from goes_before(self._snapshot, self._report, key)
        if waits:
            yield why_no_start(self._report.jobs.get(key))

    def of_job(self, job: Job) -> Explanation:
        """Explain the state of a job."""
        key = job.key
        if key in self._snapshot.strays:
            return self._of_stray(job)
        outcome = self._report.jobs.get(key)
        state = state_of(job, self._report)
        code = outcome.code if outcome is not None else ""
        if state is Whereabouts.WAITS and code in (Code.LEAVING, Code.STARTING):
            state = Whereabouts.STARTING
        message = (
            headline_of(outcome.message) if outcome is not None and (job.pending or state is Whereabouts.WAITS) else ""
        )
        set_back = state is Whereabouts.STARTING and any(uid in self._snapshot.setbacks for uid in job.tasks)
        waits = bool(message) or state is Whereabouts.WAITS or set_back
        found = Explanation(
            POD_GROUP,
            key,
            state,
            message or words.SAYS[state],
            queue=job.spec.queue,
            called=job.called,
            phase=outcome.phase if outcome is not None else job.spec.phase,
            at=self._snapshot.now,
            counts=counts_of(job),
            notes=tuple(filter(None, (*self._notes(job), self._past_use(job, waits), *self._starts(key, waits)))),
            pods=self._pods(job) if waits else {},
            claims=self._claims(job.tasks.values()),
        )
        return self._examined(found, job, None) if waits else self._placed(found, job)

    def _placed(self, found: Explanation, job: Job) -> Explanation:
        """The explanation of a job that does not wait, with its domains and what keeps it from eviction."""
        if found.state is Whereabouts.RUNS:
            kept = undisturbed(job, self._policy, self._registry, self._opened)
            found = replace(found, notes=(*found.notes, *kept))
        if (job.spec.topology is None and not job.spec.sub_groups) or found.state is Whereabouts.FINISHED:
            return found
        if found.state is Whereabouts.RUNS:
            session = self._opened()
        else:
            session = run_actions(self._snapshot, self._policy, self._registry, until(self._over), self._callout)
        view = session.view(job.key)
        return found if view is None else replace(found, places=places_of(session, view, ()))

    def _opened(self) -> Session:
        return Session(self._snapshot, self._policy, self._registry, until(self._over))

    def _past_use(self, job: Job, waits: bool) -> str:
        """For a job that waits: that its queue has used more than its share; else empty."""
        outcome = self._report.queues.get(job.spec.queue)
        more = waits and outcome is not None and (outcome.used_times or 0.0) > 1.0
        return words.others_go_first(past_use(outcome)) if more else ""

    def _notes(self, job: Job) -> Iterator[str]:
        """What is not followed of the job's wishes, by the scheduler and by the plugins; and of nodes for it."""
        yield from (job.notice, *job.spec.wishes, *notes_of_requests(self._snapshot, job.key), found_by(job.spec))
        yield pods_to_come(job)
        yield note_of_nodes(self._snapshot, self._report, job)
        for conf in self._policy.plugins():
            yield from self._registry.plugins[conf.name](conf.args).job_notes(job)
        yield from of_job(job, unserved(self._policy, self._registry))

    def of_pod(self, task: Task) -> Explanation:
        """Explain the state of a pod."""
        job = self.job(task.job)
        assert job is not None, "pods are found by their jobs"
        if job.key in self._snapshot.strays:
            return self._of_stray(job, task)
        verdict = self._report.unschedulable.get(task.key)
        state, node = self._state_of_pod(task)
        message = words.GATED if task.at_gate else ""
        constraints: tuple[Constraint, ...] = ()
        if verdict is not None:
            message = verdict.message
        elif state is Whereabouts.STARTING and (said := self._snapshot.setbacks.get(task.uid)):
            claims = said.startswith(NOT_HAD)
            message = said if claims else words.not_bound(said)
            constraints = (Constraint(Code.CLAIM if claims else Code.BINDING, message, repeats=True),)
        found = Explanation(
            POD,
            task.key,
            state,
            message or words.SAYS[state],
            queue=job.spec.queue,
            job=job.key,
            called=job.called,
            node=node,
            phase=job.spec.phase,
            at=self._snapshot.now,
            constraints=constraints,
            reasons=dict(verdict.reasons) if verdict is not None else {},
            claims=self._claims([task]),
        )
        return self._examined(found, job, task) if state is Whereabouts.WAITS else found

    def _examined(self, found: Explanation, job: Job, task: Task | None) -> Explanation:
        """The explanation with all constraints, and with the place in the order."""
        session = run_actions(self._snapshot, self._policy, self._registry, until(self._over), self._callout)
        view = session.view(job.key) or session.stranded.get(job.key)
        if view is None:
            return found
        examiner = Examiner(session)
        asked: Sequence[Task] = examiner.wanted(view) if task is None else [task]
        if task is None:
            constraints = examiner.of_job(view)
        else:
            constraints = examiner.of_pod(view, task, found.message, found.reasons)
        few = self._snapshot.claims.devices if any(one.code == Code.DEVICES for one in constraints) else None
        constraints = with_others(constraints, device_constraints(asked, session.claims, few))
        constraints = (*constraints, *of_devices(self._snapshot, short_classes(asked, session.claims, few)))
        constraints = with_others(constraints, claim_constraints(asked, self._snapshot.claims))
        groups = examiner.groups(asked)
        never = found.state is Whereabouts.WAITS and any(one.lasting for one in constraints)
        never = never and not nodes_may_come(self._snapshot, job.key)
        message = found.message
        if message == words.SAYS[found.state]:
            unsaid = words.NO_POD_WAITS if found.state is Whereabouts.WAITS and not view.job.pending else message
            message = constraints[0].message if constraints else unsaid
        reasons: Counter[str] = Counter()
        for counts in groups.values():
            reasons.update(counts)
        claims = self._claims([task] if task is not None else job.tasks.values(), session.claims.shortages)
        constraints = told_by_claims(constraints, claims)
        causes = tuple(f": {one.message}" for one in constraints if one.message and not one.repeats)
        return replace(
            found,
            notes=tuple(_without(note, causes) for note in found.notes),
            claims=claims,
            state=Whereabouts.NEVER if never else found.state,
            message=message,
            constraints=constraints,
            reasons=dict(reasons) or found.reasons,
            groups=groups,
            place=self.order.place(job.key),
            places=places_of(session, view, examiner.wanted(view)) if task is None else None,
        )

    def _of_stray(self, job: Job, task: Task | None = None) -> Explanation:
        message = no_such_group(job.key)
        return Explanation(
            POD if task else POD_GROUP,
            task.key if task else job.key,
            Whereabouts.NEVER,
            message,
            job=job.key if task else "",
            at=self._snapshot.now,
            constraints=(Constraint(Code.NO_POD_GROUP, message, lasting=True, subject=job.key, repeats=True),),
            counts={} if task else {"pods": len(job.tasks), "pending": len(job.pending)},
        )

    def _state_of_pod(self, task: Task) -> tuple[Whereabouts, str]:
        """The state of a pod, and the node that it is on or goes to; empty if it has none."""
        if task.status in (Status.SUCCEEDED, Status.FAILED):
            return Whereabouts.FINISHED, task.node
        if task.status in ON_ITS_WAY:
            return Whereabouts.STARTING, task.node
        if task.status is not Status.PENDING:
            return Whereabouts.RUNS, task.node
        node = next((bind.node for bind in self._report.binds if bind.uid == task.uid), "")
        if node:
            return Whereabouts.STARTING, node
        verdict = self._report.unschedulable.get(task.key)
        if verdict is not None and "Pipelined" in verdict.reasons:
            nominated = (one.node for one in self._report.nominations if one.uid == task.uid)
            return Whereabouts.STARTING, next(nominated, task.nominated)
        return Whereabouts.WAITS, ""

    def _claims(self, tasks: Iterable[Task], shortages: Shortages = nothing_missing) -> tuple[ClaimState, ...]:
        """The claims of those of the pods that do not run yet."""
        return claims_of((task for task in tasks if task.status in UNSTARTED), self._snapshot.claims, shortages)

    def _pods(self, job: Job) -> dict[str, int]:
        """How many pending pods of a job have each message: the most frequent first, then that of the oldest pod."""
        tasks = sorted(job.pending.values(), key=lambda task: (task.created, task.name))
        verdicts = (self._report.unschedulable.get(task.key) for task in tasks)
        messages = Counter(verdict.message for verdict in verdicts if verdict is not None)
        gated = sum(task.at_gate for task in tasks)
        if gated:
            messages[words.GATED] = gated
        return dict(messages.most_common(PODS_TOLD))


def state_of(job: Job, report: CycleReport) -> Whereabouts:
    """The state of a job after the session, from the counts of its pods."""
    counts, outcome = job.counts, report.jobs.get(job.key)
    minimum = max(1, job.spec.min_member)
    finished = counts[Status.SUCCEEDED] + counts[Status.FAILED]
    if job.spec.phase == Phase.COMPLETED or (job.tasks and finished == len(job.tasks)):
        return Whereabouts.FINISHED
    if counts[Status.RUNNING] + counts[Status.SUCCEEDED] >= minimum:
        return Whereabouts.RUNS
    ready = max(job.ready, outcome.ready if outcome is not None else 0)
    placed = any(bind.job == job.key for bind in report.binds) or any(counts[status] for status in ON_ITS_WAY)
    return Whereabouts.STARTING if ready >= minimum and placed else Whereabouts.WAITS


def counts_of(job: Job) -> dict[str, int]:
    """The counts of a job's pods by state, and its ``minMember``."""
    return {
        "minMember": job.spec.min_member,
        "pods": len(job.tasks),
        "ready": job.ready,
        "pending": len(job.pending),
        "gated": sum(task.at_gate for task in job.pending.values()),
        "running": job.counts[Status.RUNNING],
        "succeeded": job.counts[Status.SUCCEEDED],
        "failed": job.counts[Status.FAILED],
    }


def _without(note: str, causes: Iterable[str]) -> str:
    """A note without a cause at its end that is told already."""
    return next((note.removesuffix(cause) for cause in causes if note.endswith(cause)), note)
