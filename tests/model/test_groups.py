"""Names by group."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from vsched.model.groups import FEW, NameGroups

STEPS = st.lists(
    st.tuples(
        st.sampled_from(["add", "add", "add", "discard", "pop"]),
        st.sampled_from(["one", "other"]),
        st.integers(0, FEW + 8).map(lambda number: f"name-{number}"),
    ),
    max_size=120,
)


@given(STEPS)
def test_groups_are_as_ordered_sets_whatever_their_sizes(steps: list[tuple[str, str, str]]) -> None:
    groups: NameGroups[str] = NameGroups()
    model: dict[str, dict[str, None]] = {}
    for step, group, name in steps:
        if step == "add":
            groups.add(group, name)
            model.setdefault(group, {})[name] = None
        elif step == "discard":
            groups.discard(group, name)
            model.get(group, {}).pop(name, None)
        else:
            assert list(groups.pop(group)) == list(model.pop(group, {}))
        assert set(groups.groups()) == {each for each, names in model.items() if names}
        for each in ("one", "other"):
            assert list(groups.of(each)) == list(model.get(each, {}))


def test_a_name_is_not_found_in_another_that_contains_it() -> None:
    groups: NameGroups[str] = NameGroups()
    groups.add("group", "name-10")
    groups.add("group", "name-1")
    assert list(groups.of("group")) == ["name-10", "name-1"]
