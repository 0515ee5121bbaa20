"""Node selectors and affinity as masks: every operator, terms and fields, and against each node by itself."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vsched.kernels.selectors import affinity_mask, preference, selector_mask, term_mask
from vsched.model.nodes.table import NodeAttributes, NodeStatics
from vsched.model.pods.shape import NodeTerm, Requirement, Rules, requirement_holds

NODES = NodeStatics(
    [
        NodeAttributes("n1", {"zone": "a", "cores": "8"}),
        NodeAttributes("n2", {"zone": "b", "cores": "16"}),
        NodeAttributes("n3", {"cores": "many"}),
    ]
)


def names(mask: Any) -> list[str]:
    return [name for name, holds in zip(NODES.names, mask, strict=True) if holds]


@pytest.mark.parametrize(
    ("requirement", "expected"),
    [
        pytest.param(Requirement("zone", "In", ("a", "c")), ["n1"], id="In: one of the values"),
        pytest.param(Requirement("zone", "NotIn", ("a",)), ["n2", "n3"], id="NotIn: absence counts as different"),
        pytest.param(Requirement("zone", "Exists"), ["n1", "n2"], id="Exists"),
        pytest.param(Requirement("zone", "DoesNotExist"), ["n3"], id="DoesNotExist"),
        pytest.param(Requirement("cores", "Gt", ("8",)), ["n2"], id="Gt: greater as a number, not as text"),
        pytest.param(Requirement("cores", "Lt", ("16",)), ["n1"], id="Lt: what is no number is not less"),
        pytest.param(Requirement("cores", "Gt", ("few",)), [], id="Gt: a bound that is no number"),
        pytest.param(Requirement("cores", "Gt", ("0_1",)), [], id="Gt: what Kubernetes does not take for a number"),
        pytest.param(Requirement("cores", "Lt", ("9" * 18,)), ["n1", "n2"], id="Lt: a large number"),
        pytest.param(Requirement("cores", "Lt", ("9" * 19,)), [], id="Lt: a number beyond int64"),
        pytest.param(Requirement("rack", "Gt", ("1",)), [], id="Gt: a label nobody has"),
        pytest.param(Requirement("rack", "DoesNotExist"), ["n1", "n2", "n3"], id="DoesNotExist: a label nobody has"),
        pytest.param(Requirement("rack", "In", ("1",)), [], id="In: a label nobody has"),
        pytest.param(Requirement("rack", "NotIn", ("1",)), ["n1", "n2", "n3"], id="NotIn: a label nobody has"),
    ],
)
def test_each_operator(requirement: Requirement, expected: list[str]) -> None:
    assert names(term_mask(NodeTerm((requirement,)), NODES)) == expected


@pytest.mark.parametrize(
    ("rules", "expected"),
    [
        pytest.param(Rules(node_selector=(("zone", "a"),)), ["n1"], id="a node selector"),
        pytest.param(Rules(node_selector=(("zone", "a"), ("cores", "16"))), [], id="all pairs of a selector"),
        pytest.param(Rules(required=()), [], id="required affinity without terms holds nowhere"),
        pytest.param(Rules(required=(NodeTerm(),)), [], id="an empty term holds nowhere"),
        pytest.param(
            Rules(required=(NodeTerm((Requirement("zone", "Exists"),)), NodeTerm((Requirement("cores", "Exists"),)))),
            ["n1", "n2", "n3"],
            id="any one term",
        ),
        pytest.param(
            Rules(required=(NodeTerm((Requirement("zone", "Exists"), Requirement("cores", "In", ("8",)))),)),
            ["n1"],
            id="all expressions of a term",
        ),
        pytest.param(
            Rules(required=(NodeTerm(fields=(Requirement("metadata.name", "In", ("n2", "gone")),)),)),
            ["n2"],
            id="a node by name",
        ),
        pytest.param(
            Rules(required=(NodeTerm(fields=(Requirement("metadata.name", "NotIn", ("n2",)),)),)),
            ["n1", "n3"],
            id="all nodes but one by name",
        ),
        pytest.param(
            Rules(required=(NodeTerm(fields=(Requirement("metadata.uid", "In", ("n2",)),)),)), [], id="no such field"
        ),
        pytest.param(
            Rules(node_selector=(("zone", "a"),), required=(NodeTerm((Requirement("cores", "In", ("16",)),)),)),
            [],
            id="selector and affinity together",
        ),
    ],
)
def test_rules_select_nodes(rules: Rules, expected: list[str]) -> None:
    mask = selector_mask(rules, NODES)
    assert mask is not None
    assert names(mask) == expected


def test_rules_without_selection_have_no_mask_and_a_pinned_node_is_one() -> None:
    assert affinity_mask(Rules(), NODES) is None
    pinned = affinity_mask(Rules(node_name="n3"), NODES)
    assert names(pinned) == ["n3"]
    both = affinity_mask(Rules(node_name="n3", node_selector=(("zone", "a"),)), NODES)
    assert names(both) == []


def test_masks_are_remembered_and_read_only() -> None:
    rules = Rules(node_selector=(("zone", "a"),))
    mask = selector_mask(rules, NODES)
    assert mask is selector_mask(Rules(node_selector=(("zone", "a"),)), NODES)
    assert mask is not None
    assert not mask.flags.writeable


def test_preferred_terms_add_up_and_empty_ones_say_nothing() -> None:
    rules = Rules(
        preferred=(
            (5, NodeTerm((Requirement("zone", "In", ("a",)),))),
            (2, NodeTerm((Requirement("zone", "Exists"),))),
            (9, NodeTerm()),
        )
    )
    assert preference(rules, NODES).tolist() == [7.0, 2.0, 0.0]


VALUES = st.sampled_from(["1", "2", "10", "x", "1_0", "-3", "٣", "9223372036854775807", "9223372036854775808", ""])
REQUIREMENTS = st.builds(
    Requirement,
    st.sampled_from(["k", "l"]),
    st.sampled_from(["In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt"]),
    st.lists(VALUES, min_size=1, max_size=2).map(tuple),
)
LABELS = st.dictionaries(st.sampled_from(["k", "l"]), VALUES)


@given(st.lists(LABELS, min_size=1, max_size=6), st.lists(REQUIREMENTS, min_size=1, max_size=3))
def test_a_mask_is_what_each_node_says_by_itself(nodes: list[dict[str, str]], wanted: list[Requirement]) -> None:
    statics = NodeStatics([NodeAttributes(f"n{row}", labels) for row, labels in enumerate(nodes)])
    mask = term_mask(NodeTerm(tuple(wanted)), statics)
    assert mask.tolist() == [all(requirement_holds(one, labels) for one in wanted) for labels in nodes]
