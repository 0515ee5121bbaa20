"""Tries levers one by one, and finds the smallest step of each that helps."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from operator import itemgetter
from typing import NamedTuple

from vsched.explain.candidates.levers import Lever
from vsched.explain.edits.base import Edit
from vsched.explain.simulation import SimulationResult, Simulations
from vsched.explain.situation import Situation, apply_all

Test = Callable[[Situation], SimulationResult]


class Helping(NamedTuple):
    """Edits that let the job start, with their sort keys: how disturbing (``Rank``), how many levers, how much."""

    rank: int
    size: int
    share: float
    edits: tuple[Edit, ...]


class ChangeSearch(NamedTuple):
    """What the parts of one search share."""

    situation: Situation
    simulations: Simulations
    most: int
    """The search ends once it has found this many changes."""
    helping: list[Helping]
    """What was found so far."""


def singles(
    search: ChangeSearch, tried: Sequence[Lever], test: Test, stuck: list[tuple[Lever, SimulationResult]]
) -> None:
    """Try the levers of one rank one by one: keep those that help, add the others to ``stuck`` with results."""
    helping: list[tuple[float, Lever, int]] = []
    for lever in tried:
        at_most = test(apply_all(search.situation, lever.edits(lever.most)))
        if at_most.admitted:
            step = least(lever, search.situation, test)
            helping.append((lever.share(step), lever, step))
        else:
            stuck.append((lever, at_most))
    for _, lever, step in sorted(helping, key=itemgetter(0)):
        if len(search.helping) >= search.most:
            return
        enough = _proved(search, lever, step, test)
        if enough:
            search.helping.append(helping_of([(lever, enough)]))


def least(lever: Lever, situation: Situation, test: Test, first: int = 0) -> int:
    """The smallest step that helps, if the last step helps and steps up to ``first`` do not."""
    return first_of(lever, lever.most, first, lambda step: test(apply_all(situation, lever.edits(step))).admitted)


def _proved(search: ChangeSearch, lever: Lever, step: int, test: Test) -> int:
    """The smallest step that helps among all active jobs; 0 if none from ``step`` on does.

    Others may also make way, by what they lose or by where they go: then less is enough than by the test.
    """
    among_all = search.simulations.among_all

    def helps(tried: int) -> bool:
        return among_all(apply_all(search.situation, lever.edits(tried))).admitted

    if test == among_all:
        return step
    if helps(step):
        return first_of(lever, step - 1, 0, helps) if step > 1 and helps(step - 1) else step
    if step == lever.most or not helps(lever.most):
        return 0
    return first_of(lever, lever.most, step, helps)


def helping_of(turned: Sequence[tuple[Lever, int]]) -> Helping:
    """The record of levers that help together at these steps."""
    edits = tuple(edit for lever, step in turned for edit in lever.edits(step))
    rank, share = max(lever.rank for lever, _ in turned), sum(lever.share(step) for lever, step in turned)
    return Helping(rank, len(turned), share, edits)


def first_of(lever: Lever, most: int, first: int, helps: Callable[[int], bool]) -> int:
    """The smallest step that helps, by galloping and bisection; ``most`` helps, steps up to ``first`` do not."""
    fails, good = first, min(most, max(lever.first, 2 * first))
    while good < most and not helps(good):
        fails, good = good, min(most, 2 * good)
    while good - fails > 1:
        middle = (fails + good) // 2
        if helps(middle):
            good = middle
        else:
            fails = middle
    return good
