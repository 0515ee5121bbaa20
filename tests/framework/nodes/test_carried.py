"""The private node table and scores that sessions hand on."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import orjson
import pytest

from tests.support.keeping import keeping
from tests.support.plans import NOW, manifests, mirror
from vsched import api
from vsched.framework.nodes import carried
from vsched.framework.nodes.carried import CarriedNodes, carried_nodes
from vsched.framework.nodes.shapes import ShapeNodes
from vsched.kube.watch.deltas import Delta
from vsched.mirror.mirror import Mirror
from vsched.model.memo import Memo
from vsched.model.nodes.table import NodeTable
from vsched.model.pods.shape import ShapeTable
from vsched.model.snapshot import Snapshot

AMOUNTS = ("allocatable", "idle", "releasing", "pipelined", "requested", "scoring", "terminating")


def runs(cache: Mirror, name: str, node: str, delta: Delta = Delta.ADDED) -> Snapshot:
    """The cluster once one more pod runs on a node, or is gone."""
    for one in manifests(f"pods x/{name} 1 cpu=1 on={node}"):
        one["metadata"].setdefault("uid", one["metadata"]["name"])
        cache.intake.apply(one["kind"], delta, api.decode(one["kind"], orjson.dumps(one)))
    return cache.snapshot(NOW)


def assert_same(table: NodeTable, source: NodeTable) -> None:
    fresh = source.copy()
    for name in AMOUNTS:
        np.testing.assert_array_equal(getattr(table, name), getattr(fresh, name), name)
    assert table.in_motion == fresh.in_motion
    assert table.usage is fresh.usage


@pytest.fixture
def cache() -> Mirror:
    return mirror(manifests("node n1 cpu=8\nnode n2 cpu=8\nnode n3 cpu=8\npods x/goes 1 cpu=2 on=n3 leaving"))


def session(memo: Memo, snapshot: Snapshot, changed: Sequence[int] = ()) -> CarriedNodes:
    """One that changes some rows, and leaves what it knows."""
    found = carried_nodes(memo, snapshot)
    assert_same(found.table, snapshot.nodes)
    for row in changed:
        found.table.idle[0, row] -= 1000
        found.table.pipelined[1, row] += 7
        found.journal.append(row)
    memo.leave(carried.OWNER, found)
    return found


def test_the_table_is_as_a_new_copy_after_changes_of_the_mirror_and_of_the_session(cache: Mirror) -> None:
    memo = keeping()
    first = session(memo, cache.snapshot(NOW), [1, 2])
    assert session(memo, runs(cache, "a", "n1"), [0]) is first
    assert session(memo, runs(cache, "b", "n2")) is first
    assert session(memo, runs(cache, "a", "n1", Delta.DELETED)) is first


def test_the_journal_names_the_rows_that_were_read_again(cache: Mirror) -> None:
    memo = keeping()
    first = session(memo, cache.snapshot(NOW), [2])
    seen = len(first.journal)
    session(memo, runs(cache, "a", "n1"))
    assert {*first.journal[seen:]} == {0, 2}


def test_nodes_that_come_make_a_new_table(cache: Mirror) -> None:
    memo = keeping()
    first = session(memo, cache.snapshot(NOW))
    for one in manifests("node n4 cpu=4"):
        one["metadata"].setdefault("uid", "n4")
        cache.intake.apply("Node", Delta.ADDED, api.decode("Node", orjson.dumps(one)))
    assert session(memo, cache.snapshot(NOW)) is not first


def test_a_session_that_failed_leaves_nothing(cache: Mirror) -> None:
    memo = keeping()
    session(memo, cache.snapshot(NOW))
    failed = carried_nodes(memo, cache.snapshot(NOW))
    failed.table.idle[:] = 0
    assert session(memo, cache.snapshot(NOW)) is not failed


def test_a_node_that_is_as_it_was_scored_is_not_scored_again(cache: Mirror) -> None:
    memo = keeping()
    seen: dict[int, bytes] = {}
    first = session(memo, cache.snapshot(NOW))
    session(memo, runs(cache, "a", "n1"))
    scored = len(first.journal)
    session(memo, runs(cache, "b", "n1"))
    assert first.changed_since(scored, seen) == [0]
    scored = len(first.journal)
    session(memo, runs(cache, "c", "n1"))
    session(memo, runs(cache, "c", "n1", Delta.DELETED))
    assert first.changed_since(scored, seen) == []
    session(memo, runs(cache, "b", "n1", Delta.DELETED))
    assert first.changed_since(scored, seen) == [0]


def test_a_node_is_scored_again_where_a_session_changed_it_meanwhile(cache: Mirror) -> None:
    memo = keeping()
    seen: dict[int, bytes] = {}
    first = session(memo, cache.snapshot(NOW))
    session(memo, runs(cache, "a", "n1"))
    assert first.changed_since(0, seen) == [0]
    before = len(first.journal)
    session(memo, runs(cache, "b", "n2"), [0])
    assert {*first.changed_since(before, seen)} == {0, 1}  # what this session placed may still be taken back
    assert 0 not in seen
    session(memo, runs(cache, "b", "n2", Delta.DELETED))
    assert 0 in first.changed_since(before, seen)


def test_of_many_nodes_that_change_at_once_nothing_is_taken_to_be_known(
    cache: Mirror, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(carried, "STAMPS_MAX", 1)
    memo = keeping()
    seen: dict[int, bytes] = {}
    first = session(memo, cache.snapshot(NOW))
    session(memo, runs(cache, "a", "n1"))
    assert first.changed_since(0, seen) == [0]
    session(memo, cache.snapshot(NOW), [0, 1])
    scored = len(first.journal)
    session(memo, cache.snapshot(NOW))
    assert {*first.changed_since(scored, seen)} == {0, 1}


SHAPES = [ShapeTable().shape(((0, amount),)) for amount in range(4)]


def fit(number: int) -> ShapeNodes:
    return ShapeNodes(SHAPES[number], None, (), dynamic=False, preference=None)


def test_shapes_that_were_not_used_for_longest_are_forgotten(cache: Mirror, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(carried, "FITS_MAX", 2)
    found = CarriedNodes(cache.snapshot(NOW))
    found.give([fit(1), fit(2)])
    used = found.take(SHAPES[1])
    assert used is not None
    found.give([used])
    found.give([fit(3)])
    assert found.take(SHAPES[2]) is None
    assert found.take(SHAPES[1]) is used


def test_scores_take_no_more_memory_than_they_may(cache: Mirror, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(carried, "BYTES_MAX", 3 * 9)
    found = CarriedNodes(cache.snapshot(NOW))
    found.give([fit(1), fit(2)])
    assert found.take(SHAPES[1]) is None
    assert found.take(SHAPES[2]) is not None


def test_a_journal_that_has_become_long_begins_anew_without_scores(
    cache: Mirror, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(carried, "JOURNAL_MAX", 2)
    memo = keeping()
    first = session(memo, cache.snapshot(NOW), [1, 2])
    first.give([fit(1)])
    again = session(memo, runs(cache, "a", "n1"))
    assert again is first
    assert {*again.journal} == {0, 1, 2}
    assert again.take(SHAPES[1]) is None
