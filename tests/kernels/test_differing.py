"""Elements of two lists that are not the same object."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from vsched.kernels.differing import differing, differing_keys

OBJECTS = [[0], [0], [1], None]
VALUES = st.sampled_from(OBJECTS[:-1])


@given(pairs=st.lists(st.tuples(st.sampled_from(OBJECTS), st.sampled_from(OBJECTS))))
def test_the_positions_of_other_objects_are_told_equal_ones_included(
    pairs: list[tuple[list[int] | None, list[int] | None]],
) -> None:
    now, then = [one for one, _ in pairs], [other for _, other in pairs]
    assert differing(now, then) == [at for at, (one, other) in enumerate(pairs) if one is not other]


def test_what_one_list_has_more_is_not_compared() -> None:
    assert differing([OBJECTS[0], None, None], [OBJECTS[1]]) == [0]


@given(now=st.dictionaries(st.integers(0, 5), VALUES), then=st.dictionaries(st.integers(0, 5), VALUES))
def test_keys_whose_values_are_other_objects_are_told_and_keys_that_are_gone(
    now: dict[int, list[int]], then: dict[int, list[int]]
) -> None:
    changed = [key for key, one in now.items() if then.get(key) is not one]
    assert differing_keys(now, then) == changed + [key for key in then if key not in now]
