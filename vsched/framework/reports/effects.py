"""The effects of a cycle: bindings with the claims they need, evictions, nominations and removed gates."""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from vsched.framework.ledger.ledger import EvictionCause, LedgerEntry
from vsched.framework.session import Session
from vsched.model.claims.plan import ClaimPlan
from vsched.model.plan import Bind, CycleReport, Evict, Nominate, Ungate
from vsched.model.pods.status import Status


def decided(session: Session) -> CycleReport:
    """The effects of a session whose actions have run, without any outcomes."""
    bound = bound_by(session)
    return CycleReport(
        binds=tuple(_binds(session)),
        evictions=tuple(_evict(session, entry, entry.cause) for entry in session.committed if entry.cause is not None),
        nominations=tuple(nominations(session, bound)),
        ungated=tuple(Ungate(task.uid, task.namespace, task.name, task.job) for task in session.ungated),
    )


def bound_by(session: Session) -> set[str]:
    """Uids of the tasks that the session binds."""
    return {entry.task.uid for entry in session.committed if entry.status is Status.ALLOCATED}


def _binds(session: Session) -> Iterable[Bind]:
    names = session.nodes.statics.names
    chosen: set[tuple[str, str]] = set()
    for entry in session.committed:
        if entry.status is Status.ALLOCATED:
            task, job = entry.task, entry.job.key
            plan = session.claims.plan(task)
            yield Bind(
                task.uid, task.namespace, task.name, names[entry.row], job, plan and _first_of_job(plan, job, chosen)
            )


def _first_of_job(plan: ClaimPlan, job: str, chosen: set[tuple[str, str]]) -> ClaimPlan:
    """The plan without the choices that an earlier pod of the job has already: pods that share a claim make it once."""

    def is_first(claim: str) -> bool:
        if (job, claim) in chosen:
            return False
        chosen.add((job, claim))
        return True

    return msgspec.structs.replace(
        plan,
        volumes=tuple(one for one in plan.volumes if is_first(one.claim)),
        devices=tuple(one for one in plan.devices if not one.claim or is_first(f"device {one.claim}")),
    )


def _evict(session: Session, entry: LedgerEntry, cause: EvictionCause) -> Evict:
    task, names = entry.task, session.nodes.statics.names
    node, job = names[entry.row], entry.job.key
    return Evict(task.uid, task.namespace, task.name, node, job, cause.action, cause.beneficiary)


def nominations(session: Session, bound: set[str]) -> Iterable[Nominate]:
    """Nominated nodes to write: new ones for tasks whose victims are leaving, empty ones to clear old nominations."""
    freed_for = {entry.cause.beneficiary for entry in session.committed if entry.cause is not None}
    done = bound.copy()
    for entry in session.ledger.log:
        task, job = entry.task, entry.job
        if entry.before is not Status.PENDING or task.uid in done:
            continue
        status, node, _ = job.moved.get(task.uid, (Status.PENDING, "", task))
        kept = status is Status.PIPELINED or (status is Status.ALLOCATED and bool(task.nominated))
        if kept and node != task.nominated:
            done.add(task.uid)
            lasting = job.key in freed_for or bool(task.nominated)
            yield Nominate(task.uid, task.namespace, task.name, node, job.key, lasting)
    for key in session.snapshot.nominated:
        view = session.jobs.get(key)
        for task in sorted(session.snapshot.jobs[key].pending.values(), key=lambda task: task.name):
            if task.nominated and (view is None or task.uid not in view.moved):
                yield Nominate(task.uid, task.namespace, task.name, "", key)
