"""Tries several levers at a time, where no single one helps: all of one kind together, then pairs of any kinds."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from vsched.explain.candidates.levers import Lever, wants_of
from vsched.explain.candidates.search import levers
from vsched.explain.edits.base import Edit
from vsched.explain.simulation import SimulationResult
from vsched.explain.single_changes import ChangeSearch, Helping, Test, first_of, helping_of, least
from vsched.explain.situation import Situation, apply_all
from vsched.model.frozen import freeze
from vsched.model.snapshot import Snapshot

PAIRS_MAX, FIRSTS_MAX = 2, 8
"""The most pairs that a search reports, and the most levers that it tries as the first of a pair."""

TOGETHER_MAX = 8
"""The most levers of one kind that a search tries together."""


def together(search: ChangeSearch, tried: Sequence[Lever], test: Test) -> None:
    """Apply all levers of one kind together, then reduce each as far as the job still starts."""
    kinds: dict[str, list[Lever]] = {}
    for lever in tried:
        if lever.kind:
            kinds.setdefault(lever.kind, []).append(lever)
    for alike in kinds.values():
        if len(search.helping) >= search.most:
            return
        if len(alike) > 1:
            all_of(search, alike[:TOGETHER_MAX], test)


def all_of(search: ChangeSearch, alike: Sequence[Lever], test: Test) -> None:
    """Try these levers together; if that helps among all active jobs, keep them at their smallest steps."""
    most = [lever.most for lever in alike]
    if not test(_turned(search, alike, most)).admitted:
        return
    among_all = search.simulations.among_all
    steps = _let_back(search, alike, most, test)
    if test != among_all:
        if not among_all(_turned(search, alike, steps)).admitted:
            if not among_all(_turned(search, alike, most)).admitted:
                return
            steps = most
        # Others may also make way: then less is enough than by the test.
        steps = _let_back(search, alike, steps, among_all)
    search.helping.append(helping_of([(lever, step) for lever, step in zip(alike, steps, strict=True) if step]))


def _let_back(search: ChangeSearch, alike: Sequence[Lever], most: Sequence[int], test: Test) -> list[int]:
    """The smallest step of each lever, reduced one by one from the last; all at their largest step help.

    With one at a smaller step, another may need less, too: they are reduced until none can be.
    """
    steps, before = list(most), list[int]()
    while steps != before:
        again, before = bool(before), list(steps)
        for at in reversed(range(len(alike))):

            def helps(step: int, at: int = at) -> bool:
                edits = _edits(alike, [*steps[:at], step, *steps[at + 1 :]])
                left_out = () if step else alike[at].edits(steps[at])
                if any(edit.is_named_by(other) for edit in left_out for other in edits):
                    return False
                return test(apply_all(search.situation, edits)).admitted

            if steps[at] and not (again and not helps(steps[at] - 1)):
                steps[at] = 0 if helps(0) else first_of(alike[at], steps[at], 0, helps)
        if len(alike) == 1:
            break
    return steps


def _edits(alike: Sequence[Lever], steps: Sequence[int]) -> list[Edit]:
    """The edits of each lever at its step; step 0 leaves a lever out."""
    return [edit for lever, step in zip(alike, steps, strict=True) if step for edit in lever.edits(step)]


def _turned(search: ChangeSearch, alike: Sequence[Lever], steps: Sequence[int]) -> Situation:
    """The situation with these edits."""
    return apply_all(search.situation, _edits(alike, steps))


def pairs(
    search: ChangeSearch, stuck: list[tuple[Lever, SimulationResult]], test: Test, before: SimulationResult
) -> None:
    """Try pairs whose first lever changes the binding constraint."""
    firsts = [lever for lever, result in stuck if result.stopped_by != before.stopped_by]
    for first in firsts[:FIRSTS_MAX]:
        if len(search.helping) >= PAIRS_MAX:
            return
        _second(search, first, [lever for lever, _ in stuck], test)


def _second(search: ChangeSearch, first: Lever, single: Sequence[Lever], test: Test) -> None:
    """Find the least disturbing lever that helps after the first one, then the smallest steps of both.

    ``single`` are the levers of the job as it is.
    """
    halfway = apply_all(search.situation, first.edits(first.most))
    goal, registry = search.simulations.goal, search.simulations.registry
    seen = Situation(freeze(halfway.snapshot), halfway.policy)
    for second in levers(wants_of(seen, registry, goal.job, goal.pod)):
        if not test(apply_all(halfway, second.edits(second.most))).admitted:
            continue
        second_step = least(second, halfway, test)
        last = second.edits(second_step)
        if any(_is_made_up(edit, search.situation.snapshot) for edit in last):
            continue

        def both(situation: Situation, last: tuple[Edit, ...] = last) -> SimulationResult:
            return test(apply_all(situation, last))

        step = least(first, search.situation, both)
        # With the first lever at a smaller step, the second may need less, too.
        second_step = least(second._replace(most=second_step), apply_all(search.situation, first.edits(step)), test)
        found = _proved(search, ((first, step), (second, second_step)), single, test)
        if found is not None and not any(all(edit in one.edits for edit in found.edits) for one in search.helping):
            search.helping.append(found)
            return


def _proved(
    search: ChangeSearch, pair: tuple[tuple[Lever, int], tuple[Lever, int]], single: Sequence[Lever], test: Test
) -> Helping | None:
    """The pair, or what is enough of it, where it helps among all active jobs; None where it does not."""
    (first, step), (second, last) = pair
    among_all = search.simulations.among_all
    if _is_alike(first.edits(step)[0], second.edits(last)[0]):
        return None
    both, steps = (first, second), [step, last]
    if not among_all(_turned(search, both, steps)).admitted:
        return None
    if test != among_all:  # others may also make way: then less is enough, or one of them alone
        steps = _let_back(search, both, steps, among_all)
    if steps[0]:
        return helping_of([(lever, each) for lever, each in zip(both, steps, strict=True) if each])
    # The second lever goes on from what the first one leaves: alone, it may ask for more than is needed.
    for lever in single:
        if _is_alike(lever.edits(lever.most)[0], second.edits(last)[0]):
            if among_all(apply_all(search.situation, lever.edits(lever.most))).admitted:
                return helping_of([(lever, least(lever, search.situation, among_all))])
            break
    return None


def _is_made_up(edit: Edit, snapshot: Snapshot) -> bool:
    """Whether an edit is about nodes that an earlier edit adds: their real names are not known yet."""
    return any(name not in snapshot.nodes.statics.row for name in edit.nodes_named)


def _is_alike(one: Edit, other: Edit) -> bool:
    """Whether two edits set the same field of the same object: the later one would override the earlier one."""
    if type(one) is not type(other):
        return False
    if one.once:
        return True
    fields = zip(msgspec.structs.astuple(one), msgspec.structs.astuple(other), strict=True)
    return all(left == right for left, right in fields if isinstance(left, str))
