"""The metrics of a running daemon: Volcano's names, words and units as Prometheus wants them, nothing that piles up."""

from __future__ import annotations

import asyncio
import re
import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

import aiohttp
import pytest
from prometheus_client import CollectorRegistry
from prometheus_client.parser import text_string_to_metric_families

from tests.support.owners import queue
from tests.support.running import PODGROUPS, gang, node, nodes_of, pod, scheduling
from tests.support.small import SmallCluster
from tests.support.waiting import until
from vsched.daemon.app import Daemon
from vsched.framework.words import nodes as words
from vsched.model.plan import CycleReport, Unschedulable
from vsched.model.pods.status import Status
from vsched.plugins.words.nodes import usage_above
from vsched.sim.cluster import Cluster, ClusterSettings
from vsched.sim.controllers import ControllerSettings, PodTimes
from vsched.web.findings import Findings
from vsched.web.metrics.gauges import Gauges
from vsched.web.metrics.help_texts import MEANINGS
from vsched.web.metrics.job_gauges import MOST_REASONS

KINDS = ("allocated", "request", "deserved", "capacity", "real_capacity", "inqueue")
VOLCANO = {
    "volcano_e2e_scheduling_latency_milliseconds",
    "volcano_open_session_duration_milliseconds",
    "volcano_e2e_job_scheduling_latency_milliseconds",
    "volcano_plugin_scheduling_latency_milliseconds",
    "volcano_action_scheduling_latency_milliseconds",
    "volcano_task_scheduling_latency_milliseconds",
    "volcano_scheduling_stage_duration_milliseconds",
    "volcano_e2e_job_scheduling_duration",
    "volcano_e2e_job_scheduling_start_time",
    "volcano_e2e_job_scheduling_last_time",
    "volcano_pod_preemption_victims",
    "volcano_unschedule_task_count",
    "volcano_unschedule_job_count",
    "volcano_job_share",
    "volcano_namespace_share",
    "volcano_namespace_weight",
    "volcano_namespace_weighted_share",
    *(f"volcano_queue_{kind}_{unit}" for kind in KINDS for unit in ("milli_cpu", "memory_bytes", "scalar_resources")),
    "volcano_queue_share",
    "volcano_queue_weight",
    "volcano_queue_overused",
    "volcano_schedule_attempts",
    "volcano_total_preemption_attempts",
    "volcano_eviction_transactions",
    "volcano_job_retry_counts",
    *(f"volcano_vgpu_device_{what}" for what in ("shared_number", "allocated_memory", "allocated_cores")),
    "volcano_vgpu_device_memory_limit",
    *(f"volcano_vgpu_device_{what}_allocation_for_a_certain_pod" for what in ("memory", "core")),
}
"""All that Volcano has; counters without their suffix, as the parser names them."""
LABELS = {
    "volcano_plugin_scheduling_latency_milliseconds": {"plugin", "OnSession"},
    "volcano_action_scheduling_latency_milliseconds": {"action"},
    "volcano_task_scheduling_latency_milliseconds": {"stage"},
    "volcano_scheduling_stage_duration_milliseconds": {"stage"},
    "volcano_e2e_job_scheduling_duration": {"job_name", "queue", "job_namespace"},
    "volcano_unschedule_task_count": {"job_id"},
    "volcano_job_share": {"job_ns", "job_id"},
    "volcano_namespace_weighted_share": {"namespace_name"},
    "volcano_queue_allocated_milli_cpu": {"queue_name"},
    "volcano_queue_capacity_scalar_resources": {"queue_name", "resource"},
    "volcano_queue_share": {"queue_name"},
    "volcano_job_retry_counts": {"job_id"},
    "volcano_schedule_attempts": {"result"},
    "volcano_eviction_transactions": {"action"},
}
OURS = {
    "vsched_pods_bound",
    "vsched_watch_lag_seconds",
    "vsched_mirror_age_seconds",
    "vsched_cycle_seconds",
    "vsched_plugin_seconds",
    "vsched_pending_pods",
    "vsched_useless_evictions",
    "vsched_api_requests",
    "vsched_queue_depth",
    "vsched_policy_reloads",
    "vsched_policy_generation",
    "vsched_leader",
}
POLICY = """
actions: "enqueue, allocate, preempt, backfill"
tiers:
- plugins:
  - name: priority
  - name: gang
- plugins:
  - name: drf
  - name: predicates
  - name: proportion
  - name: nodeorder
"""
QUICK = ClusterSettings(ControllerSettings(PodTimes(termination=0.05)))
Samples = Mapping[str, dict[tuple[tuple[str, str], ...], float]]


class Seen(NamedTuple):
    """What ``/metrics`` said under load, and once what was there had gone."""

    text: str
    later: str


async def shown(daemon: Daemon) -> str:
    url = f"http://127.0.0.1:{daemon.ports['--listen-address']}/metrics"
    async with aiohttp.ClientSession() as session, session.get(url) as answer:
        return await answer.text()


async def under_load(policy: Path) -> Seen:
    passing = queue("passing", capability={"nvidia.com/gpu": 2})
    high = {"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "metadata": {"name": "high"}, "value": 9}
    urgent = gang("urgent", 2)
    for found in urgent:
        found["spec"]["priorityClassName"] = "high"
    machines = [node("n1"), node("n2", memory="64Gi")]
    options = {"listen_address": "127.0.0.1:0", "leader_elect": True, "arbitrate": True, "policy_file": policy}
    async with Cluster(machines, settings=QUICK) as cluster, scheduling(cluster.url, **options) as daemon:
        cluster.apply([passing, high, *gang("low", 8, minimum=1)])
        await until(lambda: len(nodes_of(cluster, "low")) == 8)
        cluster.apply([*urgent, *gang("waits", 30), pod("alone", cpu="100")])
        await until(lambda: len(nodes_of(cluster, "urgent")) == 2)
        await until(lambda: daemon.telemetry.findings.retries["default/waits"])
        await until(lambda: daemon.telemetry.findings.placed_at)
        text = await shown(daemon)
        cluster.client.delete("scheduling.volcano.sh/queues", "", "passing")
        for found in cluster.client.list("pods", "default"):
            cluster.client.delete("pods", "default", found["metadata"]["name"])
        for name in ("low", "urgent", "waits"):
            cluster.client.delete(PODGROUPS, "default", name)
        await until(lambda: not daemon.telemetry.findings.jobs)
        return Seen(text, await shown(daemon))


@pytest.fixture(scope="module")
def seen(tmp_path_factory: pytest.TempPathFactory) -> Seen:
    policy = tmp_path_factory.mktemp("policy") / "policy.yaml"
    policy.write_text(POLICY)
    return asyncio.run(under_load(policy))


def samples(text: str) -> Samples:
    """Every value by the name of its family, then by its labels."""
    return {
        family.name: {tuple(sorted(sample.labels.items())): sample.value for sample in family.samples}
        for family in text_string_to_metric_families(text)
    }


def test_every_name_of_volcanos_that_means_something_here_is_there_with_its_labels(seen: Seen) -> None:
    found = samples(seen.text)
    assert sorted(VOLCANO - found.keys()) == []
    for name, labels in LABELS.items():
        shown_labels = {label for values in found[name] for label, _ in values} - {"le"}
        assert shown_labels <= labels, name
        assert shown_labels or not found[name], name
    filled = {name for name in LABELS if found[name]}
    assert filled == LABELS.keys()


def test_every_number_of_ours_is_there(seen: Seen) -> None:
    found = samples(seen.text)
    assert sorted(OURS - found.keys()) == []
    assert found["vsched_useless_evictions"] == {
        (("action", action),): 0.0
        for action in ("preempt", "reclaim", "gangpreempt", "gangreclaim", "consolidate", "arbitrate")
    }
    verbs = {dict(labels)["verb"] for labels in found["vsched_api_requests"]}
    assert verbs >= {"GET", "LIST", "WATCH", "POST", "PATCH"}
    assert found["vsched_pending_pods"][(("reason", "Insufficient cpu"),)] > 0
    assert found["volcano_job_retry_counts"][(("job_id", "default/waits"),)] > 0
    assert 0 < found["volcano_job_share"][("job_id", "default/low"), ("job_ns", "default")] < 1


@pytest.mark.skipif(shutil.which("promtool") is None, reason="promtool is not there")
def test_promtool_complains_of_nothing_but_volcanos_own_names(seen: Seen) -> None:
    found = subprocess.run(["promtool", "check", "metrics"], input=seen.text.encode(), capture_output=True, check=False)
    complaints = found.stderr.decode().splitlines()
    named = {line.split()[0] for line in complaints}
    assert "volcano_unschedule_job_count" in named  # or it has not looked
    assert sorted(named - VOLCANO) == [], complaints


def test_every_metric_is_explained(seen: Seen) -> None:
    says = {family.name: family.documentation for family in text_string_to_metric_families(seen.text)}
    dumb = [name for name, text in says.items() if text.lower() in ("", name.replace("_", " "))]
    assert dumb == []
    assert all(text.endswith(".") for name, text in says.items() if name in MEANINGS)


def test_jobs_and_queues_that_are_gone_leave_no_series(seen: Seen) -> None:
    gone = re.compile(r'="(?:default/)?(low|urgent|waits|passing)"')
    assert set(gone.findall(seen.text)) == {"low", "urgent", "waits", "passing"}
    assert gone.findall(seen.later) == []
    later = samples(seen.later)
    of_jobs = [name for name, labels in LABELS.items() if labels & {"job_id", "job_name"}]
    assert {name: later[name] for name in of_jobs} == {name: {} for name in of_jobs}
    assert later["vsched_pending_pods"] == {}


# -- why pods wait


def pending(texts: Mapping[str, dict[str, int]], *, gated: int = 0) -> dict[str, float]:
    """How many pods wait by reason, where each of these was told its reasons in the last cycle."""
    cluster = SmallCluster().node("n1")
    job = cluster.job("g", 0)
    shape = cluster.shape()
    for name in texts:
        cluster.task(job, name, shape)
    for number in range(gated):
        cluster.task(job, f"gated-{number}", shape, gated=True)
    cluster.task(job, "runs", shape, Status.RUNNING, "n1")
    told = {
        f"ns/{name}": Unschedulable(f"ns-{name}", "ns", name, "ns/g", "Unschedulable", "", reasons)
        for name, reasons in texts.items()
    }
    found = Findings()
    list(found.taking(cluster.snapshot(), CycleReport(unschedulable=told), []))
    registry = CollectorRegistry()
    registry.register(Gauges(found))
    [family] = [family for family in registry.collect() if family.name == "vsched_pending_pods"]
    return {sample.labels["reason"]: sample.value for sample in family.samples}


@pytest.mark.parametrize(
    ("reasons", "told"),
    [
        pytest.param({"Insufficient cpu": 2}, "Insufficient cpu", id="an-amount"),
        pytest.param(
            {"Insufficient cpu": 2, "Too many pods": 3}, words.FULL, id="the-one-that-most-nodes-have-against-it"
        ),
        pytest.param({"b": 1, "a": 1}, "a", id="of-equals-the-first-by-name"),
        pytest.param(
            {"node(s) had untolerated taint {team: red}": 4}, "node(s) had untolerated taint", id="taints-together"
        ),
        pytest.param(
            {usage_above("cpu", 80, "5m"): 4},
            "node(s) had usage above the threshold",
            id="thresholds-together",
        ),
        pytest.param({"QueueQuotaInsufficient": 1}, "QueueQuotaInsufficient", id="a-queue"),
        pytest.param({}, "not tried yet", id="nothing-is-known"),
    ],
)
def test_pods_that_wait_are_counted_under(reasons: dict[str, int], told: str) -> None:
    assert pending({"p": reasons, "q": reasons}) == {told: 2}


def test_gated_pods_wait_for_whoever_gated_them() -> None:
    assert pending({}, gated=3) == {"gated": 3}


def test_reasons_beyond_a_bound_are_counted_together() -> None:
    found = pending({f"p-{number}": {f"reason {number}": 1} for number in range(MOST_REASONS + 5)})
    assert len(found) == MOST_REASONS + 1
    assert found["other"] == 5


def test_a_pod_of_the_same_name_does_not_inherit_the_reason() -> None:
    cluster = SmallCluster().node("n1")
    cluster.task(cluster.job("g", 0), "p", cluster.shape())
    found = Findings()
    old = Unschedulable("another uid", "ns", "p", "ns/g", "Unschedulable", "", {"Insufficient cpu": 1})
    list(found.taking(cluster.snapshot(), CycleReport(unschedulable={"ns/p": old}), []))
    registry = CollectorRegistry()
    registry.register(Gauges(found))
    assert registry.get_sample_value("vsched_pending_pods", {"reason": "not tried yet"}) == 1
