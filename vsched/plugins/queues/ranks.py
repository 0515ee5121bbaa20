"""Sort keys and scores of queues for the plugin capacity: flat or in a tree, for placement or for admission."""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from itertools import chain

from vsched.framework.ledger.usage import SessionUsage
from vsched.model.queues.queue import Queue
from vsched.plugins.queues.accounts import Accounts

Key = tuple[float, ...]
LAST: Key = (float("inf"),)
"""The sort key of queues that are left out."""


class QueueRanks:
    """Sort keys and scores of queues, from their accounts. With ``admitting``, admitted amounts count as held."""

    def __init__(self, usage: SessionUsage, accounts: Accounts, *, in_a_tree: bool) -> None:
        self._usage = usage
        self._accounts = accounts
        self._in_a_tree = in_a_tree
        self._pledges_seen = 0

    def key(self, queue: Queue, *, admitting: bool) -> Key:
        """Higher priority first, then the smaller share; among equal queues, those that deserve something first.

        In a tree, two queues are compared at the level where their paths part: by themselves or by the queues above
        them that are siblings.
        """
        return tuple(chain.from_iterable(value for _, value in self.parts(queue, admitting=admitting)))

    def parts(self, queue: Queue, *, admitting: bool) -> Iterator[tuple[Hashable, Key]]:
        """The parts of the key, each with its name; in a tree, one part for each queue on the path down."""
        account = self._accounts.get(queue.name)
        if account is None:
            yield queue.name, LAST
        elif not self._in_a_tree:
            share = account.admission_share(self._usage) if admitting else account.share(self._usage)
            yield queue.name, (-queue.priority, share, account.best_effort)
        else:
            first = (-queue.priority, account.subtree is not None)
            yield first, first
            if admitting:
                self._look_at_pledges()
            for one in (*reversed(account.above[:-1]), account):
                rank = one.admission_rank(self._usage) if admitting else one.rank(self._usage)
                yield one.name, rank

    def score(self, queue: Queue, *, admitting: bool) -> float:
        """1 minus the share: the free part of the deserved amount, of the resource with the least left."""
        account = self._accounts.get(queue.name)
        if account is None:
            return 0.0
        return 1.0 - (account.admission_share(self._usage) if admitting else account.share(self._usage))

    def _look_at_pledges(self) -> None:
        """Add jobs admitted since the last look to their queue and to all queues above it."""
        made = self._usage.pledges.made()
        for pledge in made[self._pledges_seen :]:
            account = self._accounts.get(pledge.queue)
            for one in () if account is None else (account, *account.above):
                one.pledge(pledge.amounts)
        self._pledges_seen = len(made)
