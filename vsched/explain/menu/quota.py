"""Whether more quota would start a gang: limits and shares of its queue, of those above, and of its namespace."""

from __future__ import annotations

from itertools import groupby

from vsched.explain.candidates.levers import Lever
from vsched.explain.combined_changes import TOGETHER_MAX, all_of, together
from vsched.explain.edits.namespaces import SetConsumerLimit, SetQuota
from vsched.explain.edits.queues import SetGroupLimit, SetJobLimit, SetQueueAmount, SetQueueWeight
from vsched.explain.menu import words
from vsched.explain.menu.gang import WaitingGang, test_of
from vsched.explain.menu.records import MenuAnswer, QuotaPart
from vsched.explain.simulation import SimulationResult, Spent
from vsched.explain.single_changes import ChangeSearch, singles
from vsched.explain.situation import change_of

QUOTAS = (SetQueueAmount, SetGroupLimit, SetJobLimit, SetQuota, SetConsumerLimit, SetQueueWeight)
CHANGES_MAX = 3


def quota_levers(gang: WaitingGang) -> list[Lever]:
    """The limits and shares that could be raised for it."""
    return [lever for lever in gang.levers if isinstance(lever.edits(lever.most)[0], QUOTAS)]


def quota_part(gang: WaitingGang) -> QuotaPart:
    """What more quota would do for the gang."""
    search = gang.search(CHANGES_MAX)
    complete = True
    try:
        _look(gang, search)
    except Spent:
        complete = False
    ordered = sorted(search.helping, key=lambda one: one[:3])
    found = tuple(change_of(search.situation, one.edits) for one in ordered)
    if found:
        return QuotaPart(MenuAnswer.ENOUGH, "; or ".join(one.message for one in found), found)
    if complete:
        return QuotaPart(MenuAnswer.NO, words.NO_LIMIT_WOULD_START)
    return QuotaPart(MenuAnswer.UNKNOWN, words.OUT_OF_TIME)


def _look(gang: WaitingGang, search: ChangeSearch) -> None:
    test = test_of(search)
    stuck: list[tuple[Lever, SimulationResult]] = []
    for _, alike in groupby(quota_levers(gang), key=lambda lever: lever.kind):
        singles(search, list(alike), test, stuck)
    limits = [lever for lever, _ in stuck]
    if not search.helping:
        together(search, limits, test)
    if not search.helping and len(limits) > 1:  # limits of several kinds are in the way at once
        all_of(search, limits[:TOGETHER_MAX], test)
