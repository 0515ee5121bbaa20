"""A cache of the feasibility and the scores of all nodes, by pod shape.

Each (shape, class of labels, class of queue) has a ``ShapeNodes``: which nodes the checks allow, which of them have
room, and the score of each. The ledger's journal lists the rows that changed since; only these rows are computed again.
Rules about other pods, and scores relative to the candidates, are evaluated before each choice, for shapes with such.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence

import numpy as np

from vsched.framework.nodes.carried import CarriedNodes
from vsched.framework.nodes.masks import admitted
from vsched.framework.nodes.node_plugins import NodePlugins
from vsched.framework.nodes.representatives import RepresentativeNodes, RepresentativeScores
from vsched.framework.nodes.shapes import FITS_MAX, ShapeNodes
from vsched.framework.points.nodes import Check
from vsched.kernels.lowest import LowestIdle
from vsched.model.amounts.resources import PODS
from vsched.model.nodes.table import Floats, Ints, Mask, NodeTable
from vsched.model.pods.shape import Shape
from vsched.model.pods.task import Task

ROWS_ONE_BY_ONE = 6
"""Up to this many changed rows, plain numbers are faster than arrays."""

FULL_AT_FRACTION = 3
"""When at least a third of the rows changed, all rows are computed again."""


class FeasibilityCache:
    """The ``ShapeNodes`` of one session's node table."""

    def __init__(
        self,
        nodes: NodeTable,
        journal: list[int],
        node_plugins: NodePlugins,
        queue_of: Callable[[Task], str],
        always: Sequence[Check] = (),
        carried: CarriedNodes | None = None,
    ) -> None:
        """``always`` are checks for every task; ``carried`` has scores of these nodes from earlier sessions."""
        self._nodes = nodes
        self._always = always
        # Views on the arrays: an element read through one costs a third of numpy's own indexing.
        self._idle = nodes.idle.data
        self._leaving = nodes.releasing.data
        self._reserved = nodes.pipelined.data
        self._journal = journal
        self._filters = node_plugins.filters
        self._scorers = node_plugins.scorers
        self._relative = node_plugins.relative
        self._placements = node_plugins.placements
        self._preferences = node_plugins.preferences
        self._task_scorers = node_plugins.task_scorers
        self._by_queue = node_plugins.by_queue
        self._queue_of = queue_of
        self._lowest = LowestIdle(nodes.idle, journal)
        self._carried = carried if node_plugins.by_nodes_alone else None
        """None where scores depend on more than shapes and nodes, so that they cannot be carried over."""
        self._always_allowed = _allowed_by(always)
        self._representatives: RepresentativeNodes | None = None
        """Made for the first new shape."""
        self._fits: dict[Hashable, ShapeNodes] = {}
        """By shape, or by shape, class of labels and class of queue where these say anything."""

    def of(self, task: Task) -> ShapeNodes:
        """The ``ShapeNodes`` for a task."""
        task_class = self.class_of(task)
        key: Hashable = task.shape
        if task_class is not None or self._by_queue:
            key = (key, task_class, self._queue_class(task) if self._by_queue else None)
        fit = self._fits.get(key)
        if fit is None:
            if len(self._fits) >= FITS_MAX:
                del self._fits[next(iter(self._fits))]
            fit = self._fits[key] = self._begin(task, task_class)
        return fit

    def ranked(self, fit: ShapeNodes) -> Floats:
        """float64[nodes]: the score of nodes that are allowed and have room now, minus infinity for all others."""
        position = len(self._journal)
        if fit.position != position:
            self._refresh(fit)
            fit.position = position
        return fit.ranked

    def best(self, fit: ShapeNodes) -> int | None:
        """The first row with room now and the highest score; -1 where none has room, None where only ``ranked`` knows.

        The caller makes sure that no scores are relative.
        """
        if fit.by_representatives is None or self._representatives is None:
            return None
        row = self._representatives.best(fit.shape, fit.by_representatives, self.has_room)
        if row is None:
            fit.by_representatives = None
        return row

    def scores(self, fit: ShapeNodes) -> Floats:
        """The score of each node, whether it has room or not. The caller may change the array."""
        total: Floats | None = None
        for scorer in self._scorers:
            scores = scorer.score(fit.shape, self._nodes, slice(None))
            if scores is not None:
                total = scores if total is None else np.add(total, scores, out=total)
        if total is None:
            total = np.zeros(len(self._nodes))
        return total if fit.preference is None else np.add(total, fit.preference, out=total)

    def is_relative(self, fit: ShapeNodes, task: Task) -> bool:
        """Whether a plugin may give scores that are relative to the candidates, or that are for this task alone.

        This is asked every time: a pod placed since may be the first whose preferences concern this one.
        """
        # Generators would take twice as long.
        for one in self._relative:
            if one.is_relative(fit.shape, task.labels):
                return True
        for other in self._task_scorers:  # noqa: SIM110
            if other.scores_task(task):
                return True
        return False

    def with_relative(self, fit: ShapeNodes, task: Task, ranked: Floats) -> Floats:
        """The scores, plus those that are relative to the candidates or for this task, where plugins give any."""
        if self.is_relative(fit, task):
            candidates = ranked > -np.inf
            if candidates.any():
                for scorer in self._scorers:
                    scores = scorer.relative_score(fit.shape, task.labels, self._nodes, candidates)
                    if scores is not None:
                        ranked = ranked + scores
                for one in self._task_scorers:
                    scores = one.task_score(task, self._nodes, candidates)
                    if scores is not None:
                        ranked = ranked + scores
        return ranked

    def dynamic_checks(self, fit: ShapeNodes, task: Task) -> list[Check]:
        """Checks whose result the placements of this session may have changed."""
        task_class = self.class_of(task)
        found = [
            check
            for position, one in enumerate(self._filters)
            for check in one.dynamic_checks(fit.shape, self._one_class(task_class, position), self._nodes)
        ]
        for placement in self._placements:
            found += placement.queue_limit_checks(self._queue_of(task), fit.shape, self._nodes)
        return found

    def state(self, task: Task) -> list[bytes] | None:
        """What decides where a task may go and what suits it best, besides nodes and what they have; None if unknown.

        Equal states stay equal as equal tasks are placed on the same nodes.
        """
        if self._carried is None or any(one.scores_task(task) for one in self._task_scorers):
            return None
        shape, task_class = task.shape, self.class_of(task)
        found: list[bytes | None] = []
        for position, one in enumerate(self._filters):
            its_class = self._one_class(task_class, position)
            if one.is_dynamic(shape, its_class):
                found.append(one.dynamic_state(shape, its_class))
        relative = [one for one in self._relative if one.is_relative(shape, task.labels)]
        found += [one.relative_state(shape, task.labels) for one in relative]
        known = [one for one in found if one is not None]
        return known if len(known) == len(found) else None

    def fits_later(self, fit: ShapeNodes, row: int, slots: int = 0) -> bool:
        """Whether static checks and amounts allow the row once leaving pods have left.

        ``slots`` is a number of pod slots on the row to count as free in addition.
        """
        if fit.allowed is not None and not fit.allowed[row]:
            return False
        return all(
            self._idle[column, row] + self._returning(column, row) + (slots if column == PODS else 0) >= amount
            for column, amount in fit.shape.request
        )

    def is_left(self, row: int) -> bool:
        """Whether pods are leaving the row."""
        return self._leaving[PODS, row] > 0

    # -- classes ------------------------------------------------------------------------------------------------

    def class_of(self, task: Task) -> Hashable:
        """What filters need of a task besides its shape; None where the only filter needs nothing."""
        filters = self._filters
        if len(filters) == 1:
            return filters[0].task_class(task)
        return tuple(one.task_class(task) for one in filters)

    def reads_labels(self, shape: Shape) -> bool:
        """Whether ``class_of`` may differ among tasks of a shape at present."""
        return any(one.reads_labels(shape) for one in self._filters)

    def _one_class(self, task_class: Hashable, position: int) -> Hashable:
        return task_class if len(self._filters) == 1 else task_class[position]  # type: ignore[index]  # the tuple above

    def _queue_class(self, task: Task) -> Hashable:
        queue = self._queue_of(task)
        return (
            tuple(one.queue_class(queue) for one in self._placements),
            tuple(one.queue_class(queue) for one in self._preferences),
        )

    # -- updating a fit -----------------------------------------------------------------------------------------

    def leave(self) -> None:
        """Leave the scores of shapes to the next session."""
        if self._carried is not None:
            self._carried.give([one for one in self._fits.values() if one.position >= 0])

    def _begin(self, task: Task, task_class: Hashable) -> ShapeNodes:
        shape, nodes = task.shape, self._nodes
        known = None if self._carried is None else self._carried.take(shape)
        if known is not None:
            return self._begin_again(known, task_class)
        checks, dynamic = self._always, False
        for position, filtering in enumerate(self._filters):
            found = filtering.static_checks(shape, nodes)
            if found:
                checks = [*checks, *found]
            dynamic = dynamic or filtering.is_dynamic(shape, self._one_class(task_class, position))
        if shape.rules.refused:
            checks = [*checks, admitted(shape.rules.refused, nodes.statics)]
        preference: Floats | None = None
        if self._by_queue:
            queue = self._queue_of(task)
            for placement in self._placements:
                found = placement.queue_checks(queue, shape, nodes)
                if found:
                    checks = [*checks, *found]
                dynamic = dynamic or placement.is_limited(queue)
            for one in self._preferences:
                scores = one.queue_score(queue, shape, nodes)
                if scores is not None:
                    preference = scores if preference is None else preference + scores
        only_always = checks is self._always
        allowed = self._always_allowed if only_always else _allowed_by(checks)
        fit = ShapeNodes(shape, allowed, checks, dynamic, preference)
        if self._representatives is None:
            self._representatives = RepresentativeNodes(nodes, self._journal, self._scorers, self._always_allowed)
        if only_always and preference is None and not dynamic and self._representatives.represent(shape):
            fit.by_representatives = RepresentativeScores()
        return fit

    def _begin_again(self, fit: ShapeNodes, task_class: Hashable) -> ShapeNodes:
        """Go on with the scores of the last session; rules about pods are asked again."""
        dynamic = False
        for position, one in enumerate(self._filters):
            dynamic = dynamic or one.is_dynamic(fit.shape, self._one_class(task_class, position))
        fit.begin(dynamic)
        return fit

    def _refresh(self, fit: ShapeNodes) -> None:
        if fit.position < 0:
            self._refresh_all(fit)
            return
        carried = self._carried
        changed = self._journal[fit.position :] if carried is None else carried.changed_since(fit.position, fit.seen)
        if len(changed) > ROWS_ONE_BY_ONE:
            changed = list(dict.fromkeys(changed))
        if len(changed) <= ROWS_ONE_BY_ONE:
            for row in changed:
                self._refresh_row(fit, row)
        elif len(changed) * FULL_AT_FRACTION < len(self._nodes):
            self._refresh_rows(fit, changed)
        else:
            self._refresh_all(fit)

    def _refresh_all(self, fit: ShapeNodes) -> None:
        total = self.scores(fit)
        room = fit.allowed
        scarce = self._scarce(fit.shape)
        for column, amount in scarce:
            enough = self._free(column) >= amount
            room = enough if room is None else np.logical_and(room, enough, out=enough)
        if room is not None:
            np.copyto(total, -np.inf, where=~room)
        fit.ranked = total

    def _scarce(self, shape: Shape) -> Sequence[tuple[int, int]]:
        """The requested amounts of which some node may have too little."""
        if self._nodes.in_motion:
            return shape.request
        return [one for one in shape.request if not self._lowest.covers(*one)]

    def _free(self, column: int) -> Ints:
        """int64[nodes]: the idle amount, less what pipelined tasks will need of it."""
        return self._nodes.unreserved(column) if self._nodes.in_motion else self._nodes.idle[column]

    def _refresh_rows(self, fit: ShapeNodes, rows: list[int]) -> None:
        nodes, shape = self._nodes, fit.shape
        index = np.array(rows)
        total = np.zeros(len(rows))
        for scorer in self._scorers:
            scores = scorer.score(shape, nodes, rows)
            if scores is not None:
                total += scores
        if fit.preference is not None:
            total += fit.preference[index]
        room = None if fit.allowed is None else fit.allowed[index]
        for column, amount in shape.request:
            enough = self._free(column)[index] >= amount
            room = enough if room is None else np.logical_and(room, enough, out=enough)
        if room is not None:
            total[~room] = -np.inf
        fit.ranked[index] = total

    def _refresh_row(self, fit: ShapeNodes, row: int) -> None:
        if fit.allowed is not None and not fit.allowed[row]:
            return
        if not self.has_room(fit.shape, row):
            fit.ranked[row] = -np.inf
            return
        total = 0.0
        for scorer in self._scorers:
            total += scorer.score_row(fit.shape, self._nodes, row)
        # The preference is added last, as for all rows at once, because float sums depend on the order.
        fit.ranked[row] = total if fit.preference is None else total + fit.preference[row]

    def has_room(self, shape: Shape, row: int) -> bool:
        """Whether a row has the amounts idle that a shape requests, less what pipelined tasks will need of them."""
        idle, in_motion = self._idle, self._nodes.in_motion
        for column, amount in shape.request:
            free = idle[column, row]
            if in_motion:
                free += min(0, self._returning(column, row))
            if free < amount:
                return False
        return True

    def _returning(self, column: int, row: int) -> int:
        """The amount being released on a row, less what is reserved of it; negative where more is reserved."""
        amount: int = self._leaving[column, row] - self._reserved[column, row]
        return amount - int(self._nodes.terminating[row]) if column == PODS else amount


def _allowed_by(checks: Sequence[Check]) -> Mask | None:
    """bool[nodes]: the nodes that all checks pass; None without checks."""
    allowed: Mask | None = None
    for check in checks:
        allowed = check.passes if allowed is None else allowed & check.passes
    return allowed
