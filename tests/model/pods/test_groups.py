"""Sets by key that copies share until one of them changes: each says what its own changes come to."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from vsched.model.pods.groups import Groups

KEYS = ("a", "b", "c")
CHANGES = st.lists(
    st.tuples(st.integers(0, 5), st.sampled_from(("add", "discard", "copy")), st.sampled_from(KEYS), st.integers(0, 3)),
    max_size=60,
)


@given(CHANGES)
def test_every_copy_is_as_if_it_had_been_made_of_everything(changes: list[tuple[int, str, str, int]]) -> None:
    groups: list[Groups[str, int]] = [Groups()]
    expected: list[dict[str, dict[int, None]]] = [{}]
    for which, what, key, member in changes:
        at = which % len(groups)
        if what == "copy":
            groups.append(groups[at].copy())
            expected.append({key: dict(members) for key, members in expected[at].items()})
        elif what == "add":
            groups[at].add(key, member)
            expected[at].setdefault(key, {})[member] = None
        else:
            groups[at].discard(key, member)
            expected[at].get(key, {}).pop(member, None)
            expected[at] = {key: members for key, members in expected[at].items() if members}
        for found, told in zip(groups, expected, strict=True):
            assert len(found) == len(told)
            for each in KEYS:
                assert list(found.of(each)) == list(told.get(each, ()))
                assert found.count(each) == len(told.get(each, ()))
                assert (each in found) == (each in told)


def test_a_copy_costs_nothing_for_each_set() -> None:
    groups: Groups[int, int] = Groups()
    for number in range(1000):
        groups.add(number, number)
    other = groups.copy()
    assert all(groups.of(number) is other.of(number) for number in range(1000))
    other.add(7, 8)
    assert [number for number in range(1000) if groups.of(number) is not other.of(number)] == [7]
