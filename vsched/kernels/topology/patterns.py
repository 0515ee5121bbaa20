"""Regular expressions of HyperNodes, in the syntax of RE2.

Volcano reads them with Go's package, which has RE2's syntax. RE2 takes time that is linear in the name, whatever the
expression; Python's own module would take some expressions otherwise, and others could stop a cycle for hours.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import cache, lru_cache
from types import ModuleType
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from msgspec.structs import replace as with_fields

from vsched.model.nodes.table import NodeStatics
from vsched.model.topology.hypernodes import HyperNode, Member, TopologyCatalogue

Rows = npt.NDArray[np.intp]

_MEMORY = 1 << 20
"""Bytes that a compiled expression may take. It also bounds the time for one name."""
_TOGETHER = 256
"""How many expressions are searched for at once."""
_PROBLEM_CHARS = 200
"""How much is told of why a pattern cannot be used; it may repeat the pattern."""


def found_in(pattern: str, name: str) -> bool:
    """Whether a pattern is found in one name; never where it cannot be used."""
    found = _compiled(pattern)
    return not isinstance(found, str) and bool(found.search(name))


class Matches(NamedTuple):
    """Which nodes' names match patterns."""

    names: tuple[str, ...]
    """The names of all nodes, by row."""
    rows: dict[str, Rows]
    """By pattern: the rows of the nodes whose names it is found in, ascending."""


def problem_of(pattern: str) -> str:
    """Why a pattern cannot be used, in a few words; empty where it can."""
    found = _compiled(pattern)
    if not isinstance(found, str):
        return ""
    return found if len(found) <= _PROBLEM_CHARS else f"{found[:_PROBLEM_CHARS]}..."


def matches(statics: NodeStatics, patterns: Sequence[str]) -> Matches:
    """The matches of these patterns. Only patterns and names that were not there the last time are matched."""

    def renewed(last: Matches | None) -> Matches:
        known = {} if last is None else _carried(last, statics, patterns)
        new = [pattern for pattern in patterns if pattern not in known]
        return Matches(statics.names, {**known, **_matching(new, statics.names)})

    return statics.memo.renewed("topology", "patterns", Matches, renewed)


def _carried(last: Matches, statics: NodeStatics, patterns: Sequence[str]) -> dict[str, Rows]:
    """What is known of these patterns, by today's rows."""
    known = {pattern: rows for pattern in patterns if (rows := last.rows.get(pattern)) is not None}
    if last.names == statics.names:
        return known
    moved = np.array([statics.row.get(name, -1) for name in last.names], dtype=np.intp)
    before = frozenset(last.names)
    new = np.array([row for row, name in enumerate(statics.names) if name not in before], dtype=np.intp)
    added = _matching(list(known), [statics.names[row] for row in new.tolist()])
    return {pattern: _with(moved[rows], new[added[pattern]]) for pattern, rows in known.items()}


def _with(kept: Rows, added: Rows) -> Rows:
    return np.sort(np.concatenate([kept[kept >= 0], added]))


def _matching(patterns: Sequence[str], names: Sequence[str]) -> dict[str, Rows]:
    """By pattern: the positions of the names that it is found in."""
    found: dict[str, list[int]] = {pattern: [] for pattern in patterns}
    usable = [pattern for pattern in patterns if not problem_of(pattern)]
    for some in (usable[at : at + _TOGETHER] for at in range(0, len(usable), _TOGETHER)):
        together = _together(tuple(some)) if len(some) > 1 else None
        for at, name in enumerate(names):
            for pattern in _in_one(some, name) if together is None else together.of(name):
                found[pattern].append(at)
    return {pattern: np.array(positions, dtype=np.intp) for pattern, positions in found.items()}


def _in_one(patterns: Sequence[str], name: str) -> Sequence[str]:
    return [pattern for pattern in patterns if _compiled(pattern).search(name)]


class _Together:
    """Several patterns that are searched for at once, which takes hardly longer than one of them."""

    def __init__(self, patterns: tuple[str, ...]) -> None:
        library, options = _library(), _options()
        options.max_mem = _MEMORY * 8
        self._patterns = patterns
        self._any = library.compile("|".join(f"(?:{pattern})" for pattern in patterns), options)
        self._each = library.Set.SearchSet(options)
        for pattern in patterns:
            self._each.Add(pattern)
        self._each.Compile()

    def of(self, name: str) -> Sequence[str]:
        """The patterns that are found in the name."""
        found = self._each.Match(name)
        if found:
            return [self._patterns[at] for at in found]
        # A set that runs out of memory finds nothing, too; a single expression goes on more slowly then.
        return _in_one(self._patterns, name) if self._any.search(name) else ()


@lru_cache(maxsize=64)
def _together(patterns: tuple[str, ...]) -> _Together | None:
    """None where they are too large to be searched for together."""
    try:
        return _Together(patterns)
    except _library().error:
        return None


@cache
def _library() -> ModuleType:
    """RE2, loaded when the first pattern is read."""
    import re2

    library: ModuleType = re2
    return library


def _options() -> Any:
    options = _library().Options()
    options.log_errors, options.never_capture, options.max_mem = False, True, _MEMORY
    return options


@lru_cache(maxsize=1 << 14)
def _compiled(pattern: str) -> Any:
    """The compiled expression, or why it cannot be compiled."""
    try:
        return _library().compile(pattern, _options())
    except _library().error as error:
        reason = error.args[0] if error.args else "unknown"
        return reason.decode(errors="replace") if isinstance(reason, bytes) else str(reason)


def without_patterns(catalogue: TopologyCatalogue, statics: NodeStatics) -> TopologyCatalogue:
    """The same HyperNodes; in place of each pattern, the names of the nodes that it is found in."""
    patterns = [member.pattern for one in catalogue.hypernodes for member in one.members if member.pattern]
    if not patterns:
        return catalogue
    found = matches(statics, list(dict.fromkeys(patterns)))
    return replace(catalogue, hypernodes=tuple(_spelt_out(one, found) for one in catalogue.hypernodes))


def _spelt_out(hypernode: HyperNode, found: Matches) -> HyperNode:
    members: list[Member] = []
    for member in hypernode.members:
        if member.pattern:
            rows = found.rows[member.pattern].tolist()
            members.extend(Member(True, name=found.names[row]) for row in rows)
        else:
            members.append(member)
    return with_fields(hypernode, members=tuple(members))
