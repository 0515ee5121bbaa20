"""What was worked out of a part of an object, kept as long as it may be asked again.

Clients create thousands of pods with one spec. Equal specs are decoded to one object (``interned``), and what is worked
out of that object is kept by which object it is (``remembered``). Both rely on the rule of the store: nothing that it
has got is changed in place.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Any, TypeVar

import orjson

from vsched.apimachinery.meta.kinds import Obj

R = TypeVar("R")

MOST = 1024
"""How many are kept of each; one more clears them all."""


def remembered(function: Callable[..., R]) -> Callable[..., R]:
    """The same function of a part of an object and of further hashable values, which is worked out once for each."""
    known: dict[tuple[Hashable, ...], tuple[Obj, R]] = {}

    def ask(part: Obj, *more: Hashable) -> R:
        key = (id(part), *more)
        found = known.get(key)
        # The part is kept with the result, so no other object can have its id.
        if found is None:
            if len(known) >= MOST:
                known.clear()
            found = known[key] = part, function(part, *more)
        return found[1]

    return ask


class Interned:
    """Equal values that decode to one object."""

    __slots__ = ("_known",)

    def __init__(self) -> None:
        self._known: dict[bytes, Any] = {}

    def decoded(self, value: Any, decode: Callable[[Any], R]) -> R | None:
        """What ``decode`` makes of a JSON value; None for what is no JSON.

        It gets a copy, because the caller may still change the value.
        """
        try:
            text = orjson.dumps(value)
        except TypeError:
            return None
        if text not in self._known:
            if len(self._known) >= MOST:
                self._known.clear()
            self._known[text] = decode(orjson.loads(text))
        found: R = self._known[text]
        return found
