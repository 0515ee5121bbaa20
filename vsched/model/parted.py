"""A table of names in parts, which grow at different times.

A dict moves all of its entries when it is full: with a hundred thousand of them that takes milliseconds. Tables that
have the same keys are full at the same key, and together they would hold the event loop for longer than it may be.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, MutableMapping
from itertools import chain
from typing import TypeVar, overload

V = TypeVar("V")
D = TypeVar("D")


class PartedDict(MutableMapping[str, V]):
    """Values by name, in the order of the parts. A name's last letter says which part it is in.

    Names of objects end in digits or in letters drawn at random. Of names that all end alike, the table has one part.
    """

    __slots__ = ("_parts",)

    def __init__(self) -> None:
        self._parts: defaultdict[str, dict[str, V]] = defaultdict(dict)

    @property
    def parts(self) -> Mapping[str, Mapping[str, V]]:
        """The parts by the last letter of the names in them."""
        return self._parts

    def __getitem__(self, key: str) -> V:
        return self._parts[key[-1:]][key]

    def __setitem__(self, key: str, value: V) -> None:
        self._parts[key[-1:]][key] = value

    def __delitem__(self, key: str) -> None:
        del self._parts[key[-1:]][key]

    def __contains__(self, key: object) -> bool:
        return isinstance(key, str) and key in self._parts[key[-1:]]

    def __len__(self) -> int:
        return sum(map(len, self._parts.values()))

    def __bool__(self) -> bool:
        return any(self._parts.values())

    def __iter__(self) -> Iterator[str]:
        return chain.from_iterable(list(self._parts.values()))

    @overload
    def get(self, key: str, default: None = None, /) -> V | None: ...
    @overload
    def get(self, key: str, default: V | D, /) -> V | D: ...
    def get(self, key: str, default: V | D | None = None, /) -> V | D | None:
        return self._parts[key[-1:]].get(key, default)

    @overload
    def pop(self, key: str, /) -> V: ...
    @overload
    def pop(self, key: str, default: V | D, /) -> V | D: ...
    def pop(self, key: str, *default: V | D) -> V | D:
        return self._parts[key[-1:]].pop(key, *default)

    def setdefault(self, key: str, default: V) -> V:
        return self._parts[key[-1:]].setdefault(key, default)

    def clear(self) -> None:
        self._parts.clear()
