"""Objects of one tenant that say far more than any real one, applied by kubectl beside a running daemon."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from tests.support import oversized as big
from tests.support.asking import ask
from tests.support.kubectl import KUBECTL
from tests.support.running import gang, node, nodes_of, scheduling
from tests.support.waiting import until
from vsched.sim.cluster import Cluster

DEFINITIONS = "apiextensions.k8s.io/customresourcedefinitions"
pytestmark = pytest.mark.kubectl
Obj = dict[str, Any]
Kubectl = Callable[..., Awaitable[str]]


def named(name: str, found: Obj) -> Obj:
    """As a tenant would write it: without what the server fills in."""
    found["metadata"] = {"name": name, "namespace": "tenant", "labels": found["metadata"].get("labels", {})}
    found.pop("status", None)
    return found


def limited(pod: Obj) -> Obj:
    """The API server wants extended resources to be limited to what is requested."""
    resources = pod["spec"]["containers"][0]["resources"]
    resources["limits"] = dict(resources["requests"])
    return pod


OBJECTS = {
    "metadata.labels: 20,000 entries": lambda: big.labelled(20_000),
    "spec.topologySpreadConstraints": lambda: big.spread(5_000, "ScheduleAnyway"),
    "spec.affinity": lambda: big.apart(5_000),
    "spec.containers[*].resources: 20,000 entries": lambda: limited(big.asking(20_000)),
    "spec.minTaskMember: 20,000 entries": lambda: big.roles(20_000),
}
"""By what is said of them."""


def kubectl_of(url: str, folder: Path) -> Kubectl:
    async def kubectl(*arguments: str, given: str = "", good: bool = True) -> str:
        process = await asyncio.create_subprocess_exec(
            KUBECTL,
            f"--server={url}",
            f"--cache-dir={folder}",
            *arguments,
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.STDOUT,
            env={"HOME": str(folder), "KUBECONFIG": str(folder / "none")},
        )
        printed, _ = await process.communicate(given.encode())
        assert (process.returncode == 0) is good, printed.decode()
        return printed.decode()

    return kubectl


def told(cluster: Cluster, name: str) -> list[str]:
    """The messages of Events about an object of the tenant."""
    events = cluster.client.list("events", "tenant")
    return [event["message"] for event in events if event["involvedObject"]["name"] == name]


async def test_gangs_are_bound_beside_whatever_a_tenant_writes_and_it_is_told_why(tmp_path: Path) -> None:
    async with Cluster([node(f"n{number}", cpu="64") for number in range(20)]) as cluster, scheduling(cluster.url):
        kubectl = kubectl_of(cluster.url, tmp_path)
        await kubectl("create", "namespace", "tenant")
        for number, (said, made) in enumerate(OBJECTS.items()):
            name = f"big-{number}"
            found = json.dumps(named(name, made()))
            await kubectl("create", "--validate=false", "-f", "-", given=found)
            cluster.apply(gang(f"beside-{number}", 4))
            await until(lambda number=number: len(nodes_of(cluster, f"beside-{number}-")) == 4)
            await until(lambda name=name, said=said: any(said in one for one in told(cluster, name)))
            await kubectl("delete", "-f", "-", "--wait=false", "--force", given=found)
            cluster.apply(gang(f"after-{number}", 4))
            await until(lambda number=number: len(nodes_of(cluster, f"after-{number}-")) == 4)


async def test_a_gang_of_two_billion_pods_is_explained_and_advised_at_no_cost(tmp_path: Path) -> None:
    ports = {"listen_address": "127.0.0.1:0"}
    async with Cluster([node("n1", cpu="64")]) as cluster, scheduling(cluster.url, **ports) as daemon:
        kubectl = kubectl_of(cluster.url, tmp_path)
        await kubectl("create", "namespace", "tenant")
        member = named("member", big.pod())
        member["metadata"]["annotations"] = {"scheduling.k8s.io/group-name": "huge"}
        for found in (named("huge", big.group(minMember=big.INT32_MAX)), member):
            await kubectl("create", "--validate=false", "-f", "-", given=json.dumps(found))
        await until(lambda: any("2147483647" in one for one in told(cluster, "huge")))
        for _ in range(3):
            answer = await ask(f"http://127.0.0.1:{daemon.ports['--listen-address']}/explain/tenant/huge")
            assert isinstance(answer.body, dict)
            assert answer.body["constraints"][0]["code"] == "GangIncomplete"
        cluster.apply(gang("beside", 4))
        await until(lambda: len(nodes_of(cluster, "beside-")) == 4)


@pytest.mark.parametrize("name", ["", "?x=1", "a\u0007b", "a/b", ".."])
async def test_a_command_about_what_cannot_be_named_is_refused_and_where_it_is_not_it_is_left_out(
    name: str, tmp_path: Path
) -> None:
    target = {"apiVersion": "scheduling.volcano.sh/v1beta1", "kind": "Queue", "name": name, "uid": "u"}
    metadata = {"name": "odd", "namespace": "default"}
    command = {"apiVersion": "bus.volcano.sh/v1alpha1", "kind": "Command", "metadata": metadata}
    given = json.dumps({**command, "action": "CloseQueue", "target": target})
    async with (
        Cluster([node("n1", cpu="64")]) as cluster,
        scheduling(cluster.url, command_namespaces=("default",)),
    ):
        kubectl = kubectl_of(cluster.url, tmp_path)
        refused = await kubectl("create", "--validate=false", "-f", "-", given=given, good=False)
        assert "target.name" in refused
        # Volcano's own definition lets anything in.
        cluster.client.patch(DEFINITIONS, "", "commands.bus.volcano.sh", without_rules)
        await kubectl("create", "--validate=false", "-f", "-", given=given)
        await until(lambda: refusals(cluster, "odd"))
        cluster.apply(gang("beside", 4))
        await until(lambda: len(nodes_of(cluster, "beside-")) == 4)


def without_rules(definition: Obj) -> Obj:
    """The definition of Commands, taking any name."""
    changed: Obj = json.loads(json.dumps(definition))
    schema = changed["spec"]["versions"][0]["schema"]["openAPIV3Schema"]
    schema["properties"]["target"]["properties"]["name"] = {"type": "string"}
    return changed


def refusals(cluster: Cluster, name: str) -> list[Obj]:
    """The Events that say a Command is not carried out."""
    events = cluster.client.list("events", "default")
    return [one for one in events if one["involvedObject"]["name"] == name and one["reason"] == "CommandRefused"]
