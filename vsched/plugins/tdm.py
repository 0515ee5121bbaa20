"""tdm: lends nodes to revocable pods for a time of the day (time division multiplexing).

A node's label ``volcano.sh/revocable-zone`` names its zone. The policy says when a zone is open (``HH:MM-HH:MM``, UTC).
A window that ends before it begins counts from its beginning until midnight. While a zone is open, revocable pods may
run there, and its nodes score higher for them. While it is closed, tdm evicts preemptable pods from it, once every
``tdm.evict.period``, as many of each job as the job's budget allows (``volcano.sh/jdb-min-available``,
``-max-unavailable``, else one). Periods are counted from the epoch; the first cycle of a period evicts.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from typing import Self

import msgspec
import numpy as np

from vsched.framework.codes import Code
from vsched.framework.jobs import JobView
from vsched.framework.points.extension import (
    JobOrder,
    JobPipelined,
    JobStarving,
    PlacementListener,
    Plugin,
    SessionContext,
    Vote,
)
from vsched.framework.points.nodes import Check, NodeFilter, NodeScore
from vsched.framework.points.terms import JobTerm, PlacementTerm
from vsched.framework.points.victims import Preemptable, Purpose, VictimTasks, Votes
from vsched.framework.policy import Seconds
from vsched.model.nodes.table import Floats, LabelColumn, Mask, NodeTable
from vsched.model.pods.shape import Shape
from vsched.model.pods.status import Status
from vsched.model.pods.task import Task
from vsched.plugins.pods.constraints import effective
from vsched.plugins.words import nodes as words
from vsched.plugins.words import victims

ZONE = "volcano.sh/revocable-zone"
OPEN_SCORE = 100.0
DAY_SECONDS = 86_400
_WINDOW = re.compile(r"([01]?[0-9]|2[0-3]):([0-5][0-9])-([01]?[0-9]|2[0-3]):([0-5][0-9])")


class TdmArgs(msgspec.Struct, frozen=True):
    """When zones are open, and how often pods are taken off closed ones."""

    zones: dict[str, str] = msgspec.field(default_factory=dict, name="tdm.revocable-zone.*")
    """``HH:MM-HH:MM`` in UTC by zone; a zone without a window is never open."""
    evict_period: Seconds = msgspec.field(default=60.0, name="tdm.evict.period")
    """Zero for every cycle."""

    def normalised(self) -> Self:
        """The same without blanks around windows; raises ValueError where one is none."""
        for zone, window in self.zones.items():
            if not _WINDOW.fullmatch(window.strip()):
                raise ValueError(f"tdm.revocable-zone.{zone}: expected HH:MM-HH:MM, got {window!r}")
        return msgspec.structs.replace(self, zones={zone: window.strip() for zone, window in self.zones.items()})


class Tdm(
    Plugin[TdmArgs],
    NodeFilter,
    NodeScore,
    JobOrder,
    JobPipelined,
    JobStarving,
    Preemptable,
    VictimTasks,
    PlacementListener,
):
    """Opens and closes revocable zones by the time of the day."""

    name = "tdm"
    terms = frozenset({JobTerm.BUDGET, PlacementTerm.REVOCABLE})
    votes_by_kind = True
    goes_first = victims.NOT_FOR_WINDOWS
    args_type = TdmArgs

    def open(self, context: SessionContext) -> None:
        """Compute which zones are open now, and whether this cycle evicts."""
        snapshot, self._nodes = context.snapshot, context.nodes
        self._job_state = context.job_state
        self._zones = self.args.normalised().zones
        self._open = frozenset(zone for zone, window in self._zones.items() if is_open(window, snapshot.now))
        period = self.args.evict_period
        self._evicts = not period or snapshot.now // period != snapshot.previous // period
        self._evicted: Counter[str] = Counter()
        """By job: the number of running tasks that this cycle evicted."""

    # -- filter and score ---------------------------------------------------------------------------------------

    def static_checks(self, shape: Shape, nodes: NodeTable) -> Sequence[Check]:
        """Rules out nodes of closed zones, and for pods that are not revocable also nodes of open zones."""
        revocable, open_now = shape.rules.revocable, self._open
        key = ("tdm", revocable, open_now)
        return nodes.statics.remember(key, lambda: _checks(nodes.statics.label(ZONE), revocable, open_now))

    def score(self, shape: Shape, nodes: NodeTable, rows: slice | Sequence[int]) -> Floats | None:
        """100 on nodes of open zones for revocable pods; None for other pods."""
        if not shape.rules.revocable or not self._open:
            return None
        return np.array(self._scores(nodes)[rows])

    def score_row(self, shape: Shape, nodes: NodeTable, row: int) -> float:
        """The same for one node."""
        return float(self._scores(nodes)[row]) if shape.rules.revocable and self._open else 0.0

    def _scores(self, nodes: NodeTable) -> Floats:
        open_now = self._open
        return nodes.statics.remember(
            ("tdm score", open_now), lambda: np.where(_in_zones(nodes.statics.label(ZONE), open_now), OPEN_SCORE, 0.0)
        )

    # -- jobs ---------------------------------------------------------------------------------------------------

    def job_key(self, job: JobView) -> bool:
        """Jobs that are not preemptable go first."""
        return job.spec.preemptable is True

    def job_pipelined(self, job: JobView) -> Vote:
        """Permits if the minimum will be met once the resources that the job waits for are free."""
        return Vote.PERMIT if job.is_pipelined else Vote.REJECT

    def job_starving(self, job: JobView) -> bool:
        """Whether the job is not preemptable and has pending tasks."""
        return job.spec.preemptable is not True and job.pending_count > 0

    def job_class(self, job: JobView) -> None:
        """Only spec and pods count."""

    # -- victims ------------------------------------------------------------------------------------------------

    def victim_votes(self, evictor: Task, purpose: Purpose) -> Votes:
        """Preemptable tasks that run on nodes without a zone, within the budgets of their jobs.

        A preemptable or revocable evictor gets no victims, and cannot take its place back.
        """
        if _is_lodger(evictor):
            return Votes.none(victims.OWN_BUDGETS_SPENT, depends_on=True)
        return Votes(self._on_ordinary_nodes, victims.OWN_BUDGETS_SPENT, depends_on=False, regains=lambda taker: True)

    def _on_ordinary_nodes(self, candidates: Sequence[Task]) -> list[Task]:
        return self._within_budgets([victim for victim in candidates if self._zone_of(victim) == ""])

    def victim_tasks(self, candidates: Sequence[Task]) -> Sequence[Task]:
        """Preemptable tasks that run in closed zones, within the budgets of their jobs; once a period."""
        if not self._evicts:
            return ()
        return self._within_budgets([victim for victim in candidates if self.must_leave(victim)])

    def must_leave(self, victim: Task) -> bool:
        """Whether the task runs on a node of a closed zone."""
        zone = self._zone_of(victim)
        return zone in self._zones and zone not in self._open

    def on_allocate(self, job: JobView, task: Task, row: int) -> None:
        """Note that an eviction was undone."""
        if task.status is Status.RUNNING:
            self._evicted[job.key] -= 1

    def on_release(self, job: JobView, task: Task, row: int) -> None:
        """Note that a running task was evicted."""
        if task.status is Status.RUNNING:
            self._evicted[job.key] += 1

    def _zone_of(self, task: Task) -> str | None:
        """The revocable zone of the task's node; empty for a node without a zone, None where the node is not known."""
        statics = self._nodes.statics
        row = statics.row.get(task.node)
        return None if row is None else statics.attributes[row].labels.get(ZONE, "")

    def _within_budgets(self, candidates: Sequence[Task]) -> list[Task]:
        left: dict[str, int] = {}
        victims: list[Task] = []
        for victim in candidates:
            if not victim.preemptable or victim.status is not Status.RUNNING:
                continue
            spare = left[victim.job] if victim.job in left else self._spare(victim.job)
            left[victim.job] = max(0, spare - 1)
            if spare > 0:
                victims.append(victim)
        return victims

    def _spare(self, key: str) -> int:
        """How many more running tasks of a job may be evicted now; one for a job without a budget."""
        state = self._job_state(key)
        if state is None:
            return 0
        job = state.job if isinstance(state, JobView) else state
        if job.spec.budget is None:
            return 1
        finished = job.counts[Status.SUCCEEDED] + job.counts[Status.FAILED]
        return job.spec.budget.spare(len(job.tasks), job.counts[Status.RUNNING] - self._evicted[key], finished)


def is_open(window: str, now: float) -> bool:
    """Whether the time ``now`` is in a window (``HH:MM-HH:MM``, UTC); both ends belong to the window."""
    begin, end = (int(hours) * 3600 + int(minutes) * 60 for hours, minutes in re.findall(r"(\d+):(\d+)", window))
    second = int(now) % DAY_SECONDS
    return begin <= second and (end <= begin or second <= end)


def _is_lodger(task: Task) -> bool:
    return task.preemptable or task.shape.rules.revocable


def _in_zones(column: LabelColumn, zones: frozenset[str]) -> Mask:
    """bool[nodes]: whether a node is in one of the zones."""
    return np.array([*[zone in zones for zone in column.values], False])[column.ids]


def _checks(column: LabelColumn, revocable: bool, open_now: frozenset[str]) -> tuple[Check, ...]:
    lent = frozenset(zone for zone in column.values if zone)
    found = [(words.ZONE_CLOSED, Code.TIME_WINDOW, ~_in_zones(column, lent - open_now))]
    if not revocable:
        found.append((words.NOT_REVOCABLE, Code.TIME_WINDOW, ~_in_zones(column, lent & open_now)))
    return effective(found)
