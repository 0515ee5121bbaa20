"""The action enqueue: admits waiting jobs as long as the plugins agree that there is room for them.

Jobs take turns by queue, namespace and job as in ``allocate``, with two differences. First, pledges (amounts that jobs
were admitted for and do not hold yet) count as held, so that admission follows the same shares as placement. Second,
a job comes after all others if its queue could not hold it now, together with the jobs admitted in this cycle. The
total of admitted jobs is limited, and such jobs would use it up while nodes stay idle. Admitted jobs that cannot be
placed block nobody (``promises.py``).
"""

from __future__ import annotations

from collections.abc import Hashable

from msgspec.structs import replace

from vsched.actions.blocked import lacks_claims
from vsched.actions.ordering import OrderingArgs, QueueOrdering
from vsched.actions.promises import Promises
from vsched.actions.turns import JobTurns, next_of
from vsched.framework.classes import Segment, Span
from vsched.framework.jobs import JobView
from vsched.framework.lifting import may_be_lifted
from vsched.framework.refusal import Refusal
from vsched.framework.session import Session
from vsched.framework.waiting import JobRefusals
from vsched.model.amounts.resources import Amounts, Vector, add
from vsched.model.jobs.job import shortfall_of
from vsched.model.pods.status import Phase
from vsched.model.queues.queue import Queue
from vsched.model.queues.quota import used_by

_NOTHING_USED: frozenset[tuple[str, int]] = frozenset()


def enqueue(session: Session) -> None:
    """Ask the plugins about each waiting job in turn. A refused job waits for the next cycle and blocks no other.

    A refusal of one job of a class holds for the others too, until some job is admitted.
    """
    segments = [Segment(span) for span in session.waiting.take(lambda job: job.waiting_to_enter)]
    if not segments:
        return
    queues, plugins = session.snapshot.queues, session.plugins
    ordering = QueueOrdering(plugins, session.args("enqueue", OrderingArgs), admitting=True)
    promised: dict[str, Vector] = {}
    answers, late = EnqueueAnswers(session), dict[Segment, int]()
    for queue, segment, turns in JobTurns(ordering, queues, segments):
        in_queue, job = promised.setdefault(queue.name, {}), next_of(session, segment)
        known: JobRefusals | int | None = None
        if refused(session, job, answers):
            known = session.refused.of(job) if segment else None
        elif placeable(session, queue, job, wanted := shortfall_of(job.job), in_queue):
            admit(session, job, wanted, answers)
            add(in_queue, wanted)
        else:
            known = late[Segment.again(job, plugins.job_key(job))] = answers.admitted
        turns.end_turn(idle=job.waiting_to_enter, changes=not job.waiting_to_enter, known=known)
    late |= {
        Segment(replace(span, value=segment.waiting.value)): span.value
        for segment in segments
        for span in segment.passed
        if _is_late(span)
    }
    for _, segment, turns in JobTurns(ordering, queues, late):
        job, known = next_of(session, segment), None
        if late[segment] == answers.admitted or not refused(session, job, answers):
            admit(session, job, shortfall_of(job.job), answers)
        elif segment:
            known = session.refused.of(job)
        turns.end_turn(idle=job.waiting_to_enter, changes=not job.waiting_to_enter, known=known)
    session.waiting.put_back((*segments, *late))


def _is_late(span: Span[JobRefusals | int]) -> bool:
    """Whether jobs have second turns, as their queue could not hold them: the value is a number of admitted jobs."""
    return isinstance(span.value, int)


def placeable(session: Session, queue: Queue, job: JobView, wanted: Amounts, promised: Vector) -> bool:
    """Whether the queue could hold a job's minimum now, in addition to what this cycle has admitted in the queue.

    False as well where limits on running jobs would keep it waiting once the jobs admitted so far have started.
    """
    if session.plugins.limits_starts and session.plugins.start_limit(job, admitting=True) is not None:
        return False
    together = tuple([(column, amount + promised.get(column, 0)) for column, amount in wanted])
    return session.plugins.allocatable(queue, together) is None


class EnqueueAnswers:
    """Why plugins refuse jobs: asked once for all that ask for the same, until one is admitted."""

    def __init__(self, session: Session) -> None:
        self._plugins = session.plugins
        self._quotas, self._names = session.snapshot.quotas, session.snapshot.axis.names
        self._promises = Promises(session)
        self._shares = self._plugins.admits_by_request_alone and not self._plugins.limits_starts
        self._refusals: dict[Hashable, Refusal] = {}
        self.admitted = 0
        """How many jobs were admitted."""

    def of(self, job: JobView) -> Refusal | None:
        """Why a job is not admitted; None where it is."""
        spec = job.spec
        if not self._shares or job.job.claiming:
            found = self._plugins.start_limit(job) or self._asked(job)
        else:
            asked = spec.queue, spec.namespace, spec.min_resources, spec.quota_request, self._used(job)
            found = self._refusals.get(asked)
            if found is None:
                found = self._asked(job)
                if found is not None:
                    self._refusals[asked] = found
        return None if found is None else self._promises.lifted_for(job, found)

    def _used(self, job: JobView) -> frozenset[tuple[str, int]]:
        """What quotas count of the job's pods; nothing where there are no quotas."""
        if job.namespace not in self._quotas or not job.job.tasks:
            return _NOTHING_USED
        return frozenset(used_by(job.job.tasks.values(), self._names).items())

    def _asked(self, job: JobView) -> Refusal | None:
        refusal = self._plugins.job_enqueueable(job)
        return None if refusal is None else self._promises.lifted_for_good(job, refusal)

    def note_admitted(self) -> None:
        """A job was admitted."""
        self.admitted += 1
        self._refusals.clear()


def refused(session: Session, job: JobView, answers: EnqueueAnswers) -> bool:
    """Whether a plugin refuses the job, or its pods lack claims; records why.

    Plugins always admit a job without minResources.
    """
    if job.job.claiming:
        missing = max(1, job.min_member - job.ready)
        if lacks_claims(session, list(job.job.pending.values()), missing):
            return True  # it could not start, so what is pledged to it would be lost to others
    refusal = None
    if job.spec.min_resources is not None:
        refusal = answers.of(job)
        if refusal is not None and session.policy.autoscaling.admits and lacks_nodes_alone(session, job, refusal):
            refusal = None  # nodes are added for its pods, and these may be made only once it is admitted
    if refusal is not None:
        session.refused.jobs[job.key] = refusal
    return refusal is not None


def lacks_nodes_alone(session: Session, job: JobView, refusal: Refusal) -> bool:
    """Whether the size of the cluster is all that a plugin refuses a job for, and its queue would let it run.

    The amounts that other jobs were admitted for count as held.
    """
    if not may_be_lifted(session, refusal):
        return False
    wanted, pledged = shortfall_of(job.job), session.usage.pledges.queue(job.queue) or {}
    for limit in session.plugins.stated_limits(session.queue(job)):
        stated = dict(limit.amounts)
        for column, amount in wanted:
            held = limit.held.get(column, 0) + pledged.get(column, 0)
            if amount and held + amount > stated.get(column, held + amount):
                return False
    return True


def admit(session: Session, job: JobView, wanted: Amounts, answers: EnqueueAnswers) -> None:
    """Admit the job for these amounts: its pods may be created now, and it waits for nodes."""
    answers.note_admitted()
    session.plugins.job_enqueued(job)
    session.usage.pledges.add(job.job, wanted)
    job.phase = Phase.INQUEUE
