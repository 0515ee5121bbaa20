"""Which queues and namespaces have series of their own, where there are more than may have some."""

from __future__ import annotations

from prometheus_client import CollectorRegistry

from tests.support.plans import manifests, mirror, policy_of
from vsched.framework.cycle import run_cycle
from vsched.settings.built_in import REGISTRY
from vsched.web.findings import Findings
from vsched.web.metrics.gauges import Gauges
from vsched.web.metrics.listing import Listing


def test_all_are_listed_where_there_is_room() -> None:
    assert Listing(3).choose({"b": 0.0, "a": 1.0, "c": 0.0}) == (["a", "b", "c"], [])


def test_those_that_hold_most_come_first() -> None:
    assert Listing(2).choose({"a": 0.0, "b": 0.1, "c": 0.3, "d": 0.2}) == (["c", "d"], ["a", "b"])


def test_who_is_listed_stays_listed_though_another_holds_more() -> None:
    listing = Listing(2)
    listing.choose({"a": 0.0, "b": 0.1, "c": 0.3, "d": 0.2})
    assert listing.choose({"a": 0.0, "b": 0.9, "c": 0.3, "d": 0.01}) == (["c", "d"], ["a", "b"])


def test_who_has_become_idle_makes_room_for_who_is_busy() -> None:
    listing = Listing(2)
    listing.choose({"b": 0.1, "c": 0.3, "d": 0.2})
    assert listing.choose({"b": 0.1, "c": 0.0, "d": 0.2}) == (["b", "d"], ["c"])


def test_who_has_become_idle_stays_listed_where_nobody_else_is_busy() -> None:
    listing = Listing(2)
    listing.choose({"a": 0.0, "c": 0.3, "d": 0.2})
    assert listing.choose({"a": 0.0, "c": 0.0, "d": 0.0}) == (["c", "d"], ["a"])


def test_who_is_gone_is_not_listed() -> None:
    listing = Listing(2)
    listing.choose({"a": 0.1, "b": 0.2, "c": 0.3})
    assert listing.choose({"a": 0.1, "c": 0.3}) == (["a", "c"], [])


CLUSTER = """
node n1 cpu=10
queue q1
queue q2
queue q3
job a/x min=1 queue=q1 phase=Running
pods a/x 1 cpu=4 on=n1
job b/x min=1 queue=q2 phase=Running
pods b/x 1 cpu=2 on=n1
job c/x min=1 queue=q3 phase=Running
pods c/x 1 cpu=1 on=n1
"""


def test_what_queues_and_namespaces_beyond_the_bound_hold_is_told_together() -> None:
    findings = Findings()
    snapshot = mirror(manifests(CLUSTER)).snapshot(0.0)
    list(findings.taking(snapshot, run_cycle(snapshot, policy_of("gang", "predicates proportion"), REGISTRY), []))
    registry = CollectorRegistry()
    registry.register(Gauges(findings, most_namespaces=1, most_queues=1))

    def of(name: str, label: str) -> dict[str, float]:
        [family] = [family for family in registry.collect() if family.name == name]
        return {sample.labels[label]: sample.value for sample in family.samples}

    assert of("volcano_queue_allocated_milli_cpu", "queue_name") == {"q1": 4000, "other": 3000}
    assert of("volcano_queue_weight", "queue_name") == {"q1": 1}
    assert of("volcano_queue_real_capacity_milli_cpu", "queue_name").keys() == {"q1"}
    assert of("volcano_namespace_share", "namespace_name") == {"a": 0.4, "other": 0.3}
    assert of("volcano_namespace_weight", "namespace_name") == {"a": 1}
