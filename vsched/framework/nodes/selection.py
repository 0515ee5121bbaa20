"""Chooses the node for a task: the best one with room now, else the best one with room later.

"Later" means: once the pods that are leaving have left. The module also explains why no node fits, and counts room.
All of it can be restricted to some nodes for a time (``within``).
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cached_property, partial
from typing import NamedTuple

import numpy as np

from vsched.framework.claims.claims import Claims, TaskClaims
from vsched.framework.nodes.carried import CarriedNodes
from vsched.framework.nodes.feasibility import FeasibilityCache, NodePlugins
from vsched.framework.nodes.keeping import KeepsRoom
from vsched.framework.nodes.masks import ONE_SHARD, ShardMasks
from vsched.framework.nodes.restriction import Restriction
from vsched.framework.nodes.rooms import rooms_of
from vsched.framework.nodes.shapes import ShapeFindings, ShapeNodes, ShapeRoom
from vsched.framework.nodes.why import (
    Failing,
    NodeReasons,
    failing,
    followed,
    of_claims,
    of_limits,
    once_filled,
    reasons_of,
)
from vsched.framework.points.nodes import Check
from vsched.model.nodes.table import Floats, Ints, Mask, NodeTable
from vsched.model.pods.shape import Shape
from vsched.model.pods.task import Task

LOOKS_MAX = 512
"""How often a cycle counts room only for messages; counting may take a tenth of a millisecond each time."""


class Choice(NamedTuple):
    """The node row chosen for a task."""

    row: int
    waits: bool
    """Whether the node has room only once leaving pods have left."""


class NodeSelection:
    """Chooses nodes for tasks from one session's node table."""

    def __init__(
        self,
        nodes: NodeTable,
        journal: list[int],
        node_plugins: NodePlugins,
        queue_of: Callable[[Task], str],
        checkpoint: Callable[[], None] = lambda: None,
        claims: Claims | None = None,
        keepers: Sequence[KeepsRoom] = (),
        shards: ShardMasks = ONE_SHARD,
        carried: CarriedNodes | None = None,
    ) -> None:
        self._nodes = nodes
        self._keepers = keepers
        self._claims = claims
        self._implicit = claims is not None and claims.implicit
        self._checkpoint = checkpoint
        self._journal = journal
        self._make_fits = partial(FeasibilityCache, nodes, journal, node_plugins, queue_of, shards.checks, carried)
        self._first, self._ours = shards.first, shards.ours
        self._is_plain = not keepers and not self._implicit and shards.first is None
        """Whether a task's own rules are all that limits its nodes."""
        self._looks = 0
        self._only: Restriction | None = None
        self.is_short = False
        """Whether some task found no node earlier in this cycle; under a restriction, since it began."""
        self.failures = 0
        """How many kinds of tasks found no node in this cycle, without restrictions."""

    @cached_property
    def _fits(self) -> FeasibilityCache:
        """What is known of shapes; cycles in which no pod waits do not ask."""
        return self._make_fits()

    def leave(self) -> None:
        """Leave what is known of shapes to the next session."""
        if "_fits" in vars(self):
            self._fits.leave()

    @contextmanager
    def within(self, rows: Ints, scores: Floats | None = None) -> Iterator[None]:
        """A context in which nodes of these rows alone are chosen, counted and explained; ``scores`` adds to scores.

        A restriction within another one holds for the rows of both. What is found out in it is forgotten at its end.
        """
        before, was_short = self._only, self.is_short
        if not bool(np.all(rows[1:] > rows[:-1])):
            rows = np.unique(rows)
        self._only = Restriction(rows, len(self._nodes), scores).inside(before, len(self._nodes))
        self.is_short = False
        try:
            yield
        finally:
            self._only, self.is_short = before, was_short

    @contextmanager
    def anywhere(self) -> Iterator[None]:
        """A context in which all nodes may be chosen, whatever restrictions there are around it."""
        before, was_short = self._only, self.is_short
        self._only = None
        try:
            yield
        finally:
            self._only, self.is_short = before, was_short

    @property
    def restricted_to(self) -> Mask | None:
        """bool[nodes]: the rows that may be chosen at present; None without a restriction."""
        return None if self._only is None else self._only.mask

    def choose(self, task: Task, nominated: int | None = None, *, besides: int | None = None) -> Choice | None:
        """The best node for a task: one with room now, else one with room later; None where there is none.

        A nominated row comes before all others, with room now or later, if the task fits there.
        The row ``besides`` is never chosen.
        """
        self._checkpoint()
        fit = self._fits.of(task)
        if nominated is None and besides is None and (row := self._best_of_few(fit, task)) is not None:
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
            claims = self._claims_of(task)
            if _claims_pass(claims, row, later=later):
                yield row

    def is_free_of_others(self, task: Task) -> bool:
        """Whether room and attributes of nodes alone decide where a task may go: no claims, no rules about pods."""
        return not self._keepers and not self._fits.of(task).dynamic and self._claims_of(task) is None

    def kind(self, task: Task) -> Hashable:
        """Tasks of equal kind ask for the same: a shape, and claims of one kind."""
        claims = self._claims_of(task)
        kind: Hashable = task.shape if claims is None else (task.shape, claims.kind)
        bound = self._bound(task)
        return (kind, bound) if bound else kind

    def reads_labels(self, shape: Shape) -> bool:
        """Whether rules about pods may tell tasks of a shape apart by their labels, at present."""
        return self._fits.reads_labels(shape)

    def label_class(self, task: Task) -> Hashable:
        """What these rules need of a task's labels."""
        return self._fits.class_of(task)

    def has_failed(self, task: Task) -> bool:
        """Whether a task of the same shape, class and kind of claims found no node earlier in this cycle."""
        return self._findings(self._fits.of(task), self._claims_of(task), task).failed

    def fits_at(self, task: Task, row: int) -> bool:
        """Whether the task fits on this row, now or once leaving pods have left."""
        fit = self._fits.of(task)
        return (
            self._may_be(row)
            and self._fits.fits_later(fit, row)
            and _passes(_masks(self._dynamic_checks(fit, task), later=True), row)
            and _claims_pass(self._claims_of(task), row, later=True)
        )

    def has_room_now(self, task: Task, row: int) -> bool:
        """Whether a row where the task fits later has room for it now."""
        fit = self._fits.of(task)
        return (
            self._fits.has_room(fit.shape, row)
            and _passes(_masks(self._dynamic_checks(fit, task)), row)
            and _claims_pass(self._claims_of(task), row, later=False)
        )

    def can_hold(self, task: Task, row: int) -> bool:
        """Whether a nomination of this row is still usable: only pods that are leaving may be in the way."""
        fit = self._fits.of(task)
        if not self._may_be(row) or not self._fits.fits_later(fit, row, slots=self._nodes.terminating[row]):
            return False
        if not _claims_pass(self._claims_of(task), row, later=True):
            return False
        return self._fits.is_left(row) or _passes(_masks(self._dynamic_checks(fit, task), later=True), row)

    def is_left(self, row: int) -> bool:
        """Whether pods are leaving the row."""
        return self._fits.is_left(row)

    def candidates(self, task: Task, freeable: Mapping[int, Ints]) -> Mask:
        """bool[nodes]: nodes that static checks allow and that have room if ``freeable`` (by column) is freed too.

        Claims rule out the nodes where evictions cannot help.
        """
        fit = self._fits.of(task)
        mask = np.ones(len(self._nodes), dtype=np.bool_) if fit.allowed is None else fit.allowed.copy()
        claims = self._claims_of(task)
        if claims is not None:
            mask &= claims.curable()
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

    def explain(self, task: Task) -> NodeReasons:
        """Why no node fits the task now; cached until a placement changes something."""
        fit, claims = self._fits.of(task), self._claims_of(task)
        findings, position = self._findings(fit, claims, task), len(self._journal)
        if findings.explanation is None or findings.explanation[0] != position:
            findings.explanation = (position, reasons_of(self._looked_at, self._failing(fit, task, claims)))
        return findings.explanation[1]

    def failing(self, task: Task, *, filled: bool = False) -> list[Failing]:
        """The nodes that do not fit the task, by reason.

        With ``filled``, every node first gets as many tasks like this one as it has room for. Dynamic checks are left
        out in this case, because each such task would change them.
        """
        fit, claims = self._fits.of(task), self._claims_of(task)
        if filled:
            return list(self._failing_filled(fit, claims, *self._count(fit, task, claims)))
        return list(self._failing(fit, task, claims))

    def _failing(self, fit: ShapeNodes, task: Task, claims: TaskClaims | None) -> Iterator[Failing]:
        dynamic = self._dynamic_checks(fit, task)
        found = failing(self._nodes, fit.shape, fit.checks, dynamic, self._nodes.unreserved)
        found = found if claims is None else of_claims(claims, found, len(self._nodes))
        return found if self._only is None else self._only.failing(found)

    def _failing_filled(
        self, fit: ShapeNodes, claims: TaskClaims | None, rows: Ints, kept: Sequence[Failing]
    ) -> Iterator[Failing]:
        """The nodes without room for one more task, by reason; ``rows`` and ``kept`` are what ``_count`` returned."""
        found = failing(self._nodes, fit.shape, fit.checks, (), once_filled(self._nodes, fit.shape, rows))
        if kept:
            found = followed(found, kept, len(rows))
        found = found if claims is None else of_limits(claims, found, rows)
        return found if self._only is None else self._only.failing(found)

    def static_checks(self, task: Task) -> Sequence[Check]:
        """The static checks of the task's shape and queue."""
        return self._fits.of(task).checks

    def room(self, task: Task) -> ShapeRoom:
        """How many tasks like this one the nodes could hold at most, now or later, without dynamic checks.

        The result is cached until a placement changes something, so a backlog of gangs that cannot fit is cheap.
        """
        fit, claims = self._fits.of(task), self._claims_of(task)
        findings, position = self._findings(fit, claims, task), len(self._journal)
        if findings.room is None or findings.room[0] != position:
            findings.room = (position, self._measure(fit, task, claims))
        return findings.room[1]

    def room_at_hand(self, task: Task) -> ShapeRoom | None:
        """The same as ``room``, for messages only: None once it was counted ``LOOKS_MAX`` times in a cycle."""
        known = self._findings(self._fits.of(task), self._claims_of(task), task).room
        if known is None or known[0] != len(self._journal):
            if self._looks >= LOOKS_MAX:
                return None
            self._looks += 1
        return self.room(task)

    def rooms(self, task: Task, *, now: bool = False) -> Ints:
        """int64[nodes]: how many tasks like this one each node could hold, as in ``room``; with ``now``, without
        what pods have yet to leave."""
        return self._count(self._fits.of(task), task, self._claims_of(task), now=now)[0]

    def _measure(self, fit: ShapeNodes, task: Task, claims: TaskClaims | None) -> ShapeRoom:
        rows, kept = self._count(fit, task, claims)
        tasks = int(rows.sum())
        if claims is not None:
            tasks = min([tasks, *(limit.together for limit in claims.limits() if limit.together is not None)])
        return ShapeRoom(tasks, reasons_of(self._looked_at, self._failing_filled(fit, claims, rows, kept)))

    def _count(
        self, fit: ShapeNodes, task: Task, claims: TaskClaims | None, *, now: bool = False
    ) -> tuple[Ints, list[Failing]]:
        """int64[nodes]: how many such tasks each node could hold; and the nodes that keep room for others."""
        rows = rooms_of(self._nodes, fit, claims, self.restricted_to, now=now)
        return rows, [found for keeper in self._keepers for found in keeper.limit(task, rows)]

    # -- the restriction ----------------------------------------------------------------------------------------

    @property
    def _looked_at(self) -> int:
        """The number of nodes that may be chosen at present."""
        return len(self._nodes) if self._only is None else len(self._only.rows)

    def _findings(self, fit: ShapeNodes, claims: TaskClaims | None, task: Task) -> ShapeFindings:
        bound = self._bound(task)
        if self._only is not None:
            return self._only.findings(fit, claims, bound)
        return fit.findings_for(claims, bound)

    def _bound(self, task: Task) -> Hashable:
        """The class of a task by the room that is kept from it; empty where none is."""
        if not self._keepers:
            return ()
        return tuple([found for keeper in self._keepers if (found := keeper.class_of(task))])

    def _may_be(self, row: int) -> bool:
        return self._only is None or bool(self._only.mask[row])

    def _restricted(self, ranked: Floats) -> Floats:
        """The scores as the restriction has them: minus infinity for the nodes that it rules out."""
        if self._only is None:
            return ranked
        if self._only.scores is not None:
            ranked = ranked + self._only.scores
        return np.where(self._only.mask, ranked, -np.inf)

    # -- choosing -----------------------------------------------------------------------------------------------

    def _claims_of(self, task: Task) -> TaskClaims | None:
        if task.claims is None and not self._implicit:
            return None
        return None if self._claims is None else self._claims.of(task)

    def _best_of_few(self, fit: ShapeNodes, task: Task) -> int | None:
        """The best row with room now, -1 where there is none; None where all nodes have to be looked at to know it."""
        if fit.few is None or not self._is_plain or self._only is not None or task.claims is not None:
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
            # Mostly the best row can serve the claims, so that the others need not be looked at.
            row = int(ranked.argmax())
            if ranked[row] == -np.inf:
                return -1
            if claims.passes(row, later=later):
                return row
        ranked = np.where(claims.served(later=later), ranked, -np.inf)
        if relative:
            ranked = self._fits.with_relative(fit, task, ranked)
        return claims.best(ranked if scores is None else ranked + scores, later=later)

    def _dynamic_checks(self, fit: ShapeNodes, task: Task) -> Sequence[Check]:
        found = self._fits.dynamic_checks(fit, task) if fit.dynamic else ()
        if not self._keepers:
            return found
        return [*found, *(check for keeper in self._keepers for check in keeper.checks(task))]

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
