"""A feed of one kind: lists in parts, and changes that come while one is told."""

from __future__ import annotations

from tests.support import builders as make
from tests.support.feeding import tell_list
from vsched import api
from vsched.controllers.queue_records import ObjectFeed
from vsched.kube.watch.deltas import Delta, PartsSink

Change = tuple[str, str | None, str | None]


def weighing(found: api.Object) -> str | None:
    return str(found.spec.weight) if isinstance(found, api.Queue) else None


def queue(name: str, weight: int) -> api.Object:
    return make.read(make.queue(name, spec={"weight": weight}))


def test_a_list_in_parts_is_not_believed_about_what_changed_meanwhile() -> None:
    changes: list[Change] = []
    lists: list[int] = []
    feed: ObjectFeed[str] = ObjectFeed(weighing, lambda *change: changes.append(change), lambda: lists.append(1))
    assert isinstance(feed, PartsSink)
    tell_list(feed, [queue(name, 1) for name in "abcd"], "1")
    assert (feed.listed, len(lists)) == (True, 1)
    changes.clear()
    feed.restart()
    feed.include(queue("a", 2))
    feed.restart()  # the first attempt failed
    feed.include(queue("a", 3))
    feed.apply(Delta.MODIFIED, queue("b", 5))
    feed.apply(Delta.DELETED, queue("c", 1))
    for name in "bc":
        feed.include(queue(name, 4))
    feed.apply(Delta.ADDED, queue("e", 6))
    assert feed.found == {"a": "3", "b": "5", "d": "1", "e": "6"}
    for _ in feed.finish("9"):
        pass
    assert feed.found == {"a": "3", "b": "5", "e": "6"}
    assert changes[-1] == ("d", "1", None)
    assert len(lists) == 2
    feed.apply(Delta.MODIFIED, queue("a", 7))
    assert feed.found["a"] == "7"
