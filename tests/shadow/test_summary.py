"""Findings are added up, within bounds, and a log of them gives the same sums."""

from __future__ import annotations

import msgspec
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.examples import examples
from vsched.shadow.findings import (
    ALIKE_SECONDS,
    Evicted,
    Finding,
    Interval,
    Partial,
    QueueShare,
    ShadowBegan,
    Started,
    StoppedWaiting,
    WouldEvict,
    WouldStart,
)
from vsched.shadow.summary import SHOWN_MAX, summed

jobs = st.sampled_from(["ns/a", "ns/b", "ns/c"])
times = st.floats(1.0, 1e6, allow_nan=False)
queues = st.dictionaries(jobs, st.builds(QueueShare, times, times, times), max_size=2)
findings = st.one_of(
    st.builds(ShadowBegan, times, st.just(("volcano",)), st.just("hash")),
    st.builds(WouldStart, times, jobs, st.just("q"), st.integers(1, 9), times),
    st.builds(
        Started,
        times,
        jobs,
        st.just("q"),
        st.integers(1, 9),
        times,
        st.just(0.0) | times,
        st.sampled_from(["", "Quota"]),
    ),
    st.builds(StoppedWaiting, times, jobs),
    st.builds(WouldEvict, times, jobs, st.integers(1, 9), st.just("preempt"), jobs),
    st.builds(Evicted, times, jobs, jobs, st.just("n1"), times, st.booleans(), st.booleans()),
    st.builds(Partial, times, jobs, st.just("q"), times, st.integers(1, 9), st.integers(1, 9)),
    st.builds(Interval, times, times, st.dictionaries(st.sampled_from(["cpu", "gpu"]), times), queues),
)


@settings(max_examples=examples(100), deadline=None)
@given(st.lists(findings, max_size=40))
def test_findings_that_went_through_a_log_give_the_same_sums(found: list[Finding]) -> None:
    decoder: msgspec.json.Decoder[Finding] = msgspec.json.Decoder(Finding)
    read = [decoder.decode(msgspec.json.encode(one)) for one in found]
    assert read == found
    assert summed(read).shown() == summed(found).shown()


@settings(max_examples=examples(100), deadline=None)
@given(st.lists(findings, max_size=40))
def test_every_start_has_one_verdict_and_every_eviction_one_outcome(found: list[Finding]) -> None:
    shown = summed(found).shown()
    starts = [one for one in found if isinstance(one, Started)]
    counts = shown.starts
    assert counts.later + counts.alike + counts.waits_here + counts.unseen == len(starts)
    assert counts.later == sum(bool(one.decided) and one.at - one.decided > ALIKE_SECONDS for one in starts)
    evictions = [one for one in found if isinstance(one, Evicted)]
    assert shown.evictions.all == len(evictions)
    assert shown.evictions.in_vain == len(shown.in_vain) == sum(one.back and not one.used for one in evictions)


def test_the_longest_waits_are_named_and_the_others_counted() -> None:
    found: list[Finding] = [
        WouldStart(float(number), f"ns/j{number}", "q", 1, 0.0) for number in range(1, SHOWN_MAX + 3)
    ]
    found += [Started(1000.0 + number, f"ns/s{number}", "q", 1, 1.0, 1.0) for number in range(SHOWN_MAX + 2)]
    shown = summed(found).shown()
    assert [one.job for one in shown.waiting] == [f"ns/j{number}" for number in range(1, SHOWN_MAX + 1)]
    assert shown.waiting_more == 2
    assert [one.job for one in shown.later] == [f"ns/s{number}" for number in range(SHOWN_MAX + 1, 1, -1)]


def test_the_interval_that_is_under_way_is_shown_and_not_added() -> None:
    summary = summed([Interval(10.0, 0.5, {"cpu": 1.0}, {"q": QueueShare(10.0, 5.0)})])
    more = Interval(20.0, 10.0, {"cpu": 2.0, "gpu": 1.0}, {"q": QueueShare(10.0, 15.0, 3.0)})
    for _ in range(2):
        shown = summary.shown(more)
        assert shown.idle == {"cpu": 3.0, "gpu": 1.0}
        assert [(one.share, one.seconds, one.short_seconds) for one in shown.queues] == [(1.0, 20.0, 3.0)]
        assert (shown.since, shown.until, shown.gaps) == (0.5, 20.0, 0)


def test_the_time_between_two_intervals_was_not_seen() -> None:
    found: list[Finding] = [Interval(10.0, 5.0), Interval(20.0, 10.0), ShadowBegan(59.0), Interval(99.0, 60.0)]
    shown = summed(found).shown()
    assert (shown.gaps, shown.gap_seconds) == (1, 40.0)
    shown = summed(found[:3]).shown(Interval(61.0, 60.0))
    assert (shown.gaps, shown.gap_seconds) == (1, 40.0)


def test_what_ended_before_does_not_count_and_what_lasts_does() -> None:
    found: list[Finding] = [
        ShadowBegan(1.0, ("volcano",), "hash"),
        WouldStart(2.0, "ns/a", "q", 1, 0.0),
        WouldStart(2.0, "ns/b", "q", 1, 0.0),
        Started(9.0, "ns/b", "q", 1, 2.0, 2.0),
        WouldEvict(9.0, "ns/c", 2, "preempt", "ns/a"),
        Started(20.0, "ns/d", "q", 1, 15.0, 15.0),
    ]
    shown = summed(found, since=10.0).shown()
    assert shown.schedulers == ("volcano",)
    assert [(one.job, one.decided) for one in shown.waiting] == [("ns/a", 2.0)]
    assert (shown.starts.later, shown.would_evict_pods) == (1, 0)
