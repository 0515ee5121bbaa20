"""The order of victims and of nodes by the work that evictions would waste, where a plugin says how much that is."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from vsched.framework.session import Session
from vsched.model.pods.shape import Shape
from vsched.model.pods.task import Task

Price = tuple[int, float]
"""The highest priority of the victims' jobs, then what is wasted."""


def amount_of(task: Task, column: int) -> int:
    """The request of a task for one resource."""
    for own, amount in task.shape.request:
        if own == column:
            return amount
    return 0


def size_of(session: Session, task: Task) -> float:
    """What a task asks for, as the sum of its parts of the cluster."""
    total = session.snapshot.total
    return sum(amount / total[column] for column, amount in task.shape.request if total[column])


def would_do(session: Session, task: Task, row: int, victims: Sequence[Task]) -> bool:
    """Whether a node has room for a task without these victims, by amounts alone."""
    for column, amount in task.shape.request:
        free = session.nodes.future_idle_at(column, row)
        if free + sum(amount_of(victim, column) for victim in victims) < amount:
            return False
    return True


def cheapest_first(session: Session, victims: Sequence[Task]) -> list[Task]:
    """Victims of one queue on one node by priority of their jobs, then by what is wasted.

    Of one job, those of lower priority go first, then those that the plugins name first (pod deletion cost), then those
    that waste least. Victims with equal keys keep their order.
    """
    jobs, rules = session.snapshot.jobs, session.plugins.victim_rules
    by_job: dict[str, list[Task]] = {}
    for victim in victims:
        by_job.setdefault(victim.job, []).append(victim)
    found: list[tuple[int, float, Task]] = []
    for key, own in by_job.items():
        own.sort(key=lambda task: (task.priority, rules.among_its_job(task)))
        # The waste of a task includes that of those before it, so that it never goes before them.
        found += [(jobs[key].priority, rules.wasted(own[: number + 1]), task) for number, task in enumerate(own)]
    return [task for *_, task in sorted(found, key=lambda one: one[:2])]


class Prices:
    """What the first victims would waste that make enough room for one shape, by node."""

    __slots__ = ("_position", "_prices", "_session", "_shape")

    def __init__(self, session: Session, shape: Shape) -> None:
        self._session = session
        self._shape = shape
        self._prices: dict[int, Price] = {}
        self._position = len(session.ledger.journal)

    def of(self, row: int, candidates: Callable[[int], Sequence[Task]]) -> Price:
        """The price of a node; it is worked out again once something has changed there."""
        journal = self._session.ledger.journal
        for changed in journal[self._position :]:
            self._prices.pop(changed, None)
        self._position = len(journal)
        price = self._prices.get(row)
        if price is None:
            price = self._prices[row] = self._worked_out(row, candidates(row))
        return price

    def _worked_out(self, row: int, candidates: Sequence[Task]) -> Price:
        nodes, jobs = self._session.nodes, self._session.snapshot.jobs
        lacking = {
            column: short
            for column, amount in self._shape.request
            if (short := amount - nodes.future_idle_at(column, row)) > 0
        }
        chosen: list[Task] = []
        for victim in candidates:
            if all(short <= 0 for short in lacking.values()):
                break
            chosen.append(victim)
            for column in lacking:
                lacking[column] -= amount_of(victim, column)
        priority = max((jobs[victim.job].priority for victim in chosen), default=0)
        return priority, self._session.plugins.victim_rules.wasted(chosen)
