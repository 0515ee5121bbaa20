"""Simulates whether a job or a pod would get its places: runs the daemon's own cycle on an edited situation.

The caller limits the work. ``Simulations`` counts every run; when the count or the time is used up it raises Spent, and
the search ends with the changes that it has found so far. A running simulation ends, too, when ``over`` returns True.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import NamedTuple

from vsched.explain.edits.pods import LetIn
from vsched.explain.situation import Situation
from vsched.framework.codes import Code
from vsched.framework.cycle import run_actions
from vsched.framework.jobs import JobView
from vsched.framework.places.domains import Domain
from vsched.framework.places.words import where
from vsched.framework.refusal import Refusal
from vsched.framework.registry import Registry
from vsched.framework.session import Session
from vsched.framework.trace import Trace
from vsched.model.pods.status import Status
from vsched.model.snapshot import Snapshot

PLACED = (Status.ALLOCATED, Status.PIPELINED)


Asked = Callable[[], bool]
"""A callback that returns True when work must end."""


class Spent(Exception):
    """The budget for simulations is used up, or the running simulation was cancelled."""


def never() -> bool:
    """Never end work early."""
    return False


def until(over: Asked) -> Trace:
    """A trace whose checkpoints raise Spent when ``over`` returns True."""

    def checkpoint() -> None:
        if over():
            raise Spent

    return Trace(checkpoint=checkpoint)


class Goal(NamedTuple):
    """The job or the pod whose start a simulation tests."""

    job: str
    pod: str = ""
    """Uid of one of its pods; empty for the job's minimum, or for one more pod if the job has its minimum."""


class SimulationResult(NamedTuple):
    """The outcome of one simulation for its goal."""

    admitted: bool
    stopped_by: frozenset[str]
    """The phase and the refusals of the job and its pods; this set changes when another constraint binds."""


class Simulations:
    """Runs simulations for one goal, within a budget."""

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
        """Asked before each simulation; True for no further one."""
        self._over = over
        """Asked during a simulation; True to cancel it."""

    def alone(self, situation: Situation) -> SimulationResult:
        """Simulate with the goal's job as the only active one; other jobs keep what they hold. Raises Spent."""
        return self._run(situation, (self.goal.job,))

    def among_rivals(self, situation: Situation) -> SimulationResult:
        """Simulate with the job and its rivals, which could take its places, as active jobs. Raises Spent."""
        return self._run(situation, self._rivals)

    def among_all(self, situation: Situation) -> SimulationResult:
        """Simulate with all active jobs, as a real cycle does. Raises Spent."""
        return self._run(situation, situation.snapshot.active)

    def domain(self, situation: Situation) -> tuple[str, Domain] | None:
        """The domain where the goal's job has its pods after a simulation among all, and its name for people.

        None where the job does not ask for closeness, or no tiers are known. Raises Spent.
        """
        session = self._session(_only(situation.snapshot, situation.snapshot.active), situation)
        view = session.jobs.get(self.goal.job)
        found = None if view is None else session.places.settled(view, waiting=True)
        return None if found is None else (where(found, session.places.tiers), found)

    def _run(self, situation: Situation, active: Sequence[str]) -> SimulationResult:
        snapshot = situation.snapshot
        session = self._session(_only(snapshot, active), situation)
        if any(task.job == self.goal.job for task in session.decisions.ungated):
            # A cycle opens the queue's gate, and the next cycle places the pods: simulate that one too.
            let_in = situation.with_edit(LetIn(self.goal.job))
            session = self._session(_only(let_in.snapshot, active), situation)
        return SimulationResult(reached(session, self.goal), stopped_by(session, self.goal))

    def _session(self, snapshot: Snapshot, situation: Situation) -> Session:
        if self.left <= 0 or self._spent():
            raise Spent
        self.left -= 1
        return run_actions(snapshot, situation.policy, self.registry, until(self._over))


def reached(session: Session, goal: Goal) -> bool:
    """Whether the goal has its places: now, or once the victims that the cycle evicts have left."""
    view = session.jobs.get(goal.job)
    if view is None:
        return False
    job = view.job
    if not job.tasks:
        return not view.waiting_to_enter and _may_have_its_minimum(session, view)
    placed = {uid for uid, (status, _, _) in view.moved.items() if uid in job.pending and status in PLACED}
    if goal.pod and goal.pod not in placed:
        return False
    return bool(placed) and has_minimum(view, len(placed))


def _may_have_its_minimum(session: Session, view: JobView) -> bool:
    """Whether the queue of an admitted job whose pods are not made yet may hold them beside what others got.

    What the queue deserves may follow from pods: it counts once they are made.
    """
    needed = view.spec.min_resources
    refusal = session.plugins.allocatable(session.queue(view), needed) if needed else None
    return refusal is None or refusal.code is not Code.QUEUE_CAPABILITY


def has_minimum(view: JobView, placed: int) -> bool:
    """Whether a job has its minimum and those of its roles and sub-groups, with ``placed`` more pods placed."""
    if view.sub_groups is not None and not view.sub_groups.are_pipelined:
        return False
    return view.job.ready + placed >= view.min_member and not view.roles_missing(waiting=True)


def stopped_by(session: Session, goal: Goal) -> frozenset[str]:
    """The phase of the goal's job after the cycle, and the refusals of the job and its pending pods."""
    view = session.jobs.get(goal.job) or session.stranded.get(goal.job)
    if view is None:
        return frozenset()
    said = {view.phase}
    for why in (session.refused.jobs.get(goal.job), *(session.refused.tasks.get(uid) for uid in view.job.pending)):
        if isinstance(why, Refusal):
            said.add(why.message)
        elif why is not None:
            said.update(f"{count} {reason}" for reason, count in why.reasons.items())
            said.update(() if why.also is None else (why.also.message,))
    return frozenset(said)


def _only(snapshot: Snapshot, active: Iterable[str]) -> Snapshot:
    """The snapshot with only these jobs active, and no jobs marked as changed."""
    return replace(snapshot, active=tuple(key for key in active if key in snapshot.jobs), changed=(), since=None)
