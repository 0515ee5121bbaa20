"""One session as those see it who look closer: what it was decided on, by which policy, and what was decided."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import NamedTuple

from vsched.framework.policy import Policy
from vsched.model.dump import Call
from vsched.model.plan import CycleReport
from vsched.model.snapshot import Snapshot


class FrozenSnapshot(NamedTuple):
    """A session whose snapshot stays valid."""

    snapshot: Snapshot
    """Frozen: the mirror goes on without it."""
    policy: Policy
    """In force when it was decided."""
    report: CycleReport
    number: int
    """Of the session, from 1 on."""
    calls: tuple[Call, ...] = ()
    """What services outside were asked and answered in the course of it."""
    unrecorded: int = 0
    """Answers that are not among these, because there were too many."""


Look = Callable[[], Awaitable[FrozenSnapshot]]
"""Asks for a session that has seen everything the mirror knew at the time of asking; raises Unavailable where there is
none in time (a standby decides nothing)."""

LEADER, STARTING, STOPPING = "leader", "starting", "stopping"
"""What a daemon is that decides, that has not read the cluster yet, and that begins no session any more."""


def idle_of(role: str) -> str:
    """Why a daemon of this role decides nothing, and what to do about it; empty for the leader."""
    if role == LEADER:
        return ""
    if role == STARTING:
        return "this daemon is starting and decides nothing yet: its log and /readyz say what it waits for"
    return f"this daemon is {role} and decides nothing (expected the leader: kubectl -n vsched get lease names it)"
