"""Counters and histograms of our own: a scrape shows what the library's would show."""

from __future__ import annotations

import prometheus_client
import pytest
from hypothesis import given
from hypothesis import strategies as st
from prometheus_client import CollectorRegistry, disable_created_metrics, generate_latest

from vsched.web.metrics.counters import MILLISECONDS, SECONDS
from vsched.web.metrics.tallies import Counter, Histogram

AMOUNTS = st.one_of(st.sampled_from([*SECONDS, *MILLISECONDS]), st.floats(0, 1e6, allow_subnormal=False))
LABELS = st.sampled_from(["binding", "event", 'a "quoted" \\ name\n'])


@pytest.fixture(autouse=True, scope="module")
def _no_created_series() -> None:
    disable_created_metrics()  # type: ignore[no-untyped-call]  # the library leaves this one untyped


@pytest.mark.parametrize("buckets", [SECONDS, MILLISECONDS], ids=["seconds", "milliseconds"])
@given(amounts=st.lists(AMOUNTS), labelled=st.lists(st.tuples(LABELS, AMOUNTS)))
def test_a_histogram_shows_what_the_librarys_would(
    buckets: tuple[float, ...], amounts: list[float], labelled: list[tuple[str, float]]
) -> None:
    ours, theirs = CollectorRegistry(), CollectorRegistry()
    plain = Histogram(ours, "a_seconds", "One thing.", buckets)
    library = prometheus_client.Histogram("a_seconds", "One thing.", registry=theirs, buckets=buckets)
    by_kind = Histogram(ours, "b_seconds", "Another.", buckets, ("kind",))
    library_by_kind = prometheus_client.Histogram("b_seconds", "Another.", ["kind"], registry=theirs, buckets=buckets)
    for amount in amounts:
        plain.observe(amount)
        library.observe(amount)
    for kind, amount in labelled:
        by_kind.labels(kind).observe(amount)
        library_by_kind.labels(kind).observe(amount)
    assert generate_latest(ours) == generate_latest(theirs)


@given(amounts=st.lists(AMOUNTS), labelled=st.lists(st.tuples(LABELS, LABELS, AMOUNTS)))
def test_a_counter_shows_what_the_librarys_would(amounts: list[float], labelled: list[tuple[str, str, float]]) -> None:
    ours, theirs = CollectorRegistry(), CollectorRegistry()
    plain = Counter(ours, "a_total", "One thing.")
    library = prometheus_client.Counter("a_total", "One thing.", registry=theirs)
    by_both = Counter(ours, "b_total", "Another.", ("kind", "code"))
    library_by_both = prometheus_client.Counter("b_total", "Another.", ["kind", "code"], registry=theirs)
    for amount in amounts:
        plain.inc(amount)
        library.inc(amount)
    for kind, code, amount in labelled:
        by_both.labels(kind, code).inc(amount)
        library_by_both.labels(kind, code).inc(amount)
    assert generate_latest(ours) == generate_latest(theirs)


def test_a_series_needs_a_value_for_each_label() -> None:
    counter = Counter(CollectorRegistry(), "a_total", "One thing.", ("kind", "code"))
    with pytest.raises(ValueError, match="kind"):
        counter.labels("binding")
    with pytest.raises(ValueError, match="kind"):
        counter.inc()
