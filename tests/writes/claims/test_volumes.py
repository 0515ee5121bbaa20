"""What is written next about a PersistentVolumeClaim or a PersistentVolume, given how it was read."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support import volumes as make
from tests.writes.claims.reading import changed, read, told
from vsched.writes.claims import words
from vsched.writes.claims.objects import VolumeClaimRead, VolumeRead
from vsched.writes.claims.volumes import (
    bound,
    release_volume,
    reserve_volume,
    select_node,
    unselect_node,
    usable,
)
from vsched.writes.claims.wishes import VolumeWish

MADE = VolumeWish("ns/data", "uid-data", "n1", selected_node="n1", choose=True)
STATIC = VolumeWish("ns/data", "uid-data", "n1", volume="pv", choose=True)
REF = {"kind": "PersistentVolumeClaim", "apiVersion": "v1", "namespace": "ns", "name": "data", "uid": "uid-data"}
GOING = {"deletionTimestamp": "2026-01-01T00:00:00Z"}


def claim(**given: Any) -> VolumeClaimRead:
    return read(VolumeClaimRead, make.claim(**given))


def volume(**given: Any) -> VolumeRead:
    return read(VolumeRead, make.volume(**given))


@pytest.mark.parametrize(
    ("found", "says"),
    [
        pytest.param(claim(selected_node="n1"), "done", id="the node was selected before"),
        pytest.param(claim(volume="pv"), "done", id="it was bound in the meantime"),
        pytest.param(
            claim(selected_node="n2"),
            f"failed: {words.volume_being_made('PersistentVolumeClaim', 'ns/data', 'n2')}",
            id="another node was selected",
        ),
        pytest.param(
            None, "failed: " + words.does_not_exist_any_more("PersistentVolumeClaim", "ns/data"), id="it is gone"
        ),
        pytest.param(
            claim(metadata=GOING),
            "failed: " + words.is_being_deleted("PersistentVolumeClaim", "ns/data"),
            id="it is being deleted",
        ),
        pytest.param(
            claim(metadata={"uid": "another"}),
            "failed: " + words.deleted_and_made_again("PersistentVolumeClaim", "ns/data"),
            id="another of the same name",
        ),
    ],
)
def test_selecting_a_node_without_a_write(found: VolumeClaimRead | None, says: str) -> None:
    assert told(select_node(found, MADE)) == says


def test_a_node_is_selected_by_annotation() -> None:
    step = select_node(claim(), MADE)
    assert changed(step) == {"metadata": {"annotations": {make.SELECTED_NODE: "n1"}}}
    assert told(step)[1] == "/api/v1/namespaces/ns/persistentvolumeclaims/data"


def test_a_static_volume_is_reserved_by_its_claim_ref() -> None:
    step = reserve_volume(volume(), STATIC)
    assert changed(step) == {
        "spec": {"claimRef": REF},
        "metadata": {"annotations": {make.BOUND_BY_CONTROLLER: "yes"}},
    }
    assert told(step)[1] == "/api/v1/persistentvolumes/pv"


def test_the_reservation_of_an_administrator_gets_the_uid_only() -> None:
    named = volume(spec={"claimRef": {"namespace": "ns", "name": "data"}})
    assert changed(reserve_volume(named, STATIC)) == {"spec": {"claimRef": REF}}


@pytest.mark.parametrize(
    ("found", "says"),
    [
        pytest.param(volume(spec={"claimRef": REF}), "done", id="it was reserved before"),
        pytest.param(None, "failed: " + words.does_not_exist_any_more("PersistentVolume", "pv"), id="it is gone"),
        pytest.param(
            volume(claim="ns/other"),
            "failed: " + words.volume_reserved_for("PersistentVolume", "pv", "ns", "other"),
            id="another claim was faster",
        ),
        pytest.param(
            volume(spec={"claimRef": {**REF, "uid": "another"}}),
            "failed: " + words.volume_reserved_for("PersistentVolume", "pv", "ns", "data"),
            id="another claim of the same name",
        ),
        pytest.param(
            volume(status={"phase": "Released"}),
            "failed: " + words.volume_cannot_be_used("PersistentVolume", "pv", "Released"),
            id="it was used before",
        ),
    ],
)
def test_reserving_a_volume_without_a_write(found: VolumeRead | None, says: str) -> None:
    assert told(reserve_volume(found, STATIC)) == says


@pytest.mark.parametrize(
    ("found", "wanted", "says"),
    [
        pytest.param(claim(volume="pv"), STATIC, "done", id="bound to the chosen volume"),
        pytest.param(claim(volume="pv"), MADE, "done", id="bound to a volume that was made"),
        pytest.param(
            claim(selected_node="n1"),
            MADE,
            "wait: " + words.was_not_bound("PersistentVolumeClaim", "ns/data"),
            id="not bound yet",
        ),
        pytest.param(
            claim(spec={"volumeName": "pv"}),
            STATIC,
            "wait: " + words.was_not_bound("PersistentVolumeClaim", "ns/data"),
            id="the binding is not complete",
        ),
        pytest.param(
            claim(),
            MADE,
            f"failed: {words.no_volume_could_be_made('PersistentVolumeClaim', 'ns/data', 'n1')}",
            id="the provisioner has removed the node",
        ),
        pytest.param(
            claim(volume="pv-2"),
            STATIC,
            "failed: " + words.bound_to_another_volume("PersistentVolumeClaim", "ns/data", "pv-2", "pv"),
            id="bound to another volume",
        ),
        pytest.param(
            claim(volume="pv", status={"phase": "Lost"}),
            MADE,
            "failed: " + words.lost_its_volume("PersistentVolumeClaim", "ns/data"),
            id="its volume is gone",
        ),
    ],
)
def test_whether_a_claim_is_bound(found: VolumeClaimRead, wanted: VolumeWish, says: str) -> None:
    assert told(bound(found, wanted)) == says


@pytest.mark.parametrize(
    ("found", "says"),
    [
        pytest.param(volume(), "done", id="every node reaches it"),
        pytest.param(volume(node="n1"), "done", id="it is on the node"),
        pytest.param(volume(zone="a"), "done", id="it is in the zone"),
        pytest.param(
            volume(zone="b"), "failed: " + words.volume_not_on_node("PersistentVolume", "pv", "n1"), id="another zone"
        ),
        pytest.param(
            volume(
                spec={
                    "nodeAffinity": {
                        "required": {
                            "nodeSelectorTerms": [
                                {},
                                {"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["n1"]}]},
                            ]
                        }
                    }
                }
            ),
            "done",
            id="by the name of the node",
        ),
        pytest.param(
            volume(spec={"nodeAffinity": {"required": {"nodeSelectorTerms": [{}]}}}),
            "failed: " + words.volume_not_on_node("PersistentVolume", "pv", "n1"),
            id="a term that says nothing matches nothing",
        ),
        pytest.param(None, "failed: " + words.does_not_exist_any_more("PersistentVolume", "pv"), id="it is gone"),
    ],
)
def test_whether_the_volume_can_be_used_on_the_node(found: VolumeRead | None, says: str) -> None:
    assert told(usable(found, "pv", "n1", {make.HOSTNAME: "n1", make.ZONE: "a"})) == says


def test_what_was_chosen_is_taken_back() -> None:
    unselected = {"metadata": {"annotations": {make.SELECTED_NODE: None}}}
    assert changed(unselect_node(claim(selected_node="n1"), "uid-data", "n1")) == unselected
    assert changed(unselect_node(claim(selected_node="n1"), "uid-data", "")) == unselected
    ours = volume(spec={"claimRef": REF}, metadata={"annotations": {make.BOUND_BY_CONTROLLER: "yes"}})
    assert changed(release_volume(ours, STATIC)) == {
        "spec": {"claimRef": None},
        "metadata": {"annotations": {make.BOUND_BY_CONTROLLER: None}},
    }
    administrators = volume(spec={"claimRef": REF})
    assert changed(release_volume(administrators, STATIC)) == {"spec": {"claimRef": {"uid": None}}}


@pytest.mark.parametrize(
    "found",
    [
        pytest.param(None, id="it is gone"),
        pytest.param(claim(), id="no node was selected"),
        pytest.param(claim(selected_node="n2"), id="somebody else selected another node"),
        pytest.param(claim(volume="pv", selected_node="n1"), id="it is bound by now"),
        pytest.param(claim(selected_node="n1", metadata={"uid": "another"}), id="another of the same name"),
    ],
)
def test_no_node_to_take_back(found: VolumeClaimRead | None) -> None:
    assert told(unselect_node(found, "uid-data", "n1")) == "done"


@pytest.mark.parametrize(
    "found",
    [
        pytest.param(None, id="it is gone"),
        pytest.param(volume(), id="it is not reserved"),
        pytest.param(volume(claim="ns/other"), id="somebody else has it"),
        pytest.param(volume(claim="ns/data"), id="it is bound by now"),
        pytest.param(volume(spec={"claimRef": {**REF, "uid": ""}}), id="only the administrator has reserved it"),
    ],
)
def test_no_volume_to_take_back(found: VolumeRead | None) -> None:
    assert told(release_volume(found, STATIC)) == "done"
