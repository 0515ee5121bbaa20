"""``vsched allocations``: who deserves and holds what, read from the objects of a cluster."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
import yaml
from click.testing import CliRunner, Result

from tests.support.running import node, scheduling
from tests.support.waiting import until
from vsched.cli import cli
from vsched.cli.allocations.shares import readable, shares_of
from vsched.errors import BadInput, VschedError
from vsched.model.amounts.counted import render_counted
from vsched.model.arbitration.records import AllocationRecord, Bucket, Claim
from vsched.sim.cluster import Cluster

# -- what the objects say -------------------------------------------------------------------------------------------


def test_of_several_consumers_the_oldest_counts_and_its_namesake_tells() -> None:
    claims = [
        Claim("a", "late", created=2.0, parent="other"),
        Claim("a", "mine", created=1.0, parent="area", weight=3, stated_hard={"requests.cpu": "2"}),
    ]
    records = [
        AllocationRecord("a", "late", deserved={"cpu": "9"}),
        AllocationRecord("a", "mine", deserved={"cpu": "1"}),
    ]

    found = shares_of(claims, records, []).namespaces["a"]

    assert (found.parent, found.weight, found.deserved, found.hard) == ("area", 3, {"cpu": 1000}, {"cpu": 2000})


def test_a_bucket_that_has_no_object_is_the_sum_of_its_namespaces() -> None:
    claims = [Claim("a", "defaults", parent="area"), Claim("b", "defaults", parent="area")]
    records = [AllocationRecord(name, "defaults", deserved={"cpu": "1"}, allocated={"cpu": "500m"}) for name in "ab"]

    found = shares_of(claims, records, [Bucket("known", weight=5)])

    assert list(found.buckets) == ["area", "known"]
    assert render_counted(found.buckets["area"].deserved) == {"cpu": "2"}
    assert render_counted(found.buckets["area"].allocated) == {"cpu": "1"}


@pytest.mark.parametrize(
    ("claims", "records", "divided"),
    [
        pytest.param([Claim("a", "defaults")], [], False, id="a Consumer alone"),
        pytest.param([], [AllocationRecord("a", "defaults")], True, id="an Allocation alone"),
        pytest.param([Claim("a", "mine")], [AllocationRecord("a", "other")], False, id="an Allocation of another name"),
    ],
)
def test_whether_a_namespace_has_been_divided_for(
    claims: list[Claim], records: list[AllocationRecord], divided: bool
) -> None:
    assert shares_of(claims, records, []).namespaces["a"].divided is divided


def test_what_is_no_quantity_is_left_out() -> None:
    quantities = {"requests.cpu": "1", "memory": "lots", "services": "3", "limits.cpu": 2, "requests.storage": "1Gi"}

    assert readable(quantities) == {"cpu": 1000, "limits.cpu": 2000, "requests.storage": 1 << 30}


# -- at a cluster ---------------------------------------------------------------------------------------------------


def objects() -> list[dict[str, Any]]:
    """A bucket, a namespace in it with more than it deserves, and one of an administrator's own Consumer."""
    group = "kube-arbitrator.incubator.k8s.io/v1"
    since = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(time.time() - 3600))
    overused = {"type": "Overused", "status": "True", "reason": "R", "message": "too much", "lastTransitionTime": since}
    return [
        {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "team"}},
        {"apiVersion": group, "kind": "Bucket", "metadata": {"name": "area"}, "spec": {"weight": 2}},
        {
            "apiVersion": group,
            "kind": "Consumer",
            "metadata": {"name": "defaults", "namespace": "team"},
            "spec": {"hard": {"requests.cpu": 2}, "reserved": {"cpu": "500m"}, "parent": "area", "weight": 3},
        },
        {
            "apiVersion": group,
            "kind": "Allocation",
            "metadata": {"name": "defaults", "namespace": "team"},
            "spec": {"deserved": {"cpu": "1"}, "hard": {"requests.cpu": 2}, "reserved": {"cpu": "500m"}},
            "status": {"allocated": {"cpu": "1500m"}, "conditions": [overused]},
        },
    ]


def line_of(shown: list[str], name: str) -> str:
    return next(line for line in shown if name in line)


class Shell:
    """Runs ``vsched allocations`` at a cluster beside its event loop."""

    def __init__(self, kubeconfig: Path) -> None:
        self._kubeconfig = kubeconfig

    async def run(self, *arguments: str) -> Result:
        line = ["allocations", *arguments, "--kubeconfig", str(self._kubeconfig)]
        return await asyncio.to_thread(CliRunner().invoke, cli, line)

    async def printed(self, *arguments: str) -> str:
        result = await self.run(*arguments)
        assert result.exit_code == 0, result.exception
        return result.stdout


@asynccontextmanager
async def cluster_of(tmp_path: Path, *manifests: dict[str, Any]) -> AsyncIterator[tuple[Cluster, Shell]]:
    async with Cluster([node("n1")], manifests=manifests) as cluster:
        cluster.write_kubeconfig(tmp_path / "config")
        yield cluster, Shell(tmp_path / "config")


async def test_what_the_objects_of_a_cluster_say(tmp_path: Path) -> None:
    async with cluster_of(tmp_path, *objects()) as (_, shell):
        table = (await shell.printed("-o", "wide")).splitlines()
        assert line_of(table, "└ team").split()[1:5] == ["team", "3", "████┃█··", "1.5/1"]
        assert "for 60m" in line_of(table, "└ team")

        page = [line.rstrip() for line in (await shell.printed("team")).splitlines()]
        assert page[:2] == ["namespace  team", "bucket     area"]
        assert "Overused: R: too much" in page

        document = json.loads(await shell.printed("-o", "json"))
        assert document == yaml.safe_load(await shell.printed("-o", "yaml"))
        found = document["namespaces"]["team"]
        assert found["hard"] == {"requests.cpu": "2"}
        assert (found["deserved"], found["allocated"]) == ({"cpu": "1"}, {"cpu": "1500m"})
        assert (found["parent"], found["weight"], document["buckets"]["area"]["weight"]) == ("area", 3, 2)
        assert document["total"]["cpu"] == "4"

        wrong = await shell.run("teem")
        assert isinstance(wrong.exception, BadInput)
        assert "did you mean 'team'" in str(wrong.exception)


async def test_a_cluster_that_does_not_serve_them(tmp_path: Path) -> None:
    async with cluster_of(tmp_path) as (cluster, shell):
        name = "consumers.kube-arbitrator.incubator.k8s.io"
        cluster.client.delete("apiextensions.k8s.io/customresourcedefinitions", "", name)
        result = await shell.run()

    assert isinstance(result.exception, VschedError)
    assert str(result.exception).startswith(f"{name} are not served by http")
    assert "\n" not in str(result.exception)


async def test_a_daemon_tells_what_may_be_held_for_now(tmp_path: Path) -> None:
    async with (
        cluster_of(tmp_path, *objects()[:3]) as (cluster, shell),
        scheduling(cluster.url, arbitrate=True, listen_address="127.0.0.1:0") as daemon,
    ):
        await until(lambda: cluster.client.get("kube-arbitrator.incubator.k8s.io/allocations", "team", "defaults"))
        daemon_url = f"127.0.0.1:{daemon.ports['--listen-address']}"
        document = json.loads(await shell.printed("team", "-o", "json", "--daemon", daemon_url))

    found = document["namespaces"]["team"]
    assert found["deserved"]["cpu"] == "500m", "what is reserved, though nothing asks for it"
    assert found["ceiling"]["cpu"] == "2", "all that it may ever hold, as long as nobody else asks"
