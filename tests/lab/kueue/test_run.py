"""Generators in virtual time: who waits how long, who borrows, who gives back, and who is close to whom."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.support.examples import examples
from tests.support.kueue import RACK, cohorts, generator, queues, replayed, series, topology, workload

ONE_CORE = workload("small", runtime_ms=100)


def test_workloads_that_fit_start_at_once(tmp_path: Path) -> None:
    found = replayed(generator(tmp_path, cohorts(queues(series(4, 10, ONE_CORE))))).accounts
    assert (found.ended, found.wall_ms, found.mean_wait_ms()) == (4, 140, {"small": 0.0})
    assert found.usage_percent() == {"cq": pytest.approx(100 * 4 * 100 / (4 * 140))}


def test_workloads_beyond_the_quota_wait_for_the_first_to_end(tmp_path: Path) -> None:
    found = replayed(generator(tmp_path, cohorts(queues(series(3, 0, ONE_CORE), nominal=1, borrows=None)))).accounts
    assert (found.wall_ms, found.mean_wait_ms()) == (300, {"small": 100.0})
    assert found.usage_percent() == {"cq": 100.0}


def test_a_queue_borrows_up_to_its_limit_and_no_further(tmp_path: Path) -> None:
    lender = queues(series(0, 0, ONE_CORE), name="lender", nominal=4)
    found = replayed(generator(tmp_path, cohorts(queues(series(4, 0, ONE_CORE), nominal=1, borrows=1), lender)))
    assert found.accounts.wall_ms == 200, "two at a time"


def test_cohorts_do_not_borrow_from_each_other(tmp_path: Path) -> None:
    idle = cohorts(queues(series(0, 0, ONE_CORE), nominal=4), name="idle")
    busy = cohorts(queues(series(4, 0, ONE_CORE), nominal=1, borrows=None), name="busy")
    assert replayed(generator(tmp_path, busy, idle)).accounts.wall_ms == 400


@pytest.mark.parametrize(
    ("policy", "wait", "evictions"),
    [
        pytest.param("Any", 0.0, 1, id="it takes back what was borrowed"),
        pytest.param("Never", 970.0, 0, id="without taking back it waits"),
    ],
)
def test_a_queue_below_its_quota(tmp_path: Path, policy: str, wait: float, evictions: int) -> None:
    long = workload("long", runtime_ms=1000)
    terms = {"nominal": 1, "borrows": 1, "reclaimWithinCohort": policy}
    owner = queues(series(1, 30, ONE_CORE), name="owner", **terms)
    found = replayed(generator(tmp_path, cohorts(queues(series(2, 0, long), **terms), owner))).accounts
    assert (found.mean_wait_ms()["small"], found.evictions["long"]) == (wait, evictions)


def test_an_evicted_workload_begins_anew_and_its_last_admission_counts(tmp_path: Path) -> None:
    low = workload("low", runtime_ms=100)
    high = workload("high", runtime_ms=50, priority=100)
    terms = queues(series(1, 0, low), series(1, 60, high), nominal=1, borrows=0)
    found = replayed(generator(tmp_path, cohorts(terms))).accounts
    assert (found.evictions, found.wall_ms) == ({"low": 1}, 60 + 50 + 100)
    assert found.mean_wait_ms() == {"low": 110.0, "high": 0.0}
    assert found.usage_percent() == {"cq": 100.0}, "what was in vain is used as well"


def test_a_queue_that_may_not_preempt_has_its_urgent_workloads_wait(tmp_path: Path) -> None:
    low, high = workload("low", runtime_ms=100), workload("high", runtime_ms=50, priority=100)
    terms = queues(series(1, 0, low), series(1, 60, high), nominal=1, borrows=0, withinClusterQueue="Never")
    found = replayed(generator(tmp_path, cohorts(terms))).accounts
    assert (found.evictions, found.mean_wait_ms()) == ({}, {"low": 0.0, "high": 40.0})


def test_equal_workloads_start_in_the_order_of_their_creation(tmp_path: Path) -> None:
    first, later = workload("first", runtime_ms=100), workload("later", runtime_ms=100)
    terms = queues(series(2, 10, first), series(1, 40, later), nominal=1, borrows=0)
    assert replayed(generator(tmp_path, cohorts(terms))).accounts.mean_wait_ms() == {"first": 45.0, "later": 170.0}


def test_a_workload_that_never_fits_is_left_waiting(tmp_path: Path) -> None:
    terms = queues(series(1, 0, workload("huge", cpu=9)), series(1, 0, ONE_CORE), nominal=4)
    found = replayed(generator(tmp_path, cohorts(terms))).accounts
    assert (found.created, found.ended, found.mean_wait_ms()) == (2, 1, {"huge": None, "small": 0.0})


@pytest.mark.parametrize(
    ("constraint", "wall_ms"),
    [
        pytest.param({"tasConstraint": "required"}, 200, id="one rack holds a workload, so the second waits"),
        pytest.param({"tasConstraint": "preferred"}, 100, id="preferred is not required"),
        pytest.param({"tasConstraint": "balanced", "sliceSize": 2}, 100, id="each slice has its rack"),
        pytest.param({"tasConstraint": "balanced", "sliceSize": 4}, 200, id="a slice as large as the workload"),
        pytest.param({}, 100, id="anywhere"),
    ],
)
def test_closeness_of_the_pods_of_a_workload(tmp_path: Path, constraint: dict[str, object], wall_ms: int) -> None:
    """Two racks with room for 6 pods each, and three workloads of 4 pods: two fit only where one is split."""
    gang = workload("gang", runtime_ms=100, podCount=4, tasLevel=RACK, **constraint)
    terms = queues(series(3, 0, gang), nominal=100)
    found = replayed(generator(tmp_path, cohorts(terms), **topology(racks=2, nodes=3, cpu="2"))).accounts
    assert (found.ended, found.wall_ms) == (3, wall_ms)


def test_a_workload_of_several_pods_is_evicted_as_a_whole(tmp_path: Path) -> None:
    low = workload("low", runtime_ms=100, podCount=2, tasLevel=RACK, tasConstraint="required")
    high = workload("high", runtime_ms=50, priority=100, podCount=1, tasLevel=RACK)
    terms = queues(series(1, 0, low), series(1, 60, high), nominal=2, borrows=0)
    found = replayed(generator(tmp_path, cohorts(terms), **topology())).accounts
    assert (found.evictions, found.wall_ms, found.ended) == ({"low": 1}, 210, 2)


def test_cycles_keep_their_distance_while_workloads_wait(tmp_path: Path) -> None:
    one = generator(tmp_path, cohorts(queues(series(20, 10, ONE_CORE), nominal=2, borrows=0)))
    close, apart = replayed(one), replayed(one, apart_ms=50)
    assert (close.accounts.ended, apart.accounts.ended) == (20, 20)
    assert apart.cycles < close.cycles
    assert apart.accounts.wall_ms >= close.accounts.wall_ms


@settings(max_examples=examples(15), suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    counts=st.lists(st.integers(0, 5), min_size=2, max_size=3),
    cpus=st.lists(st.integers(1, 3), min_size=3, max_size=3),
    borrows=st.integers(0, 4),
)
def test_all_that_fits_ends_and_nobody_uses_more_than_the_cohort_has(
    tmp_path: Path, counts: list[int], cpus: list[int], borrows: int
) -> None:
    classes = [workload(f"w{at}", runtime_ms=20, priority=at, cpu=cpu) for at, cpu in enumerate(cpus)]
    sets = [series(count, 10, one) for count, one in zip(counts, classes, strict=False)]
    found = generator(tmp_path, cohorts(queues(*sets, series(1, 5, ONE_CORE), count=2, nominal=3, borrows=borrows)))
    accounts = replayed(found).accounts
    assert accounts.ended == accounts.created == len(found.arrivals())
    assert (accounts.usage_percent()["cq"] or 0.0) <= 100.0
