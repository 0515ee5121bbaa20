"""The candidate victims for a class of evictors, by node, and the nodes that were refused for them.

A pool is collected once for all evictors of one class. If one of them found no room on a node, the next one finds none
either, unless the node has changed since. Evictions only ever remove candidates.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from itertools import chain

import numpy as np

from vsched.actions.eviction_order import EvictionOrder
from vsched.actions.pricing import Prices, amount_of
from vsched.actions.victim_search import VictimSearch
from vsched.framework.jobs import JobView
from vsched.framework.ledger.ledger import LedgerEntry
from vsched.framework.refusal import Refusal
from vsched.framework.session import Session
from vsched.kernels.fewest import LargestFirst
from vsched.model.nodes.table import Ints, Mask
from vsched.model.pods.shape import PodLabels, Shape
from vsched.model.pods.status import Status
from vsched.model.pods.task import Task

PRICED_MAX = 1024
"""How many nodes are compared by what their victims would waste."""
LOOKS_MAX = 16
"""On how many nodes of a pool, at most, it is checked what protects the candidates; only messages need this."""


class UnfreeableNodes:
    """The nodes that cannot be freed for one shape, as of a position in the ledger's journal."""

    __slots__ = ("mask", "position")

    def __init__(self, nodes: int, position: int) -> None:
        self.mask: Mask = np.zeros(nodes, dtype=np.bool_)
        self.position = position


class CandidatePool:
    """The candidates of one class of evictors. Tasks evicted since it was collected are still in it."""

    def __init__(self, session: Session, search: VictimSearch, task: Task) -> None:
        self._session = session
        self._order = EvictionOrder(session, search.queue)
        self._evicted = session.ledger.evicted
        self._steps, self._after = len(session.ledger.log), session.ledger.latest
        self._rows: dict[int, list[Task]] = {}
        self._rows_of: dict[str, list[int]] = {}
        self._rows_of_namespace: dict[str, list[int]] = {}
        self._by_queue: dict[int, dict[str, list[Task]]] = {}
        """By row and queue: the candidates in the order in which their queue gives them up, once it was asked for."""
        self._refusals: dict[Shape, UnfreeableNodes] = {}
        self._passing: dict[tuple[Hashable, PodLabels], Mask] = {}
        self._passing_at: LedgerEntry | None = None
        self._richest: dict[tuple[int, int], list[tuple[Task, int]]] = {}
        self.protections: dict[Shape, Refusal] = {}
        """By shape of the evictor: the refusal of the only plugin (or budgets) that protected enough victims."""
        self.early: dict[Shape, Refusal | None] = {}
        """By shape of the evictor: from when on victims may be evicted for it, where that was looked for."""
        self.looks = LOOKS_MAX
        """How often it may still be checked what protects candidates."""
        self._prices: dict[Shape, Prices] = {}
        self.hopeless: dict[Hashable, LedgerEntry | None] = {}
        """Signatures of searches that failed, with the latest step in the ledger at that time."""
        nodes = len(session.nodes)
        self.present: Mask = np.zeros(nodes, dtype=np.bool_)
        """bool[nodes]: nodes with candidates."""
        self.claiming_rows: Mask = np.zeros(nodes, dtype=np.bool_)
        """bool[nodes]: nodes with candidates that have volumes or devices."""
        self.freeable: dict[int, Ints] = {}
        """The amounts that all candidates of a node hold together: ``int64[nodes]`` by column."""
        self.rows_of_shape: dict[Shape, list[int]] = {}
        """The nodes of the candidates, by what these ask for."""
        self._largest_first: dict[int, LargestFirst] = {}
        self.largest: dict[int, int] = {}
        """The most that one candidate holds, by column."""
        for victim, row in candidates_of(session, search, task):
            self._rows.setdefault(row, []).append(victim)
            if session.claims.concerns(victim):
                self.claiming_rows[row] = True
            self.rows_of_shape.setdefault(victim.shape, []).append(row)
        for shape, rows in self.rows_of_shape.items():
            counts = np.bincount(rows, minlength=nodes)
            self.present |= counts > 0
            for column, amount in shape.request:
                sums = self.freeable.get(column)
                self.freeable[column] = counts * amount if sums is None else sums + counts * amount
                self.largest[column] = max(self.largest.get(column, 0), amount)

    def __bool__(self) -> bool:
        return bool(self._rows)

    @property
    def is_valid(self) -> bool:
        """Whether the pool is still valid: undoing a step from before it was collected could add candidates."""
        log = self._session.ledger.log
        return not self._steps or (len(log) >= self._steps and log[self._steps - 1] is self._after)

    @property
    def complete(self) -> bool:
        """Whether no task was evicted since the pool was collected; only meaningful while the pool is valid."""
        return self._evicted == self._session.ledger.evicted

    def candidates(self, row: int) -> list[Task]:
        """The candidates of a node that this session has not evicted, in the order of eviction."""
        by_queue = self._by_queue.get(row)
        if by_queue is None:
            by_queue = self._by_queue[row] = self._order.by_queue(self._rows.get(row, []))
        left = {
            queue: [victim for victim in own if not is_out(self._session, victim)] for queue, own in by_queue.items()
        }
        return self._order.in_turn({queue: own for queue, own in left.items() if own}, row)

    def open_to(self, search: VictimSearch, task: Task) -> Mask:
        """bool[nodes]: nodes with a candidate whose job the plugins do not rule out for the task at present."""
        if not self._rows_of:
            for row, victims in self._rows.items():
                for victim in victims:
                    self._rows_of.setdefault(victim.job, []).append(row)
        mask: Mask = np.zeros(len(self.present), dtype=np.bool_)
        rules_out = search.rules_out(task)
        for key, rows in self._rows_of.items():
            job = self._session.job_state(key)
            if job is not None and not rules_out(job):
                mask[rows] = True
        return mask

    def of_namespace(self, namespace: str) -> Mask:
        """bool[nodes]: nodes with candidates of a namespace."""
        if not self._rows_of_namespace:
            for row, victims in self._rows.items():
                for name in {victim.namespace for victim in victims}:
                    self._rows_of_namespace.setdefault(name, []).append(row)
        mask: Mask = np.zeros(len(self.present), dtype=np.bool_)
        mask[self._rows_of_namespace.get(namespace, [])] = True
        return mask

    def richest(self, column: int, amount: int = 0) -> list[tuple[Task, int]]:
        """For each queue, its candidates on the nodes where they hold most of a resource, and their rows.

        As many nodes as hold such an amount, one at least: no single node can free more of the resource in any queue.
        """
        found = self._richest.get((column, amount))
        if found is None:
            jobs, shares = self._session.snapshot.jobs, dict[str, dict[int, list[Task]]]()
            for row, victims in self._rows.items():
                for victim in victims:
                    shares.setdefault(jobs[victim.job].spec.queue, {}).setdefault(row, []).append(victim)
            found = self._richest[column, amount] = []
            for rows in shares.values():
                held = {row: sum(amount_of(victim, column) for victim in own) for row, own in rows.items()}
                left = amount
                for row in sorted(held, key=lambda row: -held[row]):
                    found += [(victim, row) for victim in rows[row]]
                    left -= held[row]
                    if left <= 0:
                        break
        return found

    def claiming(self) -> list[tuple[Task, int]]:
        """The candidates that use ResourceClaims, and their rows."""
        return [
            (victim, row)
            for row, victims in self._rows.items()
            for victim in victims
            if victim.claims is not None and victim.claims.devices
        ]

    def largest_first(self, column: int) -> LargestFirst:
        """The candidates of each node by what they hold of a resource."""
        found = self._largest_first.get(column)
        if found is None:
            held = [dict(shape.request).get(column, 0) for shape in self.rows_of_shape]
            amounts = np.repeat(np.array(held, dtype=np.int64), list(map(len, self.rows_of_shape.values())))
            rows = np.fromiter(chain.from_iterable(self.rows_of_shape.values()), np.int64, len(amounts))
            found = self._largest_first[column] = LargestFirst(rows, amounts)
        return found

    def worthwhile(self, task: Task, mask: Mask) -> Mask:
        """The nodes of a mask that have candidates and no refusal that is still valid."""
        result: Mask = mask & self.present & ~self._current(task.shape).mask
        passing = self._passing.get(self._passing_key(task)) if self._passing else None
        if passing is not None and self._passing_at is self._session.ledger.latest:
            result &= ~passing
        return result

    def refuse(self, task: Task, row: int, *, lasting: bool) -> None:
        """Record that the node cannot be freed for the task.

        A lasting refusal is valid until the node changes. Any other is valid until the next step in the ledger.
        """
        if lasting:
            self._current(task.shape).mask[row] = True
            return
        if self._passing_at is not self._session.ledger.latest:
            self._passing.clear()
            self._passing_at = self._session.ledger.latest
        key = self._passing_key(task)
        if key not in self._passing:
            self._passing[key] = np.zeros(len(self.present), dtype=np.bool_)
        self._passing[key][row] = True

    def _passing_key(self, task: Task) -> tuple[Hashable, PodLabels]:
        return self._session.node_selection.kind(task), task.labels

    def cheapest_first(self, shape: Shape, rows: Sequence[int]) -> list[int]:
        """The rows by what the first victims would waste that make enough room for a shape there; else in their order.

        Only the first ``PRICED_MAX`` rows are compared.
        """
        prices = self._prices.get(shape)
        if prices is None:
            prices = self._prices[shape] = Prices(self._session, shape)
        return [*sorted(rows[:PRICED_MAX], key=lambda row: prices.of(row, self.candidates)), *rows[PRICED_MAX:]]

    def forgive(self, shape: Shape, row: int) -> None:
        """Remove a lasting refusal of a node, because the steps it depends on were undone."""
        self._current(shape).mask[row] = False

    def _current(self, shape: Shape) -> UnfreeableNodes:
        journal = self._session.ledger.journal
        refusals = self._refusals.get(shape)
        if refusals is None:
            refusals = self._refusals[shape] = UnfreeableNodes(len(self._session.nodes), len(journal))
        if refusals.position != len(journal):
            refusals.mask[journal[refusals.position :]] = False
            refusals.position = len(journal)
        return refusals


def is_out(session: Session, victim: Task) -> bool:
    """Whether a task is no victim any more: this session evicted it already, or others for its job."""
    job = session.job_state(victim.job)
    return isinstance(job, JobView) and (job.gained != "" or victim.uid in job.moved)


def candidates_of(
    session: Session, search: VictimSearch, task: Task, *, early: bool = False
) -> Iterator[tuple[Task, int]]:
    """The candidate victims for a task, with their rows; with ``early``, those whose protection has to end first."""
    rows, rules_out = session.nodes.statics.row, search.rules_out(task)
    protected = session.plugins.victim_rules.protected(search.purpose)
    for job in search.holders():
        if job.key in search.job.spec.barred or not search.may_offer(job):
            continue
        state = session.job_state(job.key) or job
        if rules_out(state):
            continue
        moved = state.moved if isinstance(state, JobView) else ()
        for victim in job.tasks.values():
            if (
                (victim.status is Status.RUNNING or victim.status is Status.BOUND)
                and victim.preemptable
                and victim.uid not in moved
                and search.takes(task, victim)
                and (protected is not None and protected(victim)) is early
            ):
                row = rows.get(victim.node)
                if row is not None:
                    yield victim, row
