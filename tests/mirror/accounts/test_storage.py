"""How much storage is asked for and there is: what is known of it, and what changes it."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.mirror import arbitrated as of
from tests.support import builders as make
from tests.support.examples import examples
from vsched.mirror.mirror import Mirror
from vsched.mirror.stores import MirrorSettings
from vsched.model.amounts.counted import CLAIMS, STORAGE, of_class
from vsched.model.arbitration.records import NamespaceAccount

Fields = make.Fields
GIB = 1 << 30
LOCAL = of.storage_class("local", "kubernetes.io/no-provisioner")
GOLD, TIN = of_class("gold", STORAGE), of_class("local", STORAGE)


def fed(*objects: Fields) -> Mirror:
    cache = Mirror(MirrorSettings(frozenset(), arbitrating=True))
    for fields in objects:
        cache.intake.apply(fields["kind"], "ADDED", make.read(fields))
    return cache


def totals(*objects: Fields) -> dict[str, int]:
    return dict(fed(*objects).arbitration().storage)


def party(cache: Mirror, namespace: str = "ns") -> NamespaceAccount:
    return cache.arbitration().parties[namespace]


@pytest.mark.parametrize(
    ("objects", "expected"),
    [
        pytest.param([], {}, id="nothing is known of nothing"),
        pytest.param(
            [of.storage_class("gold"), of.volume("a", "2Gi", "gold")], {}, id="who makes volumes may make more"
        ),
        pytest.param(
            [of.storage_class("gold"), of.capacity("x", "gold", "3Gi"), of.capacity("y", "gold", "1Gi")],
            {GOLD: 4 * GIB, STORAGE: 4 * GIB},
            id="what is left in each part of the cluster",
        ),
        pytest.param(
            [of.capacity("x", "gold", "3Gi"), of.volume("a", "2Gi", "gold"), of.volume("b", "5Gi", "silver")],
            {GOLD: 5 * GIB, STORAGE: 5 * GIB},
            id="what is left and what is made already, of that class",
        ),
        pytest.param(
            [LOCAL, of.volume("a", "2Gi", "local"), of.volume("b", "1Gi", "local")],
            {TIN: 3 * GIB, STORAGE: 3 * GIB},
            id="a class nobody makes volumes of on demand",
        ),
        pytest.param(
            [LOCAL, of.volume("a", "2Gi", "local"), of.volume("b", "1Gi", "local", status={"phase": "Failed"})],
            {TIN: 2 * GIB, STORAGE: 2 * GIB},
            id="volumes that are lost are not there",
        ),
        pytest.param([LOCAL], {TIN: 0, STORAGE: 0}, id="such a class without a volume has none to give"),
        pytest.param([of.volume("a", "2Gi")], {STORAGE: 2 * GIB}, id="volumes of no class"),
        pytest.param(
            [of.volume("a", "2Gi"), of.volume_claim(storage_class="gold")],
            {},
            id="altogether it is not known while one class in use is not",
        ),
        pytest.param(
            [of.capacity("x", "gold", "3Gi"), of.volume_claim(storage_class="gold"), of.storage_class("tin")],
            {GOLD: 3 * GIB, STORAGE: 3 * GIB},
            id="a class that nobody uses does not matter",
        ),
        pytest.param([of.capacity("x", "gold", None)], {GOLD: 0, STORAGE: 0}, id="none left"),
    ],
)
def test_how_much_storage_is_known_to_be_there(objects: list[Fields], expected: dict[str, int]) -> None:
    assert totals(*objects) == expected


def test_what_claims_of_a_namespace_count() -> None:
    cache = fed(
        of.volume_claim("a", "1Gi"),
        of.volume_claim("b", "2Gi", "gold"),
        of.volume_claim("c", "4Gi", "gold", metadata={"deletionTimestamp": "2026-08-01T10:00:00Z"}),
        of.volume_claim("d", "8Gi", namespace="other"),
    )
    claims = of_class("gold", CLAIMS)

    found = party(cache)
    assert found.held == {STORAGE: 7 * GIB, CLAIMS: 3, GOLD: 6 * GIB, claims: 2}
    assert found.leaving == {STORAGE: 4 * GIB, CLAIMS: 1, GOLD: 4 * GIB, claims: 1}
    assert found.requested == found.kept
    assert found.kept == {STORAGE: 3 * GIB, CLAIMS: 2, GOLD: 2 * GIB, claims: 1}
    assert party(cache, "other").held == {STORAGE: 8 * GIB, CLAIMS: 1}
    cache.intake.replace("PersistentVolumeClaim", [make.read(of.volume_claim("a", "3Gi"))])
    assert dict(cache.arbitration().parties).keys() == {"ns"}
    assert party(cache).held == {STORAGE: 3 * GIB, CLAIMS: 1}


@pytest.mark.parametrize(
    ("claim", "held", "leaving"),
    [
        pytest.param(of.volume_claim(size="1500m"), {STORAGE: 2}, {}, id="part of a byte is a byte"),
        pytest.param(
            of.volume_claim(metadata={"annotations": {"volume.beta.kubernetes.io/storage-class": "gold"}}),
            {STORAGE: GIB, GOLD: GIB, of_class("gold", CLAIMS): 1},
            {},
            id="the class as it was once named",
        ),
        pytest.param(
            of.volume_claim(status={"allocatedResources": {"storage": "2Gi"}}),
            {STORAGE: 2 * GIB},
            {},
            id="what is allocated for a claim that grows",
        ),
        pytest.param(
            of.volume_claim(metadata={"deletionTimestamp": "2026-08-01T10:00:00Z"}),
            {STORAGE: GIB},
            {STORAGE: GIB, CLAIMS: 1},
            id="one that is being deleted",
        ),
        pytest.param(
            {"kind": "PersistentVolumeClaim", "metadata": {"name": "v", "namespace": "ns"}}, {}, {}, id="no size"
        ),
    ],
)
def test_what_counts_of_a_claim(claim: Fields, held: dict[str, int], leaving: dict[str, int]) -> None:
    found = party(fed(claim))
    assert (found.held, found.leaving) == ({CLAIMS: 1, **held}, leaving)


def test_a_claim_whose_counted_part_stays_changes_no_account() -> None:
    cache = fed(of.volume_claim("a", "1Gi"))
    before = cache.arbitration()
    selected = {"annotations": {"volume.kubernetes.io/selected-node": "n1"}}
    cache.intake.apply("PersistentVolumeClaim", "MODIFIED", make.read(of.volume_claim("a", "1Gi", metadata=selected)))
    assert cache.arbitration() is before


def test_a_claim_that_makes_no_sense_counts_for_nothing_and_is_told_of() -> None:
    cache = fed(of.volume_claim("a", "1Gi"), of.volume_claim("a", "much"))

    assert "ns" not in cache.arbitration().parties
    assert cache.broken["PersistentVolumeClaim", "ns/a"].message.startswith(
        "PersistentVolumeClaim ns/a: spec.resources"
    )


classes = st.sampled_from(["", "gold", "local"])
sizes = st.sampled_from(["1Gi", "2Gi", "x"])
names = st.sampled_from(["a", "b"])
stored = st.one_of(
    st.builds(of.volume_claim, names, sizes, st.one_of(st.none(), classes)),
    st.builds(
        lambda name, size, kind, phase: of.volume(name, size, kind, status={"phase": phase}),
        names,
        sizes,
        classes,
        st.sampled_from(["Bound", "Released"]),
    ),
    st.builds(of.storage_class, classes, st.sampled_from(["disks", "kubernetes.io/no-provisioner"])),
    st.builds(of.capacity, names, classes, st.one_of(st.none(), sizes)),
)


@settings(max_examples=examples(60), deadline=None)
@given(st.lists(st.tuples(st.sampled_from(["MODIFIED", "MODIFIED", "DELETED"]), stored), max_size=20))
def test_whatever_comes_and_goes_the_books_are_those_of_what_is_there(events: list[tuple[str, Fields]]) -> None:
    cache, there = Mirror(MirrorSettings(frozenset(), arbitrating=True)), {}
    for type, fields in events:
        cache.intake.apply(fields["kind"], type, make.read(fields))
        identity: tuple[str, Any] = fields["kind"], fields["metadata"]["name"]
        there.pop(identity, None)
        if type != "DELETED":
            there[identity] = fields
        known = cache.arbitration()
        fresh = fed(*there.values()).arbitration()
        assert known.storage == fresh.storage
        assert known.parties == fresh.parties
