"""A session goes on with the views that the last one left, as if it had looked at all jobs."""

from __future__ import annotations

from random import Random

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.backlogged import FACTS, Backlogged, backlog, change
from tests.support.clusters import seeded
from tests.support.examples import examples
from vsched.framework.backlog import REBUILT_MIN, Backlog, Opened, nothing_left, opened_on
from vsched.model.snapshot import Snapshot

STRANDED = "job x/lost queue=nowhere min=1 pods=1 cpu=1"
LINES = ("job x/first queue=r min=1 pods=1 cpu=64", "job x/second queue=r min=1 pods=1 cpu=64", STRANDED)


def left_by(opened: Opened, snapshot: Snapshot, *modified: str) -> Backlog:
    """What a session leaves that has changed the views of some jobs."""
    return Backlog(opened.views, modified, opened.refusals, snapshot.queues, snapshot.state, None)


def held(opened: Opened) -> object:
    return [(key, view.job) for key, view in opened.views.items()], [*opened.refusals.items()]


def test_the_views_of_jobs_that_did_not_change_are_kept() -> None:
    cluster = Backlogged(*LINES)
    before = cluster.cache.snapshot(1.0)
    opened = opened_on(before, nothing_left())
    first, second = opened.views["x/first"], opened.views["x/second"]
    cluster.put("job x/first queue=r min=1 pods=1 cpu=63")
    cluster.put("job x/third queue=r min=1 pods=1 cpu=63")
    after = cluster.cache.snapshot(2.0)
    again = opened_on(after, left_by(opened, before))
    assert again.views["x/second"] is second
    assert again.views["x/first"] is not first
    assert [*again.fresh] == ["x/first", "x/third"]
    assert [*again.refusals] == ["x/lost"]


def test_views_that_are_not_as_new_are_made_again() -> None:
    cluster = Backlogged(*LINES)
    before = cluster.cache.snapshot(1.0)
    opened = opened_on(before, nothing_left())
    first = opened.views["x/first"]
    again = opened_on(cluster.cache.snapshot(2.0), left_by(opened, before, "x/first"))
    assert again.views["x/first"] is not first
    assert [*again.fresh] == ["x/first"]


def test_jobs_that_are_gone_or_have_no_queue_any_more_have_left() -> None:
    cluster = Backlogged(*LINES)
    before = cluster.cache.snapshot(1.0)
    opened = opened_on(before, nothing_left())
    cluster.drop("job x/first")
    cluster.put("job x/second queue=elsewhere min=1 pods=1 cpu=1")
    again = opened_on(cluster.cache.snapshot(2.0), left_by(opened, before))
    assert again.left is not None
    assert sorted(again.left) == ["x/first", "x/second"]
    assert [*again.refusals] == ["x/lost", "x/second"]


def test_where_most_jobs_have_changed_the_views_of_the_others_are_kept_as_well() -> None:
    lines = [f"job x/{number:03} queue=r min=1 pods=1 cpu=64" for number in range(REBUILT_MIN + 3)]
    cluster = Backlogged(*lines)
    before = cluster.cache.snapshot(1.0)
    opened = opened_on(before, nothing_left())
    first = opened.views["x/000"]
    cluster.put(*(line.replace("cpu=64", "cpu=63") for line in lines[2:]))
    cluster.drop("job x/001")
    again = opened_on(cluster.cache.snapshot(2.0), left_by(opened, before))
    assert again.views["x/000"] is first
    assert [*again.fresh] == [*again.views][1:] == [f"x/{number:03}" for number in range(2, REBUILT_MIN + 3)]
    assert again.left == {"x/001"}


def test_a_snapshot_that_no_session_has_seen_is_made_up_for() -> None:
    cluster = Backlogged(*LINES)
    before = cluster.cache.snapshot(1.0)
    opened = opened_on(before, nothing_left())
    cluster.drop("job x/first")
    cluster.cache.snapshot(2.0)
    again = opened_on(cluster.cache.snapshot(3.0), left_by(opened, before))
    assert [*again.views] == ["x/second"]


@settings(max_examples=examples(60), deadline=None)
@given(random=seeded, steps=st.integers(1, 8))
def test_a_session_goes_on_as_if_it_had_looked_at_all_jobs(random: Random, steps: int) -> None:
    cluster, kept = Backlogged(*backlog(random)), nothing_left()
    for _ in range(steps):
        for _ in range(random.randint(0, 3)):
            change(random, cluster)
        if random.random() < 0.3:
            cluster.put(STRANDED)
        elif random.random() < 0.1:
            cluster.put(random.choice(FACTS))
        snapshot = cluster.cache.snapshot(1.0)
        known, begins = {*kept.views}, kept.queues is None
        opened = opened_on(snapshot, kept)
        assert held(opened) == held(opened_on(snapshot, nothing_left()))
        assert (opened.left is None) is begins
        assert {*(opened.left or ())} == known.difference(opened.views)
        assert {*opened.fresh} >= {*opened.views}.difference(known)
        kept = left_by(opened, snapshot, *random.sample([*opened.views], min(2, len(opened.views))))
