"""Which running pods would be moved so that one waiting job has room, if somebody asks; nothing is decided."""

from __future__ import annotations

from enum import StrEnum

import msgspec

from vsched.actions.consolidate import ConsolidateArgs, Consolidation
from vsched.actions.consolidation.trial import Move, Moves
from vsched.actions.pools import Pools
from vsched.explain.words import phrases as words
from vsched.framework.cycle import run_actions, run_cycle
from vsched.framework.jobs import JobView
from vsched.framework.policy import Policy
from vsched.framework.registry import Registry
from vsched.framework.session import Session
from vsched.framework.surplus import Surplus
from vsched.framework.trace import Trace
from vsched.model.plan import CONSOLIDATE
from vsched.model.snapshot import Snapshot

PLACING = ("enqueue", "allocate", "backfill")
"""The actions that run before: what fits without moves is placed."""


class MovesState(StrEnum):
    """What has become of the question."""

    MOVES = "moves"
    """Moves give the job room."""
    STARTS = "starts"
    """It has its minimum, or gets it without any move."""
    NONE = "none"
    """No moves were found."""


class PlannedMove(msgspec.Struct, frozen=True):
    """A pod that would be moved, and what that costs."""

    pod: str
    """``namespace/name``."""
    job: str
    """How people know it."""
    node: str
    to: str
    """The node that has room for its successor now."""
    priority: int
    lost_seconds: float
    """How long it has run since its start or its last checkpoint."""
    work_lost: float
    """By the plugins that say what evictions waste (``eviction-cost``); 0 without any."""
    breaks_job: bool
    """Whether its job stands still until the successor runs."""
    asked_seconds: float
    """How long it would be asked to end by itself before it is evicted; 0 for not at all."""


class MovesAnswer(msgspec.Struct, frozen=True):
    """The moves for one job."""

    job: str
    called: str
    """How people know it."""
    state: MovesState
    message: str
    """Why there are no moves; empty where there are."""
    moves: tuple[PlannedMove, ...] = ()
    places: tuple[tuple[str, str], ...] = ()
    """The job's pods that would start, with their nodes."""
    by_itself: bool = True
    """Whether the policy would make the moves by itself."""


def moves_for(snapshot: Snapshot, policy: Policy, registry: Registry, key: str) -> MovesAnswer:
    """The moves by which the job of a key, one of the snapshot, would have room."""
    run = [name for name in policy.actions if name in PLACING]
    session = run_actions(snapshot, policy, registry, Trace(), actions=run)
    called, by_itself = snapshot.called(key), CONSOLIDATE in policy.actions
    view = session.jobs.get(key)
    if view is None and key not in session.stranded:
        return MovesAnswer(key, called, MovesState.STARTS, words.WAITS_FOR_NOTHING)
    if view is not None and session.plugins.job_pipelined(view):
        return MovesAnswer(key, called, MovesState.STARTS, words.NEEDS_NO_MOVES)
    found = None if view is None else _search(session, view)
    if view is None or found is None:
        outcome = run_cycle(snapshot, policy, registry).jobs.get(key)
        why = "" if outcome is None else outcome.message
        return MovesAnswer(key, called, MovesState.NONE, words.no_moves(why), by_itself=by_itself)
    names = session.nodes.statics.names
    places = tuple(sorted((task.key, names[row]) for task, row in found.placed))
    told = tuple(_told(session, move) for move in found.moves)
    return MovesAnswer(key, called, MovesState.MOVES, "", told, places, by_itself)


def _search(session: Session, view: JobView) -> Moves | None:
    args = session.args(CONSOLIDATE, ConsolidateArgs)
    consolidation = Consolidation(session, args, Pools(session, CONSOLIDATE))
    with session.reservations.lifted(view):
        return consolidation.moves_for(view) if consolidation.may_be_helped(view) else None


def _told(session: Session, move: Move) -> PlannedMove:
    task, names, spec = move.task, session.nodes.statics.names, move.job.spec
    since = max(task.started or task.created, task.checkpoint, spec.checkpoint)
    asked = task.cooperates if task.cooperates is not None else spec.terms.cooperative
    return PlannedMove(
        task.key,
        move.job.called,
        names[move.row],
        names[move.to],
        move.job.priority,
        max(0.0, session.snapshot.now - since),
        session.plugins.victim_rules.wasted([task]),
        spec.leaves_whole or not Surplus(move.job).lose(task),
        asked or 0.0,
    )
