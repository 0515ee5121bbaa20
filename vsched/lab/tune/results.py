"""What a tuning found, as one document: figures in both parts with their intervals, changes, and what each does."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from difflib import unified_diff
from functools import partial
from typing import Any, NamedTuple

from vsched.lab.trace.periods import Periods
from vsched.lab.tune import judging, words
from vsched.lab.tune.figures import LEAST, ReplayFigure
from vsched.lab.tune.judging import GainEstimate
from vsched.lab.tune.objective import Objective
from vsched.lab.tune.rewrite import TextChange
from vsched.lab.tune.search import Tried

Document = dict[str, Any]
DIGITS = 6


class JudgedPolicy(NamedTuple):
    """A policy, and what it comes to in both parts of the trace."""

    changes: tuple[TextChange, ...]
    text: str
    tuned: Periods
    judged: Periods

    def parts(self) -> Iterator[tuple[str, Periods]]:
        """The parts by name."""
        yield words.TUNED, self.tuned
        yield words.JUDGED, self.judged


def document_of(
    objective: Objective,
    seed: int,
    base: JudgedPolicy,
    tried: Sequence[Tried],
    front: Sequence[tuple[Tried, JudgedPolicy]],
    smallest: JudgedPolicy,
    without: Sequence[JudgedPolicy],
    policy: str,
) -> Document:
    """The result for the policy of this name; ``without`` has the smallest change without each of its changes."""
    return {
        "goals": [
            {"figure": goal.figure.name, "unit": goal.figure.unit, "minimize": goal.minimize}
            for goal in objective.goals
        ],
        "limits": [
            {"figure": limit.figure.name, "unit": limit.figure.unit, "limit": limit.text} for limit in objective.limits
        ],
        "in_force": {part: _figures(objective, found, seed) for part, found in base.parts()},
        "tried": [
            {"number": one.number, "values": _rounded(one.values), "keeps_limits": one.keeps_limits} for one in tried
        ],
        "front": [{"number": one.number} | _compared(objective, seed, base, found) for one, found in front],
        "smallest": None if not smallest.changes else _smallest(objective, seed, policy, base, smallest, without),
    }


def _compared(objective: Objective, seed: int, base: JudgedPolicy, found: JudgedPolicy) -> Document:
    tuned, judged = (
        judging.gain(objective, before, after, seed)
        for (_, before), (_, after) in zip(base.parts(), found.parts(), strict=True)
    )
    broken = [
        limit.figure.name + " " + limit.text
        for limit, excess in zip(objective.limits, judging.excesses(objective, found.judged), strict=True)
        if excess > 0
    ]
    return {
        "changes": [in_words(change) for change in found.changes],
        "figures": {part: _figures(objective, periods, seed) for part, periods in found.parts()},
        "gain": {words.TUNED: tuned.document(), words.JUDGED: judged.document()},
        "verdict": judging.verdict(tuned, judged),
        "limits_broken_where_judged": broken,
    }


def _named(figure: ReplayFigure) -> Document:
    return {"figure": figure.name, "unit": figure.unit}


def _figures(objective: Objective, found: Periods, seed: int) -> dict[str, dict[str, float]]:
    return {
        figure.name: judging.estimated(partial(figure.measure, found), found, seed).document()
        for figure in figures_of(objective)
    }


def figures_of(objective: Objective) -> list[ReplayFigure]:
    """The figures of goals and limits, each once."""
    named = {goal.figure.name: goal.figure for goal in objective.goals}
    for limit in objective.limits:
        named.setdefault(limit.figure.name, limit.figure)
    return [*named.values()]


def _smallest(
    objective: Objective, seed: int, name: str, base: JudgedPolicy, found: JudgedPolicy, without: Sequence[JudgedPolicy]
) -> Document:
    return _compared(objective, seed, base, found) | {
        "diff": diff(base.text, found.text, name),
        "each": [
            {
                "change": in_words(change),
                "effects": {
                    figure.name: relative(figure, less.judged, found.judged, seed).document()
                    for figure in figures_of(objective)
                },
            }
            for change, less in zip(found.changes, without, strict=True)
        ],
    }


def relative(figure: ReplayFigure, before: Periods, after: Periods, seed: int) -> GainEstimate:
    """How a figure changes, as a part of what it was."""

    def change(times: Any) -> float:
        was, value = figure.measure(before, times), figure.measure(after, times)
        return (value - was) / max(abs(was), LEAST[figure.unit])

    return judging.estimated(change, before, seed)


def diff(before: str, after: str, name: str) -> str:
    """The difference of two policy files, as ``patch`` reads it."""
    old, new = ((text if text.endswith("\n") else f"{text}\n").splitlines(keepends=True) for text in (before, after))
    return "".join(unified_diff(old, new, f"a/{name}", f"b/{name}"))


def in_words(change: TextChange) -> str:
    """A change in a few words."""
    match change.kind:
        case "argument":
            name = f"{change.name}.{change.key}"
            return words.change_argument(name, change.before or words.NOT_GIVEN, change.value)
        case "first":
            return words.change_order(change.name, change.value)
        case _:
            return words.change_presence(change.name, words.ADDED if change.kind.startswith("add") else words.REMOVED)


def _rounded(values: Sequence[float]) -> list[float]:
    return [round(value, DIGITS) for value in values]
