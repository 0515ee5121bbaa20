"""Which volume a claim gets: the smallest one that fits, and one that names it before any other."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support import volumes
from vsched.sim.controllers.volumes.matching import FreeVolumes, chosen_for, fits
from vsched.sim.controllers.volumes.objects import asked_size, claim_key_of, class_name, size_of

Obj = dict[str, Any]
CLAIM = volumes.claim(size="2Gi")


@pytest.mark.parametrize(
    ("volume", "expected"),
    [
        pytest.param({}, True, id="a volume of the class that is large enough fits"),
        pytest.param({"size": "2Gi"}, True, id="a volume of just that size fits"),
        pytest.param({"size": "1Gi"}, False, id="a smaller one does not"),
        pytest.param({"storage_class": "other"}, False, id="one of another class does not"),
        pytest.param({"modes": ("ReadWriteMany",)}, False, id="one without the access mode does not"),
        pytest.param({"modes": ("ReadWriteOnce", "ReadOnlyMany")}, True, id="one with more access modes fits"),
        pytest.param({"spec": {"volumeMode": "Block"}}, False, id="one of another volume mode does not"),
        pytest.param({"claim": "ns/other"}, False, id="one that is bound to another claim does not"),
        pytest.param({"status": {"phase": "Released"}}, False, id="one that was released does not"),
        pytest.param({"metadata": {"deletionTimestamp": "2026-01-01T00:00:00Z"}}, False, id="nor does a deleted one"),
    ],
)
def test_what_fits(volume: Obj, expected: bool) -> None:
    assert fits(volumes.volume(**{"size": "5Gi", **volume}), CLAIM) is expected


@pytest.mark.parametrize(
    ("labels", "expected"), [({"tier": "fast"}, True), ({"tier": "slow"}, False), ({}, False)], ids=str
)
def test_a_selector_of_the_claim_is_of_labels_of_volumes(labels: dict[str, str], expected: bool) -> None:
    claim = volumes.claim(spec={"selector": {"matchLabels": {"tier": "fast"}}})
    assert fits(volumes.volume(metadata={"labels": labels}), claim) is expected


@pytest.mark.parametrize(
    ("volume", "expected"),
    [
        pytest.param({"claim": "ns/data"}, True, id="a volume that names the claim with its uid"),
        pytest.param({"claim": "ns/data", "spec": {"claimRef": {"uid": ""}}}, True, id="and one without a uid"),
        pytest.param({"claim": "ns/data", "spec": {"claimRef": {"uid": "old"}}}, False, id="not an earlier claim"),
        pytest.param({"claim": "other/data"}, False, id="not a claim of another namespace"),
        pytest.param({"claim": "ns/data", "size": "1Gi"}, False, id="not if it is too small"),
        pytest.param({"claim": "ns/data", "storage_class": "x"}, True, id="of whatever class"),
    ],
)
def test_the_volume_that_names_a_claim(volume: Obj, expected: bool) -> None:
    assert (chosen_for(CLAIM, [volumes.volume(**{"size": "2Gi", **volume})]) is not None) is expected


@given(
    st.lists(
        st.tuples(
            st.integers(0, 5),
            st.integers(1, 9),
            st.sampled_from(["a", "b"]),
            st.sampled_from(["", "ns/data"]),
            st.booleans(),
        ),
        max_size=40,
    )
)
def test_the_index_has_what_is_free_by_size(changes: list[tuple[int, int, str, str, bool]]) -> None:
    index, there = FreeVolumes(), dict[str, Obj]()
    for number, size, class_, claim, gone in changes:
        volume = volumes.volume(f"pv{number}", f"{size}Gi", storage_class=class_, claim=claim)
        index.note(volume, claim_key_of(volume), gone=gone)
        if gone:
            there.pop(f"pv{number}", None)
        else:
            there[f"pv{number}"] = volume
    free = [each for each in there.values() if not claim_key_of(each) and class_name(each) == "a"]
    least = Decimal(4 << 30)
    by_size = sorted((size_of(each), each["metadata"]["name"]) for each in free if size_of(each) >= least)
    assert list(index.at_least("a", least)) == [name for _, name in by_size]
    assert sorted(index.meant_for("ns/data")) == sorted(name for name, each in there.items() if claim_key_of(each))


def test_a_claim_asks_for_bytes() -> None:
    assert asked_size(volumes.claim(size="1.5Gi")) == Decimal(3 << 29)
