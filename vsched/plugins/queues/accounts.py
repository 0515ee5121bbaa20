"""The accounts of the plugin capacity: what each queue holds, and what it deserves and may hold.

Queues are flat or form a tree. The amounts of a queue in a tree include those of all queues below it. What queues hold
at the start of a session is kept from session to session and follows what changed; an account is made for a queue only
when a session looks at it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from vsched.framework.ledger.pledges import SetAside
from vsched.framework.ledger.usage import SessionUsage
from vsched.framework.points.extension import SessionContext
from vsched.framework.refusal import Refusal
from vsched.kernels.differing import differing_keys
from vsched.kernels.fairness import ratio
from vsched.model.amounts.resources import PODS, Amounts, Vector, add, less, subtract
from vsched.model.snapshot import QueueUsage, Snapshot
from vsched.plugins.queues.frame import LEFT_OUT, Frame, QueuePlace, Terms, flat_frame, tree_frame
from vsched.plugins.queues.guarantees import Guarantees
from vsched.plugins.words import queues as words

_NOTHING: Vector = {}

QueueRank = tuple[float, bool, int]
"""Share, whether the queue deserves nothing, and its position by age, then name. The smaller tuple goes first."""


class Account:
    """One queue: its terms, the queues above it, and the amounts that it and all queues below it hold."""

    __slots__ = (
        "_admission_rank",
        "_as_found",
        "_by_age",
        "_rank",
        "above",
        "admitted",
        "best_effort",
        "name",
        "pledged",
        "reserved",
        "subtree",
        "terms",
    )

    def __init__(
        self, name: str, place: QueuePlace, above: tuple[Account, ...], held: Vector | None, admitted: Vector
    ) -> None:
        """``held`` is what an inner queue and all below it hold at the start, None for a leaf; it is never changed."""
        self.name = name
        self._by_age = place.rank
        self._rank: QueueRank | None = None
        self._admission_rank: QueueRank | None = None
        self.terms = place.terms
        self.above = above
        """Accounts of the queues above, nearest first, the root last; empty where queues are flat."""
        self.subtree = held
        """Amounts that a queue with children and all below it hold; None for a leaf (the session's usage has them)."""
        self._as_found = True
        """Whether these are still those of the start."""
        self.admitted = dict(admitted)
        """Admitted but not held yet, minus what jobs hold beyond their minimum; includes all queues below."""
        self.pledged: Vector = {}
        """Only for a queue with children: amounts that jobs below it were admitted for and do not hold yet."""
        self.reserved: Vector = {}
        """Reserved for future pods; includes all queues below."""
        self.best_effort = not any(amount for column, amount in self.terms.deserved.items() if column != PODS)
        """Whether the queue deserves nothing (the resource ``pods`` is ignored)."""

    def held(self, usage: SessionUsage) -> Mapping[int, int]:
        """The amounts that the queue and all queues below it hold now."""
        return usage.queue(self.name) if self.subtree is None else self.subtree

    def taken(self, usage: SessionUsage) -> Mapping[int, int]:
        """The amounts that the queue and all queues below it hold, plus those reserved for future pods."""
        held = self.held(usage)
        if not self.reserved:
            return held
        taken = dict(held)
        add(taken, self.reserved.items())
        return taken

    def share(self, usage: SessionUsage) -> float:
        """The largest ratio of held to deserved of any resource; 1 where the queue deserves nothing."""
        if self.best_effort:
            return 1.0
        held = self.held(usage)
        return max(ratio(held.get(column, 0), amount) for column, amount in self.terms.deserved.items() if amount)

    def admission_share(self, usage: SessionUsage) -> float:
        """Like ``share``, but admitted amounts count as held."""
        pledged = usage.pledges.queue(self.name) if self.subtree is None else self.pledged
        if not pledged or self.best_effort:
            return self.share(usage)
        held = self.held(usage)
        deserved = self.terms.deserved.items()
        return max(ratio(held.get(column, 0) + pledged.get(column, 0), amount) for column, amount in deserved if amount)

    def rank(self, usage: SessionUsage) -> QueueRank:
        """The sort key of the queue among its siblings; cached until ``shift`` reports a change."""
        if self._rank is None:
            self._rank = self.share(usage), self.best_effort, self._by_age
        return self._rank

    def admission_rank(self, usage: SessionUsage) -> QueueRank:
        """Like ``rank``, but admitted amounts count as held."""
        if self._admission_rank is None:
            self._admission_rank = self.admission_share(usage), self.best_effort, self._by_age
        return self._admission_rank

    def pledge(self, amounts: Amounts) -> None:
        """Note that a job was admitted in the queue or in a queue below it."""
        self._admission_rank = None
        if self.subtree is not None:
            add(self.pledged, amounts)

    def shift(self, amounts: Amounts, sign: int) -> None:
        """Add these amounts to what the queue holds (``sign`` > 0), or subtract them."""
        self._rank = self._admission_rank = None
        if self.subtree is not None:
            if self._as_found:
                self.subtree, self._as_found = dict(self.subtree), False
            (add if sign > 0 else subtract)(self.subtree, amounts)


class Sums(NamedTuple):
    """What queues hold at the start of a session, and what it was worked out from. Never changes."""

    frame: Frame
    books: Mapping[str, QueueUsage]
    """By queue, those that were counted."""
    held: Mapping[str, Vector]
    """By queue with children: what it and all queues below it hold."""
    admitted: Mapping[str, Vector]
    """By queue: admitted but not held yet, minus what jobs hold beyond their minimum, in it and below it."""


def sums_of(snapshot: Snapshot, *, in_a_tree: bool, before: Sums | None = None) -> Sums:
    """The sums now; ``before`` are those of an earlier session, so that the cost follows what changed since."""
    if before is None or not before.frame.holds_for(snapshot):
        frame = (tree_frame if in_a_tree else flat_frame)(snapshot)
        before = Sums(frame, {}, {name: {} for name in frame.inner}, {})
    changed = differing_keys(snapshot.books, before.books)
    return _counted(before, snapshot.books, changed) if changed else before


def _counted(before: Sums, books: Mapping[str, QueueUsage], changed: list[str]) -> Sums:
    """The sums after the usage of these queues has changed."""
    held, admitted, copied = dict(before.held), dict(before.admitted), set[str]()
    for name in changed:
        place = before.frame.places.get(name)
        for one in () if place is None else (name, *place.above):
            if one not in copied:
                copied.add(one)
                admitted[one] = dict(admitted.get(one, _NOTHING))
                if one in held:
                    held[one] = dict(held[one])
            for usage, sign in ((before.books.get(name), -1), (books.get(name), 1)):
                if usage is not None:
                    _count(usage, held.get(one), admitted[one], sign)
    for one in copied:
        admitted[one] = _but_zeros(admitted[one])
        if not admitted[one]:
            del admitted[one]
        if one in held:
            held[one] = _but_zeros(held[one])
    return Sums(before.frame, dict(books), held, admitted)


def _but_zeros(amounts: Vector) -> Vector:
    return {column: amount for column, amount in amounts.items() if amount}


def _count(usage: QueueUsage, held: Vector | None, admitted: Vector, sign: int) -> None:
    """Add the usage of a queue (``sign`` > 0) to the sums of itself or of a queue above it, or subtract it."""
    more, less = (add, subtract) if sign > 0 else (subtract, add)
    if held is not None:
        more(held, usage.allocated.items())
    more(admitted, usage.inqueue.items())
    less(admitted, usage.elastic.items())


class Accounts:
    """The accounts of one session, by queue name: of all queues except those left out."""

    def __init__(self, sums: Sums) -> None:
        self._sums = sums
        self._places = sums.frame.places
        self._made: dict[str, Account] = {}

    def get(self, name: str) -> Account | None:
        """The account of a queue, None where it is left out or there is no such queue."""
        account = self._made.get(name)
        if account is None and name in self._places:
            account = self._made[name] = self._make(name)
        return account

    def __getitem__(self, name: str) -> Account:
        account = self.get(name)
        if account is None:
            raise KeyError(name)
        return account

    def __contains__(self, name: str) -> bool:
        return name in self._places

    def paths(self) -> Iterator[tuple[str, ...]]:
        """Every queue, each followed by the queues above it, nearest first."""
        return ((name, *place.above) for name, place in self._places.items())

    def above(self, name: str) -> Sequence[str]:
        """The queues above one, nearest first; none where queues are flat, or the queue is left out."""
        place = self._places.get(name)
        return () if place is None else place.above

    def guaranteed_beside(self, account: Account) -> Iterator[tuple[str, Amounts]]:
        """The siblings of a queue that have guarantees, and these; all other queues where queues are flat."""
        beside = self._sums.frame.guaranteed.get(account.above[0].name if account.above else "", ())
        return ((name, guarantee) for name, guarantee in beside if name != account.name)

    @property
    def frame(self) -> Frame:
        """The queues and the amounts in force."""
        return self._sums.frame

    def held_below(self) -> Mapping[str, object]:
        """By queue with children: what it and all below it hold, the same object as long as it is so."""
        found: dict[str, object] = dict(self._sums.held)
        for name, account in self._made.items():
            if name in found and account.subtree is not found[name]:
                found[name] = object()  # may still change in place
        return found

    def admitted(self, account: Account, aside: SetAside | None) -> Vector:
        """What a queue and all below it were admitted for and do not hold, without what does not count of that."""
        found = account.admitted
        for name, amounts in () if aside is None else aside.queues.items():
            if (place := self._places.get(name)) is not None and account.name in (name, *place.above):
                found = less(found, amounts)
        return found

    def terms(self, name: str) -> Terms | None:
        """The terms of a queue, None where it is left out."""
        place = self._places.get(name)
        return None if place is None else place.terms

    def _make(self, name: str) -> Account:
        place = self._places[name]
        nearest = self[place.above[0]] if place.above else None
        above = () if nearest is None else (nearest, *nearest.above)
        return Account(name, place, above, self._sums.held.get(name), self._sums.admitted.get(name, _NOTHING))


def guarantees_of(context: SessionContext, accounts: Accounts) -> Guarantees | None:
    """What queues are guaranteed; None where none is."""
    guarantees = {name: amounts for beside in accounts.frame.guaranteed.values() for name, amounts in beside}
    if not guarantees:
        return None

    def taken(name: str) -> Mapping[int, int]:
        account = accounts.get(name)
        return _NOTHING if account is None else account.taken(context.usage)

    def limit(name: str) -> Mapping[int, float]:
        terms = accounts.terms(name)
        return {} if terms is None else terms.limit

    return Guarantees(context, guarantees, accounts.above, limit, taken)


def problems_of(frame: Frame, snapshot: Snapshot) -> Mapping[str, Refusal]:
    """By queue name, the problem with the queue: those of its object, or it has jobs and children."""
    with_jobs = frame.inner & snapshot.books.keys()
    if not with_jobs:
        return frame.problems
    problems = dict(frame.problems)
    for name in with_jobs:
        cut = problems[name].message if name in problems else ""
        problems[name] = Refusal(LEFT_OUT, words.jobs_and_children(cut))
    return problems
