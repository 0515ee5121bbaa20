"""Volumes whose labels name zones or regions, as volumes of cloud providers had before node affinity."""

from __future__ import annotations

import pytest

from tests.support.storage_world import StorageWorld, ask
from vsched.framework.claims.handler import ClaimRules
from vsched.framework.words.nodes import OTHER_ZONE

ZONE, REGION = "topology.kubernetes.io/zone", "topology.kubernetes.io/region"
BETA_ZONE, BETA_REGION = "failure-domain.beta.kubernetes.io/zone", "failure-domain.beta.kubernetes.io/region"


def world(**labels: str) -> StorageWorld:
    """Two zones with a node each, a node with the old label, and one without any."""
    made = StorageWorld(a="a", b="b", old="", plain="")
    made.labels["old"] = {BETA_ZONE: "a", BETA_REGION: "r"}
    return made.bound("c", labels=labels)


@pytest.mark.parametrize(
    ("labels", "nodes"),
    [
        pytest.param({}, "a b old plain", id="no labels: anywhere"),
        pytest.param({ZONE: "a"}, "a plain", id="a zone: its nodes, and nodes without any zone or region"),
        pytest.param({ZONE: "a__b"}, "a b plain", id="two zones"),
        pytest.param({BETA_ZONE: "a"}, "a old plain", id="the old label matches both labels of nodes"),
        pytest.param({BETA_ZONE: "b", BETA_REGION: "r"}, "plain", id="zone and region must both match"),
        pytest.param({BETA_ZONE: "a", BETA_REGION: "r"}, "old plain", id="where both match"),
        pytest.param({REGION: "r"}, "plain", id="a region that nodes with zones do not have"),
        pytest.param({ZONE: "a__"}, "a b old plain", id="a label that cannot be read does not count"),
        pytest.param({"zone": "a"}, "a b old plain", id="other labels do not count"),
    ],
)
def test_a_volume_binds_the_pod_to_its_zone(labels: dict[str, str], nodes: str) -> None:
    made = world(**labels)
    asked = ask(made, made.task("p", "c"))
    assert asked.nodes() == nodes
    assert set(asked.reasons()) <= {OTHER_ZONE}


def test_zones_can_be_switched_off() -> None:
    made = world(**{ZONE: "a"})
    assert ask(made, made.task("p", "c"), rules=ClaimRules(volume_zones=False)).nodes() == "a b old plain"


def test_zones_count_without_volume_binding() -> None:
    made = world(**{ZONE: "a"})
    assert ask(made, made.task("p", "c"), rules=ClaimRules(volume_binding=False)).nodes() == "a plain"
