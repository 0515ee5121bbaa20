"""``vsched autoscaling``: what a daemon shows of ProvisioningRequests and CapacityBuffers."""

from __future__ import annotations

import asyncio
import json
import re
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result
from rich.console import Console

from tests.support.running import WRITTEN_SOON, gang, node, scheduling
from tests.support.waiting import until, until_answered
from vsched import api
from vsched.cli import cli
from vsched.cli.autoscaling import words
from vsched.cli.autoscaling.view import shown_page
from vsched.cli.show.drawing import look_for
from vsched.controllers.provisioning.shown import AutoscalingShown, Buffer, LatestRequest, buffer_of
from vsched.sim.cluster import Cluster

Obj = dict[str, Any]
POLICY = """
actions: "enqueue, allocate"
tiers:
- plugins: [{name: priority}, {name: gang}, {name: predicates}]
autoscaling: {provisioningRequest: true}
"""


def shown(found: AutoscalingShown) -> str:
    console = Console(width=120, record=True, file=None, force_terminal=False)
    with console.capture() as captured:
        console.print(shown_page(found)(look_for(120, wide=False, unicode=True)))
    return captured.get()


def test_nothing_says_so() -> None:
    assert words.NO_PROVISIONING_REQUESTS in shown(AutoscalingShown(asks=False))
    assert shown(AutoscalingShown(asks=True)).splitlines()[0] == words.NO_NODES_REQUESTED


def test_requests_and_buffers() -> None:
    requests = (
        LatestRequest("ns/train", "train-1", "failed", 1, "none left", retry_at=3600.0),
        LatestRequest("ns/soon", "soon-1", "provisioned", 1, kept_until=7200.0),
    )
    buffers = (Buffer("ns", "spare", 4, "Deployment/web", "s", "provisioned"),)
    found = shown(AutoscalingShown(asks=True, requests=requests, buffers=buffers))

    assert all(word in found for word in ("ns/train", "train-1", "failed", "01:00:00Z", "none left"))
    assert re.search("soon-1.*1.*provisioned.*02:00:00Z.*-", found)
    assert all(word in found for word in ("ns/spare", "4", "Deployment/web", "provisioned"))


def capacity_buffer(status: Obj | None = None, **spec: Any) -> Obj:
    metadata = {"name": "spare", "namespace": "default"}
    made = {"apiVersion": "autoscaling.x-k8s.io/v1beta1", "kind": "CapacityBuffer", "metadata": metadata, "spec": spec}
    return made if status is None else {**made, "status": status}


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        pytest.param(
            capacity_buffer(replicas=3, podTemplateRef={"name": "t"}), (3, "PodTemplate/t", "new", ""), id="a new one"
        ),
        pytest.param(
            capacity_buffer(
                {"replicas": 5, "conditions": [{"type": "Provisioning", "status": "True"}]},
                scalableRef={"apiGroup": "apps", "kind": "Deployment", "name": "web"},
                percentage=50,
            ),
            (5, "Deployment/web", "provisioned", ""),
            id="what its status says goes before",
        ),
        pytest.param(
            capacity_buffer(
                {"conditions": [{"type": "ReadyForProvisioning", "status": "False", "message": "no such template"}]}
            ),
            (0, "", "not provisioned", "no such template"),
            id="one with a fault",
        ),
        pytest.param(
            capacity_buffer({"conditions": [{"type": "ReadyForProvisioning", "status": "True", "reason": "Ready"}]}),
            (0, "", "not provisioned", "Ready"),
            id="one that is not there yet",
        ),
    ],
)
def test_what_a_buffer_says(fields: Obj, expected: tuple[int, str, str, str]) -> None:
    found = buffer_of(api.read("CapacityBuffer", json.dumps(fields).encode()))

    assert found is not None
    assert (found.pods, found.of, found.state, found.message) == expected


async def run(*arguments: str) -> Result:
    return await asyncio.to_thread(CliRunner().invoke, cli, ["autoscaling", *arguments])


async def test_a_daemon_shows_both(tmp_path: Path) -> None:
    policy = tmp_path / "policy.yaml"
    policy.write_text(POLICY)
    async with (
        Cluster([node("n1", cpu="1")]) as cluster,
        scheduling(cluster.url, policy_file=policy, listen_address="127.0.0.1:0", writeback=WRITTEN_SOON) as daemon,
    ):
        cluster.apply([*gang("train", 4), capacity_buffer(replicas=2, podTemplateRef={"name": "t"})])
        await until(lambda: bool(cluster.client.list("autoscaling.x-k8s.io/provisioningrequests")))
        where = ("--daemon", f"127.0.0.1:{daemon.ports['--listen-address']}")

        async def told() -> bool:
            found = json.loads((await run("-o", "json", *where)).stdout)
            return len(found["requests"]) == 1 and len(found["buffers"]) == 1

        await until_answered(told)
        page = (await run(*where)).stdout
        assert "default/train" in page
        assert "asked" in page
        assert "default/spare" in page
