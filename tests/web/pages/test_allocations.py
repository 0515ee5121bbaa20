"""What is shown of arbitration: a page for people and programs, and series per namespace that go with it."""

from __future__ import annotations

from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.parser import text_string_to_metric_families

from tests.support.parties import NOW, amounts, bucket, party, world
from vsched.arbitrator.effects import Overuse, RoundResult
from vsched.model.arbitration.records import ArbitrationCondition, Award, Division
from vsched.web.findings import Arbitrated, Findings
from vsched.web.metrics.gauges import Gauges
from vsched.web.pages.allocations import allocations

AWARDS = {
    "a": Award(
        deserved=amounts("cpu=1500m memory=2Gi"),
        ceiling=amounts("cpu=3"),
        hard=amounts("cpu=3"),
        reserved=amounts("cpu=1"),
        cut=amounts("cpu=500m"),
    ),
    "b": Award(deserved=amounts("cpu=1"), ceiling={}),
}
OVERUSE = Overuse("a", NOW - 12.5, amounts("cpu=500m"), 0.25, ("b",))


def findings(*namespaces: str, now: float = NOW) -> Findings:
    """Namespace ``a`` uses more than it deserves, and ``b``, of a bucket, is short."""
    parties = {
        "a": party("a", held="cpu=2 memory=2Gi pods=2", leaving="cpu=1", reserved="cpu=1500m", hard="cpu=3", weight=2),
        "b": party("b", waiting="cpu=1", parent="area"),
    }
    snapshot = world("cpu=4", [parties[name] for name in namespaces], buckets=[bucket("area", hard="cpu=2", weight=3)])
    assert snapshot.arbitration is not None
    division = Division(
        {name: AWARDS[name] for name in namespaces},
        {"area": Award(deserved=amounts("cpu=1"), ceiling=amounts("cpu=2"))},
        amounts("cpu=4"),
    )
    overused = {"a": OVERUSE} if "a" in namespaces else {}
    conditions = {"a": (ArbitrationCondition("Reserved", "False", "ReservationsExceedCluster", "500m cpu less"),)}
    found = Findings()
    found.take_arbitrated(Arbitrated(now, snapshot.arbitration, division, RoundResult((), (), overused, conditions)))
    return found


def series(found: Findings, **limits: int) -> dict[tuple[str, str, str], float]:
    """Values by metric, namespace and resource."""
    registry = CollectorRegistry()
    registry.register(Gauges(found, **limits))
    return {
        (sample.name, sample.labels["namespace"], sample.labels.get("resource", "")): sample.value
        for family in text_string_to_metric_families(generate_latest(registry).decode())
        for sample in family.samples
    }


def test_nothing_is_shown_where_nobody_arbitrates() -> None:
    assert allocations(Findings()) == {}
    assert series(Findings()) == {}


def test_the_page_says_what_a_namespace_deserves_holds_and_is_told() -> None:
    shown = allocations(findings("a", "b"))
    assert (shown["at"], shown["total"]) == (NOW, {"cpu": "4"})
    assert shown["namespaces"]["a"] == {
        "deserved": {"cpu": "1500m", "memory": "2Gi"},
        "ceiling": {"cpu": "3"},
        "hard": {"cpu": "3"},
        "reserved": {"cpu": "1"},
        "cut": {"cpu": "500m"},
        "allocated": {"cpu": "2", "memory": "2Gi", "pods": "2"},
        "leaving": {"cpu": "1"},
        "waiting": {},
        "consumer": "defaults",
        "parent": "",
        "weight": 2,
        "stated": {"hard": {"cpu": "3"}, "reserved": {"cpu": "1500m"}},
        "overused": {"since": NOW - 12.5, "seconds": 12.5, "excess": {"cpu": "500m"}, "degree": 0.25, "short": ["b"]},
        "conditions": [
            {
                "type": "Reserved",
                "status": "False",
                "reason": "ReservationsExceedCluster",
                "message": "500m cpu less",
            }
        ],
        "evicted": 0,
    }
    assert shown["namespaces"]["b"]["overused"] is None
    assert shown["buckets"]["area"]["namespaces"] == ["b"]
    assert (shown["buckets"]["area"]["weight"], shown["buckets"]["area"]["exists"]) == (3, True)


def test_series_are_in_cores_bytes_and_seconds() -> None:
    found = findings("a", "b")
    found.arbitrated_away["a"] += 2
    shown = series(found)
    assert shown["vsched_namespace_deserved", "a", "cpu"] == 1.5
    assert shown["vsched_namespace_deserved", "a", "memory"] == 2 * 2**30
    assert shown["vsched_namespace_allocated", "a", "cpu"] == 2.0
    assert shown["vsched_namespace_reserved", "a", "cpu"] == 1.0
    assert shown["vsched_namespace_hard", "a", "cpu"] == 3.0
    assert shown["vsched_namespace_overused_seconds", "a", ""] == 12.5
    assert shown["vsched_namespace_overused_seconds", "b", ""] == 0.0
    assert shown["vsched_namespace_evictions_total", "a", ""] == 2.0
    assert shown["vsched_namespace_evictions_total", "b", ""] == 0.0


def test_a_namespace_that_is_gone_leaves_no_series_and_no_count() -> None:
    found = findings("a", "b")
    found.arbitrated_away.update({"a": 1, "b": 3})
    after = findings("b").arbitrated
    assert after is not None
    found.take_arbitrated(after)
    assert {namespace for _, namespace, _ in series(found)} == {"b"}
    assert dict(found.arbitrated_away) == {"b": 3}


def test_only_so_many_namespaces_have_series() -> None:
    assert {namespace for _, namespace, _ in series(findings("a", "b"), most_namespaces=1)} == {"a"}
