"""The storage capacities of a node are found by its labels."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from vsched.mirror.state.claims.staged import Staging
from vsched.mirror.state.claims.volumes import VolumeStore
from vsched.mirror.whatif.storage import StorageByLabel
from vsched.model.claims.volumes import StorageCapacity
from vsched.model.pods.shape import Requirement, Selector

KEYS, VALUES = st.sampled_from(["host", "zone"]), st.sampled_from(["a", "b"])
REQUIREMENTS = st.one_of(
    st.builds(Requirement, KEYS, st.sampled_from(["In", "NotIn"]), st.lists(VALUES, min_size=1).map(tuple)),
    st.builds(Requirement, KEYS, st.just("Exists")),
)
SELECTORS = st.none() | st.builds(Selector, st.lists(REQUIREMENTS, max_size=2).map(tuple))


@given(st.lists(SELECTORS, max_size=8), st.lists(st.dictionaries(KEYS, VALUES), min_size=1, max_size=3))
def test_those_that_select_the_node_are_found_in_order(
    selectors: list[Selector | None], nodes: list[dict[str, str]]
) -> None:
    store = VolumeStore(Staging())
    capacities = [StorageCapacity(f"ns/{n}", f"class-{n % 2}", one, 10) for n, one in enumerate(selectors)]
    for one in reversed(capacities):
        store.put_capacity(one.key, one)
    storage = StorageByLabel(store)
    for labels in nodes:
        of_class = [one for one in capacities if one.storage_class == "class-0"]
        expected = [one for one in of_class if one.nodes is not None and one.nodes.matches(labels)]
        assert list(storage.of("class-0", labels)) == expected
