"""What an explanation says, as frozen records: what binds, the place in the order, a change that helps."""

from __future__ import annotations

from enum import StrEnum

import msgspec

from vsched.mirror.whatif.edits import Edit


class State(StrEnum):
    """Where something stands."""

    WAITS = "waits"
    NEVER = "never"
    """It waits for what cannot come as the cluster and the policy are: somebody has to change something."""
    STARTING = "starting"
    """It has places, or is on its way to them."""
    RUNS = "runs"
    FINISHED = "finished"


SAYS = {
    State.WAITS: "waits, and was not tried yet",
    State.NEVER: "waits for what cannot come",
    State.STARTING: "has its places, and is about to start",
    State.RUNS: "runs",
    State.FINISHED: "has finished",
}
"""What is said where there is nothing else to say."""


class Constraint(msgspec.Struct, frozen=True):
    """One thing that stands between something and its start."""

    code: str
    """One word that stays: see ``framework.codes``."""
    message: str
    """A sentence without a full stop, for people."""
    lasting: bool = False
    """Whether waiting alone cannot help."""
    resource: str = ""
    """The resource it is about, where it is about one."""
    subject: str = ""
    """The queue, namespace, budget or quota it is about."""
    repeats: bool = False
    """Whether the headline says it already: pages leave it out, and programs find it all in one place."""


class Place(msgspec.Struct, frozen=True):
    """The position in the order in which waiting work is tried, from 1 on."""

    position: int
    """Among the waiting jobs of its queue."""
    of: int
    overall: int
    """Among all waiting jobs, were queues and namespaces as they are now."""
    overall_of: int
    ahead: tuple[str, ...] = ()
    """Keys of those right before it in its queue, the nearest first; a few."""
    decided_by: str = ""
    """What put the one right before it there: a plugin's name, or ``age`` or ``name``."""
    message: str = ""


class Change(msgspec.Struct, frozen=True):
    """What would admit it, found by simulation."""

    message: str
    """As ``2 more nvidia.com/gpu in queue research``."""
    edits: tuple[Edit, ...]
    """The same for programs."""
    command: str = ""
    """What does it in a shell, a line an edit; empty where it takes more than a command."""


class Estimate(msgspec.Struct, frozen=True):
    """When it may start."""

    earliest: float | None
    """Seconds since the epoch; None where nothing that is known to end makes room."""
    latest: float | None
    message: str
    """The range and what it rests on, for people."""


class Explanation(msgspec.Struct, frozen=True):
    """Why a pod, a PodGroup or a queue stands where it stands."""

    kind: str
    """``Pod``, ``PodGroup`` or ``Queue``."""
    key: str
    state: State
    message: str
    """The headline: the constraint that binds, as the PodGroup's or the pod's condition has it."""
    queue: str = ""
    job: str = ""
    """The job of a pod."""
    node: str = ""
    phase: str = ""
    at: float = 0.0
    """When the session was that this rests on, seconds since the epoch."""
    constraints: tuple[Constraint, ...] = ()
    """What stands in the way, that which binds first."""
    reasons: dict[str, int] = {}
    """Nodes by reason."""
    groups: dict[str, dict[str, int]] = {}
    """The same by group of nodes."""
    place: Place | None = None
    changes: tuple[Change, ...] = ()
    """What would admit it, the smallest first; empty where nothing that was tried does."""
    start: Estimate | None = None
    counts: dict[str, int] = {}
    """Of a PodGroup: minMember, ready, pending, running, …; of a queue: its jobs by state."""
    notes: tuple[str, ...] = ()
    """What of the job is not as its object says, whatever it waits for."""
    pods: dict[str, int] = {}
    """Of a PodGroup: its waiting pods by the reason of each."""
