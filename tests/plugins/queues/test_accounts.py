"""What queues hold, kept from session to session: the same as if it were counted anew."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import cache as cached
from typing import Any

import orjson
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.examples import examples
from tests.support.plans import NOW, manifests, mirror
from vsched import api
from vsched.framework.ledger.usage import SessionUsage
from vsched.kube.watch.deltas import Delta
from vsched.model.snapshot import QueueUsage, Snapshot
from vsched.plugins.queues.accounts import Accounts, Sums, sums_of

TREE = """
node n1 cpu=64
queue root
queue up parent=root deserved=cpu:6 capability=cpu:40
queue low parent=up deserved=cpu:4 guarantee=cpu:1
queue deep parent=low guarantee=cpu:1
queue other deserved=cpu:4
queue lost parent=nobody
"""
QUEUES = ("up", "low", "deep", "other", "lost")
UP = {"low": "up", "deep": "low"}


@cached
def snapshot_of(text: str = TREE) -> Snapshot:
    return mirror(manifests(text)).snapshot(NOW)


def with_books(snapshot: Snapshot, books: Mapping[str, QueueUsage]) -> Snapshot:
    return replace(snapshot, books=books)


def figures(sums: Sums) -> tuple[dict[str, dict[int, int]], dict[str, dict[int, int]]]:
    """What is held and admitted, without zeros."""
    held, admitted = (
        {name: found for name, amounts in one.items() if (found := {c: v for c, v in amounts.items() if v})}
        for one in (sums.held, sums.admitted)
    )
    return held, admitted


amounts = st.dictionaries(st.integers(0, 2), st.integers(1, 9), max_size=3)
usages = st.builds(QueueUsage, st.just(1), amounts, amounts, amounts, amounts, amounts)
steps = st.lists(st.dictionaries(st.sampled_from(QUEUES), usages, max_size=5), min_size=1, max_size=6)


@pytest.mark.parametrize("in_a_tree", [True, False], ids=["tree", "flat"])
@settings(max_examples=examples(50))
@given(steps=steps, keep=st.booleans())
def test_sums_that_follow_what_changed_are_those_counted_anew(
    in_a_tree: bool, steps: list[dict[str, QueueUsage]], keep: bool
) -> None:
    snapshot, kept, books = snapshot_of(), None, dict[str, QueueUsage]()
    for step in steps:
        books = {**books, **step} if keep else step
        seen = with_books(snapshot, books)
        kept = sums_of(seen, in_a_tree=in_a_tree, before=kept)
        assert figures(kept) == figures(sums_of(seen, in_a_tree=in_a_tree))


def test_while_nothing_changes_the_sums_are_the_same_object() -> None:
    snapshot = with_books(snapshot_of(), {"deep": QueueUsage(1, {0: 5})})
    sums = sums_of(snapshot, in_a_tree=True)
    assert sums_of(snapshot, in_a_tree=True, before=sums) is sums
    assert sums.held == {"root": {0: 5}, "up": {0: 5}, "low": {0: 5}}


CHANGES: dict[str, dict[str, Any]] = {
    "another queue": {"text": TREE + "queue more parent=up guarantee=cpu:2\n"},
    "another cluster size": {"text": TREE.replace("cpu=64", "cpu=32")},
    "another resource": {"text": TREE.replace("cpu=64", "cpu=64 gpu=2")},
}


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
def test_the_frame_is_made_anew_after(change: dict[str, Any]) -> None:
    sums = sums_of(snapshot_of(), in_a_tree=True)
    after = snapshot_of(change["text"])
    assert sums_of(after, in_a_tree=True, before=sums).frame is not sums.frame
    assert sums.frame.holds_for(snapshot_of())


def test_another_node_of_the_same_mirror_changes_the_terms() -> None:
    cache = mirror(manifests(TREE))
    sums = sums_of(cache.snapshot(NOW), in_a_tree=True)
    assert sums_of(cache.snapshot(NOW + 1), in_a_tree=True, before=sums) is sums
    [node] = manifests("node n2 cpu=6")
    node["metadata"]["uid"] = "n2"
    cache.intake.apply("Node", Delta.ADDED, api.decode("Node", orjson.dumps(node)))
    after = sums_of(cache.snapshot(NOW + 2), in_a_tree=True, before=sums)
    assert after.frame.places["other"].terms.limit[0] - sums.frame.places["other"].terms.limit[0] == 6_000


def test_accounts_are_made_once_with_all_queues_above_them() -> None:
    snapshot = with_books(snapshot_of(), {"deep": QueueUsage(1, {0: 5}), "other": QueueUsage(1, {0: 2})})
    sums = sums_of(snapshot, in_a_tree=True)
    accounts, usage = Accounts(sums), SessionUsage(snapshot)
    deep = accounts["deep"]
    assert [one.name for one in deep.above] == ["low", "up", "root"]
    assert accounts["root"] is deep.above[-1]
    assert "lost" not in accounts
    assert accounts.get("lost") is None
    with pytest.raises(KeyError, match="lost"):
        accounts["lost"]
    assert dict(accounts["root"].held(usage)) == {0: 7}


def test_what_a_session_changes_is_its_own() -> None:
    snapshot = with_books(snapshot_of(), {"deep": QueueUsage(1, {0: 5}, inqueue={0: 3})})
    sums = sums_of(snapshot, in_a_tree=True)
    before = figures(sums)
    accounts, usage = Accounts(sums), SessionUsage(snapshot)
    assert accounts.held_below()["low"] is sums.held["low"]
    usage.shift("deep", "ns", ((0, 4),), 1)
    for one in (accounts["deep"], *accounts["deep"].above):
        one.shift(((0, 4),), 1)
        one.admitted[0] += 1
    assert figures(sums) == before
    assert dict(accounts["low"].held(usage)) == {0: 9}
    assert accounts.held_below()["low"] is not sums.held["low"]
    assert accounts.held_below().keys() == sums.held.keys()


def test_siblings_with_guarantees_are_known_by_the_queue_above_them() -> None:
    text = TREE + "queue beside parent=up guarantee=cpu:2\nqueue bare parent=up\n"
    accounts = Accounts(sums_of(snapshot_of(text), in_a_tree=True))
    assert list(accounts.guaranteed_beside(accounts["bare"])) == [("beside", ((0, 2000),)), ("low", ((0, 1000),))]
    assert list(accounts.guaranteed_beside(accounts["low"])) == [("beside", ((0, 2000),))]
    flat = Accounts(sums_of(snapshot_of(text), in_a_tree=False))
    assert [name for name, _ in flat.guaranteed_beside(flat["up"])] == ["beside", "deep", "low"]
