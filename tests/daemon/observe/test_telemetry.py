"""What is counted and what is worth a line."""

from __future__ import annotations

import pytest
from structlog.testing import capture_logs

from tests.support.small import SmallCluster
from vsched.clock import FakeClock
from vsched.daemon.observe.telemetry import Telemetry, Timing
from vsched.daemon.policy.reload import PolicyReading
from vsched.daemon.triggers import Reason
from vsched.daemon.words import log as words
from vsched.model.plan import Bind, CycleReport, Evict, JobOutcome, Nominate
from vsched.writes.bindings import BindOutcome, Outcome
from vsched.writes.evictions import EvictionOutcome, EvictionVerdict

TIMING = Timing(Reason.CHANGE, 0.001, 0.002, 0.001)


def placed(count: int = 1) -> CycleReport:
    binds = tuple(Bind(f"ns-g-{number}", "ns", f"g-{number}", "n1", "ns/g") for number in range(count))
    spans = (
        ("action", "allocate", 0.001),
        ("open", "gang", 0.0005),
        ("plugin", "gang", 0.0007),
        ("session", "open", 0.0001),
    )
    return CycleReport(binds=binds, spans=spans)


def small(created: float = 0.0) -> SmallCluster:
    cluster = SmallCluster().node("n1")
    job = cluster.job("g", 0)
    cluster.task(job, "g-0", cluster.shape(), created=created)
    return cluster


def test_a_hundred_sessions_a_second_are_a_line_a_second() -> None:
    clock = FakeClock()
    telemetry, snapshot = Telemetry(clock), small().snapshot()
    with capture_logs() as lines:
        for _ in range(200):
            list(telemetry.telling(snapshot, placed(3), TIMING))
            clock.advance(0.01)
        clock.advance(1.0)
        list(telemetry.telling(snapshot, CycleReport(), TIMING))
    assert 2 <= len(lines) <= 4
    assert sum(line["placed"] for line in lines) == 600


def test_sessions_without_placements_are_silent() -> None:
    telemetry = Telemetry(FakeClock())
    with capture_logs() as lines:
        list(telemetry.telling(small().snapshot(), CycleReport(), TIMING))
    assert lines == []


def test_thousands_of_failed_bindings_are_a_few_lines_that_count_the_rest() -> None:
    clock = FakeClock()
    telemetry = Telemetry(clock)
    failed = Outcome(placed().binds[0], BindOutcome.GAVE_UP, 503, "overloaded")
    with capture_logs() as lines:
        for _ in range(1000):
            telemetry.outcome(failed)
        clock.advance(1.0)
        telemetry.outcome(failed)
    assert len(lines) == 6
    assert lines[-1]["unsaid"] == 995
    assert telemetry.registry.get_sample_value("vsched_bindings_total", {"verdict": "gave-up"}) == 1001


def evict(number: int, action: str = "preempt", beneficiary: str = "ns/b") -> Evict:
    return Evict(f"u-{number}", "ns", f"v-{number}", "n1", "ns/g", action, beneficiary)


def test_victims_are_counted_by_action_and_by_who_takes_their_room() -> None:
    telemetry = Telemetry(FakeClock())
    value = telemetry.registry.get_sample_value
    taken = (evict(0), evict(1), evict(2, beneficiary="ns/c"), evict(3, "reclaim"))
    list(telemetry.telling(small().snapshot(), CycleReport(evictions=taken), TIMING))
    assert not value("volcano_eviction_transactions_total", {"action": "preempt"}), "nobody has left yet"
    assert telemetry.history.rows()[-1].evictions == 4
    for one in taken:
        telemetry.eviction(EvictionOutcome(one, EvictionVerdict.EVICTED, 201))
    assert value("volcano_eviction_transactions_total", {"action": "preempt"}) == 2
    assert value("volcano_eviction_transactions_total", {"action": "reclaim"}) == 1
    assert value("volcano_total_preemption_attempts") == 2
    assert value("volcano_pod_preemption_victims") == 1


def test_what_the_api_server_refuses_is_counted_as_refused_alone() -> None:
    telemetry = Telemetry(FakeClock())
    value = telemetry.registry.get_sample_value
    taken = (evict(0), evict(1), evict(2, beneficiary="ns/c"))
    list(telemetry.telling(small().snapshot(), CycleReport(evictions=taken), TIMING))
    for one in taken[1:]:
        telemetry.eviction(EvictionOutcome(one, EvictionVerdict.REFUSED_NOW, 429))
    assert not value("volcano_eviction_transactions_total", {"action": "preempt"})
    assert not value("volcano_total_preemption_attempts")
    assert telemetry.history.evicted == 0
    assert telemetry.history.rows()[-1].evictions == 1
    telemetry.eviction(EvictionOutcome(taken[0], EvictionVerdict.EVICTED, 201))
    assert value("volcano_eviction_transactions_total", {"action": "preempt"}) == 1
    assert value("volcano_total_preemption_attempts") == value("volcano_pod_preemption_victims") == 1
    assert value("vsched_evictions_total", {"action": "preempt", "verdict": "refused-now"}) == 2


def test_evictions_that_fail_are_told_with_their_reason_and_those_that_do_not_only_counted() -> None:
    telemetry = Telemetry(FakeClock())
    with capture_logs() as lines:
        telemetry.eviction(EvictionOutcome(evict(0), EvictionVerdict.EVICTED, 201))
        telemetry.eviction(EvictionOutcome(evict(1), EvictionVerdict.REFUSED_NOW, 429, "a budget", asked_seconds=10.0))
    [told] = [line for line in lines if line["log_level"] == "warning"]
    assert (told["event"], told["pod"], told["message"]) == ("eviction failed", "ns/v-1", "a budget")
    assert (told["verdict"], told["action"], told["beneficiary"]) == ("refused-now", "preempt", "ns/b")
    for verdict in ("evicted", "refused-now"):
        labels = {"action": "preempt", "verdict": verdict}
        assert telemetry.registry.get_sample_value("vsched_evictions_total", labels) == 1


def test_the_way_of_a_pod_is_measured_from_its_creation() -> None:
    clock = FakeClock(now=1000.0)
    telemetry = Telemetry(clock)
    assert len(list(telemetry.assumed(small(created=998.0).snapshot(), placed()))) == 1
    clock.advance(1.0)
    telemetry.outcome(Outcome(placed().binds[0], BindOutcome.BOUND, 201, seconds=1.0))
    value = telemetry.registry.get_sample_value
    for stage, milliseconds in (("Assumed", 2000.0), ("Bound", 3000.0)):
        assert value("volcano_task_scheduling_latency_milliseconds_sum", {"stage": stage}) == milliseconds
    assert value("volcano_schedule_attempts_total", {"result": "scheduled"}) == 1


@pytest.mark.parametrize(
    ("name", "labels"),
    [
        ("volcano_action_scheduling_latency_milliseconds_count", {"action": "allocate"}),
        ("volcano_plugin_scheduling_latency_milliseconds_count", {"plugin": "gang", "OnSession": "OnSessionOpen"}),
        ("vsched_plugin_seconds_count", {"plugin": "gang"}),
        ("volcano_open_session_duration_milliseconds_count", {}),
        ("volcano_e2e_scheduling_latency_milliseconds_count", {}),
        ("vsched_cycle_seconds_count", {"reason": "change"}),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_every_part_of_a_session_is_measured(name: str, labels: dict[str, str]) -> None:
    telemetry = Telemetry(FakeClock())
    list(telemetry.telling(small().snapshot(), placed(), TIMING))
    assert telemetry.registry.get_sample_value(name, labels) == 1


def test_the_same_failure_has_one_traceback() -> None:
    telemetry = Telemetry(FakeClock())
    with capture_logs() as lines:
        for _ in range(3):
            telemetry.session_failed(ZeroDivisionError("a bug"), 1.0)
        telemetry.session_failed(KeyError("another"), 1.0)
    assert ["exc_info" in line for line in lines] == [True, False, False, True]


def test_readings_of_the_policy_are_told_with_their_problems_and_warnings() -> None:
    telemetry = Telemetry(FakeClock())
    with capture_logs() as lines:
        telemetry.process.reading(PolicyReading(False, 0.0, 1, problems=("f:3: unknown plugin",)))
        telemetry.process.reading(PolicyReading(True, 0.0, 2, "gang removed", warnings=("f:1: surprising",)))
    assert [line["log_level"] for line in lines] == ["error", "info", "warning"]
    assert telemetry.registry.get_sample_value("vsched_policy_generation") == 2
    assert telemetry.registry.get_sample_value("vsched_policy_reloads_total", {"result": "failure"}) == 1


def test_evictions_in_vain_are_counted_and_told() -> None:
    clock, cluster = FakeClock(), small()
    cluster.task(cluster.jobs["ns/g"], "waits", cluster.shape())
    telemetry = Telemetry(clock, task_of=cluster.jobs["ns/g"].tasks.get)
    taken = CycleReport(
        evictions=(evict(0, beneficiary="ns/g"), evict(1, "reclaim", beneficiary="ns/g")),
        nominations=(Nominate("ns-waits", "ns", "waits", "n1", "ns/g"),),
    )
    list(telemetry.telling(cluster.snapshot(), taken, TIMING))
    for eviction in taken.evictions:
        telemetry.eviction(EvictionOutcome(eviction, EvictionVerdict.EVICTED, 201))
    with capture_logs() as lines:
        for _ in range(70):
            clock.advance(1.0)
            list(telemetry.telling(cluster.snapshot(), CycleReport(), TIMING))
    [told] = [line for line in lines if line["event"] == words.WASTED]
    assert (told["beneficiary"], told["node"], told["evictions"]) == ("ns/g", "n1", 2)
    for action in ("preempt", "reclaim"):
        assert telemetry.registry.get_sample_value("vsched_useless_evictions_total", {"action": action}) == 1


def test_the_way_back_through_the_watch_is_timed_from_the_answer() -> None:
    clock = FakeClock()
    telemetry = Telemetry(clock)
    telemetry.awaiting("u")
    clock.advance(0.25)
    telemetry.arrived("u")
    telemetry.arrived("u")
    telemetry.arrived("somebody else")
    assert telemetry.registry.get_sample_value("vsched_watch_lag_seconds_count") == 1
    assert telemetry.registry.get_sample_value("vsched_watch_lag_seconds_sum") == 0.25


def test_a_job_is_timed_from_its_creation_to_when_it_is_first_seen_running() -> None:
    clock, cluster = FakeClock(now=1000.0), SmallCluster().node("n1")
    cluster.job("g", 1, created=997.0)
    telemetry = Telemetry(clock)

    def outcome(phase: str) -> CycleReport:
        return CycleReport(jobs={"ns/g": JobOutcome("ns/g", "default", phase, 1, 0, 1, 0, 0, 0)})

    for phase in ("Inqueue", "Running", "Running"):
        list(telemetry.telling(cluster.snapshot(), outcome(phase), TIMING))
    value = telemetry.registry.get_sample_value
    assert value("volcano_e2e_job_scheduling_latency_milliseconds_count") == 1
    assert value("volcano_e2e_job_scheduling_latency_milliseconds_sum") == 3000.0
    assert value("volcano_job_retry_counts", {"job_id": "ns/g"}) == 3
