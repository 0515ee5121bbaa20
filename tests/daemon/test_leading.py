"""The leader writes its address where kube-scheduler looks for it, and nobody else does."""

from __future__ import annotations

from typing import Any

import pytest

from tests.daemon.running import Obj, scheduling, until
from tests.support.prometheus import free_port
from vsched.daemon.options import Options, check
from vsched.errors import BadInput
from vsched.kube.lease_record import LeaseSettings
from vsched.sim.cluster import Cluster, ClusterSettings

NAME = "kube-system/vsched-leader"
ENDPOINTS = {"apiVersion": "v1", "kind": "Endpoints", "metadata": {"namespace": "kube-system", "name": "vsched-leader"}}
QUICK = LeaseSettings(namespace="kube-system", duration_seconds=60.0, renew_deadline_seconds=50.0, retry_seconds=0.1)


def candidate(address: str) -> dict[str, Any]:
    return {
        "arbitrate": True,
        "leader_elect": True,
        "lease": QUICK,
        "leader_endpoints": NAME,
        "advertise_address": address,
        "listen_address": f"127.0.0.1:{free_port()}",
    }


def addresses(cluster: Cluster) -> list[str]:
    found: Obj = cluster.client.get("endpoints", "kube-system", "vsched-leader") or {}
    return [each["ip"] for subset in found.get("subsets") or () for each in subset["addresses"]]


async def test_the_address_is_that_of_the_leader_and_then_of_the_next_one() -> None:
    async with (
        Cluster(manifests=[ENDPOINTS], settings=ClusterSettings(None)) as cluster,
        scheduling(cluster.url, **candidate("192.0.2.1")) as first,
    ):
        await until(lambda: addresses(cluster) == ["192.0.2.1"])
        async with scheduling(cluster.url, **candidate("192.0.2.2")) as second:
            await until(lambda: second.health.ready().ok)
            assert (first.election.role, second.election.role) == ("leader", "standby")
            assert addresses(cluster) == ["192.0.2.1"]
            first.stop()
            await until(lambda: addresses(cluster) == ["192.0.2.2"])


async def test_endpoints_that_are_not_there_are_told_of_and_nothing_else_suffers() -> None:
    async with (
        Cluster(settings=ClusterSettings(None)) as cluster,
        scheduling(cluster.url, **candidate("192.0.2.1")) as daemon,
    ):
        written = ("vsched_api_writes_total", {"kind": "endpoints", "code": "404"})
        await until(lambda: daemon.telemetry.registry.get_sample_value(*written) == 1)
        await until(lambda: daemon.telemetry.findings.arbitrated is not None)


REFUSED: dict[str, tuple[dict[str, Any], str]] = {
    "no namespace": ({"leader_endpoints": "vsched"}, "--leader-endpoints: 'vsched' (expected NAMESPACE/NAME)"),
    "too many parts": ({"leader_endpoints": "a/b/c"}, "--leader-endpoints: 'a/b/c' (expected NAMESPACE/NAME)"),
    "no address": ({"advertise_address": ""}, "--advertise-address: '' (expected an IP address"),
    "a name": ({"advertise_address": "here"}, "--advertise-address: 'here' (expected an IP address"),
    "no port": ({"listen_address": ""}, "no port to tell of in '' (expected --listen-address :PORT)"),
    "any port": ({"listen_address": ":0"}, "no port to tell of in ':0' (expected --listen-address :PORT)"),
    "no arbitration": ({"arbitrate": False}, "--leader-endpoints: tells kube-scheduler whom to ask"),
}


@pytest.mark.parametrize(("change", "problem"), REFUSED.values(), ids=REFUSED.keys())
def test_what_cannot_be_told_is_refused(change: dict[str, Any], problem: str) -> None:
    good: dict[str, Any] = {"arbitrate": True, "leader_endpoints": NAME, "advertise_address": "192.0.2.1"}
    check(Options(**good))
    with pytest.raises(BadInput) as caught:
        check(Options(**{**good, **change}))
    assert problem in str(caught.value)
