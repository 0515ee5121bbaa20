"""The order of static volumes stays right, however few or many change at a time."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.examples import examples
from vsched.mirror.state.claims.available import FEW, AvailableVolumes
from vsched.model.claims.volumes import Volume

names = st.integers(0, 199).map(str)
some = st.lists(st.tuples(names, st.one_of(st.none(), st.integers(0, 3))), max_size=4)
many = st.integers(0, 3).map(lambda step: [(str(number), (number * (step + 1)) % 7) for number in range(2 * FEW)])


@settings(max_examples=examples(100), deadline=None)
@given(st.lists(st.one_of(some, some, many), max_size=6))
def test_volumes_are_smallest_first_then_by_name(rounds: list[list[tuple[str, int | None]]]) -> None:
    found, expected = AvailableVolumes(), dict[str, Volume]()
    for changes in rounds:
        for name, size in changes:
            volume = None if size is None else Volume(name, capacity=size)
            found.put(name, volume)
            expected.pop(name, None)
            if volume is not None:
                expected[name] = volume
        assert list(found.shown()) == sorted(expected.values(), key=lambda each: (each.capacity, each.name))
        assert len(found) == len(expected)
