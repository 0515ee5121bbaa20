"""Maps that never change are what dicts would be, and share what is the same with those that they are made from."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import chain
from random import Random

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.examples import examples
from vsched.model.maps import CHUNK, GroupedMap, SortedMap, as_dict, gone, news

Found = list[str]
"""Values are told apart by their identity."""


def keys(*numbers: int) -> list[str]:
    return [f"k{number:05}" for number in numbers]


def made(*numbers: int) -> dict[str, Found]:
    return {key: [key] for key in keys(*numbers)}


def items(found: Mapping[str, object]) -> list[tuple[str, object]]:
    return [*found.items()]


@settings(max_examples=examples(80), deadline=None)
@given(random=st.randoms(use_true_random=False), size=st.integers(0, 4 * CHUNK), steps=st.integers(1, 6))
def test_a_map_made_from_another_is_what_a_dict_would_be(random: Random, size: int, steps: int) -> None:
    before = made(*random.sample(range(1000), size))
    found = SortedMap(sorted(before.items()))
    for _ in range(steps):
        known, rest = [*before], made(*range(2000, 2000 + random.randint(0, 3)))
        left = random.sample(known, random.choice((0, len(known) // 30, len(known))))
        new = made(*random.sample(range(1000), random.choice((0, 1, 5, 300))))
        new = {key: value for key, value in new.items() if key not in left}
        new |= {key: before[key] for key in random.sample(known, min(3, len(known))) if key not in left}
        after = dict(sorted(({key: value for key, value in before.items() if key not in left} | new).items()))
        last, found = found, found.changed(left, new, rest)
        assert items(found) == items(after | rest)
        assert [*found] == [*found.keys()] == [*after, *rest]
        assert [*found.values()] == [*after.values(), *rest.values()]
        assert len(found) == len(after) + len(rest)
        assert all(found[key] is value for key, value in after.items())
        told = {key: value for some in news(last, found) for key, value in some.items()}
        assert items(told) == [(key, value) for key, value in found.items() if last.get(key) is not value]
        assert {*chain.from_iterable(gone(last, found))} == last.keys() - found.keys()
        before = after


def test_keys_that_are_in_no_map_are_not_found() -> None:
    for found in (SortedMap[Found](), SortedMap(made(1, 5).items(), made(3))):
        assert "k00002" not in found
        assert 7 not in found
        assert found.get("k00002") is None
        with pytest.raises(KeyError):
            found["k00002"]


def test_what_has_not_changed_is_shared_and_not_looked_at() -> None:
    before = SortedMap(made(*range(40 * CHUNK)).items())
    after = before.changed(keys(7), made(99_999, 20 * CHUNK))
    others = [part for part in after.parts if not any(part is one for one in before.parts)]
    assert sum(map(len, others)) <= 3 * CHUNK
    assert sum(map(len, news(before, after))) == 2
    assert not any(news(after, after))


def test_values_that_are_given_again_change_nothing() -> None:
    values = made(*range(3 * CHUNK))
    before = SortedMap(values.items())
    again = before.changed((), dict(list(values.items())[:5]))
    assert all(one is other for one, other in zip(before.parts, list(again.parts)[:-1], strict=False))


def test_a_map_of_which_most_is_gone_has_few_parts() -> None:
    found = SortedMap(made(*range(100 * CHUNK)).items())
    for left in range(100 * CHUNK):
        if left % CHUNK:
            found = found.changed(keys(left), {})
    assert len(found) == 100
    assert len([*found.parts]) < 12


def test_a_long_dict_is_compared_in_steps() -> None:
    steps = [*news({}, made(*range(10 * CHUNK)))]
    assert len(steps) >= 5
    assert sum(map(len, steps)) == 10 * CHUNK


def test_it_equals_the_dict_of_its_items() -> None:
    found = SortedMap(made(1, 2).items(), made(0))
    assert found == made(0, 1, 2)
    assert made(0, 1, 2) == found
    assert found != made(1, 2)


@settings(max_examples=examples(40), deadline=None)
@given(random=st.randoms(use_true_random=False), steps=st.integers(1, 6))
def test_a_grouped_map_has_the_items_of_its_groups(random: Random, steps: int) -> None:
    groups = SortedMap[dict[str, Found]]()
    found = GroupedMap(groups)
    for _ in range(steps):
        numbers = random.sample(range(500), random.randint(0, 300))
        new = {key: {f"{key}/{n}": [key] for n in range(random.randint(0, 3))} for key in keys(*numbers)}
        left = random.sample([*groups], len(groups) // 3)
        groups = groups.changed([key for key in left if key not in new], new, {"rest": {"r/1": ["r"]}})
        found = GroupedMap(groups, found)
        flat = {key: value for group in groups.values() for key, value in group.items()}
        assert items(found) == items(flat)
        assert len(found) == len(flat)
        assert found == flat
        assert all(found[key] is value for key, value in flat.items())


def test_maps_are_encoded_as_objects() -> None:
    found = SortedMap({"a": GroupedMap({"g": {"x": 1}})}.items())
    assert msgspec.json.encode(found, enc_hook=as_dict) == b'{"a":{"x":1}}'
    with pytest.raises(NotImplementedError):
        msgspec.json.encode(object(), enc_hook=as_dict)
