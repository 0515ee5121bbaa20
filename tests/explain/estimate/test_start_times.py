"""When waiting jobs may start: timelines worked out by hand, and what holds of all of them."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.clusters import contended
from tests.support.declared import kept
from tests.support.examples import examples
from tests.support.plans import DEFAULT_POLICY, NOW, manifests, mirror, policy_of
from tests.support.taking import taking
from vsched.explain.estimate import words
from vsched.explain.estimate.smallest import smallest_part
from vsched.explain.estimate.start_times import estimate
from vsched.explain.explaining import explain
from vsched.explain.order import waiting_order
from vsched.explain.records import Estimate, Explanation, Whereabouts
from vsched.explain.simulation import Goal
from vsched.framework.cycle import run_cycle
from vsched.framework.policy import Policy
from vsched.model.frozen import freeze
from vsched.settings.built_in import REGISTRY

TAKES = "vsched.io/expected-duration="
FULL = "node n1 cpu=4\njob ns/b min=1 phase=Running"
BEFORE = "\n".join(
    f"job ns/train-{number} min=1\npods ns/train-{number} 1 cpu=1 on=n1 succeeded started=9000 ended={9000 - took}"
    for number, took in enumerate(range(100, 1100, 100))
)
"""Ten of them, which took 100 s to 1000 s."""
SHARED = f"{FULL} {TAKES}1h\npods ns/b 2 cpu=1 on=n1 started=600\n"
WAITS = "job ns/a min=2 pods=2 cpu=1"
CAPPED = "node n1 cpu=9\nqueue q capability=cpu:2\njob ns/b min=1 phase=Running queue=q"
NONE = (None, None)


def foreseen(text: str, key: str = "ns/a", policy: Policy = DEFAULT_POLICY) -> Estimate:
    """When a job or a pod that waits may start."""
    found = whole(text, key, policy)
    assert found.start is not None, found
    return found.start


def whole(text: str, key: str, policy: Policy = DEFAULT_POLICY) -> Explanation:
    """Why a job or a pod waits, and when it may start."""
    snapshot = kept(freeze(mirror(manifests(text)).snapshot(NOW)))
    report = run_cycle(snapshot, policy, REGISTRY)
    namespace, _, name = key.partition("/")
    found = explain(snapshot, policy, REGISTRY, report, namespace, name, simulations=0, foreseen=lambda: False)
    assert found is not None
    return found


def span(found: Estimate) -> tuple[float | None, float | None]:
    """Both ends in seconds from now."""
    earliest, latest = (None if at is None else round(at - NOW, 3) for at in (found.earliest, found.latest))
    return earliest, latest


MINIMUM = taking(
    "enqueue, allocate, preempt",
    "priority gang-P minruntime",
    "predicates proportion",
    plugins={"minruntime": {"preemptMinRuntime": "10m"}},
)


def test_others_leave_once_their_minimum_run_time_is_over() -> None:
    text = "class high 9\nnode n1 cpu=2\njob ns/b phase=Running\npods ns/b 2 cpu=1 on=n1 started=540"

    found = span(foreseen(f"{text}\njob ns/a min=2 pods=2 cpu=1 class=high", policy=MINIMUM))
    assert found[0] is not None
    assert found[1] is not None
    assert 55.0 <= found[0] <= 60.0 <= found[1] <= 65.0


@pytest.mark.parametrize(
    ("text", "expected", "says"),
    [
        pytest.param(
            f"{FULL} {TAKES}1h\npods ns/b 4 cpu=1 on=n1 started=600\njob ns/a min=2 pods=2 cpu=1",
            (3000.0, 3000.0),
            "about 08:50 UTC (in 50m), if ns/b ends as declared (1h)",
            id="once the job ends that has all of the node",
        ),
        pytest.param(
            f"{FULL}\npods ns/b 2 cpu=1 on=n1 started=600 {TAKES}1h\npods ns/b 2 cpu=1 on=n1 started=600 {TAKES}2h\n"
            "job ns/a min=3 pods=3 cpu=1",
            (6600.0, 6600.0),
            "if ns/b ends as declared",
            id="a gang needs more than what ends first",
        ),
        pytest.param(
            f"{FULL} {TAKES}1h\npods ns/b 4 cpu=1 on=n1 started=600\n"
            f"job ns/c min=4 pods=4 cpu=1 age=60 {TAKES}30m\njob ns/a min=2 pods=2 cpu=1",
            (3000.0, 4800.0),
            "after 1 job that goes first",
            id="the one before it takes the places first and lasts, or is too large for what ends first",
        ),
        pytest.param(
            f"{FULL} {TAKES}1h\npods ns/b 4 cpu=1 on=n1 started=600\n"
            "job ns/c min=4 pods=4 cpu=1 age=60\njob ns/a min=2 pods=2 cpu=1",
            NONE,
            f"unknown: {words.NO_WORK_WOULD_FREE}",
            id="the one before it takes the places, and nobody knows for how long",
        ),
        pytest.param(
            f"{FULL}\npods ns/b 4 cpu=1 on=n1 started=600\njob ns/a min=2 pods=2 cpu=1",
            NONE,
            words.unknown_durations(["ns/b"], 9),
            id="nobody knows how long the job runs that is in its way",
        ),
        pytest.param(
            f"{FULL}\npods ns/b 4 cpu=1 on=n1 started=600 deadline=900\njob ns/a min=2 pods=2 cpu=1",
            (0.0, 300.0),
            "between now and 08:05 UTC (in 5m at the latest), if ns/b ends by its deadline",
            id="a deadline is the latest",
        ),
        pytest.param(
            f"{FULL} {TAKES}5m\npods ns/b 4 cpu=1 on=n1 started=600\njob ns/a min=2 pods=2 cpu=1",
            (0.0, None),
            "how late is unknown, as ns/b has already run longer than expected",
            id="a job that runs for longer than it said may end now, or late",
        ),
        pytest.param(
            f"{FULL.replace('ns/b', 'ns/train-99')}\n{BEFORE}\n"
            "pods ns/train-99 4 cpu=1 on=n1 started=550 restart=Never\njob ns/a min=2 pods=2 cpu=1",
            (0.0, 630.0),
            "if ns/train-99 ends as similar work did before",
            id="as others of its name that ran as long already",
        ),
        pytest.param(
            f"{CAPPED} {TAKES}1h\npods ns/b 2 cpu=1 on=n1 started=600\njob ns/a min=2 pods=2 cpu=1 queue=q",
            (3000.0, 3000.0),
            "about 08:50 UTC",
            id="a queue at its capability has room again once its own work ends",
        ),
        pytest.param(
            "node n1 cpu=4\nnode n2 cpu=4\n"
            f"job ns/b min=1 phase=Running\npods ns/b 2 cpu=2 on=n1 started=0 {TAKES}1h\n"
            f"pods ns/b 2 cpu=2 on=n2 started=0 {TAKES}2h\njob ns/a min=1 pods=1 cpu=4",
            (3600.0, 3600.0),
            "in 1h",
            id="one whole node is enough",
        ),
        pytest.param(
            f"node n1 cpu=1\njob ns/b min=1 phase=Running {TAKES}1m\npods ns/b 1 cpu=1 on=n1 started=30\n"
            + "\n".join(f"job ns/w{at} min=1 pods=1 cpu=1 age={90 - at} {TAKES}10s" for at in range(5))
            + "\njob ns/a min=1 pods=1 cpu=1",
            (80.0, 80.0),
            "after 5 jobs that go first",
            id="one after the other in their order",
        ),
        pytest.param(
            f"node n1 cpu=2\njob ns/b min=1 phase=Running\npods ns/b 1 cpu=1 on=n1 started=7 {TAKES}10s\n"
            f"pods ns/b 1 cpu=1 on=n1 started=6 {TAKES}10s\njob ns/a min=2 pods=2 cpu=1 age=9\n"
            f"job ns/c min=1 pods=1 cpu=1 {TAKES}1000s",
            (1003.0, 1004.0),
            "after 1 job that goes first",
            id="what ends a second earlier is taken by somebody smaller",
        ),
        pytest.param(
            f"{SHARED}job ns/u min=1 phase=Running\npods ns/u 2 cpu=1 on=n1 started=600 restart=Never\n{WAITS}",
            (0.0, 3000.0),
            "ends as declared (1h); earlier if ns/u ends",
            id="work of unknown duration may end at once",
        ),
        pytest.param(
            f"{SHARED}job ns/u min=1 phase=Running\npods ns/u 2 cpu=1 on=n1 started=600 restart=Always\n{WAITS}",
            (3000.0, 3000.0),
            "about 08:50 UTC (in 50m)",
            id="a service does not end",
        ),
        pytest.param(
            f"{SHARED}pods ns/b 2 cpu=1 on=n1 started=600\nnode n2 cpu=2\njob ns/u min=1 phase=Running\n"
            f"pods ns/u 2 cpu=1 on=n2 started=600 restart=Never\n{WAITS} selector=kubernetes.io/hostname:n1",
            (3000.0, 3000.0),
            "about 08:50 UTC (in 50m)",
            id="work of unknown duration that is not in its way",
        ),
        pytest.param(
            f"{SHARED}job ns/c min=1 age=60\npods ns/c 1 cpu=1 restart=Never\njob ns/d min=1 age=50\n"
            f"pods ns/d 1 cpu=1 restart=Never\n{WAITS}",
            (0.0, 3000.0),
            "after 2 jobs that go first; earlier if some",
            id="so may work that goes first",
        ),
        pytest.param(
            f"{FULL} {TAKES}87601h\npods ns/b 4 cpu=1 on=n1 started=0\njob ns/a min=2 pods=2 cpu=1",
            NONE,
            words.declared_for_years(10),
            id="longer than anybody plans",
        ),
        pytest.param(
            f"{FULL}\npods ns/b 4 cpu=1 on=n1 started=600 deadline=500\njob ns/a min=2 pods=2 cpu=1",
            (0.0, None),
            "how late is unknown, as ns/b has already run longer than expected",
            id="a deadline that nobody keeps",
        ),
        pytest.param(
            f"{FULL}\npods ns/b 4 cpu=1 on=n1\nnode n2 cpu=9\n"
            + "\n".join(f"job ns/s{at} min=1 phase=Running\npods ns/s{at} 1 cpu=1 on=n2" for at in range(9))
            + "\njob ns/a min=2 pods=2 cpu=2 selector=kubernetes.io/hostname:n1",
            NONE,
            words.unknown_durations(["ns/b"], 9),
            id="of those of unknown duration the one that is in its way",
        ),
    ],
)
def test_timelines(text: str, expected: tuple[float | None, float | None], says: str) -> None:
    found = foreseen(text)
    assert (span(found), says in found.message) == (expected, True), found.message


def test_before_any_work_has_finished_declared_times_are_taken_for_half_of_the_truth_at_worst() -> None:
    text = f"{FULL} {TAKES}1h\npods ns/b 4 cpu=1 on=n1 started=600\njob ns/a min=2 pods=2 cpu=1"
    snapshot = freeze(mirror(manifests(text)).snapshot(NOW))
    report = run_cycle(snapshot, DEFAULT_POLICY, REGISTRY)
    order = waiting_order(snapshot, DEFAULT_POLICY, REGISTRY)
    found = estimate(snapshot, DEFAULT_POLICY, REGISTRY, report, Goal("ns/a"), order)
    assert (found.earliest, found.latest) == (NOW + 3000, NOW + 6600)
    assert "ends after 1 to 2 times the declared 1h; it is not known yet" in found.message


def test_a_pod_waits_for_a_place_of_its_own() -> None:
    text = (
        f"{FULL}\npods ns/b 2 cpu=1 on=n1 started=0 {TAKES}1h\npods ns/b 2 cpu=1 on=n1 started=0 {TAKES}2h\n"
        "job ns/a min=1 phase=Running\npods ns/a 1 cpu=3"
    )
    assert span(foreseen(text, "ns/a.0")) == (7200.0, 7200.0)


def test_work_that_others_are_made_to_leave_for_starts_at_once() -> None:
    taking = policy_of("priority gang", "predicates", actions="enqueue, allocate, preempt, backfill")
    jobs = f"{FULL}\npods ns/b 4 cpu=1 on=n1 priority=1\njob ns/a min=1 class=high\npods ns/a 1 cpu=1 priority=9"
    text = f"class high 9\n{jobs}"
    found = whole(text, "ns/a", taking)
    assert found.state is Whereabouts.STARTING
    assert found.start is None


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(f"{FULL} {TAKES}1h\npods ns/b 4 cpu=1 on=n1\njob ns/a min=1 pods=1 cpu=5", id="it never starts"),
        pytest.param("node n1 cpu=4\njob ns/a min=1\npods ns/a 1 cpu=1 on=n1", id="it runs"),
        pytest.param("node n1 cpu=4\njob ns/a min=1 pods=1 cpu=1", id="it has its place"),
    ],
)
def test_nothing_is_estimated_where_there_is_nothing_to_wait_for(text: str) -> None:
    assert whole(text, "ns/a").start is None


def test_whoever_has_no_time_is_told_so() -> None:
    text = f"{FULL} {TAKES}1h\npods ns/b 4 cpu=1 on=n1 started=600\njob ns/a min=2 pods=2 cpu=1"
    assert _goal(text, "ns/a", spent_after=0).message.startswith("unknown: too many jobs go first")
    half = _goal(text, "ns/a", spent_after=1)
    assert span(half) == (2400.0, None)
    assert "too many jobs go first to estimate how late" in half.message
    # Found roughly, so the range is as wide as what was taken at once.
    assert span(_goal(text, "ns/a", spent_after=2)) == (2400.0, 3750.0)


def test_no_time_for_the_end_of_unknown_work_means_that_it_may_start_at_once() -> None:
    text = f"{SHARED}job ns/u min=1 phase=Running\npods ns/u 2 cpu=1 on=n1 started=600 restart=Never\n{WAITS}"
    assert span(_goal(text, "ns/a", spent_after=2)) == (0.0, 3750.0)


def test_no_time_to_look_for_those_in_the_way_is_not_the_same_as_none() -> None:
    text = f"{FULL}\npods ns/b 4 cpu=1 on=n1\njob ns/c min=1 {TAKES}1h\npods ns/c 1 cpu=0 on=n1"
    text += "\njob ns/a min=1 pods=1 cpu=1"
    # Nothing comes of the end of c, and then there is no time left.
    assert "too many jobs go first" in _goal(text, "ns/a", spent_after=1).message
    assert "1 running job of unknown duration (ns/b)" in _goal(text, "ns/a").message


@pytest.mark.parametrize(
    ("needed", "most", "found"),
    [
        pytest.param("d", 99, "d", id="one of them"),
        pytest.param("bf", 99, "fb", id="two of them"),
        pytest.param("abcdef", 99, "fedcab", id="more than are sought"),
        pytest.param("bf", 0, "abcdef", id="no time at all"),
        pytest.param("bf", 5, "fabcde", id="no time for the second"),
    ],
)
def test_the_few_that_are_in_the_way_are_found(needed: str, most: int, found: str) -> None:
    asked: list[Sequence[str]] = []

    def enough(parts: Sequence[str]) -> bool | None:
        asked.append(parts)
        return set(needed) <= set(parts) if len(asked) <= most else None

    assert "".join(smallest_part("abcdef", enough)) == found


@settings(max_examples=examples(15), deadline=None)
@given(text=contended(), long=st.lists(st.integers(1, 400), min_size=9, max_size=9), data=st.data())
def test_estimates_are_ranges_from_now_on(text: str, long: list[int], data: st.DataObject) -> None:
    lasting = _lasting(text, long)
    waiting = _waiting(lasting)
    if waiting:
        found = _goal(lasting, data.draw(st.sampled_from(waiting)))
        assert (found.earliest is None) <= (found.latest is None)
        if found.earliest is not None:
            assert found.earliest >= NOW
        if found.earliest is not None and found.latest is not None:
            assert found.earliest <= found.latest


@settings(max_examples=examples(15), deadline=None)
@given(
    free=st.lists(st.integers(1, 500), min_size=1, max_size=6),
    sooner=st.integers(0, 5),
    size=st.integers(1, 6),
)
def test_what_ends_earlier_lets_it_start_no_later(free: list[int], sooner: int, size: int) -> None:
    """With nobody before it, on nodes that are all alike."""

    def text(minutes: list[int]) -> str:
        lines = [f"node n{at} cpu=1" for at in range(len(minutes))]
        for at, long in enumerate(minutes):
            lines.append(f"job ns/r{at} min=1 phase=Running {TAKES}{long}m\npods ns/r{at} 1 cpu=1 on=n{at} started=0")
        return "\n".join([*lines, f"job ns/a min={size} pods={size} cpu=1"])

    size = min(size, len(free))
    before = sorted(free)[size - 1] * 60.0
    assert span(_goal(text(free), "ns/a")) == (before, before)
    at = sooner % len(free)
    earlier = [*free[:at], max(1, free[at] // 2), *free[at + 1 :]]
    found = _goal(text(earlier), "ns/a")
    assert found.latest is not None
    assert found.latest - NOW <= before


def _goal(text: str, key: str, spent_after: int | None = None) -> Estimate:
    snapshot = kept(freeze(mirror(manifests(text)).snapshot(NOW)))
    report = run_cycle(snapshot, DEFAULT_POLICY, REGISTRY)
    order = waiting_order(snapshot, DEFAULT_POLICY, REGISTRY)
    asked: list[None] = []

    def spent() -> bool:
        asked.append(None)
        return spent_after is not None and len(asked) > spent_after

    return estimate(snapshot, DEFAULT_POLICY, REGISTRY, report, Goal(key), order, spent)


def _lasting(text: str, long: list[int]) -> str:
    """The same cluster with jobs that say how long they take."""
    lines, at = [], 0
    for line in text.splitlines():
        if line.startswith("job "):
            line, at = f"{line} {TAKES}{long[at % len(long)]}m", at + 1
        lines.append(line)
    return "\n".join(lines)


def _waiting(text: str) -> list[str]:
    snapshot = mirror(manifests(text)).snapshot(NOW)
    report = run_cycle(snapshot, DEFAULT_POLICY, REGISTRY)
    return [key for key, one in report.jobs.items() if one.pending and one.ready < one.min_member]
