"""What changed between two pictures leads from the one to the other, and is small where little happened."""

from __future__ import annotations

import msgspec
import pytest
from hypothesis import given
from msgspec.structs import replace

from tests.support.overviews import EMPTY, RESOURCES, job, orders, overviews, picture, session
from vsched.web.overview.deltas import OverviewDelta, Rows, apply, delta
from vsched.web.overview.document import Overview, PolicyRow

POLICY = PolicyRow(1, "abc", "file", ("allocate",), (), 9.0, True, "", ())


def over_the_wire(change: OverviewDelta) -> OverviewDelta:
    return msgspec.json.decode(msgspec.json.encode(change), type=OverviewDelta)


@given(overviews, overviews)
def test_a_delta_leads_to_the_later_picture_whatever_the_two_are(before: Overview, after: Overview) -> None:
    change = delta(before, after)
    if change is not None:
        assert apply(over_the_wire(change), before) == after


@given(orders(), orders())
def test_so_it_does_where_jobs_overtake_each_other(before: Overview, after: Overview) -> None:
    change = delta(before, after)
    assert change is not None
    assert apply(over_the_wire(change), before) == after


@given(overviews)
def test_nothing_changed_is_almost_nothing_on_the_wire(found: Overview) -> None:
    change = delta(found, found)
    assert msgspec.to_builtins(change) == {"number": found.number, "since": found.number, "at": found.at}


def test_a_picture_stays_as_it_is_when_a_delta_is_applied_to_it() -> None:
    before, after = picture(job("ns/a", 1, "x"), job("ns/b", 2, "x")), picture(job("ns/b", 1, "y"), number=2)
    kept = msgspec.json.encode(before)
    change = delta(before, after)
    assert change is not None
    apply(change, before)
    assert msgspec.json.encode(before) == kept


# -- what is sent


def waiting(first: int, last: int, message: str = "x") -> Overview:
    """Jobs numbered so, in the order of their numbers."""
    return picture(*(job(f"ns/{number}", place, message) for place, number in enumerate(range(first, last), 1)))


def test_when_the_first_of_a_thousand_start_the_others_move_up_in_one_run() -> None:
    change = delta(waiting(0, 1000), waiting(3, 1000))
    assert change is not None
    assert change.moves == {"a": ((4, 1000, -3),)}
    assert change.jobs == Rows({}, ("ns/0", "ns/1", "ns/2"))


def test_jobs_that_come_in_between_split_the_run_and_only_they_are_sent() -> None:
    before = waiting(0, 10)
    rows = list(before.jobs.values())
    new = job("ns/new", 5, "x")
    after = picture(*rows[:4], new, *(replace(row, position=row.position + 1) for row in rows[4:] if row.position))
    change = delta(before, after)
    assert change is not None
    assert (change.moves, change.jobs) == ({"a": ((5, 10, 1),)}, Rows({"ns/new": new}))


def test_what_is_said_of_many_is_said_once() -> None:
    change = delta(waiting(0, 1000, "3 of 5 nodes"), waiting(0, 1000, "4 of 5 nodes"))
    assert change is not None
    assert [(text, len(keys)) for text, keys in change.messages] == [("4 of 5 nodes", 1000)]
    assert change.jobs is None


def test_two_at_one_place_that_part_are_sent_whole() -> None:
    before = picture(job("ns/a", 1), job("ns/b", 1))
    after = picture(job("ns/a", 1), job("ns/b", 2))
    change = delta(before, after)
    assert change is not None
    assert change.jobs is not None
    assert set(change.jobs.put) == {"ns/a", "ns/b"}
    assert apply(change, before).jobs == after.jobs


WHOLE = {
    "other resources": (EMPTY, replace(EMPTY, resources=RESOURCES[:1])),
    "another version": (EMPTY, replace(EMPTY, version="0.2.0")),
    "other counts": (EMPTY, replace(EMPTY, counts={})),
    "no policy any more": (replace(EMPTY, policy=POLICY), EMPTY),
    "a session from before": (
        replace(EMPTY, sessions=(session(2),)),
        replace(EMPTY, sessions=(session(1), session(2))),
    ),
}


@pytest.mark.parametrize(("before", "after"), WHOLE.values(), ids=WHOLE)
def test_what_a_delta_cannot_say_needs_the_whole_picture(before: Overview, after: Overview) -> None:
    assert delta(before, after) is None


def test_amounts_of_the_same_resources_are_told() -> None:
    after = replace(EMPTY, resources=(replace(RESOURCES[0], held=1), RESOURCES[1]))
    change = delta(EMPTY, after)
    assert change is not None
    assert apply(change, EMPTY) == after
