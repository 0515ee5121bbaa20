"""Tiers of HyperNodes and of labels, and trees that are left out: examples, properties, brute force."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from tests.support.hypernodes import catalogue, hypernode
from vsched.kernels.topology import words
from vsched.kernels.topology.membership import LISTED_MAX, counts, membership
from vsched.kernels.topology.tiers import tiers_of
from vsched.model.nodes.table import NodeAttributes, NodeStatics
from vsched.model.pods.shape import Requirement, Selector
from vsched.model.topology.hypernodes import NO_TOPOLOGY, HyperNode, Member, TopologyCatalogue
from vsched.model.topology.tiers import WHOLE_CLUSTER, LabelTier, Tiers

RACK, BLOCK = LabelTier("rack", 1, "rack"), LabelTier("block", 2, "block")


def nodes(labelled: Mapping[str, str] | Iterable[str]) -> NodeStatics:
    """Nodes by name; labels as ``key=value,key=value``."""
    texts = labelled if isinstance(labelled, Mapping) else dict.fromkeys(labelled, "")
    return NodeStatics([NodeAttributes(name, labels_of(text)) for name, text in sorted(texts.items())])


def labels_of(text: str) -> dict[str, str]:
    pairs = (part.split("=", 1) for part in text.split(",") if part)
    return {pair[0]: pair[1] for pair in pairs}


def shown(tiers: Tiers, statics: NodeStatics) -> dict[int, dict[str, str]]:
    """By level: the domain of each node that has one."""
    return {
        tier.level: {
            name: tier.domains[at] for name, at in zip(statics.names, tier.ids.tolist(), strict=True) if at >= 0
        }
        for tier in tiers.tiers
    }


def everywhere(statics: NodeStatics) -> dict[str, str]:
    return dict.fromkeys(statics.names, WHOLE_CLUSTER)


TEXTS = {"n1": "rack=r1,block=b1", "n2": "rack=r2,block=b1", "n3": "rack=r1,block=b2", "n4": ""}
FOUR = nodes(TEXTS)


@pytest.mark.parametrize(
    ("hypernodes", "labels", "expected"),
    [
        pytest.param([], [], {}, id="nothing but the whole cluster, at level 1"),
        pytest.param(
            [hypernode("s1", 1, "n1", "n2"), hypernode("s2", 1, "n3", "n4"), hypernode("s0", 2, "^s1", "^s2")],
            [],
            {
                1: {"n1": "s1", "n2": "s1", "n3": "s2", "n4": "s2"},
                2: dict.fromkeys(("n1", "n2", "n3", "n4"), "s0"),
            },
            id="exact members, two racks below a spine",
        ),
        pytest.param(
            [hypernode("a", 1, "~^n[12]$"), hypernode("b", 1, "~4")],
            [],
            {1: {"n1": "a", "n2": "a", "n4": "b"}},
            id="a pattern is found anywhere in the name, unless it is anchored",
        ),
        pytest.param(
            [hypernode("a", 1, "rack=r1"), hypernode("b", 1, "rack=r2", "n4")],
            [],
            {1: {"n1": "a", "n3": "a", "n2": "b", "n4": "b"}},
            id="label members, and several members together",
        ),
        pytest.param(
            [hypernode("a", 1, "n1"), hypernode("top", 3, "^a", "n2")],
            [],
            {1: {"n1": "a"}, 3: {"n1": "top", "n2": "top"}},
            id="a node directly in a higher tier has no domain below, and levels may be missing",
        ),
        pytest.param(
            [hypernode("a", 1, "n1"), hypernode("top", 2, "^a", "~n")],
            [],
            {1: {"n1": "a"}, 2: dict.fromkeys(("n1", "n2", "n3", "n4"), "top")},
            id="a node may be listed again by what contains its HyperNode",
        ),
        pytest.param(
            [hypernode("a", 1, "n1", "n9"), hypernode("top", 2, "^a", "^later")],
            [],
            {1: {"n1": "a"}, 2: {"n1": "top"}},
            id="nodes and HyperNodes that do not exist yet are no fault",
        ),
        pytest.param(
            [hypernode("a", 0, "n1"), hypernode("b", 0)],
            [],
            {0: {"n1": "a"}},
            id="tier 0, and a HyperNode without members",
        ),
        pytest.param(
            [],
            [RACK, BLOCK],
            {1: {"n1": "b1/r1", "n2": "b1/r2", "n3": "b2/r1"}, 2: {"n1": "b1", "n2": "b1", "n3": "b2"}},
            id="labels: equal racks of different blocks are two",
        ),
        pytest.param(
            [hypernode("b2", 2, "n1", "n4")],
            [RACK, BLOCK],
            {
                1: {"n2": "b1/r2", "n3": "block=b2/r1"},
                2: {"n1": "b2", "n4": "b2", "n2": "b1", "n3": "block=b2"},
            },
            id="a node in a HyperNode does not count for labels, and equal names are told apart",
        ),
        pytest.param(
            [],
            [LabelTier("rack", 3, "x"), LabelTier("block", 3, "y")],
            {3: {"n1": "r1", "n2": "r2", "n3": "r1"}},
            id="two labels of one level: the first that a node has counts",
        ),
    ],
)
def test_tiers(hypernodes: list[HyperNode], labels: list[LabelTier], expected: dict[int, dict[str, str]]) -> None:
    tiers = tiers_of(catalogue(*hypernodes), labels, FOUR)
    assert tiers.problems == {}
    assert shown(tiers, FOUR) == {**expected, max(expected, default=0) + 1: everywhere(FOUR)}
    assert tiers.is_flat == (not expected)


def test_labels_of_different_tiers_that_are_missing() -> None:
    statics = nodes({"n1": "rack=r1,zone=z", "n2": "rack=r1", "n3": "rack=r1,zone=", "n4": "zone=z"})
    labels = [RACK, BLOCK, LabelTier("zone", 3, "zone")]
    assert shown(tiers_of(NO_TOPOLOGY, labels, statics), statics) == {
        1: {"n1": "z//r1", "n2": "//r1", "n3": "//r1"},
        2: {},
        3: {"n1": "z", "n4": "z"},
        4: everywhere(statics),
    }


def test_two_labels_of_one_level_with_equal_values_are_two_domains() -> None:
    statics = nodes({"n1": "rack=1", "n2": "block=1"})
    labels = [LabelTier("rack", 1, "rack"), LabelTier("block", 1, "block")]
    assert shown(tiers_of(NO_TOPOLOGY, labels, statics), statics)[1] == {"n1": "1", "n2": "block=1"}


def test_names_of_tiers() -> None:
    found = tiers_of(
        catalogue(
            hypernode("a", 1, "n1", tier_name="rack"),
            hypernode("b", 1, "n2", tier_name="Rack"),
            hypernode("s", 2, "^a", tier_name="Rack"),
            hypernode("c", 3, "n3", "n4"),
        ),
        [LabelTier("zone", 3), LabelTier("region", 4, "region")],
        FOUR,
    )
    assert [(tier.level, tier.name) for tier in found.tiers] == [
        (1, "rack"),
        (2, "Rack"),
        (3, "zone"),
        (4, "region"),
        (5, ""),
    ]
    assert found.levels == {"rack": 1, "Rack": 1, "zone": 3, "region": 4}


@pytest.mark.parametrize(
    ("hypernodes", "unread", "expected"),
    [
        pytest.param(
            [hypernode("a", 2, "^b"), hypernode("b", 1, "^a")],
            {},
            {words.circle(["a", "b", "a"]): {"a", "b"}},
            id="a circle",
        ),
        pytest.param([hypernode("a", 1, "^a", "n1")], {}, {words.circle(["a", "a"]): {"a"}}, id="a circle of one"),
        pytest.param(
            [hypernode("a", 2, "^x", "^y"), hypernode("b", 2, "^x"), hypernode("x", 1, "n1"), hypernode("y", 1, "n2")],
            {},
            {
                words.two_parents("x", "a", "b"): {"a", "b", "x", "y"},
            },
            id="two parents: all that hangs together",
        ),
        pytest.param(
            [hypernode("a", 1, "^x"), hypernode("x", 1, "n1")],
            {},
            {words.not_below("x", 1, "a", 1): {"a", "x"}},
            id="a tier that is not below its parent's",
        ),
        pytest.param(
            [hypernode("a", 1, "n1", "n2"), hypernode("b", 2, "~n1"), hypernode("s", 3, "^a")],
            {},
            {words.node_in_two("n1", "a", "b"): {"a", "b", "s"}},
            id="a node in two trees",
        ),
        pytest.param(
            [hypernode("a", 1, "n1"), hypernode("b", 1, "rack=r1"), hypernode("s", 2, "^a", "^b")],
            {},
            {words.node_in_two("n1", "a", "b"): {"a", "b", "s"}},
            id="a node in two racks of one tree",
        ),
        pytest.param(
            [hypernode("a", 1, "~(n"), hypernode("s", 2, "^a")],
            {},
            {words.bad_pattern("a", "missing ): (n"): {"a", "s"}},
            id="a pattern that is none",
        ),
        pytest.param(
            [hypernode("s", 2, "^a")],
            {"a": "spec.tier: a number was expected"},
            {words.unread("a", "spec.tier: a number was expected"): {"a", "s"}},
            id="a member that cannot be read",
        ),
        pytest.param(
            [hypernode("s", 2, "^a"), hypernode("a", 1, "n1", "^b"), hypernode("b", 0, "n2")],
            {"a": "spec.members[2]: …"},
            {words.unread("a", "spec.members[2]: …"): {"a", "b", "s"}},
            id="what is read of one that cannot be read still hangs together",
        ),
        pytest.param(
            [hypernode("a", 1, "n1"), hypernode("b", 1, "~(n", "n1")],
            {},
            {words.bad_pattern("b", "missing ): (n"): {"b"}},
            id="a tree with a fault claims no node of another",
        ),
        pytest.param(
            [
                hypernode("a", 1, "n1"),
                hypernode("b", 1, "n1", "n2"),
                hypernode("c", 1, "n2"),
                hypernode("t", 2, "^b", "^c"),
            ],
            {},
            {words.node_in_two("n2", "b", "c"): {"b", "c", "t"}},
            id="nor does one whose own HyperNodes claim the same node",
        ),
    ],
)
def test_broken_trees_are_left_out_and_the_rest_works(
    hypernodes: list[HyperNode], unread: dict[str, str], expected: dict[str, set[str]]
) -> None:
    good = hypernode("good", 1, "n4")
    found = tiers_of(catalogue(*hypernodes, good, **unread), [], FOUR)
    by_reason: dict[str, set[str]] = {}
    for name, why in found.problems.items():
        by_reason.setdefault(why, set()).add(name)
    assert by_reason == expected
    assert shown(found, FOUR)[1]["n4"] == "good"
    left_out = set(found.problems)
    assert not left_out & {name for by_node in shown(found, FOUR).values() for name in by_node.values()}


def test_hundreds_of_hypernodes_that_all_list_all_nodes_are_all_left_out() -> None:
    many = [hypernode(f"h{at:03d}", 1, "~n") for at in range(3 * LISTED_MAX)]
    found = tiers_of(catalogue(*many, hypernode("good", 1)), [], FOUR)
    assert sorted(found.problems) == [one.name for one in many]


def test_a_chain_of_hundreds_that_all_list_all_nodes_is_no_fault() -> None:
    many = [hypernode(f"h{at:03d}", at, "~n", *([f"^h{at - 1:03d}"] if at else [])) for at in range(3 * LISTED_MAX)]
    found = tiers_of(catalogue(*many), [], FOUR)
    assert found.problems == {}
    assert shown(found, FOUR)[0] == dict.fromkeys(FOUR.names, "h000")
    assert shown(found, FOUR)[len(many) - 1] == dict.fromkeys(FOUR.names, many[-1].name)


def test_many_faults_of_one_tree_are_told_shortly() -> None:
    racks = [hypernode(f"r{at}", 5, f"n{at}") for at in range(1, 6)]
    found = tiers_of(catalogue(hypernode("s", 2, *(f"^{one.name}" for one in racks)), *racks), [], FOUR)
    assert found.problems["s"].count("has tier 5") == 3
    assert found.problems["s"].endswith("; and 2 more")


@pytest.mark.parametrize(
    ("requirements", "expected"),
    [
        pytest.param([], ["n1", "n2", "n3", "n4"], id="an empty selector selects all"),
        pytest.param([Requirement("rack", "In", ("r1", "r2", "r1", "r9"))], ["n1", "n2", "n3"], id="In several values"),
        pytest.param([Requirement("rack", "In", ("r9",))], [], id="a value that no node has"),
        pytest.param([Requirement("row", "In", ("1",))], [], id="a label that no node has"),
        pytest.param(
            [Requirement("block", "In", ("b1",)), Requirement("rack", "NotIn", ("r2",))], ["n1"], id="all of several"
        ),
        pytest.param([Requirement("rack", "Exists"), Requirement("block", "NotIn", ("b1",))], ["n3"], id="without In"),
        pytest.param([Requirement("rack", "DoesNotExist")], ["n4"], id="nodes without the label"),
    ],
)
def test_label_members(requirements: list[Requirement], expected: list[str]) -> None:
    one = HyperNode("a", tier=1, members=(Member(True, labels=Selector(tuple(requirements))),))
    assert list(shown(tiers_of(catalogue(one), [], FOUR), FOUR)[1]) == expected


def test_the_same_tiers_while_nothing_changes() -> None:
    known, labels = catalogue(hypernode("a", 1, "~n")), [RACK]
    assert tiers_of(known, labels, FOUR) is tiers_of(known, [RACK], FOUR)
    assert tiers_of(known, labels, FOUR) is not tiers_of(known, [], FOUR)


def test_the_same_tiers_while_only_other_things_of_nodes_change() -> None:
    known, labels = catalogue(hypernode("a", 1, "rack=r1"), hypernode("b", 1, "~n4")), [BLOCK]
    first = tiers_of(known, labels, FOUR)

    def after(**changed: object) -> Tiers:
        n1, *others = FOUR.attributes
        return tiers_of(known, labels, NodeStatics([replace(n1, **changed), *others], FOUR.memo))

    assert after(unschedulable=True, images={"big": 1}, labels={**FOUR.attributes[0].labels, "other": "x"}) is first
    assert after(labels={"rack": "r1"}) is not first
    moved = after(labels={"rack": "r2", "block": "b1"})
    assert shown(moved, FOUR) == shown(tiers_of(known, labels, nodes({**TEXTS, "n1": "rack=r2,block=b1"})), FOUR)


def test_nodes_that_come_and_go_are_matched_once() -> None:
    known = catalogue(hypernode("a", 1, "~^a"), hypernode("b", 1, "~^b"))
    statics = nodes(["a1", "b1", "b2"])
    tiers_of(known, [], statics)
    for names in (["a0", "a1", "b2", "c"], ["b0"], ["a1", "b1", "b2"]):
        fresh = nodes(names)
        statics = NodeStatics(fresh.attributes, statics.memo)
        assert shown(tiers_of(known, [], statics), statics) == shown(tiers_of(known, [], fresh), fresh)


def test_counts_of_nodes() -> None:
    known = catalogue(
        hypernode("a", 1, "n1", "n2"), hypernode("s", 2, "^a", "n3"), hypernode("e", 1), hypernode("x", 1, "^x", "n4")
    )
    assert counts(membership(known, FOUR)) == {"a": 2, "s": 3, "e": 0}


NAMES = [f"n{at}" for at in range(8)]
forests = st.lists(
    st.tuples(
        st.integers(0, 3),
        st.lists(st.sampled_from([*NAMES, "~[0-3]", "~n7", "rack=r1", *(f"^h{at}" for at in range(6))]), max_size=4),
    ),
    max_size=6,
).map(lambda drawn: catalogue(*(hypernode(f"h{at}", tier, *members) for at, (tier, members) in enumerate(drawn))))
clusters = st.lists(
    st.tuples(st.sampled_from(["", "r1", "r2"]), st.sampled_from(["", "b1"])), min_size=1, max_size=8
).map(
    lambda drawn: nodes(
        {
            f"n{at}": ",".join(f"{key}={value}" for key, value in (("rack", rack), ("block", block)) if value)
            for at, (rack, block) in enumerate(drawn)
        }
    )
)


@given(forests, clusters)
def test_domains_nest(known: TopologyCatalogue, statics: NodeStatics) -> None:
    """Two nodes that share a domain share all of their wider domains: so each node has one chain."""
    tiers = tiers_of(known, [RACK, BLOCK], statics).tiers
    assert [tier.level for tier in tiers] == sorted({tier.level for tier in tiers})
    for at, closer in enumerate(tiers):
        assert list(closer.domains) == sorted(set(closer.domains))
        assert ((closer.ids >= -1) & (closer.ids < len(closer.domains))).all()
        for wider in tiers[at + 1 :]:
            for domain in range(len(closer.domains)):
                assert len(set(wider.ids[closer.ids == domain].tolist())) <= 1


@given(forests, clusters)
def test_tiers_equal_brute_force(known: TopologyCatalogue, statics: NodeStatics) -> None:
    """Each HyperNode of a tree that is not left out holds what it and all below it list, and nothing else does."""
    tiers = tiers_of(known, [], statics)
    by_name = {one.name: one for one in known.hypernodes if one.name not in tiers.problems}

    def listed(one: HyperNode) -> set[str]:
        below = [by_name[child.name] for child in one.members if not child.is_node and child.name in by_name]
        own = {node.name for node in statics.attributes if any(holds(each, node) for each in one.members)}
        return own.union(*(listed(child) for child in below))

    expected: dict[int, dict[str, str]] = {one.tier: {} for one in by_name.values()}
    for one in by_name.values():
        expected[one.tier].update(dict.fromkeys(listed(one), one.name))
    assert shown(tiers, statics) == {**expected, max(expected, default=0) + 1: everywhere(statics)}
    assert counts(membership(known, statics)) == {name: len(listed(one)) for name, one in by_name.items()}


@given(forests, clusters)
def test_a_tree_is_left_out_only_for_a_fault(known: TopologyCatalogue, statics: NodeStatics) -> None:
    """What is left out has a fault, and what is kept has none: checked by pairs, without trees."""
    problems = tiers_of(known, [], statics).problems
    kept = [one for one in known.hypernodes if one.name not in problems]
    tier = {one.name: one.tier for one in known.hypernodes}
    listed = [(child.name, one.name) for one in kept for child in one.members if not child.is_node]
    parents = {pair for pair in listed if pair[0] in tier}
    assert len({child for child, _ in parents}) == len(parents)
    assert all(tier[child] < tier[parent] for child, parent in parents)
    for name in problems:
        assert tiers_of(
            TopologyCatalogue(tuple(one for one in known.hypernodes if one.name in problems)), [], statics
        ).problems[name]


def holds(one: Member, node: NodeAttributes) -> bool:
    if not one.is_node:
        return False
    if one.pattern:
        return node.name[-1] in "0123" if one.pattern == "[0-3]" else one.pattern == node.name
    if one.labels is not None:
        return one.labels.matches(node.labels)
    return one.name == node.name


def test_a_large_circle_is_told_in_a_few_words() -> None:
    names = [f"h{at:04}" for at in range(5000)]
    circle = [
        HyperNode(name, tier=1, members=(Member(False, other),))
        for name, other in zip(names, [*names[1:], names[0]], strict=True)
    ]
    problems = tiers_of(TopologyCatalogue(tuple(circle)), (), FOUR).problems

    assert len(problems) == 5000
    assert set(problems.values()) == {
        words.circle(["h0000", "h4999", "h4998", "h4997", "h4996", "h4995", "h4994", "h4993", "4992 more", "h0000"])
    }


def test_what_is_known_of_the_nodes_outlasts_a_look_at_other_nodes() -> None:
    """Simulations look at nodes that are not there, and share what is kept with the nodes that are."""
    known = TopologyCatalogue()
    first = tiers_of(known, [RACK], FOUR)
    on_paper = NodeStatics([*FOUR.attributes, NodeAttributes("paper", {})], FOUR.memo)

    assert tiers_of(known, [RACK], on_paper) is not first
    assert tiers_of(known, [RACK], FOUR) is first
