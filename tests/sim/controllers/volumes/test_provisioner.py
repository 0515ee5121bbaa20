"""The CSIStorageCapacities of a class in a place."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from tests.support import volumes
from vsched.apimachinery.meta.label_selectors import matches_label_selector
from vsched.sim.controllers.volumes.provisioner import CapacityIndex
from vsched.sim.store.store import key_of

LABELS = st.dictionaries(st.sampled_from(["zone", "host"]), st.sampled_from(["a", "b"]))
TOPOLOGIES = st.one_of(
    st.none(),
    LABELS.map(lambda labels: {"matchLabels": labels}),
    st.just({"matchExpressions": [{"key": "zone", "operator": "In", "values": ["a"]}]}),
)
CHANGES = st.lists(st.tuples(st.integers(0, 4), st.sampled_from(["x", "y"]), TOPOLOGIES, st.booleans()), max_size=30)


@given(CHANGES, LABELS)
def test_those_for_a_place_are_found_among_all(
    changes: list[tuple[int, str, dict[str, object] | None, bool]], labels: dict[str, str]
) -> None:
    index, there = CapacityIndex(), dict[str, dict[str, object]]()
    for number, class_, topology, gone in changes:
        capacity = {**volumes.storage_capacity(f"c{number}", storage_class=class_), "nodeTopology": topology}
        index.note(capacity, gone=gone)
        there.pop(key_of(capacity), None)
        if not gone:
            there[key_of(capacity)] = capacity
    found = list(index.keys("x", labels))
    assert len(found) == len(set(found))
    assert {there[key]["storageClassName"] for key in found} <= {"x"}
    matching = {
        key
        for key, each in there.items()
        if each["storageClassName"] == "x" and matches_label_selector(each["nodeTopology"], labels)
    }
    assert matching <= set(found)
