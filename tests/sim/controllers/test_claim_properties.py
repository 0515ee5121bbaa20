"""Whatever people and schedulers do with claims: what always holds once the controllers have come to rest."""

from __future__ import annotations

import random
from typing import Any

import pytest

from tests.sim.controllers.claimed import allocate, cluster, node, pod
from tests.support import devices, volumes
from tests.support.examples import LEAST, seeds
from tests.support.waiting import until
from vsched.sim.cluster import Cluster
from vsched.sim.controllers.pod_claims import resource_claims

Obj = dict[str, Any]
PVCS, PVS, ATTACHMENTS = "persistentvolumeclaims", "persistentvolumes", "storage.k8s.io/volumeattachments"
CLAIMS = "resource.k8s.io/resourceclaims"
NODES = ("na", "nb")
LIMIT = 2


async def at_rest(running: Cluster) -> None:
    """Waits until nothing changes any more."""
    revision = -1
    while revision != running.store.revision:
        revision = running.store.revision
        assert await running.settle()


def delete(running: Cluster, resource: str, name: str, namespace: str = "default") -> None:
    if running.client.get(resource, namespace, name) is not None:
        running.client.delete(resource, namespace, name, grace_seconds=0 if resource == "pods" else None)


def do_with_volumes(running: Cluster, drawn: random.Random, number: int) -> None:
    """One step of people who make and delete claims, volumes and pods."""
    some = drawn.randrange(8)
    match drawn.choice(
        ["claim", "claim", "volume", "pod", "pod", "delete claim", "delete volume", "delete pod", "select"]
    ):
        case "claim":
            class_ = drawn.choice(["standard", "static", "waits"])
            running.apply(
                [volumes.claim(f"c{number}", f"{drawn.randint(1, 3)}Gi", namespace="default", storage_class=class_)]
            )
        case "volume":
            size, class_ = f"{drawn.randint(1, 4)}Gi", drawn.choice(["standard", "static"])
            running.apply([volumes.volume(f"pv{number}", size, storage_class=class_)])
        case "pod":
            there = [each["metadata"]["name"] for each in running.client.list(PVCS)]
            used = volumes.claim_volumes(drawn.choice([*there, "missing"]))
            running.apply([pod(f"p{number}", drawn.choice(NODES), volumes=used)])
        case "delete claim":
            delete(running, PVCS, f"c{some}")
        case "delete volume":
            delete(running, PVS, f"pv{some}", "")
        case "delete pod":
            delete(running, "pods", f"p{some}")
        case "select":
            for claim in running.client.list(PVCS):
                if claim["spec"]["storageClassName"] == "waits" and not claim["spec"].get("volumeName"):
                    metadata = {**claim["metadata"], "annotations": {volumes.SELECTED_NODE: drawn.choice(NODES)}}
                    running.client.update(PVCS, {**claim, "metadata": metadata})


@pytest.mark.parametrize("seed", seeds(LEAST, "claims"))
async def test_volumes(seed: int) -> None:
    drawn = random.Random(seed)
    async with cluster([node("na", zone="a"), node("nb", zone="b")]) as running:
        running.apply([volumes.storage_class(waits=False), volumes.storage_class("waits")])
        running.apply([volumes.storage_class("static", waits=False, provisioner=volumes.NO_PROVISIONER)])
        running.apply([volumes.csi_node(name, {volumes.DRIVER: LIMIT}) for name in NODES])
        for number in range(60):
            do_with_volumes(running, drawn, number)
            if drawn.random() < 0.4:
                await running.settle()
        await at_rest(running)
        check_volumes(running)


def check_volumes(running: Cluster) -> None:
    claims = {each["metadata"]["uid"]: each for each in running.client.list(PVCS)}
    found = {each["metadata"]["name"]: each for each in running.client.list(PVS)}
    bound = [each["spec"]["volumeName"] for each in claims.values() if each["status"]["phase"] == "Bound"]
    assert len(bound) == len(set(bound)), "no volume is bound to two claims"
    for claim in claims.values():
        if claim["status"]["phase"] == "Bound":
            volume = found[claim["spec"]["volumeName"]]
            assert volume["status"]["phase"] == "Bound"
            assert volume["spec"]["claimRef"]["uid"] == claim["metadata"]["uid"]
    for volume in found.values():
        owner = (volume["spec"].get("claimRef") or {}).get("uid")
        assert (volume["status"]["phase"] == "Bound") == (owner in claims)
    for place in NODES:
        attached = [
            each["spec"]["source"]["persistentVolumeName"]
            for each in running.client.list(ATTACHMENTS)
            if each["spec"]["nodeName"] == place and each["status"]["attached"]
        ]
        assert len(attached) <= LIMIT
    check_pods(running, claims)


def check_pods(running: Cluster, claims: dict[str, Obj]) -> None:
    """A pod that runs has its volume, attached to its node; whatever is attached has a pod."""
    named = {each["metadata"]["name"]: each for each in claims.values()}
    used: set[tuple[str, str]] = set()
    attached = {
        (each["spec"]["nodeName"], each["spec"]["source"]["persistentVolumeName"]): each["status"]["attached"]
        for each in running.client.list(ATTACHMENTS)
    }
    for each in running.client.list("pods"):
        claim = named.get(each["spec"]["volumes"][0]["persistentVolumeClaim"]["claimName"])
        volume = claim["spec"].get("volumeName") if claim is not None else None
        used.add((each["spec"]["nodeName"], volume or ""))
        if each["status"]["phase"] == "Running":
            assert attached.get((each["spec"]["nodeName"], volume or "")), each["metadata"]["name"]
    assert attached.keys() <= used


def do_with_devices(running: Cluster, drawn: random.Random, number: int) -> None:
    """One step of people who make and delete claims and pods, and of a scheduler that allocates."""
    some = drawn.randrange(number + 1)
    match drawn.choice(["pod", "pod", "shared", "allocate", "allocate", "delete pod", "delete claim", "end pod"]):
        case "pod":
            source = drawn.choice(["template/t", f"c{some}"])
            running.apply(
                [pod(f"p{number}", drawn.choice([*NODES, ""]), resourceClaims=devices.pod_claims(gpu=source))]
            )
        case "shared":
            running.apply([devices.resource_claim(f"c{number}", namespace="default")])
        case "allocate":
            allocate_some(running, drawn)
        case "delete pod":
            delete(running, "pods", f"p{some}")
        case "delete claim":
            delete(running, CLAIMS, f"c{some}")
        case "end pod":
            if running.client.get("pods", "default", f"p{some}") is not None:
                ended = {"phase": "Succeeded"}
                running.client.patch_status(
                    "pods", "default", f"p{some}", lambda found: {**found, "status": {**found["status"], **ended}}
                )


def allocate_some(running: Cluster, drawn: random.Random) -> None:
    """Allocates a device for one of the pods that wait: mostly of its node, sometimes of another, or in use."""
    for user in running.client.list("pods"):
        name = next(iter(resource_claims(user).values()))
        claim = running.client.get(CLAIMS, "default", name) if name else None
        if name is None or claim is None or claim["status"].get("allocation"):
            continue
        if "deletionTimestamp" not in claim["metadata"] and drawn.random() < 0.7:
            place = user["spec"].get("nodeName") if drawn.random() < 0.8 else drawn.choice(NODES)
            device = f"gpu-{drawn.randrange(3)}"
            allocate(running, name, place or drawn.choice(NODES), device, pods=[user["metadata"]["name"]])
            return


@pytest.mark.parametrize("seed", seeds(LEAST, "claims"))
async def test_devices(seed: int) -> None:
    drawn = random.Random(seed)
    async with cluster([node(name) for name in NODES]) as running:
        running.apply([devices.resource_slice(name, 3) for name in NODES])
        running.apply([devices.claim_template("t", namespace="default"), devices.device_class()])
        running.apply([pod("stays", NODES[0], resourceClaims=devices.pod_claims(gpu="template/t"))])
        await running.settle()
        claim = next(iter(resource_claims(running.client.list("pods")[0]).values()))
        assert claim is not None
        allocate(running, claim, NODES[0], "gpu-0", pods=["stays"])
        for number in range(60):
            do_with_devices(running, drawn, number)
            if drawn.random() < 0.4:
                await running.settle()
        await at_rest(running)
        assert "Running" in {each["status"]["phase"] for each in running.client.list("pods")}
        check_devices(running)


def check_devices(running: Cluster) -> None:
    pods = {each["metadata"]["uid"]: each for each in running.client.list("pods")}
    prepared: dict[tuple[str, str], str] = {}
    for claim in running.client.list(CLAIMS):
        status, metadata = claim["status"], claim["metadata"]
        users = [pods[each["uid"]] for each in status.get("reservedFor") or ()]
        assert all(each["status"]["phase"] != "Succeeded" for each in users), "who has ended uses nothing"
        assert bool(users) == bool(status.get("allocation")) == bool(metadata.get("finalizers"))
        for owner in metadata.get("ownerReferences") or ():
            assert pods[owner["uid"]]["status"]["phase"] != "Succeeded", "claims of templates go with their pods"
    for each in pods.values():
        if each["status"]["phase"] == "Running":
            (entry,) = each["spec"]["resourceClaims"]
            name = entry.get("resourceClaimName") or each["status"]["resourceClaimStatuses"][0]["resourceClaimName"]
            found = running.client.get(CLAIMS, "default", name)
            assert found is not None
            assert each["metadata"]["uid"] in {user["uid"] for user in found["status"]["reservedFor"]}
            (result,) = found["status"]["allocation"]["devices"]["results"]
            assert result["pool"] == each["spec"]["nodeName"]
            assert prepared.setdefault((result["pool"], result["device"]), name) == name, "no device for two claims"


@pytest.mark.parametrize("kind", ["volumes", "devices"])
async def test_a_claim_costs_the_same_number_of_writes_however_many_there_are(kind: str) -> None:
    costs = []
    for count in (10, 80):
        async with cluster([node("na", zone="a")]) as running:
            running.apply([volumes.storage_class(waits=False), devices.claim_template("t", namespace="default")])
            await at_rest(running)
            before = running.store.revision
            if kind == "volumes":
                running.apply([volumes.claim(f"c{number}", namespace="default") for number in range(count)])
                await until(lambda: all(each["status"]["phase"] == "Bound" for each in running.client.list(PVCS)))
            else:
                claims = devices.pod_claims(gpu="template/t")
                running.apply([pod(f"p{number}", resourceClaims=claims) for number in range(count)])
                await until(
                    lambda: all("resourceClaimStatuses" in each["status"] for each in running.client.list("pods"))
                )
            await at_rest(running)
            costs.append((running.store.revision - before) / count)
    assert costs[0] == costs[1]
