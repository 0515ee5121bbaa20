"""The only thing that survives a cycle: answers that later cycles on the same mirror would work out again.

It saves time and changes no answer. An answer is kept under the name of its owner with the inputs that it follows from;
``make`` gets these and nothing else. What is renewed follows from its former value and the present; what is left by one
cycle is taken over by the next one, whose owner brings it up to date. All of it is forgotten with the policy, and after
a cycle that failed.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Hashable, Sequence
from enum import StrEnum
from operator import is_
from typing import Any, ClassVar, TypeVar

import numpy as np

T = TypeVar("T")

ENTRIES_MAX = 65536
"""So many answers of one owner are kept; when there are more, all of them are forgotten."""


class Mode(StrEnum):
    """Whether anything is kept."""

    ON = "on"
    OFF = "off"
    PROVE = "prove"
    """Each kept answer is also made anew and compared."""


class Unequal(Exception):
    """A kept answer is not what it would be if it were made anew; or a plugin has promised what does not hold."""


class Memo:
    """What cycles keep for the next ones, for one policy. Cycles that share it run one after the other."""

    mode: ClassVar[Mode] = Mode.ON
    """Unless the constructor says otherwise."""

    def __init__(self, mode: Mode | None = None) -> None:
        mode = type(self).mode if mode is None else mode
        self._keeps = mode is not Mode.OFF
        self.proves = mode is Mode.PROVE
        """Whether each kept answer is also made anew."""
        self._for: tuple[object, ...] = ()
        self._is_open = False
        self._kept: defaultdict[str, dict[Hashable, Any]] = defaultdict(dict)
        """By owner and key."""
        self.hits: defaultdict[str, int] = defaultdict(int)
        """How often an answer was used again, by owner."""
        self.misses: defaultdict[str, int] = defaultdict(int)
        """How often it was worked out."""

    def begin(self, *subjects: object) -> None:
        """A cycle begins. What was kept for other subjects is forgotten, and what a cycle left that did not end."""
        if self._is_open or not _same(subjects, self._for):
            self._kept.clear()
        self._for, self._is_open = subjects, True

    def end(self) -> None:
        """The cycle has ended."""
        self._is_open = False

    def of(self, owner: str, key: Hashable, inputs: tuple[Any, ...], make: Callable[..., T]) -> T:
        """The answer of ``make(*inputs)``, made again where an input is another object than it was."""
        own = self._kept[owner]
        known = own.get(key)
        if known is not None and all(map(is_, known[0], inputs)):
            self.hits[owner] += 1
            found: T = known[1]
            if self.proves and not _equal(make(*inputs), found):
                raise Unequal(f"{owner}: the answer kept for {key!r} does not follow from its inputs alone")
            return found
        self.misses[owner] += 1
        made = make(*inputs)
        self._keep(own, key, (inputs, made))
        return made

    def renewed(self, owner: str, key: Hashable, kind: type[T], make: Callable[[T | None], T]) -> T:
        """What ``make`` works out from its last answer, None at first. It must be the same whatever that was."""
        own = self._kept[owner]
        before = own.get(key)
        (self.misses if before is None else self.hits)[owner] += 1
        made = make(before if isinstance(before, kind) else None)
        if self.proves and before is not None and not _equal(made, make(None)):
            raise Unequal(f"{owner}: what is kept of {key!r} is not what it would be if it were made anew")
        self._keep(own, key, made)
        return made

    def take(self, owner: str, kind: type[T]) -> T | None:
        """What the last cycle has left for its owner; it is not kept any longer."""
        found: T | None = self._kept[owner].pop(kind.__name__, None)
        (self.misses if found is None else self.hits)[owner] += 1
        return found

    def leave(self, owner: str, value: object) -> None:
        """Leave something to the next cycle; it may not refer to this one."""
        if self._keeps:
            self._kept[owner][type(value).__name__] = value

    def counted(self) -> dict[str, tuple[int, int]]:
        """By owner, how often an answer was used again, and how often it was worked out, since this was last asked."""
        owners = dict.fromkeys([*self.hits, *self.misses])
        found = {owner: (self.hits.get(owner, 0), self.misses.get(owner, 0)) for owner in owners}
        self.hits.clear()
        self.misses.clear()
        return found

    def _keep(self, own: dict[Hashable, Any], key: Hashable, value: object) -> None:
        if self._keeps:
            if len(own) >= ENTRIES_MAX:
                own.clear()
            own[key] = value


def _same(some: Sequence[object], others: Sequence[object]) -> bool:
    """Whether they are the same objects."""
    return len(some) == len(others) and all(map(is_, some, others))


def _equal(one: object, other: object) -> bool:
    """Whether two answers say the same; those that hold arrays are compared by their contents.

    Answers that have more than they say, such as results that were asked for since, say what is compared.
    """
    if hasattr(one, "compared") and hasattr(other, "compared"):
        return _equal(one.compared(), other.compared())
    if isinstance(one, np.ndarray) and isinstance(other, np.ndarray):
        return np.array_equal(one, other)
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(_equal(value, other[key]) for key, value in one.items())
    if isinstance(one, (tuple, list)) and isinstance(other, (tuple, list)):
        return len(one) == len(other) and all(map(_equal, one, other))
    if type(one).__eq__ is object.__eq__:
        return True  # nobody has said when two of them are equal
    return one is other or bool(one == other)


NO_MEMO = Memo(Mode.OFF)
"""For cycles that stand alone."""
