"""The accounts of the plugin capacity: for each queue its deserved, guaranteed and maximum amounts, and what it holds.

Queues are flat or form a tree. The amounts of a queue in a tree include those of all queues below it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from vsched.framework.ledger.usage import SessionUsage
from vsched.framework.refusal import Refusal
from vsched.kernels.fairness import ratio
from vsched.kernels.quota import QueueQuota, Stated, dense, in_force, limit_of, real_limits, tree_of
from vsched.model.amounts.resources import CPU, MEMORY, PODS, Amounts, Vector, add, format_amount, subtract
from vsched.model.nodes.table import Floats, Mask
from vsched.model.queues.queue import ROOT, Queue
from vsched.model.snapshot import QueueUsage, Snapshot
from vsched.plugins.queues.tree import QueueTree

LEFT_OUT = "LeftOut"
CLIPPED = "LimitsClipped"


class Terms(NamedTuple):
    """The amounts in force for one queue: base units by resource column."""

    deserved: Mapping[int, int]
    """An amount of 0 is kept for a resource other than cpu and memory that the queue names with 0."""
    guarantee: Amounts
    limit: Mapping[int, float]
    """The most it may hold of each resource; infinity means no limit. Pods are present only where they are limited."""
    ceiling: Mapping[int, float]
    """The most it may hold and have admitted, together."""


QueueRank = tuple[float, bool, int]
"""Share, whether the queue deserves nothing, and its rank by age, then name. The smaller tuple goes first."""


class Account:
    """One queue: its terms, the queues above it, and the amounts that it and all queues below it hold."""

    __slots__ = (
        "_admission_standing",
        "_rank",
        "_standing",
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
        self, name: str, terms: Terms, above: tuple[Account, ...] = (), *, inner: bool = False, rank: int = 0
    ) -> None:
        self.name = name
        self._rank = rank
        self._standing: QueueRank | None = None
        self._admission_standing: QueueRank | None = None
        self.terms = terms
        self.above = above
        """Accounts of the queues above, nearest first, the root last; empty where queues are flat."""
        self.subtree: Vector | None = {} if inner else None
        """Amounts that a queue with children and all below it hold; None for a leaf (the session's usage has them)."""
        self.admitted: Vector = {}
        """Admitted but not held yet, minus what jobs hold beyond their minimum; includes all queues below."""
        self.pledged: Vector = {}
        """Only for a queue with children: amounts that jobs below it were admitted for and do not hold yet."""
        self.reserved: Vector = {}
        """Reserved for future pods; includes all queues below."""
        self.best_effort = not any(amount for column, amount in terms.deserved.items() if column != PODS)
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

    def standing(self, usage: SessionUsage) -> QueueRank:
        """The sort key of the queue among its siblings; cached until ``shift`` reports a change."""
        if self._standing is None:
            self._standing = self.share(usage), self.best_effort, self._rank
        return self._standing

    def admission_standing(self, usage: SessionUsage) -> QueueRank:
        """Like ``standing``, but admitted amounts count as held."""
        if self._admission_standing is None:
            self._admission_standing = self.admission_share(usage), self.best_effort, self._rank
        return self._admission_standing

    def pledge(self, amounts: Amounts) -> None:
        """Note that a job was admitted in the queue or in a queue below it."""
        self._admission_standing = None
        if self.subtree is not None:
            add(self.pledged, amounts)

    def shift(self, amounts: Amounts, sign: int) -> None:
        """Add these amounts to what the queue holds (``sign`` > 0), or subtract them."""
        self._standing = self._admission_standing = None
        if self.subtree is not None:
            (add if sign > 0 else subtract)(self.subtree, amounts)

    def count(self, books: QueueUsage) -> None:
        """Add the usage of this queue, or of a queue below it, at the start of the cycle."""
        if self.subtree is not None:
            add(self.subtree, books.allocated.items())
        add(self.admitted, books.inqueue.items())
        subtract(self.admitted, books.elastic.items())


class Accounts(NamedTuple):
    """The accounts of all queues, and the problems found."""

    by_queue: dict[str, Account]
    """By queue name, all queues except those left out."""
    problems: dict[str, Refusal]
    """By queue name, the problem with the queue."""


def flat_accounts(snapshot: Snapshot) -> Accounts:
    """Accounts without a tree: each queue may hold the cluster minus what others are guaranteed."""
    queues = [Queue(ROOT), *snapshot.queues.values()]
    quota, stated = _stated(queues, len(snapshot.total))
    limits = real_limits(_total(snapshot), quota, tree_of([0] * len(queues)))
    deserved = np.maximum(np.minimum(quota.deserved, limits), quota.guarantee)
    terms = _terms(QueueQuota(quota.guarantee, deserved, quota.capability), stated, limits, limits)
    by_queue = {
        queue.name: Account(queue.name, found) for queue, found in zip(queues[1:], list(terms)[1:], strict=True)
    }
    return _counted(Accounts(by_queue, {}), snapshot)


def tree_accounts(snapshot: Snapshot) -> Accounts:
    """Accounts of queues in a tree: the parent's amounts bound those of its children.

    There are two limits. For admission (``ceiling``) only the root's capability limits the root, so jobs may be
    admitted that the cluster has to grow for. For placement (``limit``) the resources of the cluster limit it, so that
    guarantees stay free.
    """
    tree, known = QueueTree(snapshot.queues), snapshot.queues
    queues = [known.get(ROOT) or Queue(ROOT), *(known[name] for name in tree.parents)]
    rows = {queue.name: row for row, queue in enumerate(queues)}
    shape = tree_of([0, *(rows[parent] for parent in tree.parents.values())])
    asked, stated = _stated(queues, len(snapshot.total))
    quota = in_force(asked, stated, shape)
    total = _total(snapshot)
    limits, ceilings = (real_limits(top, quota, shape) for top in (total, np.full_like(total, np.inf)))
    aged = sorted(queues, key=lambda queue: (queue.created, queue.name))
    ranks = {queue.name: rank for rank, queue in enumerate(aged)}
    by_queue: dict[str, Account] = {}
    for queue, terms in zip(queues, _terms(quota, stated, limits, ceilings), strict=True):
        parent = by_queue.get(tree.parents.get(queue.name, ""))
        above = () if parent is None else (parent, *parent.above)
        by_queue[queue.name] = Account(queue.name, terms, above, inner=queue.name in tree.inner, rank=ranks[queue.name])
    cuts = {queues[row].name: cut for row, cut in _cuts(snapshot.axis.names, asked, quota).items()}
    return _counted(Accounts(by_queue, _problems(snapshot, tree, cuts)), snapshot)


def _problems(snapshot: Snapshot, tree: QueueTree, cuts: Mapping[str, str]) -> dict[str, Refusal]:
    """The problem of each queue: it is left out of the tree, its amounts are clipped, or it has jobs and children."""
    problems = {name: Refusal(LEFT_OUT, why) for name, why in tree.left_out.items()}
    for name, cut in cuts.items():
        problems[name] = Refusal(CLIPPED, f"cut down to what its parent {tree.parents[name]} passes on: {cut}")
    for name in tree.inner & snapshot.books.keys():
        cut = f"; {problems[name].message}" if name in problems else ""
        problems[name] = Refusal(LEFT_OUT, f"jobs in it get nothing, as it has child queues{cut}")
    return problems


def _stated(queues: Sequence[Queue], width: int) -> tuple[QueueQuota, Stated]:
    """The amounts that the queues state, one row a queue."""
    guarantees, deserved = [queue.guarantee for queue in queues], [queue.deserved for queue in queues]
    quota = QueueQuota(
        np.array([dense(amounts, width) for amounts in guarantees]),
        np.array([dense(amounts, width) for amounts in deserved]),
        np.array([limit_of(queue.capability, width) for queue in queues]),
    )
    return quota, Stated(_named(guarantees, width), _named(deserved, width))


def _named(found: Sequence[Amounts], width: int) -> Mask:
    named = np.zeros((len(found), width), dtype=np.bool_)
    for row, amounts in enumerate(found):
        for column, _ in amounts:
            named[row, column] = True
    return named


def _terms(quota: QueueQuota, stated: Stated, limits: Floats, ceilings: Floats) -> Iterator[Terms]:
    """The terms of each row."""
    kept = quota.deserved > 0
    kept |= (stated.deserved | stated.guarantee) & ~np.isin(np.arange(kept.shape[1]), (CPU, MEMORY))
    rows = zip(
        kept.tolist(),
        quota.deserved.tolist(),
        quota.guarantee.tolist(),
        limits.tolist(),
        ceilings.tolist(),
        quota.capability[:, PODS].tolist(),
        strict=True,
    )
    for keeps, deserved, guarantee, limit, ceiling, most in rows:
        yield Terms(
            {column: int(deserved[column]) for column, keep in enumerate(keeps) if keep},
            tuple((column, int(value)) for column, value in enumerate(guarantee) if value),
            _bounds(limit, most),
            _bounds(ceiling, most),
        )


def _bounds(limits: Sequence[float], most_pods: float) -> dict[int, float]:
    """Limits by column; pods are limited only where a capability names them."""
    return {column: limit for column, limit in enumerate(limits) if column != PODS or most_pods < float("inf")}


def _counted(accounts: Accounts, snapshot: Snapshot) -> Accounts:
    """The accounts after the usage of all jobs is added."""
    for name, books in snapshot.books.items():
        account = accounts.by_queue.get(name)
        if account is not None:
            for one in (account, *account.above):
                one.count(books)
    return accounts


def _total(snapshot: Snapshot) -> Floats:
    return np.array(snapshot.total, dtype=np.float64)


def _cuts(names: Sequence[str], stated: QueueQuota, found: QueueQuota) -> dict[int, str]:
    """Which stated amounts are clipped, by row, as the end of a sentence; ``names`` are those of the resources."""
    phrases: dict[int, list[str]] = {}
    for word, before, after in zip(QueueQuota._fields, stated, found, strict=True):
        cuts: dict[int, list[str]] = {}
        for row, column in np.argwhere((after < before) & np.isfinite(before)).tolist():
            if row:
                name = names[column]
                amounts = (format_amount(name, int(rows[row, column])) for rows in (before, after))
                cuts.setdefault(row, []).append(f"{name} {' to '.join(amounts)}")
        for row, cut in cuts.items():
            phrases.setdefault(row, []).append(f"{word} of {', '.join(cut)}")
    return {row: "; ".join(words) for row, words in phrases.items()}
