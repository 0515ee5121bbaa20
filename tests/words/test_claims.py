"""All that the engine says of claims and places."""

from __future__ import annotations

import numpy as np
import pytest

from vsched.framework.claims.devices import words as devices
from vsched.framework.claims.volumes import words as volumes
from vsched.framework.places import words as places
from vsched.framework.places.domains import Domain
from vsched.framework.places.look import DomainCounts, TierLook
from vsched.model.topology.constraints import NetworkTopology
from vsched.model.topology.tiers import WHOLE_CLUSTER, Tier, Tiers

RACKS = Tier(1, "rack", np.array([0, 1], np.int32), ("r1", "r2"))
CLUSTER = Tier(2, "", np.zeros(2, np.int32), (WHOLE_CLUSTER,))
TIERS = Tiers((RACKS, CLUSTER), {"rack": 1})
ROWS = np.array([0])


def looked(*fits: int) -> TierLook:
    """Four pods are wanted; how many of them fit each of the racks that were looked at."""
    places = np.arange(len(fits))
    return TierLook(RACKS, 4, DomainCounts(np.array(fits, np.int64), np.array(fits, np.int64)), places, places)


SAID: list[tuple[str, str]] = [
    # -- device claims -------------------------------------------------------------------------------------------------
    (devices.TIMED_OUT, "timed out trying to allocate devices"),
    (devices.IN_USE, "resourceclaim in use"),
    (devices.not_made("ns/a.0"), 'pod "ns/a.0": ResourceClaim not created yet'),
    (devices.not_found("gpu"), "ResourceClaim gpu does not exist"),
    (devices.deleting("gpu"), "ResourceClaim gpu is being deleted"),
    (devices.not_owner("ns/gpu", "ns/a.0"), "ResourceClaim ns/gpu was not created for pod ns/a.0 (pod is not owner)"),
    (devices.binding_failed("ns/gpu", "no power"), "resourceclaim ns/gpu: device binding failed: no power"),
    (
        devices.device_gone("ns/gpu", "gpu.example.com/n1/gpu-0"),
        "resourceclaim ns/gpu: its device gpu.example.com/n1/gpu-0 no longer exists",
    ),
    (
        devices.device_tainted("ns/gpu", "gpu.example.com/n1/gpu-0"),
        "resourceclaim ns/gpu: its device gpu.example.com/n1/gpu-0 has a taint that the claim does not tolerate",
    ),
    (devices.class_missing("gpu"), "asks for DeviceClass gpu, which does not exist"),
    (devices.of_class("gpu"), "class gpu"),
    (devices.of_request("r"), "request r"),
    (
        devices.selector_failed(devices.of_class("gpu"), 1, "no such key: a", compiles=True),
        "class gpu: selector #1: CEL runtime error: no such key: a",
    ),
    (
        devices.selector_failed(devices.of_request("r"), 0, "no such key: a", compiles=False),
        "request r: selector #0: CEL compile error: no such key: a",
    ),
    (devices.too_costly(1_000_000), "evaluating its selectors takes more than 1,000,000 steps with these devices"),
    (devices.too_many(40, 32), "number of requested devices 40 exceeds the claim limit of 32"),
    # -- volume claims -------------------------------------------------------------------------------------------------
    (volumes.no_driver("csi.example.com"), "csi.example.com CSI driver is not installed on the node"),
    (volumes.not_found(["a"]), "PersistentVolumeClaim a does not exist"),
    (volumes.not_found(["a", "b"]), "PersistentVolumeClaims a and b do not exist"),
    (volumes.not_found(["a", "b", "c", "d"]), "PersistentVolumeClaims a, b and 2 more do not exist"),
    (volumes.not_made("a.0-data"), "PersistentVolumeClaim a.0-data is not made yet by the ephemeral volume controller"),
    (volumes.not_owner("ns/a.0-data", "ns/a.0"), "PVC ns/a.0-data was not created for pod ns/a.0 (pod is not owner)"),
    (volumes.deleting("data"), "PersistentVolumeClaim data is being deleted"),
    (volumes.lost("data", "pv-1"), "PersistentVolumeClaim data is lost: its PersistentVolume pv-1 does not exist"),
    (volumes.volume_gone("data"), "PersistentVolumeClaim data is bound to a PersistentVolume that does not exist"),
    (volumes.not_bound("data"), "PersistentVolumeClaim data is not bound yet"),
    (
        volumes.names_no_class("data"),
        "PersistentVolumeClaim data is not bound: it names no StorageClass, and no PersistentVolume is for it",
    ),
    (volumes.no_class("data", "fast"), "PersistentVolumeClaim data cannot be bound: StorageClass fast does not exist"),
    # -- places --------------------------------------------------------------------------------------------------------
    (places.tier_words(CLUSTER), "tier 2"),
    (places.tier_words(RACKS), "tier 1 (rack)"),
    (places.domain_words(RACKS, 1, TIERS), "r2 of tier 1 (rack)"),
    (places.domain_words(CLUSTER, 0, TIERS), "the whole cluster"),
    (places.where(Domain(RACKS, 0, ROWS), TIERS), "r1 of tier 1 (rack)"),
    (
        places.no_tier(NetworkTopology(highest_tier=0), TIERS),
        "the pods must be in one domain of tier 0 or closer, but the closest tier is tier 1 (rack)",
    ),
    (
        places.no_tier(NetworkTopology(tier_name="row"), TIERS),
        "the pods must be in one domain of tier row, but no tier has this name (known names: rack)",
    ),
    (
        places.no_tier(NetworkTopology(tier_name="row"), Tiers((CLUSTER,))),
        "the pods must be in one domain of tier row, but no tiers are known: there are no usable "
        "HyperNodes, and the policy names no labels for tiers",
    ),
    (
        places.no_tier(NetworkTopology(tier_name="row"), Tiers((CLUSTER,), problem="forbidden")),
        "the pods must be in one domain of tier row, but no tiers are known: HyperNodes cannot be read: forbidden",
    ),
    (
        places.apart("tier 1 (rack)"),
        "its pods with a node are not in one domain of tier 1 (rack), so no other pod may join them",
    ),
    (places.no_domain([looked()], TIERS, ""), "no domain of tier 1 (rack) or closer has nodes"),
    (
        places.no_domain([looked(1, 2)], TIERS, ""),
        "r2 of tier 1 (rack) has room for 2 of 4; looked at 2 domains of tier 1 (rack)",
    ),
    (
        places.no_domain([looked(1, 4)], TIERS, "; not in r2 of tier 1 (rack): it is closed"),
        "r2 of tier 1 (rack) has room for each of the pods, but not for 4 of them together; looked at 2 "
        "domains of tier 1 (rack); not in r2 of tier 1 (rack): it is closed",
    ),
    (places.must_be_in("tier row", "it is closed"), "the pods must be in one domain of tier row, but it is closed"),
    (places.hypernodes_unread("forbidden"), "no tiers are known: HyperNodes cannot be read: forbidden"),
    (
        places.NO_HYPERNODES,
        "no tiers are known: there are no usable HyperNodes, and the policy names no labels for tiers",
    ),
    (places.no_such_name([]), "no tier has this name (known names: none)"),
    (places.no_such_name(["block", "rack"]), "no tier has this name (known names: block, rack)"),
    (places.closest_is("tier 1"), "the closest tier is tier 1"),
    (places.no_nodes("tier 1"), "no domain of tier 1 or closer has nodes"),
    (
        places.no_room("r1 of tier 1", 2, 4, [(4, "tier 1"), (1, "tier 2")]),
        "r1 of tier 1 has room for 2 of 4; looked at 4 domains of tier 1, 1 domain of tier 2",
    ),
    (
        places.no_room("r1 of tier 1", 4, 4, [(4, "tier 1")]),
        "r1 of tier 1 has room for each of the pods, but not for 4 of them together; looked at 4 domains of tier 1",
    ),
    (places.left_out(TIERS), ""),
    (
        places.left_out(Tiers((RACKS, CLUSTER), problems={"h1": "it is a circle"})),
        "; 1 HyperNode is left out, such as h1: it is a circle",
    ),
    (
        places.left_out(Tiers((RACKS, CLUSTER), problems={"h2": "it is a circle", "h1": "it is two"})),
        "; 2 HyperNodes are left out, such as h1: it is two",
    ),
]


@pytest.mark.parametrize(("said", "words"), SAID, ids=[words for _, words in SAID])
def test_words(said: str, words: str) -> None:
    assert said == words
