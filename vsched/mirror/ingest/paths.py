"""Paths into an object, a small part of the JSONPath that kubectl reads: ``spec.jobs[*].name``, ``labels['a/b']``."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from functools import lru_cache

from vsched.errors import BadInput
from vsched.mirror.ingest.words import fields as words

WHOLE = "$."
"""A path that begins with this is read from the whole object, also where others are read from one of its parts."""
EVERY = None
"""The step to every item of a list, or to every value of a map."""

Path = tuple[str | int | None, ...]

_STEP = re.compile(
    r"\[(?P<every>\*)\]|\[(?P<index>[0-9]{1,4})\]|\['(?P<quoted>[^']+)'\]|(?:^|\.)(?P<name>[A-Za-z0-9_-]+)"
)


@lru_cache(maxsize=4096)
def path_of(text: str) -> Path:
    """The steps of a path; raises BadInput."""
    rest, steps, at = text.removeprefix(WHOLE), list[str | int | None](), 0
    while at < len(rest):
        step = _STEP.match(rest, at)
        if step is None:
            break
        steps.append(
            int(step["index"]) if step["index"] else EVERY if step["every"] else step["quoted"] or step["name"]
        )
        at = step.end()
    if not rest or at < len(rest):
        raise BadInput(words.no_path(text, words.PATH_SYNTAX))
    return tuple(steps)


def values_at(part: object, path: Path) -> Iterator[object]:
    """What is found at a path, in order; nothing where a step leads nowhere, or to null."""
    if not path:
        if part is not None:
            yield part
        return
    step, rest = path[0], path[1:]
    if step is EVERY:
        for _, item in items_of(part):
            yield from values_at(item, rest)
    elif isinstance(part, list) and isinstance(step, int):
        if step < len(part):
            yield from values_at(part[step], rest)
    elif isinstance(part, dict) and step in part:
        yield from values_at(part[step], rest)


def items_of(part: object) -> Iterator[tuple[str, object]]:
    """The items of a list, without a key, or the entries of a map."""
    if isinstance(part, list):
        for item in part:
            yield "", item
    elif isinstance(part, dict):
        for key, item in part.items():
            yield str(key), item


def path_of_condition(condition: str) -> str:
    """The path that a condition of ``ObjectPlace.holds`` begins with."""
    return condition.partition("=")[0].removesuffix("!")


def changed_at(part: object, path: Path, change: Callable[[object], object]) -> object:
    """A copy with what is at a path changed, as often as it is there."""
    if not path:
        return change(part)
    step, rest = path[0], path[1:]
    if step is EVERY and isinstance(part, list):
        return [changed_at(item, rest, change) for item in part]
    if isinstance(part, dict) and step in part:
        return {**part, step: changed_at(part[step], rest, change)}
    return part


def with_value(part: object, path: Path, value: object) -> object:
    """A copy with this value at a path, whose objects and lists are made where they are missing."""
    if not path:
        return value
    step, rest = path[0], path[1:]
    if isinstance(step, int):
        items = list(part) if isinstance(part, list) else []
        items += [{}] * (step + 1 - len(items))
        items[step] = with_value(items[step], rest, value)
        return items
    assert step is not EVERY, path
    known = part if isinstance(part, dict) else {}
    return {**known, step: with_value(known.get(step), rest, value)}


class ObjectPlace:
    """A part of an object, and the whole: paths are read from the part unless they begin with ``$.``."""

    __slots__ = ("part", "whole")

    def __init__(self, whole: object, part: object = None) -> None:
        self.whole = whole
        self.part = whole if part is None else part

    def values(self, text: str) -> Iterator[object]:
        """What is found at a path."""
        return values_at(self.whole if text.startswith(WHOLE) else self.part, path_of(text))

    def first(self, text: str) -> object:
        """The first of it, None where there is nothing."""
        return next(self.values(text), None)

    def holds(self, condition: str) -> bool:
        """Whether a condition holds: ``PATH=TEXT``, ``PATH!=TEXT``, or ``PATH``: not empty, zero or false."""
        path, equals, text = condition.partition("=")
        found = self.values(path.removesuffix("!"))
        if not equals:
            return any(map(bool, found))
        return any(str(each) == text for each in found) is not path.endswith("!")
