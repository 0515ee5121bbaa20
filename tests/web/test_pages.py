"""What a running daemon shows, over HTTP: pages, metrics, health."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import aiohttp
import pytest
from prometheus_client import CollectorRegistry
from prometheus_client.parser import text_string_to_metric_families

from tests.support.small import SmallCluster
from vsched.clock import FakeClock
from vsched.errors import BadInput
from vsched.framework.words import nodes as words
from vsched.model.plan import (
    Bind,
    CycleReport,
    JobOutcome,
    NamespaceOutcome,
    QueueOutcome,
    SubGroupOutcome,
    Unschedulable,
)
from vsched.model.pods.status import Status
from vsched.web.findings import Findings
from vsched.web.metrics.gauges import Gauges, NumberGauges
from vsched.web.pages.health import Health
from vsched.web.pages.routes import Sources, health_routes, public_routes
from vsched.web.serve.server import parse_address, serving

WHY = words.none_available(2, "2 Insufficient cpu")


def findings() -> Findings:
    """One gang: a pod runs, one waits."""
    cluster = SmallCluster().node("n1").node("n2", cpu=2000)
    shape = cluster.shape(cpu=3000)
    job = cluster.job("g", 1, shape=shape, min_member=2)
    cluster.task(job, "runs", shape, Status.RUNNING, "n1")
    found = Findings()
    report = CycleReport(
        jobs={
            "ns/g": JobOutcome(
                "ns/g",
                "default",
                "Pending",
                2,
                1,
                1,
                1,
                0,
                0,
                message="1/2 unschedulable",
                reasons={"Insufficient cpu": 2},
            )
        },
        unschedulable={
            "ns/g-0": Unschedulable("ns-g-0", "ns", "g-0", "ns/g", "Unschedulable", WHY, {"Insufficient cpu": 2})
        },
        queues={
            "default": QueueOutcome(
                "default", 3, 0.5, {"cpu": 3000, "nvidia.com/gpu": 1000}, {"cpu": 4000}, overused=True
            )
        },
        namespaces={"default/ns": NamespaceOutcome("default", "ns", 2, 0.5, {"cpu": 3000})},
    )
    list(found.taking(cluster.snapshot(), report, []))
    return found


@asynccontextmanager
async def pages(found: Findings) -> AsyncIterator[Any]:
    """The public pages and the health checks at one address; gives a function from a path to (code, JSON or text)."""
    registry = CollectorRegistry()
    registry.register(Gauges(found))
    numbers = {"vsched_queue_depth": {"bindings": 3.0}, "vsched_watch_events_total": {"Pod": 7.0}}
    registry.register(NumberGauges(lambda: numbers))
    health = Health(FakeClock(), lambda: {"Pod": True, "Node": True})
    sources = Sources(found, registry, lambda: {"generation": 4}, health)
    routes = [*public_routes(sources), *health_routes(sources.health)]
    async with serving(routes, "127.0.0.1:0", "--listen-address") as port, aiohttp.ClientSession() as session:

        async def get(path: str) -> tuple[int, Any]:
            async with session.get(f"http://127.0.0.1:{port}{path}") as answer:
                is_json = answer.content_type == "application/json"
                return answer.status, await answer.json() if is_json else await answer.text()

        yield get


async def test_queues_show_amounts_as_quantities_and_who_holds_them() -> None:
    async with pages(findings()) as get:
        code, shown = await get("/queues")
    assert code == 200
    assert shown["default"]["allocated"] == {"cpu": "3", "nvidia.com/gpu": "1"}
    assert shown["default"]["deserved"] == {"cpu": "4"}
    assert shown["default"]["namespaces"]["ns"]["weight"] == 2


async def test_jobs_show_where_their_sub_groups_are() -> None:
    cluster = SmallCluster().node("n1")
    cluster.job("g", 1)
    placed = SubGroupOutcome("segment/a", "r1", 1)
    outcome = JobOutcome("ns/g", "default", "Running", 1, 1, 0, 1, 0, 0, sub_groups=(placed,))
    found = Findings()
    list(found.taking(cluster.snapshot(), CycleReport(jobs={"ns/g": outcome}), []))
    async with pages(found) as get:
        _, shown = await get("/jobs")
    assert shown["ns/g"]["sub_groups"] == [{"name": "segment/a", "domain": "r1", "tier": 1}]


async def test_queues_show_what_their_objects_say_and_what_is_wrong_with_them() -> None:
    found = Findings()
    cluster = SmallCluster().queue("q", parent="up", priority=3, state="Closed", reclaimable=False)
    outcome = QueueOutcome(
        "q",
        1,
        capability={"cpu": 9000},
        guarantee={"cpu": 1000},
        problem_reason="LeftOut",
        problem="no such parent",
        subtree={"cpu": 2000},
    )
    gone = QueueOutcome("gone", 1)
    list(found.taking(cluster.snapshot(), CycleReport(queues={"q": outcome, "gone": gone}), []))
    async with pages(found) as get:
        _, shown = await get("/queues")
    assert shown["q"] == {
        "state": "Closed",
        "parent": "up",
        "priority": 3,
        "reclaimable": False,
        "weight": 1,
        "share": 0.0,
        "overused": False,
        "allocated": {},
        "deserved": {},
        "capability": {"cpu": "9"},
        "guarantee": {"cpu": "1"},
        "subtree": {"cpu": "2"},
        "problem": "no such parent",
        "problemReason": "LeftOut",
        "namespaces": {},
    }
    assert shown["gone"].keys() == shown["q"].keys() - {"state", "parent", "priority", "reclaimable"}


async def test_jobs_show_why_they_wait() -> None:
    async with pages(findings()) as get:
        _, shown = await get("/jobs")
    assert shown["ns/g"]["message"] == "1/2 unschedulable"
    assert (shown["ns/g"]["running"], shown["ns/g"]["pending"]) == (1, 1)


async def test_nodes_show_what_is_idle() -> None:
    async with pages(findings()) as get:
        _, shown = await get("/nodes")
    assert (shown["n1"]["allocatable"]["cpu"], shown["n1"]["idle"]["cpu"]) == ("4", "1")


@pytest.mark.parametrize("path", ["/queues", "/jobs", "/nodes", "/metrics", "/", "/configz", "/livez", "/readyz"])
async def test_every_page_answers_before_the_first_cycle(path: str) -> None:
    async with pages(Findings()) as get:
        code, _ = await get(path)
    assert code == 200


async def test_metrics_are_well_formed_and_under_volcanos_names() -> None:
    async with pages(findings()) as get:
        _, text = await get("/metrics")
    values = {
        (sample.name, tuple(sorted(sample.labels.items()))): sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
    }
    queue = ("queue_name", "default")
    assert values["volcano_queue_allocated_milli_cpu", (queue,)] == 3000
    assert values["volcano_queue_deserved_milli_cpu", (queue,)] == 4000
    assert values["volcano_queue_request_milli_cpu", (queue,)] == 6000
    assert values["volcano_queue_allocated_scalar_resources", (queue, ("resource", "nvidia.com/gpu"))] == 1000
    assert values["volcano_queue_overused", (queue,)] == 1
    assert values["volcano_unschedule_task_count", (("job_id", "ns/g"),)] == 1
    assert values["vsched_queue_depth", (("name", "bindings"),)] == 3
    assert values["vsched_watch_events_total", (("name", "Pod"),)] == 7


def test_the_limit_of_a_queue_and_what_it_comes_to_are_two_numbers() -> None:
    found, cluster = Findings(), SmallCluster()
    cluster.queue("q", capability=((cluster.axis.column("cpu"), 9000),))
    outcomes = {name: QueueOutcome(name, 1, capability={"cpu": 5000}) for name in ("q", "gone")}
    list(found.taking(cluster.snapshot(), CycleReport(queues=outcomes), []))
    values = {
        (sample.name, sample.labels.get("queue_name")): sample.value
        for family in Gauges(found).collect()
        for sample in family.samples
    }
    assert values["volcano_queue_capacity_milli_cpu", "q"] == 9000
    assert values["volcano_queue_capacity_milli_cpu", "gone"] == 0
    assert values["volcano_queue_real_capacity_milli_cpu", "q"] == 5000


def test_findings_forget_what_is_gone_or_placed() -> None:
    found = findings()
    assert found.snapshot is not None
    assert "ns/g-0" in found.pods
    list(found.taking(found.snapshot, CycleReport(binds=(Bind("ns-g-0", "ns", "g-0", "n1", "ns/g"),)), []))
    assert "ns/g-0" not in found.pods


def test_a_loop_that_does_not_turn_is_not_alive() -> None:
    clock = FakeClock()
    health = Health(clock, dict)
    clock.advance(59.0)
    assert health.live().ok
    clock.advance(2.0)
    assert not health.live().ok
    health.turned()
    assert health.live().ok


@pytest.mark.parametrize(
    ("synced", "ready"),
    [
        pytest.param({"Pod": True, "Node": True}, True, id="every kind is listed"),
        pytest.param({"Pod": True, "Node": False}, False, id="one kind is missing"),
        pytest.param({}, False, id="nothing is known yet"),
    ],
)
def test_readiness(synced: dict[str, bool], ready: bool) -> None:
    check = Health(FakeClock(), lambda: synced).ready()
    assert check.ok is ready
    assert check.details["synced"] == synced


def test_kinds_that_can_be_done_without_do_not_keep_it_from_being_ready() -> None:
    synced = {"Pod": True, "Service": False}
    check = Health(FakeClock(), lambda: synced, lambda: {"Service": "403 Forbidden"}).ready()
    assert check.ok
    assert check.details == {"role": "leader", "synced": synced, "absent": {"Service": "403 Forbidden"}}
    assert not Health(FakeClock(), lambda: {"Pod": False, "Service": False}, lambda: {"Service": "403"}).ready().ok


@pytest.mark.parametrize(
    ("text", "expected"),
    [(":8080", ("", 8080)), ("127.0.0.1:0", ("127.0.0.1", 0)), ("[::1]:80", ("::1", 80))],
)
def test_addresses(text: str, expected: tuple[str, int]) -> None:
    assert parse_address(text, "--listen-address") == expected


@pytest.mark.parametrize("text", ["8080", "host:", "host:http", "host:70000"])
def test_bad_addresses_are_refused_with_the_flag(text: str) -> None:
    with pytest.raises(BadInput, match="--listen-address"):
        parse_address(text, "--listen-address")
