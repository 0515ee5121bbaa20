"""Quotas of devices for the plugin capacity: how much of a device class the claims of a queue's pods may ask for.

A claim counts once in a queue, and in each queue above it, however many pods of the queue use it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence

from vsched.framework.refusal import Shortage
from vsched.model.amounts.resources import ResourceAxis
from vsched.model.claims.catalogue import DeviceCatalogue
from vsched.model.claims.quota import DeviceAmount, demand_of, device_amount
from vsched.model.jobs.job import Job
from vsched.model.pods.status import READY
from vsched.model.pods.task import Task
from vsched.model.queues.queue import Queue
from vsched.model.snapshot import Snapshot
from vsched.plugins.queues.accounts import Account, Accounts
from vsched.plugins.queues.claims_in_use import QueueUse, claims_in_use

Limits = Mapping[DeviceAmount, int]


class Book:
    """The claims that one queue uses, and what they count together."""

    def __init__(self, limits: Limits, catalogue: DeviceCatalogue, use: QueueUse) -> None:
        self.limits = limits
        self.held = Counter({amount: value for amount in limits if (value := use.held[amount])})
        self._catalogue = catalogue
        self._users = use.users

    def copy(self) -> Book:
        """A book of its own with the same entries."""
        return Book(self.limits, self._catalogue, QueueUse(self._users.copy(), self.held))

    def shift(self, claims: Iterable[str], sign: int) -> None:
        """Add a pod that uses these claims (``sign`` > 0), or remove one."""
        for claim in claims:
            before = self._users.get(claim, 0)
            self._users[claim] = after = before + sign
            if (before > 0) is not (after > 0):
                for amount, value in self._demand(claim):
                    self.held[amount] += sign * value

    def short(self, tasks: Sequence[Task]) -> tuple[Shortage, ...]:
        """The amounts of which the limits leave too little for the claims of these tasks."""
        asked: Counter[DeviceAmount] = Counter()
        for claim in {claim for task in tasks for claim in claims_of(task)}:
            if self._users.get(claim, 0) <= 0:
                for amount, value in self._demand(claim):
                    asked[amount] += value
        return tuple(
            Shortage(str(amount), self.held[amount], value, self.limits[amount])
            for amount, value in sorted(asked.items())
            if self.held[amount] + value > self.limits[amount]
        )

    def _demand(self, claim: str) -> Iterator[tuple[DeviceAmount, int]]:
        found = self._catalogue.claims.get(claim)
        for amount, value in () if found is None else demand_of(found.spec):
            if amount in self.limits:
                yield amount, value


class DeviceQuotas:
    """The quotas of one session. They follow placements and evictions."""

    def __init__(self, snapshot: Snapshot, accounts: Accounts, limits: Mapping[str, Limits]) -> None:
        self._snapshot = snapshot
        self._catalogue = snapshot.claims.devices
        self._accounts = accounts
        self._limits = limits
        self._placed: dict[str, Book] = self._books()
        self._kept: dict[str, Book] | None = None
        """By queue: the same with the claims of pods that room is reserved for. Made on first use."""
        self._admitted: dict[str, Book] | None = None
        """By queue: the same with the claims of jobs that are admitted and lack their minimum. Made on first use."""

    def short(self, account: Account, tasks: Sequence[Task]) -> tuple[Account, tuple[Shortage, ...]] | None:
        """The queue, or the first one above it, that has too little left for the tasks' claims, and of what."""
        return _short(self._kept or self._placed, account, tasks)

    def short_for_job(self, account: Account, job: Job) -> tuple[Account, tuple[Shortage, ...]] | None:
        """The same for the minimum of a job that waits to be admitted."""
        return _short(self._with_admitted(), account, minimum_of(job))

    def admit(self, account: Account, job: Job) -> None:
        """Count the minimum of a job that is admitted."""
        _count(self._with_admitted(), account, minimum_of(job), 1)

    def shift(self, account: Account, task: Task, sign: int) -> None:
        """Count a task that was placed (``sign`` > 0), or that was evicted or lost its place."""
        for books in (self._placed, self._kept or {}, self._admitted or {}):
            _count(books, account, (task,), sign)

    def reserve(self, account: Account, tasks: Sequence[Task], sign: int) -> None:
        """Keep devices for tasks that have no place yet (``sign`` > 0), or no longer."""
        if self._kept is None:
            self._kept = _copied(self._placed)
        _count(self._kept, account, tasks, sign)

    def limit(self, queue: str, amount: DeviceAmount) -> int | None:
        """The quota of a queue, in thousandths; None where it has none."""
        return self._limits.get(queue, {}).get(amount)

    def held(self, queue: str, axis: ResourceAxis) -> dict[int, int]:
        """What the queue and all queues below it hold of what its quotas name, by column."""
        book = self._placed.get(queue)
        amounts = {} if book is None else {axis.find(str(amount)): value for amount, value in book.held.items()}
        return {column: value for column, value in amounts.items() if column is not None}

    def _books(self) -> dict[str, Book]:
        """The claims of pods that have a node at the start of the session."""
        paths = {
            names[0]: path
            for names in self._accounts.paths()
            if (path := tuple([name for name in names if name in self._limits]))
        }
        found = claims_in_use(self._catalogue, self._snapshot.jobs, paths)
        return {queue: Book(self._limits[queue], self._catalogue, use) for queue, use in found.items()}

    def _with_admitted(self) -> dict[str, Book]:
        if self._admitted is None:
            self._admitted = _copied(self._placed)
            for key in self._snapshot.admitted:
                job = self._snapshot.jobs[key]
                if (account := self._accounts.get(job.spec.queue)) is not None:
                    _count(self._admitted, account, minimum_of(job), 1)
        return self._admitted


def limits_of(queues: Iterable[Queue], axis: ResourceAxis, *, capacities: bool) -> dict[str, Limits]:
    """The quotas in the capabilities of queues that have any; ``capacities``: also those of parts of devices."""
    known = {column: amount for column, name in enumerate(axis.names) if (amount := device_amount(name)) is not None}
    found: dict[str, Limits] = {}
    for queue in queues if known else ():
        stated = {known[column]: value for column, value in queue.capability if column in known}
        limits = {amount: value for amount, value in stated.items() if capacities or not amount.dimension}
        if limits:
            found[queue.name] = limits
    return found


def claims_of(task: Task) -> Iterator[str]:
    """The keys of the ResourceClaims that a task uses, each once; those not made yet are left out."""
    if task.claims is not None:
        yield from dict.fromkeys(one.claim for one in task.claims.devices if one.claim)


def minimum_of(job: Job) -> list[Task]:
    """The pending tasks that the job lacks of its minimum: those that roles lack first, then the oldest."""
    lacking = Counter(dict(job.spec.min_task_member))
    for task in job.tasks.values():
        if task.status in READY:
            lacking[task.role] -= 1
    first: list[Task] = []
    others: list[Task] = []
    for task in sorted(job.pending.values(), key=lambda task: (task.created, task.name)):
        (first if lacking[task.role] > 0 else others).append(task)
        lacking[task.role] -= 1
    return [*first, *others][: max(len(first), job.spec.min_member - job.ready)]


def _copied(books: Mapping[str, Book]) -> dict[str, Book]:
    return {queue: book.copy() for queue, book in books.items()}


def _short(
    books: Mapping[str, Book], account: Account, tasks: Sequence[Task]
) -> tuple[Account, tuple[Shortage, ...]] | None:
    for one in (account, *account.above):
        book = books.get(one.name)
        short = () if book is None else book.short(tasks)
        if short:
            return one, short
    return None


def _count(books: Mapping[str, Book], account: Account, tasks: Sequence[Task], sign: int) -> None:
    for one in (account, *account.above):
        if (book := books.get(one.name)) is not None:
            for task in tasks:
                book.shift(claims_of(task), sign)
