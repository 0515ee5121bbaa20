"""Resource claims in a running cluster: made from templates, reserved, given back, deleted."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import pytest

from tests.sim.controllers.claimed import allocate, cluster, pod, reasons, resource_claim
from tests.support import devices
from tests.support.waiting import until
from vsched.sim.cluster import Cluster

Obj = dict[str, Any]
CLAIMS = "resource.k8s.io/resourceclaims"


@pytest.fixture
async def running() -> AsyncIterator[Cluster]:
    async with cluster(2) as found:
        found.apply([devices.device_class()])
        yield found


def names(running: Cluster, pod: str = "p") -> list[Obj]:
    """What the status of a pod says of its claims."""
    found = running.client.get("pods", "default", pod)
    return list((found or {"status": {}})["status"].get("resourceClaimStatuses") or ())


async def made(running: Cluster, pod: str = "p") -> str:
    """The name of the first claim that was made for a pod."""
    await until(lambda: names(running, pod))
    return str(names(running, pod)[0]["resourceClaimName"])


def template(name: str = "t", *requests: Obj) -> Obj:
    return devices.claim_template(name, *requests, namespace="default")


async def test_a_pod_gets_a_claim_for_each_template_that_it_names(running: Cluster) -> None:
    meta = {"labels": {"team": "a"}, "annotations": {"why": "test"}}
    running.apply([{**template(), "spec": {**template()["spec"], "metadata": meta}}])
    running.apply([devices.resource_claim("shared", namespace="default")])
    running.apply([pod(resourceClaims=devices.pod_claims(one="template/t", two="shared", three="template/t"))])
    await until(lambda: len(names(running)) == 2)
    assert [each["name"] for each in names(running)] == ["one", "three"]
    assert len({each["resourceClaimName"] for each in names(running)}) == 2
    claim = resource_claim(running, names(running)[0]["resourceClaimName"])
    assert claim["metadata"]["name"].startswith("p-one-")
    assert claim["metadata"]["annotations"] == {"why": "test", devices.POD_CLAIM_NAME: "one"}
    assert claim["metadata"]["labels"] == {"team": "a"}
    (owner,) = claim["metadata"]["ownerReferences"]
    assert (owner["kind"], owner["name"], owner["controller"]) == ("Pod", "p", True)
    assert claim["spec"]["devices"]["requests"][0]["exactly"]["count"] == 1


async def test_a_pod_waits_for_its_template(running: Cluster) -> None:
    running.apply([pod(resourceClaims=devices.pod_claims(gpu="template/t"))])
    why = 'PodResourceClaim gpu: resource claim template "t": resourceclaimtemplate.resource.k8s.io "t" not found'
    await until(lambda: reasons(running, "p").get("FailedResourceClaimCreation") == why)
    running.apply([template()])
    assert (await made(running)).startswith("p-gpu-")


async def test_a_claim_that_was_deleted_is_made_again_for_a_pod_that_waits(running: Cluster) -> None:
    running.apply([template(), pod(resourceClaims=devices.pod_claims(gpu="template/t"))])
    first = await made(running)
    uid = resource_claim(running, first)["metadata"]["uid"]
    running.client.delete(CLAIMS, "default", first)
    await until(
        lambda: names(running) and running.client.get(CLAIMS, "default", names(running)[0]["resourceClaimName"])
    )
    assert resource_claim(running, names(running)[0]["resourceClaimName"])["metadata"]["uid"] != uid


async def test_a_claim_of_a_template_goes_with_its_pod(running: Cluster) -> None:
    running.apply([template(), pod(resourceClaims=devices.pod_claims(gpu="template/t"))])
    name = await made(running)
    allocate(running, name, "node-0", "gpu-0", pods=["p"])
    assert await running.settle()
    assert "deletionTimestamp" not in resource_claim(running, name)["metadata"]
    running.client.delete("pods", "default", "p")
    await until(lambda: running.client.get(CLAIMS, "default", name) is None)


async def test_a_claim_of_a_template_goes_when_its_pod_has_ended(running: Cluster) -> None:
    running.apply([template(), pod(resourceClaims=devices.pod_claims(gpu="template/t"))])
    name = await made(running)
    allocate(running, name, "node-0", "gpu-0", pods=["p"])
    running.client.patch_status("pods", "default", "p", lambda found: {**found, "status": {"phase": "Succeeded"}})
    await until(lambda: running.client.get(CLAIMS, "default", name) is None)
    assert running.client.get("pods", "default", "p") is not None


async def test_a_claim_that_people_made_is_given_back_with_its_last_consumer(running: Cluster) -> None:
    running.apply([devices.resource_claim(namespace="default")])
    running.apply([pod(name, resourceClaims=devices.pod_claims(gpu="gpus")) for name in ("p", "q")])
    allocate(running, "gpus", "node-0", "gpu-0", pods=["p", "q"])
    running.client.delete("pods", "default", "p")
    await until(lambda: len(resource_claim(running)["status"]["reservedFor"]) == 1)
    assert resource_claim(running)["status"]["allocation"]
    running.client.delete("pods", "default", "q")
    await until(lambda: not resource_claim(running)["metadata"].get("finalizers"))
    assert resource_claim(running)["status"] == {}


async def test_an_allocation_that_nobody_used_yet_stays(running: Cluster) -> None:
    running.apply([devices.resource_claim(namespace="default")])
    allocate(running, "gpus", "node-0", "gpu-0", pods=[])
    assert await running.settle()
    assert resource_claim(running)["status"]["allocation"]
    running.client.delete(CLAIMS, "default", "gpus")
    await until(lambda: running.client.get(CLAIMS, "default", "gpus") is None)


async def test_a_protected_claim_that_is_deleted_stays_until_its_pod_is_gone(running: Cluster) -> None:
    running.apply([devices.resource_claim(namespace="default"), pod(resourceClaims=devices.pod_claims(gpu="gpus"))])
    allocate(running, "gpus", "node-0", "gpu-0", pods=["p"])
    running.client.delete(CLAIMS, "default", "gpus")
    assert await running.settle()
    assert resource_claim(running)["status"]["allocation"]
    running.client.delete("pods", "default", "p")
    await until(lambda: running.client.get(CLAIMS, "default", "gpus") is None)


async def test_a_later_pod_of_the_same_name_is_no_consumer(running: Cluster) -> None:
    running.apply([devices.resource_claim(namespace="default"), pod()])
    allocate(running, "gpus", "node-0", "gpu-0", pods=["p"], uid="another")
    await until(lambda: resource_claim(running)["status"] == {})


async def test_a_pod_group_is_a_consumer_as_long_as_it_is_there(running: Cluster) -> None:
    api_version = "scheduling.volcano.sh/v1beta1"
    group = {"apiVersion": api_version, "kind": "PodGroup", "metadata": {"name": "g"}, "spec": {"minMember": 1}}
    running.apply([devices.resource_claim(namespace="default"), group])
    found = running.client.get("scheduling.volcano.sh/podgroups", "default", "g")
    assert found is not None
    consumer = {"apiGroup": "scheduling.volcano.sh", "resource": "podgroups", "name": "g"}
    allocate(running, "gpus", "node-0", "gpu-0", pods=[], consumers=[{**consumer, "uid": found["metadata"]["uid"]}])
    assert await running.settle()
    assert resource_claim(running)["status"]["reservedFor"]
    running.client.delete("scheduling.volcano.sh/podgroups", "default", "g")
    await until(lambda: resource_claim(running)["status"] == {})


async def test_a_consumer_of_a_kind_that_is_not_served_stays(running: Cluster) -> None:
    running.apply([devices.resource_claim(namespace="default")])
    consumer = {"apiGroup": "example.com", "resource": "things", "name": "t", "uid": "u"}
    allocate(running, "gpus", "node-0", "gpu-0", pods=[], consumers=[consumer])
    assert await running.settle()
    assert resource_claim(running)["status"]["reservedFor"] == [consumer]
