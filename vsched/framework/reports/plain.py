"""Plain jobs: their reasons are worked out once for all of one kind, and carried from cycle to cycle.

A plain job has pods of one kind that all wait, and nothing in this session sets it apart from others of its kind. So
its reason follows from its refusals. Where that is the reason of the last cycle, and the job is the same record as
then, its outcome and the verdicts about its pods are those of the last cycle, too.
"""

from __future__ import annotations

from collections.abc import Hashable, Set
from typing import NamedTuple

from vsched.framework.jobs import JobView
from vsched.framework.nodes.why import NodeReasons
from vsched.framework.refusal import Refusal
from vsched.framework.reports.limits import UnschedulableReason
from vsched.framework.reports.pending_pods import set_apart
from vsched.framework.reports.unschedulable import UnschedulableReasons
from vsched.model.jobs.advice import Advice
from vsched.model.jobs.job import Job
from vsched.model.plan import JobOutcome, Unschedulable
from vsched.model.pods.status import Status

Sizes = tuple[bool, bool, str, str]
"""What verdicts about all pods of a job read of a scale-up (``scaling.sizes``)."""


class PlainReason(NamedTuple):
    """Why plain jobs of one kind with the same refusals wait."""

    headline: UnschedulableReason
    of_job: Refusal | None
    of_tasks: NodeReasons | Refusal | None
    """The refusal of those tasks that were refused themselves."""
    protected: Refusal | None
    """What protects the only victims that would have made room."""
    limits: tuple[UnschedulableReason | None, UnschedulableReason | None]
    """The refusals of the job and of its tasks, with the amounts of this session."""


class Plain(NamedTuple):
    """A plain job."""

    reason: PlainReason
    apart: Set[str]
    """Uids of the tasks that were tried or refused themselves."""


class PlainRecord(NamedTuple):
    """The outcome of a plain job, and what it follows from."""

    job: Job
    phase: str
    advice: Advice | None
    plain: Plain
    outcome: JobOutcome


class PlainVerdict(NamedTuple):
    """The verdicts about the pods of a plain job, and what they follow from."""

    outcome: JobOutcome
    plain: Plain
    scale_up: Sizes
    verdicts: dict[str, Unschedulable]


class PlainJobs:
    """The plain jobs of one session whose actions have run."""

    def __init__(self, reasons: UnschedulableReasons) -> None:
        session = reasons.session
        self._reasons, self._session = reasons, session
        self._on = (
            session.reserved.planned is None
            and not session.snapshot.provisioning
            and not session.snapshot.setbacks
            and not _holds_room(reasons)
        )
        self._changed = frozenset(session.snapshot.changed)
        self._of_kind: dict[Hashable, PlainReason] = {}
        self._same: dict[tuple[int, int], bool] = {}
        """Whether reasons of this session equal those of an earlier one, by the identities of both."""
        self._found: dict[str, Plain] = {}
        self.answers_by_job = session.plugins.conditions_by_job_alone
        """Whether conditions follow from the jobs alone, so that they need not be asked for again."""

    def look(self, view: JobView) -> Plain | None:
        """A job with its reason; None where it is not plain."""
        plain = self._look(view) if self._on and view.key in self._session.jobs else None
        if plain is not None:
            self._found[view.key] = plain
        return plain

    def get(self, key: str) -> Plain | None:
        """The same for a job that was asked about before."""
        return self._found.get(key)

    def holds(self, view: JobView, plain: Plain, advice: Advice | None, known: PlainRecord | None) -> bool:
        """Whether the last outcome of a job still holds."""
        return (
            known is not None
            and self.answers_by_job
            and known.job is view.job
            and known.phase == view.phase
            and known.advice == advice
            and view.key not in self._changed
            and self.same(plain.reason, known.plain.reason)
        )

    def same(self, reason: PlainReason, before: PlainReason) -> bool:
        """Whether a reason equals one of an earlier session."""
        if reason is before:
            return True
        pair = id(reason), id(before)  # both objects live as long as the session
        known = self._same.get(pair)
        if known is None:
            known = self._same[pair] = reason == before
        return known

    def _look(self, view: JobView) -> Plain | None:
        session, spec = self._session, view.spec
        if view.moved or view.roles is not None or view.sub_groups is not None or spec.topology is not None:
            return None
        kind, found = session.waiting.kind(view), session.waiting.classes.of(view.key)
        is_uniform = kind is not None and found is not None and len(found.shapes) <= 1
        apart = set_apart(session, view) if is_uniform else None
        if apart is None:
            return None
        of_job, of_tasks, refused = session.refused.jobs.get(view.key), None, 0
        protected = session.refused.protected.get(view.key)
        if of_job is None and not view.job.pending:
            return None  # its report says where its own pods are
        for uid in apart:  # mostly none
            why = session.refused.tasks.get(uid)
            if why is not None:
                if of_tasks is not None and why is not of_tasks:
                    return None
                of_tasks, refused = why, refused + 1
        tried = len(apart) if not refused else len(apart & session.refused.tried)
        case = kind, view.phase, id(of_job), id(of_tasks), id(protected), refused, tried
        reason = self._of_kind.get(case)
        if reason is None:
            reason = self._of_kind[case] = self._reason_of(view, of_job, of_tasks, protected)
        return Plain(reason, apart)

    def _reason_of(
        self, view: JobView, of_job: Refusal | None, of_tasks: NodeReasons | Refusal | None, protected: Refusal | None
    ) -> PlainReason:
        refused = self._reasons.refused
        limits = (
            None if of_job is None else refused(view, of_job),
            refused(view, of_tasks) if isinstance(of_tasks, Refusal) else None,
        )
        return PlainReason(self._reasons.of(view), of_job, of_tasks, protected, limits)


def _holds_room(reasons: UnschedulableReasons) -> bool:
    """Whether some tasks may have nodes that the session did not commit: reasons name their jobs."""
    session = reasons.session
    if not session.ledger.log:
        return False
    committed = {entry.task.uid for entry in session.decisions.committed}
    return any(
        entry.status is Status.PIPELINED or (entry.status is Status.ALLOCATED and entry.task.uid not in committed)
        for entry in session.ledger.log
    )
