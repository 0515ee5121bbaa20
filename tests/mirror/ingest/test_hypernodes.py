"""HyperNodes as the mirror reads them: every member, every bad field, and the catalogue of snapshots."""

from __future__ import annotations

from typing import Any

import pytest

from tests.mirror.watch import Watch
from tests.support import builders as make
from tests.support.hypernodes import hypernode, hypernode_object
from vsched.api.topology import HyperNode as WireHyperNode
from vsched.mirror.ingest.bounds import PATTERN_LENGTH_MAX
from vsched.mirror.ingest.hypernodes import ShownStatus, hypernode_of
from vsched.mirror.ingest.words import fields as fields_words
from vsched.mirror.ingest.words import nodes as nodes_words
from vsched.model.pods.shape import Requirement, Selector
from vsched.model.topology.hypernodes import NO_TOPOLOGY, HyperNode, Member, TopologyCatalogue

Obj = dict[str, Any]


def told(*objects: Obj) -> TopologyCatalogue:
    watch = Watch()
    for each in objects:
        watch.tell(each)
    return watch.cache.snapshot(0.0).topology


def test_all_kinds_of_members() -> None:
    found = told(hypernode_object("a", 2, "n1", "~^n[2-4]$", "rack=r1", "^b", tier_name="block"))
    assert found.hypernodes == (hypernode("a", 2, "n1", "~^n[2-4]$", "rack=r1", "^b", tier_name="block"),)
    assert found.unread == {}


def test_a_selector_with_expressions() -> None:
    label = {"matchExpressions": [{"key": "rack", "operator": "NotIn", "values": ["r2", "r1"]}]}
    found = told(with_member({"labelMatch": label})).hypernodes[0]
    assert found.members == (Member(True, labels=Selector((Requirement("rack", "NotIn", ("r1", "r2")),))),)


def with_member(selector: Obj | None, type: str = "Node") -> Obj:
    made = hypernode_object("a", 1)
    made["spec"]["members"] = [{"type": type, "selector": selector} if selector is not None else {"type": type}]
    return made


def with_tier(tier: object) -> Obj:
    made = hypernode_object("a", 1)
    made["spec"]["tier"] = tier
    return made


EXACT: Obj = {"exactMatch": {"name": "n1"}}
REGEX: Obj = {"regexMatch": {"pattern": "n"}}
ONE_OF = "of exactMatch, regexMatch and labelMatch are set (expected exactly one)"


@pytest.mark.parametrize(
    ("made", "problem"),
    [
        pytest.param(with_tier(-1), fields_words.negative_number("spec.tier", -1), id="a tier below zero"),
        pytest.param(with_tier(None), nodes_words.NO_TIER, id="no tier"),
        pytest.param(with_tier("1"), 'spec.tier: must be an integer, is "1"', id="a tier that is no number"),
        pytest.param(
            with_member(EXACT, "Rack"),
            fields_words.unknown_word("spec.members[0].type", "Rack", "Node or HyperNode"),
            id="a member of another type",
        ),
        pytest.param(with_member({}), f"spec.members[0].selector: 0 {ONE_OF}", id="an empty selector"),
        pytest.param(with_member(None), f"spec.members[0].selector: 0 {ONE_OF}", id="no selector"),
        pytest.param(with_member(EXACT | REGEX), f"spec.members[0].selector: 2 {ONE_OF}", id="two selectors"),
        pytest.param(
            with_member({"exactMatch": {}}),
            nodes_words.empty_name("spec.members[0].selector", "Node"),
            id="no name",
        ),
        pytest.param(
            with_member(REGEX, "HyperNode"),
            nodes_words.hypernode_by_name("spec.members[0].selector"),
            id="HyperNodes by pattern",
        ),
        pytest.param(
            with_member({"labelMatch": {}}, "HyperNode"),
            nodes_words.hypernode_by_name("spec.members[0].selector"),
            id="HyperNodes by label",
        ),
        pytest.param(
            with_member({"regexMatch": {"pattern": "(a"}}),
            nodes_words.bad_pattern("spec.members[0].selector.regexMatch.pattern", "missing ): (a"),
            id="a pattern that is none",
        ),
        pytest.param(
            with_member({"regexMatch": {}}),
            nodes_words.empty_pattern("spec.members[0].selector.regexMatch.pattern"),
            id="no pattern",
        ),
        pytest.param(
            with_member({"regexMatch": {"pattern": "a" * (PATTERN_LENGTH_MAX + 1)}}),
            fields_words.too_long("spec.members[0].selector.regexMatch.pattern", 1025, 1024),
            id="a pattern without end",
        ),
        pytest.param(
            with_member({"labelMatch": {"matchExpressions": [{"key": "a", "operator": "Near"}]}}),
            nodes_words.unknown_operator(
                "spec.members[0].selector.labelMatch.matchExpressions[0]", "Near", "DoesNotExist, Exists, In, NotIn"
            ),
            id="an operator that is none",
        ),
    ],
)
def test_a_bad_field_is_named_and_the_hypernode_is_not_used(made: Obj, problem: str) -> None:
    watch = Watch()
    assert watch.tell(made), "a HyperNode that cannot be used matters to its tree"
    assert watch.cache.snapshot(0.0).topology.unread == {"a": problem}
    assert watch.cache.broken["HyperNode", "a"].message == f"HyperNode a: {problem}"
    assert watch.tell(hypernode_object("a", 1, "n1"))
    assert watch.cache.snapshot(0.0).topology.unread == {}
    assert not watch.cache.broken


def test_what_can_be_read_beside_a_bad_member_is_kept() -> None:
    made = hypernode_object("a", 2, "^b")
    made["spec"]["members"].append({"type": "Node", "selector": {}})
    found = told(made)
    assert found.hypernodes == (hypernode("a", 2, "^b"),)
    assert set(found.unread) == {"a"}


def test_one_that_becomes_unreadable_leaves_nothing_of_before() -> None:
    assert told(hypernode_object("a", 1, "n1"), with_tier("x")).hypernodes == ()


def test_the_catalogue_is_the_same_while_nothing_but_statuses_changes() -> None:
    watch = Watch()
    assert watch.cache.snapshot(0.0).topology is NO_TOPOLOGY
    assert watch.tell(hypernode_object("b", 1, "n2"))
    assert watch.tell(hypernode_object("a", 1, "n1"))
    first = watch.cache.snapshot(0.0).topology
    assert [one.name for one in first.hypernodes] == ["a", "b"]
    assert not watch.tell(hypernode_object("a", 1, "n1", status={"nodeCount": 1}))
    assert watch.cache.snapshot(0.0).topology is first
    assert watch.cache.topology.shown["a"].nodes == 1
    assert watch.tell(hypernode_object("a", 1, "n1", "n3"))
    assert watch.cache.snapshot(0.0).topology is not first
    assert watch.tell(hypernode_object("a", 1), "DELETED")
    assert [one.name for one in watch.cache.snapshot(0.0).topology.hypernodes] == ["b"]
    assert not watch.tell(hypernode_object("a", 1), "DELETED")


def test_why_none_can_be_read() -> None:
    watch = Watch()
    watch.cache.intake.set_unread("HyperNode", "403: forbidden")
    assert watch.wakes == 1
    assert watch.cache.snapshot(0.0).topology.problem == "403: forbidden"
    watch.cache.intake.set_unread("HyperNode", "")
    assert watch.cache.snapshot(0.0).topology.problem == ""


@pytest.mark.parametrize("status", [[], {"nodeCount": "many"}, {"conditions": {}}, {"conditions": ["x"]}])
def test_a_status_that_cannot_be_read_hides_nothing_else(status: object) -> None:
    found = make.read(hypernode_object("a", 1, "n1") | {"status": status})
    assert isinstance(found, WireHyperNode)
    parsed = hypernode_of(found)
    assert parsed.hypernode == HyperNode("a", tier=1, members=(Member(True, name="n1"),))
    assert parsed.problem == ""
    assert parsed.shown == ShownStatus()
