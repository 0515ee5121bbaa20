"""An objective file: what to make small or large, what has to stay within limits, and what to search."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import NamedTuple

from vsched.errors import BadInput
from vsched.lab.tune import words
from vsched.lab.tune.figures import LEAST, LOST, LOST_SHARE, ReplayFigure, Unit, figure_of, known_figures
from vsched.model.amounts.durations import parse_duration
from vsched.settings.reading.problems import Problems, did_you_mean
from vsched.settings.reading.tree import Keyed, Listed, MappingEntry, Node, Scalar, got, is_null, parse

MOST_BYTES = 64 * 1024
MOST_GOALS, MOST_LIMITS, MOST_SEARCHED, MOST_VALUES = 4, 16, 64, 32
KEYS = ("minimize", "maximize", "limits", "search")
_LIMIT = re.compile(r"(<=|>=)\s*(\S+?)\s*(%?)")
_NUMBER = re.compile(r"[0-9]{1,12}(\.[0-9]{1,6})?")
_RANGE = re.compile(r"(\S+)\s*\.\.\s*(\S+)")


class ObjectiveGoal(NamedTuple):
    """A figure to make small or large."""

    figure: ReplayFigure
    minimize: bool
    line: int

    def gain(self, before: float, after: float) -> float:
        """How much better ``after`` is, as a part of ``before``: 0.18 for 18 %; negative where it is worse."""
        change = (before - after) if self.minimize else (after - before)
        return change / max(abs(before), LEAST[self.figure.unit])


class ObjectiveLimit(NamedTuple):
    """A bound that a figure has to keep."""

    figure: ReplayFigure
    at_most: bool
    bound: float
    text: str
    """As the file has it."""
    line: int

    def excess(self, value: float) -> float:
        """By how much a value breaks the limit; 0 or less where it keeps it."""
        return value - self.bound if self.at_most else self.bound - value


class SearchedName(NamedTuple):
    """Something to search, with its values or the ends of its range where the file says them."""

    name: str
    line: int
    values: tuple[str, ...] = ()
    low: str = ""
    high: str = ""


class Objective(NamedTuple):
    """What an objective file says."""

    where: str
    goals: tuple[ObjectiveGoal, ...]
    limits: tuple[ObjectiveLimit, ...]
    search: tuple[SearchedName, ...] | None
    """None where the default space is to be searched."""
    text: str

    def check_queues(self, queues: Collection[str]) -> None:
        """Refuse figures of queues that the trace does not have; raises BadInput."""
        problems = Problems(self.where)
        for line, figure in self._figures():
            if figure.queue and figure.queue not in queues:
                problems.add(line, figure.name, words.no_such_queue(figure.queue, ", ".join(sorted(queues))))
        problems.raise_if_any()

    def _figures(self) -> Iterator[tuple[int, ReplayFigure]]:
        yield from ((goal.line, goal.figure) for goal in self.goals)
        yield from ((limit.line, limit.figure) for limit in self.limits)


def read_objective(path: Path) -> Objective:
    """The objective in a file; raises BadInput with file and line of everything that is wrong."""
    try:
        with path.open("rb") as file:
            raw = file.read(MOST_BYTES + 1)
        text = raw.decode("utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise BadInput(words.cannot_be_read(path, getattr(error, "strerror", None) or "not UTF-8")) from None
    if len(raw) > MOST_BYTES:
        raise BadInput(words.too_large(path, MOST_BYTES // 1024))
    return objective_of(text, str(path))


def objective_of(text: str, where: str) -> Objective:
    """The objective in a text; raises BadInput."""
    problems = Problems(where)
    root = parse(text, problems, what="objective", holds=words.KEYS_OF_OBJECTIVES)
    if root is None:
        raise problems.error()
    if not isinstance(root, Keyed):
        problems.add(root.line, "", words.mapping_expected(got(root)))
        raise problems.error()
    for entry in root.entries:
        if entry.key not in KEYS:
            problems.add(entry.line, entry.key, words.unknown_key(did_you_mean(entry.key, KEYS)))
    goals = [
        goal for key in KEYS[:2] for goal in _goals(root.get(key), key, minimize=key == "minimize", problems=problems)
    ]
    if not goals and not len(problems):
        problems.add(root.line, "", words.NO_GOAL)
    if len(goals) > MOST_GOALS:
        problems.add(goals[MOST_GOALS].line, "", words.too_many(MOST_GOALS, "goals"))
    twice = [goal for at, goal in enumerate(goals) if goal.figure.name in {one.figure.name for one in goals[:at]}]
    if twice:
        problems.add(twice[0].line, "", words.twice(twice[0].figure.name))
    limits = [*_limits(root.get("limits"), problems)]
    search = _search(root.get("search"), problems)
    problems.raise_if_any()
    return Objective(where, tuple(goals), tuple(limits), search, text)


def _goals(entry: MappingEntry | None, path: str, *, minimize: bool, problems: Problems) -> Iterator[ObjectiveGoal]:
    if entry is None or is_null(entry.value):
        return
    for at, node in enumerate(entry.value.items if isinstance(entry.value, Listed) else [entry.value]):
        figure = _figure(node, f"{path}[{at}]", problems)
        if figure is not None:
            yield ObjectiveGoal(figure, minimize, node.line)


def _figure(node: Node, path: str, problems: Problems) -> ReplayFigure | None:
    figure = figure_of(node.text) if isinstance(node, Scalar) and not node.is_null else None
    if figure is None:
        problems.add(node.line, path, words.no_figure(got(node), known_figures()))
    return figure


def _limits(entry: MappingEntry | None, problems: Problems) -> Iterator[ObjectiveLimit]:
    for found in _entries(entry, "limits", MOST_LIMITS, problems):
        figure = _figure(Scalar(found.key, "str", found.line), "limits", problems)
        if figure is None:
            continue
        limit = _limit(figure, found)
        if limit is None:
            what = got(found.value)
            problems.add(found.line, f"limits.{found.key}", words.no_limit(what, _example(figure)))
        else:
            yield limit


def _limit(figure: ReplayFigure, entry: MappingEntry) -> ObjectiveLimit | None:
    text = entry.value.text if isinstance(entry.value, Scalar) else ""
    found = _LIMIT.fullmatch(text.strip())
    if found is None:
        return None
    sign, number, percent = found.groups()
    if figure.name == LOST and percent:
        figure = LOST_SHARE
    bound = _bound(figure.unit, number, percent)
    return None if bound is None else ObjectiveLimit(figure, sign == "<=", bound, text.strip(), entry.line)


def _bound(unit: Unit, number: str, percent: str) -> float | None:
    if unit is Unit.SECONDS:
        return None if percent else parse_duration(number)
    if not _NUMBER.fullmatch(number) or (percent and unit is not Unit.SHARE):
        return None
    return float(number) / 100 if percent else float(number)


def _example(figure: ReplayFigure) -> str:
    if figure.name == LOST:
        return '"<= 1 %" or "<= 500"'
    return {Unit.SECONDS: '"<= 2h"', Unit.SHARE: '">= 60 %"', Unit.INDEX: '">= 0.97"'}.get(figure.unit, '"<= 500"')


def _search(entry: MappingEntry | None, problems: Problems) -> tuple[SearchedName, ...] | None:
    if entry is None or is_null(entry.value):
        return None
    if isinstance(entry.value, Listed):
        names = [node for node in entry.value.items if isinstance(node, Scalar) and node.text]
        if len(names) < len(entry.value.items):
            problems.add(entry.line, "search", words.NAMES_EXPECTED)
        return tuple(SearchedName(node.text, node.line) for node in names)
    asked = [_asked(found, problems) for found in _entries(entry, "search", MOST_SEARCHED, problems)]
    return tuple(one for one in asked if one is not None)


def _asked(entry: MappingEntry, problems: Problems) -> SearchedName | None:
    name, line, value = entry.key, entry.line, entry.value
    match value:
        case Scalar(kind="null"):
            return SearchedName(name, line)
        case Scalar(text=text) if found := _RANGE.fullmatch(text.strip()):
            return SearchedName(name, line, (), found[1], found[2])
        case Listed(items=items) if 1 < len(items) <= MOST_VALUES:
            texts = [node.text for node in items if isinstance(node, Scalar) and not node.is_null]
            if len(texts) == len(items):
                return SearchedName(name, line, tuple(texts))
    problems.add(line, f"search.{name}", words.no_values(got(value), MOST_VALUES))
    return None


def _entries(entry: MappingEntry | None, path: str, most: int, problems: Problems) -> tuple[MappingEntry, ...]:
    if entry is None or is_null(entry.value):
        return ()
    if not isinstance(entry.value, Keyed):
        problems.add(entry.line, path, words.mapping_expected(got(entry.value)))
        return ()
    if len(entry.value.entries) > most:
        problems.add(entry.line, path, words.too_many(most, "entries"))
        return ()
    return entry.value.entries
