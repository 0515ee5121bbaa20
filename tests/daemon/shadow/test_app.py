"""A shadow decides on the cluster as it is, and asks for nothing that changes it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.support.running import node, nodes_of, status_of
from tests.support.shadowing import Requests, in_charge, locked_cluster, roles, shadowing, volcanos
from tests.support.waiting import until
from vsched.daemon.access_options import AccessOptions
from vsched.daemon.options import Options, check
from vsched.daemon.permissions.needs import needed
from vsched.daemon.shadow.app import ShadowDaemon
from vsched.daemon.words import options as words
from vsched.errors import BadInput
from vsched.record.folder import segments_of
from vsched.sim.cluster import Cluster

READS = {"get", "list", "watch"}


async def decided(shadow: ShadowDaemon) -> dict[str, str]:
    """The nodes that the next session of a shadow gives pods, by name."""
    frozen = await shadow.inspection.snapshots.look()
    return {bind.name: bind.node for bind in frozen.report.binds}


def codes(shadow: ShadowDaemon) -> set[str]:
    """The codes of the API server's answers."""
    samples = (sample for family in shadow.telemetry.registry.collect() for sample in family.samples)
    return {each.labels["code"] for each in samples if each.name == "vsched_api_requests_total"}


async def test_a_shadow_works_with_a_role_that_only_reads_and_makes_no_other_request() -> None:
    requests = Requests()
    async with locked_cluster(requests) as cluster:
        cluster.apply(roles())
        cluster.apply(volcanos("waits", 3))
        async with shadowing(cluster) as shadow:
            await until(lambda: shadow.health.ready().ok)
            assert set(await decided(shadow)) == {"waits-0", "waits-1", "waits-2"}
            revision = cluster.store.revision
            assert set(await decided(shadow)) == {"waits-0", "waits-1", "waits-2"}, "it was decided, and not done"
            assert cluster.store.revision == revision, "nothing on the cluster has changed"
            async with in_charge(cluster):
                await until(lambda: len(nodes_of(cluster, "waits")) == 3)
                cluster.apply(volcanos("large", 9))
                cluster.client.delete("pods", "default", "waits-0")
                await until(lambda: "waits-0" not in nodes_of(cluster))
            assert not await decided(shadow)
            assert not codes(shadow) & {"401", "403"}
    assert {right.verb for right in requests.seen} == READS - {"get"}
    wanted = needed(Options(shadow=True))
    assert {right._replace(namespace="", name="") for right in requests.seen} <= wanted


def test_the_role_of_a_shadow_has_verbs_that_read_and_no_others() -> None:
    assert {verb for role in roles() for rule in role.get("rules", ()) for verb in rule["verbs"]} <= READS
    of_map = roles("--scheduler-configmap", "here/policy")
    assert {verb for role in of_map for rule in role.get("rules", ()) for verb in rule["verbs"]} == READS
    assert {role["kind"] for role in of_map} == {"ClusterRole", "ClusterRoleBinding", "Role", "RoleBinding"}


async def test_without_the_role_a_shadow_is_refused() -> None:
    async with locked_cluster(Requests()) as cluster, shadowing(cluster) as shadow:
        await until(lambda: "403" in codes(shadow))
        assert not shadow.health.ready().ok


async def test_a_daemon_in_charge_does_its_work_as_if_no_shadow_were_there() -> None:
    requests = Requests()
    async with locked_cluster(requests) as cluster:
        cluster.apply(roles())
        async with in_charge(cluster) as charged, shadowing(cluster) as shadow:
            cluster.apply(volcanos("gang", 4))
            await until(lambda: status_of(cluster, "gang").get("phase") == "Running")
            await until(lambda: sum(shadow.lookout.summary.starts.values()) == 1)
            assert not charged.telemetry.registry.get_sample_value("vsched_foreign_bindings_total", {"name": ""})
            assert not shadow.telemetry.registry.get_sample_value("vsched_pods_bound_total")
            role = shadow.health.ready().details["role"]
            assert role == "shadow"


async def test_plain_pods_of_a_cluster_without_queues_and_podgroups_are_decided_on() -> None:
    async with Cluster([node("n1")]) as cluster:
        for kind in ("queues", "podgroups"):
            cluster.client.delete("apiextensions.k8s.io/customresourcedefinitions", "", f"{kind}.scheduling.volcano.sh")
        pods: list[dict[str, Any]] = volcanos("plain", 2)[1:]
        for each in pods:
            del each["metadata"]["annotations"]
            each["spec"]["schedulerName"] = "default-scheduler"
        cluster.apply(pods)
        async with shadowing(cluster, scheduler_names=("default-scheduler",)) as shadow:
            await until(lambda: shadow.health.ready().ok)
            assert await decided(shadow) == {"plain-0": "n1", "plain-1": "n1"}


async def test_a_shadow_records_the_work_of_the_cluster_as_well(tmp_path: Path) -> None:
    async with Cluster([node("n1")]) as cluster:
        cluster.apply(volcanos("gang", 1))
        async with shadowing(cluster, record_work=tmp_path) as shadow:
            await until(lambda: shadow.telemetry.findings.cycles)
    assert segments_of(tmp_path)


REFUSED: dict[str, tuple[str, dict[str, Any]]] = {
    "it places pods": ("--no-schedule", {"schedule": False, "arbitrate": True}),
    "namespaces are divided by writing": ("--arbitrate", {"arbitrate": True}),
    "shards have Leases": ("--shards", {"shards": 2, "leader_elect": True}),
    "a Lease is written": ("--leader-elect", {"leader_elect": True}),
    "an address is written": (
        "--leader-endpoints",
        {"leader_endpoints": "a/b", "advertise_address": "10.0.0.1"},
    ),
    "a label is written": ("--leader-pod", {"leader_pod": "a/b"}),
    "a NodeShard has a status": ("--scheduler-sharding-mode", {"sharding_mode": "soft"}),
    "no history is kept": ("--history-from-prometheus", {"history_from_prometheus": True}),
    "reviews are created": (
        "--authentication tokenreview",
        {"access": AccessOptions(authentication="tokenreview"), "listen_address": ""},
    ),
}


@pytest.mark.parametrize(("flag", "options"), REFUSED.values(), ids=REFUSED.keys())
def test_a_shadow_refuses_what_it_would_have_to_write_for(flag: str, options: dict[str, Any]) -> None:
    with pytest.raises(BadInput) as caught:
        check(Options(shadow=True, **options))
    assert str(caught.value) == words.not_in_a_shadow(flag)
