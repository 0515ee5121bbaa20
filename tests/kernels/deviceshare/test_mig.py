"""GPUs that are divided by MIG: which instance a container gets, and a search instance by instance as the measure."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vsched.kernels.deviceshare.mig import CLOSED, MigState, given_back, instance_at, joined, largest_free, pick, taken
from vsched.model.deviceshare.geometries import DEFAULT_GEOMETRIES, MigGeometry, MigProfile, geometries_of

A100 = geometries_of("NVIDIA-A100-SXM4-40GB", DEFAULT_GEOMETRIES)
STRAY = ("?",)


@pytest.mark.parametrize(
    ("held", "memory", "place"),
    [
        pytest.param((), 3000, "group1-0", id="a free GPU takes the first geometry that has a large enough instance"),
        pytest.param((), 6000, "group2-0", id="and passes over one with smaller ones"),
        pytest.param((), 20480, "group3-0", id="an instance that is as large as what is asked for"),
        pytest.param((), 20481, "group4-0", id="all of the GPU"),
        pytest.param((), 40961, None, id="more than any instance has"),
        pytest.param(("group1-0",), 3000, "group1-1", id="the next one of the geometry in use"),
        pytest.param(("group1-1",), 3000, "group1-0", id="a place that came free"),
        pytest.param(("group1-0",), 6000, None, id="the geometry in use stays"),
        pytest.param(("group2-0",), 3000, "group2-3", id="the smallest of the geometry that is large enough"),
        pytest.param(("group2-0", "group2-3"), 3000, "group2-1", id="a larger one where the small ones are taken"),
        pytest.param(("group4-0",), 1, None, id="nothing is left"),
        pytest.param(("group1-0", "group2-1"), 1, None, id="pods of two geometries: closed"),
        pytest.param(("group1-7",), 1, None, id="a pod that holds no instance of a geometry: closed"),
        pytest.param(STRAY, 1, None, id="a pod that names no instance: closed"),
    ],
)
def test_a_container_gets_an_instance(held: tuple[str, ...], memory: int, place: str | None) -> None:
    found = pick(MigState(A100, held), memory)
    assert (found and found.place) == place


@pytest.mark.parametrize(
    ("model", "group", "names"),
    [
        pytest.param("NVIDIA-A30", "group2", ["2g.12gb"], id="A30"),
        pytest.param("NVIDIA-A100-SXM4-40GB", "group2", ["2g.10gb", "1g.5gb"], id="A100 with 40 GB"),
        pytest.param("NVIDIA-A100-80GB-PCIe", "group4", ["7g.80gb"], id="A100 with 80 GB"),
    ],
)
def test_known_geometries(model: str, group: str, names: list[str]) -> None:
    (found,) = [one for one in geometries_of(model, DEFAULT_GEOMETRIES) if one.group == group]
    assert [one.name for one in found.profiles] == names


def test_a_model_that_nobody_knows_gets_no_pods() -> None:
    assert geometries_of("NVIDIA-H100", DEFAULT_GEOMETRIES) == ()
    assert largest_free(MigState(())) == CLOSED
    assert pick(MigState(()), 1) is None


@pytest.mark.parametrize("place", ["group2-4", "group2-03", "group9-0", "group2", "group2-", "group2-x", "", "-1"])
def test_no_instance_has_such_a_name(place: str) -> None:
    assert instance_at(A100, place) is None


profiles = st.lists(st.builds(MigProfile, st.just("p"), st.integers(1, 8), st.integers(1, 3)), min_size=1, max_size=3)
geometries = st.lists(profiles, min_size=1, max_size=3).map(
    lambda some: tuple(MigGeometry(f"g{at}", tuple(one)) for at, one in enumerate(some))
)


def instances(one: MigGeometry) -> list[int]:
    """The memory of each instance, said once more in plain words."""
    return [profile.memory for profile in one.profiles for _ in range(profile.count)]


@given(geometries, st.lists(st.tuples(st.booleans(), st.integers(1, 9)), max_size=20))
def test_nothing_exceeds_a_geometry_and_what_is_given_back_equals_what_was_taken(
    known: tuple[MigGeometry, ...], steps: list[tuple[bool, int]]
) -> None:
    state, before = MigState(known), [MigState(known)]
    holders: list[str] = []
    for comes, amount in steps:
        if not comes and holders:
            place = holders.pop()
            state = given_back(state, place)
            before.pop()
            assert state == before[-1]
            continue
        # By hand: the geometry in use, or each in turn; of its free instances the smallest that is large enough.
        used = {place.rpartition("-")[0] for place in holders}
        assert len(used) <= 1, "one geometry at a time"
        expected = None
        for one in known:
            free = [
                (memory, position)
                for position, memory in enumerate(instances(one))
                if f"{one.group}-{position}" not in holders
            ]
            fitting = [pair for pair in sorted(free) if pair[0] >= amount]
            if fitting and used <= {one.group}:
                expected = f"{one.group}-{fitting[0][1]}"
                break
        found = pick(state, amount)
        assert (found and found.place) == expected
        assert (largest_free(state) >= amount) == (expected is not None)
        if found is not None:
            assert found == instance_at(known, found.place)
            holders.append(found.place)
            state = taken(state, found.place)
            before.append(state)
        assert len(set(holders)) == len(holders), "nobody shares an instance"


@given(geometries, st.data())
def test_what_is_free_in_two_states_is_free_in_each(known: tuple[MigGeometry, ...], data: st.DataObject) -> None:
    places = [f"{one.group}-{at}" for one in known for at in range(len(instances(one)))]
    some = st.lists(st.sampled_from(places), unique=True, max_size=4)
    states = [MigState(known, tuple(sorted(data.draw(some)))) for _ in range(2)]
    found = pick(joined(*states), 1)
    if found is not None:
        for state in states:
            assert found.place not in state.held
            assert largest_free(taken(state, found.place)) >= CLOSED
            assert largest_free(state) >= found.memory
