"""A session for inspection: the snapshot that it used, its policy, and its decisions."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import NamedTuple

from vsched.framework.policy import Policy
from vsched.model.dump.cycle import ExternalCall
from vsched.model.plan import CycleReport
from vsched.model.snapshot import Snapshot
from vsched.web.words import answers as words


class FrozenSnapshot(NamedTuple):
    """A session whose snapshot stays valid."""

    snapshot: Snapshot
    """Frozen: the mirror no longer changes it."""
    policy: Policy
    """The policy in force then."""
    report: CycleReport
    number: int
    """Of the session, from 1 on."""
    calls: tuple[ExternalCall, ...] = ()
    """Calls to external services during the session, with their answers."""
    unrecorded: int = 0
    """How many further answers there were, that are not kept."""


Look = Callable[[], Awaitable[FrozenSnapshot]]
"""Returns a session that starts after the call; raises Unavailable where there is none in time (as on a standby)."""

LEADER, SHADOW, STARTING, STOPPING = "leader", "shadow", "starting", "stopping"
"""Roles of a daemon that decides, that decides and writes nothing, that has not listed the cluster yet, and that starts
no more sessions."""
DECIDING = frozenset({LEADER, SHADOW})
"""Those that have sessions."""


def idle_of(role: str) -> str:
    """Why a daemon of this role decides nothing, and what to do; empty for one that decides."""
    if role in DECIDING:
        return ""
    if role == STARTING:
        return words.STARTING
    return words.ask_the_leader(role)
