"""The leader says where it is, by its address or by a label on its pod, and nobody else does."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support.running import Obj, pod, scheduling
from tests.support.waiting import until
from vsched.daemon.lead.leader_address import LEADER_LABEL
from vsched.daemon.options import Options, check
from vsched.daemon.words import options as words
from vsched.errors import BadInput
from vsched.kube.lease.record import LeaseSettings
from vsched.lab.children import free_port
from vsched.sim.cluster import Cluster, ClusterSettings

NAME = "kube-system/vsched-leader"
SLICES = "discovery.k8s.io/endpointslices"
QUICK = LeaseSettings(namespace="kube-system", duration_seconds=60.0, renew_deadline_seconds=50.0, retry_seconds=0.1)


def candidate(address: str) -> dict[str, Any]:
    return {
        "leader_elect": True,
        "lease": QUICK,
        "leader_endpoints": NAME,
        "advertise_address": address,
        "listen_address": f"127.0.0.1:{free_port()}",
    }


def in_pod(name: str) -> dict[str, Any]:
    return {"leader_elect": True, "lease": QUICK, "leader_pod": f"default/{name}"}


def addresses(cluster: Cluster) -> list[str]:
    found: Obj = cluster.client.get(SLICES, "kube-system", "vsched-leader") or {"endpoints": []}
    return [address for each in found["endpoints"] for address in each["addresses"]]


def labelled(cluster: Cluster) -> list[str]:
    """The pods that the leader's label is on."""
    return [
        found["metadata"]["name"]
        for found in cluster.client.list("pods", "default")
        if found["metadata"].get("labels", {}).get(LEADER_LABEL) == QUICK.name
    ]


def foreign(name: str, **labels: str) -> Obj:
    made = pod(name)
    made["metadata"]["labels"] = labels
    made["spec"]["schedulerName"] = "default-scheduler"
    return made


async def test_the_address_is_that_of_the_leader_and_then_of_the_next_one() -> None:
    async with (
        Cluster(settings=ClusterSettings(None)) as cluster,
        scheduling(cluster.url, **candidate("192.0.2.1")) as first,
    ):
        await until(lambda: addresses(cluster) == ["192.0.2.1"])
        async with scheduling(cluster.url, **candidate("192.0.2.2")) as second:
            await until(lambda: second.health.ready().ok)
            assert (first.election.role, second.election.role) == ("leader", "standby")
            assert addresses(cluster) == ["192.0.2.1"]
            first.stop()
            await until(lambda: addresses(cluster) == ["192.0.2.2"])


async def test_the_slice_belongs_to_the_service_of_its_name() -> None:
    async with (
        Cluster(settings=ClusterSettings(None)) as cluster,
        scheduling(cluster.url, **candidate("2001:db8::1")),
    ):
        await until(lambda: addresses(cluster) == ["2001:db8::1"])
        found = cluster.client.get(SLICES, "kube-system", "vsched-leader")
        assert found is not None
        assert found["addressType"] == "IPv6"
        assert found["metadata"]["labels"]["kubernetes.io/service-name"] == "vsched-leader"


async def test_the_label_is_on_the_pod_of_the_leader_and_then_of_the_next_one() -> None:
    # The third was killed while it led, and led by another Lease is somebody else's.
    left = [
        foreign("first"),
        foreign("second"),
        foreign("killed", **{LEADER_LABEL: QUICK.name}),
        foreign("other", **{LEADER_LABEL: "another"}),
    ]
    async with (
        Cluster(manifests=left, settings=ClusterSettings(None)) as cluster,
        scheduling(cluster.url, **in_pod("first")) as first,
    ):
        await until(lambda: labelled(cluster) == ["first"])
        async with scheduling(cluster.url, **in_pod("second")) as second:
            await until(lambda: second.health.ready().ok)
            assert labelled(cluster) == ["first"]
            first.stop()
            await until(lambda: labelled(cluster) == ["second"])
        other = cluster.client.get("pods", "default", "other")
        assert other is not None
        assert other["metadata"]["labels"] == {LEADER_LABEL: "another"}


async def test_a_pod_that_is_not_there_is_told_of_and_nothing_else_suffers() -> None:
    async with (
        Cluster(settings=ClusterSettings(None)) as cluster,
        scheduling(cluster.url, **in_pod("nobody"), arbitrate=True) as daemon,
    ):
        written = ("vsched_api_writes_total", {"kind": "leader-label", "code": "404"})
        await until(lambda: daemon.telemetry.registry.get_sample_value(*written) == 1)
        await until(lambda: daemon.telemetry.findings.arbitrated is not None)


REFUSED: dict[str, tuple[dict[str, Any], str]] = {
    "no namespace": ({"leader_endpoints": "vsched"}, "--leader-endpoints: 'vsched' (expected NAMESPACE/NAME)"),
    "too many parts": ({"leader_endpoints": "a/b/c"}, "--leader-endpoints: 'a/b/c' (expected NAMESPACE/NAME)"),
    "no address": ({"advertise_address": ""}, words.bad_advertise_address("")),
    "a name": ({"advertise_address": "here"}, words.bad_advertise_address("here")),
    "no port": ({"listen_address": ""}, words.no_port("")),
    "any port": ({"listen_address": ":0"}, words.no_port(":0")),
    "no namespace of the pod": ({"leader_pod": "vsched-0"}, "--leader-pod: 'vsched-0' (expected NAMESPACE/NAME)"),
    "a lease that is no label": (
        {"leader_pod": "a/b", "lease": LeaseSettings(name="l" * 64)},
        "(expected a label's value, with --leader-pod)",
    ),
}


@pytest.mark.parametrize(("change", "problem"), REFUSED.values(), ids=REFUSED.keys())
def test_what_cannot_be_told_is_refused(change: dict[str, Any], problem: str) -> None:
    good: dict[str, Any] = {"leader_endpoints": NAME, "advertise_address": "192.0.2.1"}
    check(Options(**good))
    with pytest.raises(BadInput) as caught:
        check(Options(**{**good, **change}))
    assert problem in str(caught.value)
