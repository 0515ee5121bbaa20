"""Counters of what queues and namespaces have used, and gauges of their shares over time."""

from __future__ import annotations

import pytest
from prometheus_client import CollectorRegistry

from tests.support.small import SmallCluster
from vsched.mirror.accounts.history import HistoryBook
from vsched.model.amounts.resources import CPU, MEMORY, ResourceAxis, Vector
from vsched.model.history.records import HOUR_SECONDS, Holder
from vsched.model.plan import CycleReport, QueueOutcome
from vsched.web.findings import Findings
from vsched.web.metrics.usage_counters import GroupedUse, UsageMetrics

ANN, BOB, ROBOT = Holder("research", "a", "ann"), Holder("research", "b", "bob"), Holder("batch", "b")
AXIS = ResourceAxis(["example.com/gpu"])
GPU = AXIS.column("example.com/gpu")
TOTAL: Vector = {CPU: 8000, MEMORY: 1 << 30, GPU: 4000}
BEGIN = 100 * HOUR_SECONDS + 600


class Counted:
    """A book, and the metrics that are read from it every ten seconds."""

    def __init__(self, *queues: str) -> None:
        self.book = HistoryBook()
        self.now = BEGIN
        self.book.advance(self.now)
        self.book.see(AXIS, TOTAL, {})
        self.findings = Findings()
        cluster = SmallCluster()
        for name in queues:
            cluster.queue(name)
        self.snapshot = cluster.snapshot()
        list(self.findings.taking(self.snapshot, CycleReport(), []))
        self.metrics = UsageMetrics(self.findings)
        self.registry = CollectorRegistry()
        self.registry.register(self.metrics)
        self.metrics.read(self.book.publish(), {})

    def hold(self, holder: Holder, held: Vector | None) -> None:
        self.book.see(AXIS, TOTAL, {holder: held})

    def pass_by(self, seconds: float, step: float = 10.0) -> None:
        end = self.now + seconds
        while self.now < end:
            self.now = min(end, self.now + step)
            self.book.advance(self.now)
            self.metrics.read(self.book.publish(), {})

    def used(self, kind: str, name: str, resource: str = "cpu") -> float | None:
        label = "queue_name" if kind == "queue" else kind
        family = f"vsched_{kind}_used_resource_seconds_total"
        return self.registry.get_sample_value(family, {label: name, "resource": resource})


def test_use_is_counted_in_whole_units_by_queue_and_by_namespace() -> None:
    at = Counted("research", "batch")
    at.hold(ANN, {CPU: 2000, MEMORY: 1 << 20, GPU: 1000})
    at.hold(BOB, {CPU: 500})
    at.hold(ROBOT, {CPU: 1000})
    at.pass_by(100)
    assert at.used("queue", "research") == 250
    assert at.used("queue", "research", "memory") == 100 << 20
    assert at.used("queue", "research", "example.com/gpu") == 100
    assert (at.used("queue", "batch"), at.used("namespace", "b")) == (100, 150)
    assert at.used("namespace", "a") == 200
    assert at.used("queue", "batch", "memory") is None


@pytest.mark.parametrize("step", [10.0, 700.0, 2 * HOUR_SECONDS], ids=["often", "across hours", "seldom"])
def test_counters_go_on_from_hour_to_hour(step: float) -> None:
    at = Counted("research")
    at.hold(ANN, {CPU: 1000})
    at.pass_by(5 * HOUR_SECONDS, step)
    assert at.used("queue", "research") == pytest.approx(5 * HOUR_SECONDS, rel=1e-6)


def test_what_was_counted_before_the_daemon_began_is_not_counted_again() -> None:
    before = Counted("research")
    before.hold(ANN, {CPU: 1000})
    before.pass_by(2 * HOUR_SECONDS)
    metrics = UsageMetrics(before.findings)
    before.registry.unregister(before.metrics)
    before.registry.register(metrics)
    metrics.read(before.book.publish(), {})
    assert before.used("queue", "research") is None
    before.metrics = metrics
    before.pass_by(20)
    assert before.used("queue", "research") == pytest.approx(20)


def test_counters_never_shrink_and_stop_when_nothing_is_held() -> None:
    at = Counted("research")
    at.hold(ANN, {CPU: 1000})
    at.pass_by(50)
    at.hold(ANN, None)
    at.pass_by(3 * HOUR_SECONDS)
    assert at.used("queue", "research") == pytest.approx(50)
    assert at.used("namespace", "a") == pytest.approx(50)


def test_a_queue_that_is_gone_leaves_no_series() -> None:
    at = Counted("batch")
    at.hold(ANN, {CPU: 1000})
    at.pass_by(50)
    assert at.used("queue", "research") is None
    at.metrics.read(at.book.publish(), {"research": (0.1, 0.2, 0.3), "batch": (0.25, None, 0.5)})
    shares = {
        (found.labels["queue_name"], found.labels["kind"]): found.value
        for family in at.registry.collect()
        if family.name == "vsched_queue_cluster_share"
        for found in family.samples
    }
    assert shares == {("batch", "held"): 0.25, ("batch", "waiting"): 0.5}


def test_names_beyond_the_most_count_together() -> None:
    book = HistoryBook()
    book.advance(BEGIN)
    book.see(AXIS, TOTAL, {Holder(f"q{number}", "a"): {CPU: 1000} for number in range(5)})
    found = GroupedUse(lambda holder: holder.queue, most=2)
    found.read(book.publish(), None, anew=True)
    book.advance(BEGIN + 10)
    found.read(book.publish(), None, anew=False)
    assert {name: sums[0] for name, sums in found.totals.items()} == {"q0": 10_000, "q1": 10_000, "other": 30_000}


def test_what_a_plugin_remembers_of_a_queue_is_told() -> None:
    at = Counted("research", "batch")
    outcomes = {"research": QueueOutcome("research", 1, used_times=3.1), "batch": QueueOutcome("batch", 1)}
    list(at.findings.taking(at.snapshot, CycleReport(queues=outcomes), []))
    assert at.registry.get_sample_value("vsched_queue_used_times", {"queue_name": "research"}) == 3.1
    assert at.registry.get_sample_value("vsched_queue_used_times", {"queue_name": "batch"}) is None
