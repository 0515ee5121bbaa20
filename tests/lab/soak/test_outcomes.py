"""The record of a soak notices broken promises."""

from __future__ import annotations

from collections import Counter

from vsched.kube.watch.deltas import Delta
from vsched.lab.outcomes import PodSeen, SubmittedGang
from vsched.lab.soak import words
from vsched.lab.soak.outcomes import PARTIAL_SECONDS, SoakOutcomes, Violations


def seen(name: str, node: str = "", phase: str = "Pending") -> PodSeen:
    from vsched.lab import outcomes as book

    return PodSeen(book._Metadata(name, "ns"), book._Spec(node), book._Status(phase))


def record(*works: SubmittedGang) -> SoakOutcomes:
    found = SoakOutcomes(8, Violations())
    for work in works:
        found.expect(work)
    return found


def gang(size: int, cpus: int = 4, name: str = "g", minimum: int | None = None) -> SubmittedGang:
    pods = tuple(f"ns/{name}-{index}" for index in range(size))
    return SubmittedGang(f"ns/{name}", "q", pods, size if minimum is None else minimum, cpus)


def test_a_gang_from_its_creation_to_its_end() -> None:
    found = record(gang(2))
    assert found.never_bound() == ["ns/g-0", "ns/g-1"]
    found.apply(Delta.ADDED, seen("g-0"))
    found.apply(Delta.MODIFIED, seen("g-0", "n1"))
    assert (found.partial(), found.never_bound()) == (["ns/g"], ["ns/g-1"])
    found.apply(Delta.MODIFIED, seen("g-1", "n1"))
    assert (found.partial(), found.never_bound(), found.bound) == ([], [], 2)
    for name in ("g-0", "g-1"):
        found.apply(Delta.MODIFIED, seen(name, "n1", "Succeeded"))
    assert [work.key for work in found.done] == ["ns/g"]
    for name in ("g-0", "g-1"):
        found.apply(Delta.DELETED, seen(name, "n1", "Succeeded"))
    assert (found.present, found.finished, found.evicted, found.violations.counts) == (0, 2, 0, Counter())


def test_a_gang_that_is_broken_up_is_taken_back_by_its_user() -> None:
    found = record(gang(3, minimum=2))
    found.apply(Delta.MODIFIED, seen("g-0", "n1"))
    found.apply(Delta.MODIFIED, seen("g-1", "n1"))
    found.apply(Delta.DELETED, seen("g-0", "n1"))
    assert ([work.key for work in found.done], found.never_bound()) == ([], ["ns/g-2"])
    found.apply(Delta.DELETED, seen("g-1", "n1"))
    assert ([work.key for work in found.done], found.never_bound()) == (["ns/g"], [])
    assert found.evicted == 2


def test_a_gang_that_is_partial_for_too_long_is_noticed_once() -> None:
    found = record(gang(2), gang(3, name="h", minimum=1))
    found.apply(Delta.MODIFIED, seen("g-0", "n1"))
    found.apply(Delta.MODIFIED, seen("h-0", "n2"))
    for now in (5.0, 5.0 + PARTIAL_SECONDS):
        found.look(now)
        assert not found.violations.counts
    for now in (6.0 + PARTIAL_SECONDS, 7.0 + 2 * PARTIAL_SECONDS):
        found.look(now)
    assert found.violations.first == {words.PARTIAL: [words.partly_bound("ns/g")]}


def test_a_pod_on_another_node_than_before_was_bound_twice() -> None:
    found = record(gang(1))
    found.apply(Delta.MODIFIED, seen("g-0", "n1"))
    found.apply(Delta.MODIFIED, seen("g-0", "n1"))
    assert not found.violations.counts
    found.apply(Delta.MODIFIED, seen("g-0", "n2"))
    assert found.violations.first == {"bound twice": [words.was_on("ns/g-0", "n1", "n2")]}


def test_a_node_that_holds_more_than_it_has_is_noticed_and_one_that_was_left_in_time_is_not() -> None:
    found = record(gang(2), gang(1, name="h"))
    for name in ("g-0", "g-1"):
        found.apply(Delta.MODIFIED, seen(name, "n1"))
    found.apply(Delta.MODIFIED, seen("g-0", "n1", "Failed"))
    found.apply(Delta.MODIFIED, seen("h-0", "n1"))
    assert not found.violations.counts
    over = record(gang(3))
    for name in ("g-0", "g-1", "g-2"):
        over.apply(Delta.MODIFIED, seen(name, "n1"))
    assert over.violations.first == {"node over its size": ["n1 holds 12 of 8 cpus with ns/g-2"]}


def test_what_its_owner_takes_back_is_neither_lost_nor_partial_nor_evicted() -> None:
    work = gang(2)
    found = record(work)
    found.apply(Delta.MODIFIED, seen("g-0", "n1"))
    work.cancelled = True
    assert (found.never_bound(), found.partial()) == ([], [])
    found.apply(Delta.DELETED, seen("g-0", "n1"))
    found.apply(Delta.DELETED, seen("g-1"))
    assert (found.evicted, found.present) == (0, 0)


def test_a_list_in_place_of_a_watch_tells_what_is_gone() -> None:
    found = record(gang(2))
    found.apply(Delta.MODIFIED, seen("g-0", "n1"))
    found.replace([seen("g-1", "n1")], "7")
    assert (found.bound, found.evicted, found.present) == (2, 1, 1)


def test_violations_are_all_counted_and_the_first_are_told() -> None:
    found = Violations()
    for number in range(80):
        found.add("bound twice", str(number))
    assert (found.counts["bound twice"], len(found.first["bound twice"])) == (80, 50)


def test_a_list_is_looked_at_as_a_whole() -> None:
    """The pod that came to a node stands in it before the one that has left it."""
    found = record(gang(2), gang(1, name="a"))
    for name in ("g-0", "g-1"):
        found.apply(Delta.MODIFIED, seen(name, "n1"))
    found.replace([seen("a-0", "n1"), seen("g-0", "n1", "Succeeded"), seen("g-1", "n1")], "9")
    assert not found.violations.counts
    found.replace([seen("a-0", "n1"), seen("g-1", "n1")], "10")
    assert not found.violations.counts
    found.expect(gang(1, name="b"))
    found.replace([seen("a-0", "n1"), seen("b-0", "n1"), seen("g-1", "n1")], "11")
    assert found.violations.counts == {words.OVER_ITS_SIZE: 1}
