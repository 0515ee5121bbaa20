"""Whether a job, or one pod of it, would get its places in a cycle: the daemon's own cycle on an edited situation.

Whoever asks bounds the work: every simulation is counted, and a search that has used up its number, or is told that
its time is over, ends with what it has. A simulation that is under way ends, too, once nobody waits for it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import NamedTuple

from vsched.explain.situation import Situation
from vsched.framework.cycle import run_actions
from vsched.framework.jobs import JobView
from vsched.framework.refusal import Refusal
from vsched.framework.registry import Registry
from vsched.framework.session import Session
from vsched.framework.trace import Trace
from vsched.mirror.whatif.edits import LetIn
from vsched.model.pods.status import Status
from vsched.model.snapshot import Snapshot

PLACED = (Status.ALLOCATED, Status.PIPELINED)


Asked = Callable[[], bool]
"""Whether work is to end."""


class Spent(Exception):
    """No more simulations are to be made, or the one under way is not to be finished."""


def never() -> bool:
    """Work goes on to its end."""
    return False


def until(over: Asked) -> Trace:
    """Lets a cycle go on until it is over; then it raises Spent."""

    def checkpoint() -> None:
        if over():
            raise Spent

    return Trace(checkpoint=checkpoint)


class Goal(NamedTuple):
    """What is to be let start."""

    job: str
    pod: str = ""
    """Uid of one of its pods; empty for the job's minimum, or one pod more where it has that."""


class Result(NamedTuple):
    """What became of a goal in one simulation."""

    admitted: bool
    stopped_by: frozenset[str]
    """What is said of the job and of its pods that found no place: changes once something else binds."""


class Simulations:
    """Simulations for one goal, within a budget."""

    def __init__(
        self,
        registry: Registry,
        goal: Goal,
        rivals: Sequence[str],
        most: int,
        spent: Asked = never,
        over: Asked = never,
    ) -> None:
        self.registry = registry
        self.goal = goal
        self._rivals = rivals
        self.left = most
        self._spent = spent
        """Whether to begin no other."""
        self._over = over
        """Whether to give up the one that is under way."""

    def alone(self, situation: Situation) -> Result:
        """With nobody else to be worked on; what others hold they hold. Raises Spent."""
        return self._run(situation, (self.goal.job,))

    def among_rivals(self, situation: Situation) -> Result:
        """With those who would get what it might have, itself among them. Raises Spent."""
        return self._run(situation, self._rivals)

    def among_all(self, situation: Situation) -> Result:
        """With everybody as they are. Raises Spent."""
        return self._run(situation, situation.snapshot.active)

    def _run(self, situation: Situation, active: Sequence[str]) -> Result:
        snapshot = situation.snapshot
        session = self._session(_only(snapshot, active), situation)
        if any(task.job == self.goal.job for task in session.ungated):
            # The gates of its queue open in one cycle, and what they let in is placed in the next.
            let_in = situation.with_edit(LetIn(self.goal.job))
            session = self._session(_only(let_in.snapshot, active), situation)
        return Result(reached(session, self.goal), stopped_by(session, self.goal))

    def _session(self, snapshot: Snapshot, situation: Situation) -> Session:
        if self.left <= 0 or self._spent():
            raise Spent
        self.left -= 1
        return run_actions(snapshot, situation.policy, self.registry, until(self._over))


def reached(session: Session, goal: Goal) -> bool:
    """Whether the goal has its places: bound at once, or as soon as those have left whom the cycle sends away."""
    view = session.jobs.get(goal.job)
    if view is None:
        return False
    job = view.job
    if not job.tasks:
        return not view.waiting_to_enter
    placed = {uid for uid, (status, _, _) in view.moved.items() if uid in job.pending and status in PLACED}
    if goal.pod and goal.pod not in placed:
        return False
    return bool(placed) and has_minimum(view, len(placed))


def has_minimum(view: JobView, placed: int) -> bool:
    """Whether a job has its minimum and those of its roles once these of its pods are placed."""
    return view.job.ready + placed >= view.min_member and not view.roles_missing(waiting=True)


def stopped_by(session: Session, goal: Goal) -> frozenset[str]:
    """The reasons that are told of a job and its pods, and how far it came."""
    view = session.jobs.get(goal.job) or session.stranded.get(goal.job)
    if view is None:
        return frozenset()
    said = {view.phase}
    for why in (session.job_refusals.get(goal.job), *(session.task_refusals.get(uid) for uid in view.job.pending)):
        if isinstance(why, Refusal):
            said.add(why.message)
        elif why is not None:
            said.update(f"{count} {reason}" for reason, count in why.reasons.items())
            said.update(() if why.also is None else (why.also.message,))
    return frozenset(said)


def _only(snapshot: Snapshot, active: Iterable[str]) -> Snapshot:
    """The snapshot with these jobs alone to be worked on, and none to be reported for having changed."""
    return replace(snapshot, active=tuple(key for key in active if key in snapshot.jobs), changed=())
