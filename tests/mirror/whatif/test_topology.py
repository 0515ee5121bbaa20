"""HyperNodes of clusters on paper: adopted, rendered, told of again, and new nodes in them."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.hypernodes import catalogue, hypernode
from tests.support.plans import NOW, manifests, mirror
from vsched.explain.edits.nodes import AddNodes, LabelNodes
from vsched.kernels.topology.membership import counts, membership
from vsched.mirror.whatif.editor import ClusterEditor
from vsched.model.frozen import freeze
from vsched.model.snapshot import Snapshot
from vsched.model.topology.hypernodes import HyperNode, TopologyCatalogue

CLUSTER = "node n1 rack=r1\nnode n2 rack=r2\nnode n3 rack=r2"
RACKS = catalogue(hypernode("r1", 1, "rack=r1"), hypernode("r2", 1, "rack=r2"), hypernode("s", 2, "^r1", "^r2"))


def editor(known: TopologyCatalogue) -> ClusterEditor:
    found = freeze(mirror(manifests(CLUSTER)).snapshot(NOW))
    return ClusterEditor(replace(found, topology=known))


def sizes(snapshot: Snapshot) -> dict[str, int]:
    return counts(membership(snapshot.topology, snapshot.nodes.statics))


def test_the_hypernodes_of_a_snapshot_are_there_again() -> None:
    assert editor(RACKS).snapshot(NOW).topology is RACKS


def test_a_label_moves_a_node_and_taking_back_moves_it_back() -> None:
    cluster = editor(RACKS)
    assert sizes(cluster.edited([])) == {"r1": 1, "r2": 2, "s": 3}
    assert sizes(cluster.edited([LabelNodes(("n2",), {"rack": "r1"})])) == {"r1": 2, "r2": 1, "s": 3}
    assert sizes(cluster.edited([])) == {"r1": 1, "r2": 2, "s": 3}


@pytest.mark.parametrize(
    ("first", "expected"),
    [
        pytest.param(hypernode("a", 1, "rack=r1"), 3, id="by label"),
        pytest.param(hypernode("a", 1, "n1"), 1, id="not by name"),
        pytest.param(hypernode("a", 1, "~^n1$"), 1, id="not by a pattern that is not found in the new names"),
        pytest.param(hypernode("a", 1, "~^n1"), 3, id="by a pattern that is"),
        pytest.param(hypernode("a", 1, "n2"), 1, id="where another node is, they are not"),
    ],
)
def test_new_nodes_are_in_the_hypernodes_that_find_them(first: HyperNode, expected: int) -> None:
    cluster = editor(catalogue(first))
    before = cluster.snapshot(NOW).topology
    assert sizes(cluster.edited([AddNodes("n1", 2)]))["a"] == expected
    assert cluster.edited([]).topology is before


MEMBERS = st.lists(st.sampled_from(["n1", "n2", "~n[23]", "rack=r1", "^b"]), max_size=3)


@given(st.integers(0, 5), MEMBERS, st.sampled_from(["", "rack"]))
def test_a_manifest_of_a_hypernode_is_read_as_the_hypernode(tier: int, members: list[str], tier_name: str) -> None:
    known = catalogue(hypernode("a", tier, *members, tier_name=tier_name), hypernode("c", 1))
    cluster = editor(known)
    assert cluster.names("HyperNode") == ["a", "c"]
    made = cluster.hypernode("a")
    assert made is not None
    cluster.tell(made)
    assert cluster.snapshot(NOW).topology.hypernodes == known.hypernodes


def test_one_that_cannot_be_read_is_not_there_to_be_changed() -> None:
    cluster = editor(catalogue(hypernode("a", 1, "n1"), a="spec.members[1]: bad"))
    assert cluster.names("HyperNode") == []
    assert cluster.hypernode("a") is None
    assert cluster.hypernode("b") is None
