"""The interface by which a session handles one kind of claim: volumes or devices."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import NamedTuple, Protocol

from vsched.framework.codes import Code
from vsched.framework.points.nodes import Check
from vsched.framework.refusal import Refusal
from vsched.model.claims.plan import ClaimPlan
from vsched.model.nodes.table import Floats, Ints
from vsched.model.pods.task import Task


class VolumeScoring(NamedTuple):
    """How nodes are scored by the volumes that a pod would use there (``volumebinding.*``)."""

    weight: int = 1
    shape: tuple[tuple[int, int], ...] = ()
    """Points (utilisation in per cent, score 0 to 10), ascending; empty: kube-scheduler's default."""


class ClaimRules(NamedTuple):
    """Which claims count, as the policy says (arguments of ``predicates``)."""

    volume_binding: bool = True
    """Also: claims that wait for their first pod are bound for it."""
    volume_zones: bool = True
    volume_limits: bool = True
    devices: bool = True
    bind_seconds: float = 600.0
    """How long volumes may take to be bound before the gang gives everything back."""
    search_seconds: float = 10.0
    """Bounds the search for devices on one node; 0 for no bound. A cycle has no clock, so the search counts steps, of
    which a second has ``devices.handler.STEPS_A_SECOND``."""
    scoring: VolumeScoring | None = None
    """None where nodes are not scored by volumes."""
    scores: bool = True
    """Whether claims affect the order of nodes at all (``enableNodeOrder``)."""


class Unfit(NamedTuple):
    """Why nodes are refused that the masks of ``checks`` let pass."""

    reason: str
    code: Code


class ClaimRoom(NamedTuple):
    """How many tasks with such claims the nodes can serve, by one reason."""

    reason: str
    """Why no further one fits, in kube-scheduler's words."""
    code: Code
    most: Ints
    """int64[nodes]: an upper bound for each node, now and later together, on top of what is placed."""
    together: int | None = None
    """An upper bound for all nodes together; None where only the nodes count."""


class ClaimWays(NamedTuple):
    """What the claims of a task may get on a node."""

    found: Sequence[object]
    """The first is what the task gets where nothing is preferred. None stands for that where nobody chooses."""
    complete: bool = True
    """Whether there are no others."""


ONE_WAY = ClaimWays((None,))


class ClaimHandler(Protocol):
    """One kind of claim in one session. It follows placements: the ledger reports each step and each undo, last first.

    "Now" is what a task can have at once. "Later" is what it can have once leaving pods have left. A handler
    is made with the session's snapshot, node table and ``ClaimRules``, before the first step of a task with claims.
    """

    def concerns(self, task: Task) -> bool:
        """Whether the task has claims of this kind. Called for every task, so it must be quick."""
        ...

    def obstacle(self, task: Task) -> Refusal | None:
        """Why no node can serve the task, whoever leaves (a claim does not exist); None where one might."""
        ...

    def class_of(self, task: Task) -> Hashable:
        """What of the claims affects ``checks`` and ``score``; tasks of equal shape and class share both."""
        ...

    def checks(self, task: Task) -> Sequence[Check]:
        """The nodes that can serve the claims now (``passes``) and later (``later``), by reason.

        Called before each placement; the masks are valid until the next step. Where ``is_exact`` is False the masks
        may include nodes that ``fits`` refuses, and never lack one that it accepts.
        """
        ...

    def is_exact(self, task: Task) -> bool:
        """Whether the masks of ``checks`` are exact, so that ``fits`` need not be asked."""
        ...

    def fits(self, task: Task, row: int, *, later: bool) -> bool:
        """Whether the row can serve the claims."""
        ...

    def unfit(self, task: Task) -> Unfit:
        """The reason for rows that ``fits`` refuses though the masks let them pass; only asked where they differ."""
        ...

    def limits(self, task: Task) -> Sequence[ClaimRoom]:
        """How many tasks like this one could be placed at most. A claim that the tasks share sets no limit here."""
        ...

    def score(self, task: Task) -> Floats | None:
        """Scores of all nodes, already weighted; None where there are none."""
        ...

    def ways(self, task: Task, row: int, *, later: bool, beside: Sequence[Task], most: int) -> ClaimWays:
        """What the task may get on a row that fits, at most so many ways.

        Of ways that leave the same to tasks like those ``beside``, one is enough.
        """
        ...

    def take(self, task: Task, row: int, way: object = None, *, later: bool) -> None:
        """The task was placed on the row, which fits: choose what it gets, and take it.

        ``way`` is chosen if it can be had; None: whatever comes first.
        """
        ...

    def give_back(self, task: Task, row: int) -> None:
        """The placement of the task is undone; steps are undone last first, so everything is as before."""
        ...

    def withdraw(self, task: Task, row: int) -> object:
        """The task gives up its place, though others may have been placed since: this is a step, not an undo.

        Returns whatever ``reinstate`` needs.
        """
        ...

    def reinstate(self, task: Task, row: int, had: object) -> None:
        """``withdraw`` is undone: the task has exactly what it had before."""
        ...

    def evict(self, task: Task, row: int) -> None:
        """The task, which has a node, is evicted: what it has is free later.

        A task of the same uid may then be placed elsewhere: ``shuffle`` tries where its successor would go.
        """
        ...

    def restore(self, task: Task, row: int) -> None:
        """The eviction is undone."""
        ...

    def plan(self, task: Task) -> ClaimPlan | None:
        """What has to be written for a task that ``take`` was called for; only this kind's fields are set.

        It names what this session chose for the task's claims also where it did so with another task that shares them:
        the session uses the first of each job.
        """
        ...
