"""A table in parts: it answers as a dict does, and its parts share the names."""

from __future__ import annotations

from collections.abc import Callable, MutableMapping
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as some

from vsched.model.parted import PartedDict

Table = MutableMapping[str, int]
DOINGS: dict[str, Callable[[Table, str, int], object]] = {
    "put": lambda table, key, value: table.__setitem__(key, value),
    "setdefault": lambda table, key, value: table.setdefault(key, value),
    "get": lambda table, key, value: (table.get(key), table.get(key, value)),
    "pop": lambda table, key, value: table.pop(key, value),
    "pop what is there": lambda table, key, value: table.pop(key) if key in table else None,
    "delete": lambda table, key, value: table.__delitem__(key) if key in table else None,
    "clear": lambda table, key, value: table.clear(),
}
NAMES = some.sampled_from(["", "a", "b", "ba", "ab", "é", "pod-0", "pod-10"])


@given(some.lists(some.tuples(some.sampled_from(sorted(DOINGS)), NAMES, some.integers())))
def test_it_answers_as_a_dict_does(doings: list[tuple[str, str, int]]) -> None:
    table, plain = PartedDict[int](), dict[str, int]()
    for doing, key, value in doings:
        assert DOINGS[doing](table, key, value) == DOINGS[doing](plain, key, value)
        assert (len(table), bool(table), key in table) == (len(plain), bool(plain), key in plain)
    assert dict(table) == plain
    assert sorted(table) == sorted(plain)


@pytest.mark.parametrize("lacking", [lambda table: table["a"], lambda table: table.pop("a")])
def test_what_is_not_there_is_an_error(lacking: Callable[[PartedDict[int]], int]) -> None:
    with pytest.raises(KeyError, match="a"):
        lacking(PartedDict())


def test_entries_may_go_while_names_are_gone_through() -> None:
    table = PartedDict[int]()
    table.update({"a": 1, "b": 2})
    for key in list(table):
        del table[key]
    assert not table


def test_the_names_are_in_parts() -> None:
    table = PartedDict[None]()
    for number in range(1600):
        table[str(UUID(int=number))] = None
    assert {letter: len(part) for letter, part in table.parts.items()} == dict.fromkeys("0123456789abcdef", 100)
