"""Where capacity's queues stand: side by side, or in a tree among those of one parent; placing, or while admitting."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping
from itertools import chain

from vsched.framework.ledger.usage import SessionUsage
from vsched.model.queues.queue import Queue
from vsched.plugins.queues.accounts import Account

Key = tuple[float, ...]
LAST: Key = (float("inf"),)
"""Of queues that are left out."""


class QueueStandings:
    """Keys and scores of queues by their accounts. While jobs are admitted, what was admitted counts as held."""

    def __init__(self, usage: SessionUsage, accounts: Mapping[str, Account], *, in_a_tree: bool) -> None:
        self._usage = usage
        self._accounts = accounts
        self._in_a_tree = in_a_tree
        self._pledges_seen = 0

    def key(self, queue: Queue, *, admitting: bool) -> Key:
        """Higher priority first, then the smaller share; of equal ones those that deserve something.

        In a tree two queues compare by the two above them, or they themselves, that have one parent.
        """
        return tuple(chain.from_iterable(value for _, value in self.parts(queue, admitting=admitting)))

    def parts(self, queue: Queue, *, admitting: bool) -> Iterator[tuple[Hashable, Key]]:
        """The same in parts; in a tree one for each queue on the way down."""
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
                told = one.admission_standing(self._usage) if admitting else one.standing(self._usage)
                yield one.name, told

    def score(self, queue: Queue, *, admitting: bool) -> float:
        """What is left of what the queue deserves, as the part of it that it holds least of."""
        account = self._accounts.get(queue.name)
        if account is None:
            return 0.0
        return 1.0 - (account.admission_share(self._usage) if admitting else account.share(self._usage))

    def _look_at_pledges(self) -> None:
        """Count what was admitted meanwhile for the queue and all above."""
        made = self._usage.pledges.made()
        for pledge in made[self._pledges_seen :]:
            account = self._accounts.get(pledge.queue)
            for one in () if account is None else (account, *account.above):
                one.pledge(pledge.amounts)
        self._pledges_seen = len(made)
