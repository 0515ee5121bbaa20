"""When sessions come to nothing, and when they only seem to."""

from __future__ import annotations

from vsched.daemon.observe.stalling import EVICTING_SECONDS, EVICTING_SESSIONS, MOST_PODS, TRIES, Stalling
from vsched.daemon.words import states as words
from vsched.model.plan import Bind, CycleReport, Evict


def binds(*names: str) -> CycleReport:
    return CycleReport(binds=tuple(Bind(f"uid-{name}", "ns", name, "n1", "ns/g") for name in names))


def evicts(number: int) -> CycleReport:
    return CycleReport(evictions=(Evict(f"v{number}", "ns", f"v{number}", "n1", "ns/low", "preempt", "ns/high"),))


def test_a_pod_that_is_bound_again_and_again_looks_wrong_once_in_so_many_times() -> None:
    stalling = Stalling()
    told = [stalling.see(binds("p", f"other-{number}"), float(number)) for number in range(2 * TRIES)]
    assert [bool(says) for says in told] == ([False] * (TRIES - 1) + [True]) * 2
    assert told[TRIES - 1] == words.not_bound("ns", "p", TRIES)


def test_many_pods_that_are_bound_once_each_look_right() -> None:
    stalling = Stalling()
    assert not any(stalling.see(binds(str(number)), float(number)) for number in range(50))


def test_of_more_pods_than_are_remembered_the_least_recent_ones_are_forgotten() -> None:
    stalling = Stalling(most_tries=3)
    others = [f"other-{number}" for number in range(MOST_PODS - 1)]
    told = [stalling.see(binds(*names), 0.0) for names in (["old", "p"], ["old", "p"], others, ["p"], ["old"])]
    assert [bool(says) for says in told] == [False, False, False, True, False]


def test_evictions_with_nobody_placed_for_long_look_wrong() -> None:
    stalling, step = Stalling(), EVICTING_SECONDS / (EVICTING_SESSIONS - 1)
    told = [stalling.see(evicts(number), number * step) for number in range(EVICTING_SESSIONS)]
    assert [bool(says) for says in told] == [False] * (EVICTING_SESSIONS - 1) + [True]
    assert told[-1] == words.evicting_for_nothing(EVICTING_SESSIONS, EVICTING_SECONDS)
    assert not stalling.see(evicts(99), EVICTING_SECONDS + 1.0)


def test_evictions_look_right_while_somebody_is_placed_in_between() -> None:
    stalling, step = Stalling(), EVICTING_SECONDS / 4
    for number in range(4 * EVICTING_SESSIONS):
        report = binds(str(number)) if number % 4 == 3 else evicts(number)
        assert not stalling.see(report, number * step)


def test_one_session_that_evicts_and_a_long_wait_look_right() -> None:
    stalling = Stalling()
    assert not stalling.see(evicts(0), 0.0)
    assert not any(stalling.see(CycleReport(), float(number)) for number in range(1000))
