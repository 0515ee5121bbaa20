"""The action allocate: places the tasks of admitted jobs in turns.

In its first turn, a gang gets nodes for its whole minimum, or none. In each further turn it gets one more task.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain
from typing import Annotated

import msgspec

from vsched.actions.booking import keep_nodes
from vsched.actions.gates import open_gates
from vsched.actions.held import Worksheet, held_back, may_start, note_cluster_room, note_overused, tell_of_all
from vsched.actions.in_vain import TurnsInVain
from vsched.actions.ordering import OrderingArgs, QueueOrdering
from vsched.actions.places import place_close
from vsched.actions.placing import place_until_ready
from vsched.actions.planning import plan_start
from vsched.actions.sharing import place_sharing
from vsched.actions.subgroups import arranged, place_in_groups
from vsched.actions.turns import JobTurns
from vsched.framework.crowds import Crowd
from vsched.framework.jobs import JobView
from vsched.framework.policy import inert
from vsched.framework.session import Session
from vsched.model.pods.status import Phase
from vsched.model.queues.queue import Queue


class PlacingArgs(OrderingArgs, frozen=True, forbid_unknown_fields=True):
    """Arguments of the actions that place tasks on nodes."""

    error_cache: Annotated[bool, inert("what holds for one pod is always reused for its like")] = msgspec.field(
        default=True, name="predicateErrorCacheEnable"
    )


def allocate(session: Session) -> None:
    """Give jobs turns until no more tasks can be placed."""
    crowds, others = together(session)
    sheets = Worksheets(session, (job for job in others if has_work(session, job)), crowds)
    keep_nodes(session, sheets)
    complete(session, sheets)
    place_held(session, sheets)
    gated = {job.key for job in others if job.job.awaiting and workable(session, job)}
    jobs = [session.jobs[key] for key in dict.fromkeys([*sheets.alone, *sorted(gated)])]
    if not jobs and not crowds:
        return
    ordering = QueueOrdering(session.plugins, session.args("allocate", PlacingArgs))
    turns, overused = TurnsInVain(session), TurnsInVain(session)
    for queue, job, lane in JobTurns(ordering, session.snapshot.queues, jobs, crowds, session.jobs):
        if session.plugins.overused(queue):
            if session.kept is not None:
                with session.reservations.lifted(job):
                    session.kept.begin_turn(job)
                    _plan_start(session, queue, job)
            lane.end_turn(job)
            lane.closed = True
            for waiting in lane.waiting():
                if waiting.key in sheets:
                    _tell_overused(session, queue, waiting, sheets, overused)
            for crowd, at in lane.crowds():
                while at < len(crowd.keys) and not overused.tells_all(session.jobs[crowd.keys[at]]):
                    _tell_overused(session, queue, session.jobs[crowd.keys[at]], sheets, overused)
                    at += 1
                overused.repeat_to_all(crowd, at, len(crowd.keys))
            continue
        decided, opens = len(session.ledger.log), job.key in gated
        if opens:
            gated.remove(job.key)
            open_gates(session, queue, job)
            turns.forget()
            overused.forget()
        again = job.key in sheets and _turn(session, queue, job, sheets, turns)
        lane.end_turn(job if again else None, idle=not opens and len(session.ledger.log) == decided)
        for crowd, start, end in lane.pass_over(turns.tells_all) if lane.idle else ():
            turns.repeat_to_all(crowd, start, end)


def together(session: Session) -> tuple[list[Crowd], list[JobView]]:
    """The crowds that take part as such because their jobs have work to do, and the other jobs."""
    crowds: list[Crowd] = []
    admitted = [crowd for crowd in session.crowds if not crowd.enters]
    if session.crowds_are_whole:
        crowds = [crowd for crowd in admitted if has_work(session, session.jobs[crowd.keys[0]])]
    session.part_crowds(but_entering=True)
    if len(crowds) == len(admitted):
        return crowds, session.apart
    others = {view.key for view in session.apart}.union(*(crowd.keys for crowd in {*admitted}.difference(crowds)))
    return crowds, [session.jobs[key] for key in sorted(others)]


def complete(session: Session, sheets: Worksheets) -> None:
    """Give running gangs that lost pods the first turns: with a node, say. What is left of a gang waits for them."""
    lost = (session.jobs[key] for key in sheets.alone if session.jobs[key].has_lost_pods)  # all pods of crowds wait
    for job in sorted(lost, key=session.plugins.job_key):
        queue = session.queue(job)
        if not session.plugins.overused(queue) and not take_turn(session, queue, job, sheets[job.key]):
            del sheets[job.key]


def place_held(session: Session, sheets: Worksheets) -> None:
    """Give jobs with nominated nodes their first turns, until their pods have these: the room freed for them is theirs.

    The queue may hold all that it deserves by these nominations, and then it gets no other turn.
    """
    if not session.held:
        return
    keys = [key for key in session.snapshot.nominated if any(task.uid in session.held for task in sheets.get(key, ()))]
    for job in sorted((session.jobs[key] for key in keys), key=session.plugins.job_key):
        queue, sheet = session.queue(job), sheets[job.key]
        goes_on = take_turn(session, queue, job, sheet)
        nominated = deque(task for task in sheet if task.uid in session.held)
        others = deque(task for task in sheet if task.uid not in session.held)
        while goes_on and nominated and take_turn(session, queue, job, nominated):
            pass
        if goes_on and others:
            sheets.alone[job.key] = others
        else:
            del sheets[job.key]


def worksheet(session: Session, job: JobView) -> Worksheet:
    """The tasks to place; empty where the job must not be worked on in this cycle."""
    return in_turn(session, job) if has_work(session, job) else deque()


def has_work(session: Session, job: JobView) -> bool:
    """Whether the job has tasks to place, and may be worked on in this cycle."""
    if job.waiting_to_enter and "enqueue" not in session.policy.actions:
        job.phase = Phase.INQUEUE
    if job.waiting_to_enter or not job.job.pending:
        workable(session, job)
        return False
    shut = session.shut(job)
    if shut is not None and any(not task.best_effort for task in job.job.pending.values()):
        session.job_refusals[job.key] = shut
        return False
    if not workable(session, job):
        return False
    plain = not (job.moved or job.job.best_effort or job.job.gated or job.job.awaiting or job.job.unplaceable)
    return plain or bool(session.pending_tasks(job, best_effort=False))


def in_turn(session: Session, job: JobView) -> Worksheet:
    """The tasks of a job that wait for nodes, in order."""
    tasks = session.plugins.ordered_tasks(session.pending_tasks(job, best_effort=False))
    return deque(tasks) if job.sub_groups is None else arranged(session, job.sub_groups, tasks)


class Worksheets(Mapping[str, Worksheet]):
    """The tasks to place, by key of the job; those of a job are put in order when they are first needed."""

    def __init__(self, session: Session, jobs: Iterable[JobView], crowds: Sequence[Crowd] = ()) -> None:
        self._session = session
        self.alone: dict[str, Worksheet | None] = {job.key: None for job in jobs}
        """Those of jobs that take part one by one."""
        self._crowds = dict.fromkeys(crowds)
        self._in_crowds: dict[str, Worksheet] = {}

    def __getitem__(self, key: str) -> Worksheet:
        if key in self.alone:
            found = self.alone[key]
            if found is None:
                found = self.alone[key] = in_turn(self._session, self._session.jobs[key])
            return found
        if self._session.crowds.of(key) not in self._crowds:
            raise KeyError(key)
        found = self._in_crowds.get(key)
        if found is None:
            found = self._in_crowds[key] = in_turn(self._session, self._session.jobs[key])
        return found

    def __contains__(self, key: object) -> bool:
        return key in self.alone or (isinstance(key, str) and self._session.crowds.of(key) in self._crowds)

    def __delitem__(self, key: str) -> None:
        del self.alone[key]

    def __iter__(self) -> Iterator[str]:
        return chain(self.alone, *(crowd.keys for crowd in self._crowds))

    def __len__(self) -> int:
        return len(self.alone) + sum(len(crowd.keys) for crowd in self._crowds)


def workable(session: Session, job: JobView) -> bool:
    """Whether the job is admitted and valid; records why it is not valid."""
    if job.waiting_to_enter:
        return False
    refusal = session.job_valid(job)
    if refusal is not None and session.job_refusals.get(job.key, refusal).rank:
        session.job_refusals[job.key] = refusal
    return refusal is None


def _tell_overused(session: Session, queue: Queue, job: JobView, sheets: Worksheets, overused: TurnsInVain) -> None:
    if not overused.repeat(job):
        before = overused.begin(job)
        note_overused(session, queue, job, sheets[job.key])
        overused.end(job, before, in_vain=True)


def _turn(session: Session, queue: Queue, job: JobView, sheets: Worksheets, turns: TurnsInVain) -> bool:
    """The turn of a job; one that is like a job whose turn came to nothing is told the same, and not tried."""
    starts, decided = may_start(session, job), len(session.ledger.log)
    if starts and turns.repeat(job):
        return False
    before = turns.begin(job) if starts else None
    again = take_turn(session, queue, job, sheets[job.key])
    turns.end(job, before, in_vain=not again and len(session.ledger.log) == decided)
    return again


def take_turn(session: Session, queue: Queue, job: JobView, sheet: Worksheet) -> bool:
    """Try to place tasks of one job; True where the job needs another turn."""
    with session.reservations.lifted(job):
        if session.kept is not None:
            session.kept.begin_turn(job)
        again = _try_turn(session, queue, job, sheet)
        if not again and job.trail is not None:
            note_cluster_room(session, job)
        if not again and session.kept is not None:
            _plan_start(session, queue, job)
        return again


def _plan_start(session: Session, queue: Queue, job: JobView) -> None:
    plan_start(session, queue, job, lambda: worksheet(session, job))


def _try_turn(session: Session, queue: Queue, job: JobView, sheet: Worksheet) -> bool:
    if not may_start(session, job):
        return False
    with session.statement() as statement:
        if held_back(session, queue, job, sheet):
            return False
        if job.sub_groups is not None:
            place_in_groups(session, queue, job, job.sub_groups, sheet, statement)
        elif job.spec.topology is not None:
            place_close(session, queue, job, sheet, statement)
        elif job.job.claiming:
            place_sharing(session, queue, job, sheet, statement)
        else:
            place_until_ready(session, queue, job, sheet, statement)
        is_ready = session.plugins.job_ready(job)
        if is_ready and (job.sub_groups is None or job.sub_groups.are_whole(statement.tasks)):
            statement.commit()
            return bool(sheet)
        if statement.placed and session.plugins.job_pipelined(job):
            statement.keep()
            return is_ready and bool(sheet)
        placed = statement.tasks
        session.tried.update(task.uid for task in placed)
    tell_of_all(session, queue, job, placed)
    return False
