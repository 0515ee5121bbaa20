"""What a queue with an account can give back to others, and what it may claim from them (reference 4.6)."""

from __future__ import annotations

from collections.abc import Mapping

from vsched.model.amounts.resources import PODS, Amounts
from vsched.model.queues.queue import ROOT
from vsched.plugins.queues.accounts import Account
from vsched.plugins.queues.lacking import Columns


def columns_of(request: Amounts) -> Columns:
    """The resources of a request, the pod slot included."""
    return tuple(column for column, _ in request)


def apart(ours: Account, theirs: Account) -> list[Account]:
    """The queue to take from, and those above it that are not above the reclaimer's as well."""
    return [theirs, *(one for one in theirs.above if one.name != ROOT and one not in ours.above)]


def deserves_some(held: Mapping[int, int], deserved: Mapping[int, int], request: Amounts) -> bool:
    """Whether any resource asked for, pods apart, stays within what is deserved of it."""
    return any(held.get(column, 0) + amount <= deserved.get(column, 0) for column, amount in request if column != PODS)


def keeps_guarantee(held: Mapping[int, int], request: Amounts, guarantee: Amounts) -> bool:
    """Whether the guarantee of every resource in the request is still held without it."""
    less = dict(request)
    return all(column not in less or amount <= held.get(column, 0) - less[column] for column, amount in guarantee)


def is_deserved(used: Columns, account: Account) -> bool:
    """Whether the queue deserves any of these resources."""
    return any(account.terms.deserved.get(column) for column in used)


def holds_more(used: Columns, held: Mapping[int, int], account: Account) -> bool:
    """Whether more is held than the queue deserves of any of these resources it names."""
    deserved = account.terms.deserved
    return any(column in deserved and held.get(column, 0) > deserved[column] for column in used)
