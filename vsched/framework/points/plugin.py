"""What every plugin is: a class that inherits ``Plugin`` and its extension points, and the data that it gets."""

from __future__ import annotations

from abc import ABC
from collections.abc import Callable, Mapping, Sequence
from math import inf
from typing import Any, ClassVar, Generic, NamedTuple, TypeVar

import msgspec
import numpy as np

from vsched.framework.budgets import NO_BUDGETS, Budgets
from vsched.framework.callout import Callout
from vsched.framework.jobs import JobView
from vsched.framework.ledger.usage import SessionUsage
from vsched.framework.points.levers import Levers
from vsched.framework.policy import Switches
from vsched.framework.refusal import Refusal
from vsched.model.amounts.resources import Amounts
from vsched.model.jobs.job import Job
from vsched.model.memo import NO_MEMO, Memo
from vsched.model.nodes.table import Floats, NodeTable
from vsched.model.queues.queue import Queue
from vsched.model.snapshot import Snapshot

SortKey = float | int | tuple[float | int, ...]
JobState = JobView | Job
"""The present state of a job: the session's view where there is one, else the mirror's record."""


class NoArgs(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The arguments type of a plugin or action without arguments."""


ArgsT = TypeVar("ArgsT", bound=msgspec.Struct)
T = TypeVar("T")


class QueueDivision(NamedTuple):
    """A queue's share of the cluster as one plugin computes it, for reports."""

    share: float
    """Dominant share of what the queue deserves; above 1 where it holds more than that."""
    deserved: Mapping[int, float]
    """Base units by column."""
    overused: bool
    capability: Amounts
    """The most the queue may hold, as the plugin reads its spec."""
    problem: Refusal | None = None
    """Why the queue is left out, or which of its limits are not in force."""
    subtree: Mapping[int, int] = {}
    """What the queue and all queues below it hold; empty where the plugin knows no hierarchy of queues."""
    devices: Mapping[int, int] = {}
    """What the ResourceClaims of the queue's own pods hold of the devices that the queue has quotas for.

    The columns are those of ``capability``. The session's sums of requests do not include these amounts.
    """


def undivided(queue: Queue) -> QueueDivision | None:
    """The division where no plugin divides the cluster."""
    return None


def stated_weights(queues: Sequence[Queue]) -> Floats:
    """float64[queues]: the weights that queues state."""
    return np.array([queue.weight for queue in queues], dtype=np.float64)


class SessionContext(NamedTuple):
    """The data that a plugin may read during one session."""

    snapshot: Snapshot
    nodes: NodeTable
    """The session's own node table; it changes as tasks are placed. Read only."""
    jobs: Mapping[str, JobView]
    """The views of all jobs that the session may work on; they change as tasks are placed. Read only."""
    usage: SessionUsage
    """The amounts that queues and namespaces hold; they change as tasks are placed. Read only."""
    job_state: Callable[[str], JobState | None]
    """Returns the present state of any job by key, also of jobs that are not active; None where there is none."""
    switches: Switches = Switches()
    """The plugin's own switches: its modes, and which of its extension points are on."""
    callout: Callout | None = None
    """Calls external services; None where the cycle runs without them."""
    budgets: Budgets = NO_BUDGETS
    """The disruption budgets; the session's evictions use them up. Read only."""
    division: Callable[[Queue], QueueDivision | None] = undivided
    """A queue's share of the cluster, by the first plugin that divides it; only once all plugins are open."""
    weights: Callable[[Sequence[Queue]], Floats] = stated_weights
    """float64[queues]: how much queues weigh in a division."""
    memo: Memo = NO_MEMO
    """What survives the session, by the plugin's name as owner: it saves time and may change no answer."""


class Plugin(Levers, Generic[ArgsT]):
    """One plugin in one session, which makes it from its arguments. What may save the next session time goes into
    ``SessionContext.memo``."""

    name: ClassVar[str]
    args_type: ClassVar[type[msgspec.Struct]] = NoArgs
    heeds: ClassVar[frozenset[str]] = frozenset()
    """Switches that the plugin reads itself, besides those of its extension points."""
    timeless: ClassVar[bool] = False
    """Whether it answers the same for the same cluster at any time: it reads neither the clock of the snapshot nor what
    was used or learnt over time, and asks nobody outside."""
    hierarchical: ClassVar[bool] = False
    """Whether ``enableHierarchy`` changes what the plugin does."""

    points: ClassVar[tuple[type[Point], ...]] = ()
    """The extension points that it inherits; every session asks for them, and ``isinstance`` is slow for points."""

    def __init_subclass__(cls, **more: Any) -> None:
        super().__init_subclass__(**more)
        cls.points = tuple(kind for kind in cls.__mro__ if issubclass(kind, Point) and "point" in vars(kind))

    def __init__(self, args: ArgsT) -> None:
        self.args = args

    def open(self, context: SessionContext) -> None:
        """Prepare for the session; called once, before any other method."""

    def lasts_until(self) -> float:
        """Until when the answers that it gave in this session hold if nothing else changes, seconds since the epoch;
        the time of the session or earlier where that is not known, so that it is asked again in the next session.
        """
        return inf if self.timeless else 0.0


class Point(ABC):
    """Base of the extension points; ``point`` names the switch of the policy that turns it on and off."""

    point: ClassVar[str]
