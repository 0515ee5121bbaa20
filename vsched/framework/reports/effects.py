"""The effects of a cycle: bindings with the claims they need, evictions, nominations and removed gates."""

from __future__ import annotations

from collections.abc import Iterable
from math import isinf

import msgspec

from vsched.framework.ledger.ledger import EvictionCause, LedgerEntry
from vsched.framework.reports.requests import answers_to_requests
from vsched.framework.session import Session
from vsched.model.claims.plan import ClaimPlan
from vsched.model.jobs.provisioning import ASKED, CLASS_NAME, CONSUMES, PROVISIONED
from vsched.model.plan import WALL_TIME, Bind, CycleReport, Evict, Nominate, Ungate
from vsched.model.pods.status import Status


def decided(session: Session) -> CycleReport:
    """The effects of a session whose actions have run, without any outcomes."""
    bound = bound_by(session)
    answers = answers_to_requests(session)
    evictions = [
        _evict(session, entry, entry.cause) for entry in session.decisions.committed if entry.cause is not None
    ]
    due = min(session.plugins.victim_rules.due, session.plugins.next_end(), answers.due)
    return CycleReport(
        binds=tuple(_binds(session)),
        evictions=(*evictions, *answers.evictions),
        nominations=tuple(nominations(session, bound)),
        ungated=tuple([Ungate(task.uid, task.namespace, task.name, task.job) for task in session.decisions.ungated]),
        withdrawals=answers.withdrawals,
        asks_responders=answers.asks_responders,
        due=0.0 if isinf(due) else due,
    )


def bound_by(session: Session) -> set[str]:
    """Uids of the tasks that the session binds."""
    return {entry.task.uid for entry in session.decisions.committed if entry.status is Status.ALLOCATED}


def _binds(session: Session) -> Iterable[Bind]:
    names = session.nodes.statics.names
    volumes, devices = ChosenClaims(), ChosenClaims()
    for entry in session.decisions.committed:
        if entry.status is Status.ALLOCATED:
            task, job = entry.task, entry.job.key
            plan = session.claims.plan(task) if task.claims is not None or session.claims.implicit else None
            plan = plan and _first_of_job(plan, job, volumes, devices)
            by_plugins = session.plugins.bind_annotations(task)
            lock = session.plugins.node_lock(task) if by_plugins else ""
            annotations = by_plugins
            if session.snapshot.provisioning is not None:
                annotations = (*by_plugins, *_of_request(session, job))
            yield Bind(task.uid, task.namespace, task.name, names[entry.row], job, plan, annotations, lock)


def _of_request(session: Session, job: str) -> tuple[tuple[str, str], ...]:
    """The annotations by which pods use the nodes of the ProvisioningRequest of their gang."""
    found = None if session.snapshot.provisioning is None else session.snapshot.provisioning.get(job)
    if found is None or found.state not in (ASKED, PROVISIONED):
        return ()
    return (CONSUMES, found.request), (CLASS_NAME, found.class_name)


class ChosenClaims:
    """The claims for which plans of a session have a choice, by job."""

    def __init__(self) -> None:
        self._jobs: dict[str, str] = {}
        """By claim: the first job. Mostly it is the only one, so that no pair of both need be stored."""
        self._others: set[tuple[str, str]] = set()
        """Claims with their further jobs."""

    def add(self, claim: str, job: str) -> bool:
        """Note a choice for a job; True where it is the job's first for the claim."""
        known = self._jobs.get(claim)
        if known is None:
            self._jobs[claim] = job
            return True
        if known == job or (claim, job) in self._others:
            return False
        self._others.add((claim, job))
        return True


def _first_of_job(plan: ClaimPlan, job: str, volumes: ChosenClaims, devices: ChosenClaims) -> ClaimPlan:
    """The plan without the choices that an earlier pod of the job has already: pods that share a claim make it once."""
    first_volumes = tuple([one for one in plan.volumes if volumes.add(one.claim, job)])
    first_devices = tuple([one for one in plan.devices if not one.claim or devices.add(one.claim, job)])
    if len(first_volumes) == len(plan.volumes) and len(first_devices) == len(plan.devices):
        return plan
    return msgspec.structs.replace(plan, volumes=first_volumes, devices=first_devices)


def _evict(session: Session, entry: LedgerEntry, cause: EvictionCause) -> Evict:
    task, names = entry.task, session.nodes.statics.names
    node, job = names[entry.row], entry.job.key
    wait, responds = 0.0, False
    # What does not run yet has nothing to save; a job whose wall time is over has had its time.
    if entry.before is Status.RUNNING and cause.action != WALL_TIME:
        stated = task.cooperates if task.cooperates is not None else entry.job.spec.terms.cooperative
        wait, responds = stated or 0.0, task.responds and stated != 0.0
    whom = session.snapshot.named_otherwise(cause.beneficiary)
    about = task.uid, task.namespace, task.name, node, job, cause.action, cause.beneficiary
    return Evict(*about, wait, responds, whom, cause.to)


def nominations(session: Session, bound: set[str]) -> Iterable[Nominate]:
    """Nominated nodes to write: new ones for tasks whose victims are leaving, empty ones to clear old nominations.

    A gang from which pods were evicted meanwhile, so that it cannot start, gets no nominations.
    """
    evicted = [entry for entry in session.decisions.committed if entry.cause is not None]
    freed_for = {entry.cause.beneficiary for entry in evicted if entry.cause is not None}
    losers = {entry.job.key: entry.job for entry in evicted}
    broken = {key for key, job in losers.items() if job.waiting and not session.plugins.job_pipelined(job)}
    done = bound.copy()
    for entry in session.ledger.log:
        task, job = entry.task, entry.job
        if entry.before is not Status.PENDING or task.uid in done:
            continue
        status, node, _ = job.moved.get(task.uid, (Status.PENDING, "", task))
        has_node = status is Status.PIPELINED or (status is Status.ALLOCATED and bool(task.nominated))
        if has_node and node != task.nominated and job.key not in broken:
            done.add(task.uid)
            lasting = job.key in freed_for or bool(task.nominated)
            yield Nominate(task.uid, task.namespace, task.name, node, job.key, lasting)
    for key in session.snapshot.nominated:
        view = session.jobs.get(key)
        for task in sorted(session.snapshot.jobs[key].pending.values(), key=lambda task: task.name):
            stays = view is not None and task.uid in view.moved and (key not in broken or task.uid in bound)
            if task.nominated and not stays:
                yield Nominate(task.uid, task.namespace, task.name, "", key)
