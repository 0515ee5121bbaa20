"""Rules of reclaim for the plugin capacity: what a queue can give up, and what it may reclaim."""

from __future__ import annotations

from collections.abc import Mapping

from vsched.model.amounts.resources import PODS, Amounts
from vsched.model.queues.queue import ROOT
from vsched.plugins.queues.accounts import Account
from vsched.plugins.queues.refusals import Columns


def columns_of(request: Amounts) -> Columns:
    """The resource columns of a request, ``pods`` included."""
    return tuple(column for column, _ in request)


def apart(ours: Account, theirs: Account) -> list[Account]:
    """The victim's queue, then the queues above it that are not also above the reclaimer's queue; never the root."""
    return [theirs, *(one for one in theirs.above if one.name != ROOT and one not in ours.above)]


def deserves_some(held: Mapping[int, int], deserved: Mapping[int, int], request: Amounts) -> bool:
    """Whether some requested resource, ``pods`` excluded, stays within the deserved amount."""
    return any(held.get(column, 0) + amount <= deserved.get(column, 0) for column, amount in request if column != PODS)


def keeps_guarantee(held: Mapping[int, int], request: Amounts, guarantee: Amounts) -> bool:
    """Whether the queue still holds its guarantee of every resource in the request after losing the request."""
    less = dict(request)
    return all(column not in less or amount <= held.get(column, 0) - less[column] for column, amount in guarantee)


def keeps_deserved(held: Mapping[int, int], request: Amounts, wanted: Columns, account: Account) -> bool:
    """Whether the queue still holds what it deserves of the wanted resources after losing the request."""
    deserved = account.terms.deserved
    return all(
        held.get(column, 0) - amount >= deserved.get(column, 0) for column, amount in request if column in wanted
    )


def is_deserved(used: Columns, account: Account) -> bool:
    """Whether the queue deserves any of these resources."""
    return any(account.terms.deserved.get(column) for column in used)


def holds_more(used: Columns, held: Mapping[int, int], account: Account) -> bool:
    """Whether the queue holds more than it deserves of some of these resources; unnamed resources do not count."""
    deserved = account.terms.deserved
    return any(column in deserved and held.get(column, 0) > deserved[column] for column in used)
