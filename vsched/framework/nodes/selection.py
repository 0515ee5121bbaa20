"""Chooses the node for a task: the best one with room now, else the best one with room later.

"Later" means: once the pods that are leaving have left.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import NamedTuple

import numpy as np

from vsched.framework.claims.claims import Claims
from vsched.framework.claims.task_claims import TaskClaims
from vsched.framework.nodes.carried import CarriedNodes
from vsched.framework.nodes.feasibility import FeasibilityCache
from vsched.framework.nodes.masks import ONE_SHARD, ShardMasks
from vsched.framework.nodes.node_plugins import NodePlugins
from vsched.framework.nodes.reserving import ReservesRoom
from vsched.framework.nodes.shapes import ShapeNodes
from vsched.framework.nodes.survey import NodeSurvey
from vsched.framework.points.nodes import Check
from vsched.kernels.assignment import digest_of
from vsched.model.nodes.table import Floats, Ints, Mask, NodeTable
from vsched.model.pods.task import Task


class Choice(NamedTuple):
    """The node row chosen for a task."""

    row: int
    waits: bool
    """Whether the node has room only once leaving pods have left."""


class NodeSelection(NodeSurvey):
    """Chooses nodes for tasks from one session's node table."""

    def __init__(
        self,
        nodes: NodeTable,
        journal: list[int],
        node_plugins: NodePlugins,
        queue_of: Callable[[Task], str],
        checkpoint: Callable[[], None] = lambda: None,
        claims: Claims | None = None,
        reservers: Sequence[ReservesRoom] = (),
        shards: ShardMasks = ONE_SHARD,
        carried: CarriedNodes | None = None,
    ) -> None:
        make_fits = partial(FeasibilityCache, nodes, journal, node_plugins, queue_of, shards.checks, carried)
        super().__init__(nodes, journal, make_fits, claims, reservers)
        self._checkpoint = checkpoint
        self._first, self._ours = shards.first, shards.ours
        self._is_plain = not reservers and not self._implicit and shards.first is None
        """Whether a task's own rules are all that limits its nodes."""

    def choose(self, task: Task, nominated: int | None = None, *, besides: int | None = None) -> Choice | None:
        """The best node for a task: one with room now, else one with room later; None where there is none.

        A nominated row comes before all others, with room now or later, if the task fits there.
        The row ``besides`` is never chosen.
        """
        self._checkpoint()
        fit = self._fits.of(task)
        if nominated is None and besides is None and (row := self._best_representative(fit, task)) is not None:
            if row >= 0:
                return Choice(row, waits=False)
            return self._choose_later(fit, task, (), None)
        return self._choose_of_all(fit, task, nominated, besides)

    def _choose_of_all(self, fit: ShapeNodes, task: Task, nominated: int | None, besides: int | None) -> Choice | None:
        checks = self._dynamic_checks(fit, task)
        masks = _masks(checks, besides, len(self._nodes))
        later = _masks(checks, besides, len(self._nodes), later=True) if masks else ()
        claims = self._claims_of(task) if task.claims is not None or self._implicit else None
        ranked = self._fits.ranked(fit)
        if nominated is not None and self._may_be(nominated):
            has_room = ranked[nominated] > -np.inf and _passes(masks, nominated)
            if has_room and _claims_pass(claims, nominated, later=False):
                return Choice(nominated, waits=False)
            will_have = self._fits.fits_later(fit, nominated) and _passes(later, nominated)
            if will_have and _claims_pass(claims, nominated, later=True):
                return Choice(nominated, waits=True)
        row = self._best(fit, task, ranked, masks, claims, later=False)
        if row >= 0:
            return Choice(row, waits=False)
        return self._choose_later(fit, task, later, claims)

    def _choose_later(
        self, fit: ShapeNodes, task: Task, masks: Sequence[Mask], claims: TaskClaims | None
    ) -> Choice | None:
        """The best node with room once leaving pods have left; None where there is none, which is noted."""
        if self._nodes.in_motion:
            row = self._best(fit, task, self._later(fit), masks, claims, later=True)
            if row >= 0:
                return Choice(row, waits=True)
        findings = self._findings(fit, claims, task)
        self.failures += self._only is None and not findings.failed
        findings.failed = self.is_short = True
        return None

    def in_order(self, task: Task, *, later: bool = False) -> Iterator[int]:
        """The rows with room for a task, the best first; with ``later``, those with room once leaving pods have left.

        The session may change meanwhile, and be changed back.
        """
        fit = self._fits.of(task)
        masks = _masks(self._dynamic_checks(fit, task), later=later)
        claims = self._claims_of(task)
        ranked = self._restricted(_masked(self._later(fit) if later else self._fits.ranked(fit), masks))
        if claims is not None:
            ranked = _with_claims(np.where(claims.served(later=later), ranked, -np.inf), claims)
        ranked = self._fits.with_relative(fit, task, ranked)
        open_rows = np.flatnonzero(ranked > -np.inf)
        order = open_rows[np.argsort(-ranked[open_rows], kind="stable")].tolist()
        for row in self.own_first(order):
            if _claims_pass(self._claims_of(task), row, later=later):
                yield row

    def state(self, tasks: Sequence[Task], *, later: bool) -> Sequence[object] | None:
        """What decides where such tasks may go, and which nodes suit them best; None where nobody can tell.

        Equal states stay equal as equal tasks are placed on the same nodes. What they claim is left out, and nodes
        without room for any of them.
        """
        states = [self._fits.state(task) for task in tasks]
        if self._reservers or None in states:
            return None
        nodes, only = self._nodes, self._only
        rows = np.flatnonzero(np.logical_or.reduce([self.rooms(task, now=not later) > 0 for task in tasks]))
        amounts = nodes.allocatable, nodes.idle, nodes.releasing, nodes.pipelined, nodes.requested, nodes.scoring
        told: list[Ints | Floats | Mask] = [rows, nodes.terminating[rows], *(one[:, rows] for one in amounts)]
        if only is not None:
            told += [only.mask[rows]] if only.scores is None else [only.mask[rows], only.scores[rows]]
        return (*states, nodes.in_motion, digest_of(*told))

    def is_free_of_others(self, task: Task) -> bool:
        """Whether room and attributes of nodes alone decide where a task may go: no claims, no rules about pods."""
        return not self._reservers and not self._fits.of(task).dynamic and self._claims_of(task) is None

    def fits_at(self, task: Task, row: int, *, later: bool = True) -> bool:
        """Whether the task fits on this row now, or with ``later`` once leaving pods have left."""
        fit = self._fits.of(task)
        return (
            self._may_be(row)
            and self._fits.fits_later(fit, row)
            and (later or self._fits.has_room(fit.shape, row))
            and _passes(_masks(self._dynamic_checks(fit, task), later=later), row)
            and _claims_pass(self._claims_of(task), row, later=later)
        )

    def can_hold(self, task: Task, row: int) -> bool:
        """Whether a nomination of this row is still usable: only pods that are leaving may be in the way."""
        fit = self._fits.of(task)
        if not self._may_be(row) or not self._fits.fits_later(fit, row, slots=self._nodes.terminating[row]):
            return False
        if not _claims_pass(self._claims_of(task), row, later=True):
            return False
        return self._fits.is_left(row) or _passes(_masks(self._dynamic_checks(fit, task), later=True), row)

    def candidates(self, task: Task, freeable: Mapping[int, Ints]) -> Mask:
        """bool[nodes]: nodes that static checks allow and that have room if ``freeable`` (by column) is freed too.

        Claims, and what plugins refuse for now, rule out the nodes where evictions cannot help.
        """
        fit = self._fits.of(task)
        mask = np.ones(len(self._nodes), dtype=np.bool_) if fit.allowed is None else fit.allowed.copy()
        claims = self._claims_of(task)
        if claims is not None:
            mask &= claims.curable()
        for check in self._fits.dynamic_checks(fit, task) if fit.dynamic else ():
            if not check.resolvable:
                mask &= check.passes if check.later is None else check.later
        if self._only is not None:
            mask &= self._only.mask
        for column, amount in fit.shape.request:
            free = self._nodes.future_idle(column)
            if column in freeable:
                free = free + freeable[column]
            mask &= free >= amount
        return mask

    def ranking(self, task: Task, candidates: Mask) -> Floats:
        """The score of each candidate, minus infinity for the other nodes."""
        fit = self._fits.of(task)
        ranked = self._restricted(np.where(candidates, self._fits.scores(fit), -np.inf))
        return _with_claims(self._fits.with_relative(fit, task, ranked), self._claims_of(task))

    def is_ours(self, row: int) -> bool:
        """Whether a node belongs to nobody else: pods on others are left to those."""
        return self._ours is None or bool(self._ours[row])

    def own_first(self, rows: list[int]) -> list[int]:
        """The rows in this order, but those of our own nodes before all others."""
        first = self._first
        return rows if first is None else sorted(rows, key=lambda row: not first[row])

    # -- choosing -----------------------------------------------------------------------------------------------

    def _best_representative(self, fit: ShapeNodes, task: Task) -> int | None:
        """The best row with room now, -1 where there is none; None where representatives do not show it."""
        if fit.by_representatives is None or not self._is_plain or self._only is not None or task.claims is not None:
            return None
        return None if self._fits.is_relative(fit, task) else self._fits.best(fit)

    def _best(
        self,
        fit: ShapeNodes,
        task: Task,
        ranked: Floats,
        masks: Sequence[Mask],
        claims: TaskClaims | None,
        *,
        later: bool,
    ) -> int:
        """The first row with the highest score, among our own nodes where one is a candidate; -1 where no row is."""
        if not len(ranked):
            return -1
        if self._first is not None:
            row = self._best_of(fit, task, ranked, [*masks, self._first], claims, later=later)
            if row >= 0:
                return row
        return self._best_of(fit, task, ranked, masks, claims, later=later)

    def _best_of(
        self,
        fit: ShapeNodes,
        task: Task,
        ranked: Floats,
        masks: Sequence[Mask],
        claims: TaskClaims | None,
        *,
        later: bool,
    ) -> int:
        if self._only is not None:
            if claims is None and not self._fits.is_relative(fit, task):
                return self._only.best(ranked, masks)
            ranked = self._restricted(ranked)
        ranked = _masked(ranked, masks)
        if claims is not None:
            return self._best_with_claims(fit, task, ranked, claims, later=later)
        ranked = self._fits.with_relative(fit, task, ranked)
        row = int(ranked.argmax())
        return row if ranked[row] > -np.inf else -1

    def _best_with_claims(self, fit: ShapeNodes, task: Task, ranked: Floats, claims: TaskClaims, *, later: bool) -> int:
        scores, relative = claims.score(), self._fits.is_relative(fit, task)
        if scores is None and not relative:
            # Mostly the best row can serve the claims, so that the others need not be checked.
            row = int(ranked.argmax())
            if ranked[row] == -np.inf:
                return -1
            if claims.passes(row, later=later):
                return row
        ranked = np.where(claims.served(later=later), ranked, -np.inf)
        if relative:
            ranked = self._fits.with_relative(fit, task, ranked)
        return claims.best(ranked if scores is None else ranked + scores, later=later)

    def _later(self, fit: ShapeNodes) -> Floats:
        """float64[nodes]: scores of the nodes that have room once leaving pods have left, else minus infinity."""
        total = self._fits.scores(fit)
        ranked = total if fit.allowed is None else np.where(fit.allowed, total, -np.inf)
        for column, amount in fit.shape.request:
            ranked = np.where(self._nodes.future_idle(column) >= amount, ranked, -np.inf)
        return ranked


def _masks(
    checks: Sequence[Check], besides: int | None = None, nodes: int = 0, *, later: bool = False
) -> Sequence[Mask]:
    """The nodes that each check allows, now or ``later``; and the nodes but one, where that is ruled out."""
    if not checks and besides is None:
        return ()
    masks = [check.passes if check.later is None or not later else check.later for check in checks]
    return masks if besides is None else [*masks, np.arange(nodes) != besides]


def _masked(ranked: Floats, masks: Sequence[Mask]) -> Floats:
    for mask in masks:
        ranked = np.where(mask, ranked, -np.inf)
    return ranked


def _with_claims(ranked: Floats, claims: TaskClaims | None) -> Floats:
    scores = None if claims is None else claims.score()
    return ranked if scores is None else ranked + scores


def _claims_pass(claims: TaskClaims | None, row: int, *, later: bool) -> bool:
    return claims is None or claims.passes(row, later=later)


def _passes(masks: Sequence[Mask], row: int) -> bool:
    return all(mask[row] for mask in masks)
