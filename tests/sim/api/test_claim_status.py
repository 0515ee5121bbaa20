"""The status of resource claims: what a scheduler may write, and what has to stay."""

from __future__ import annotations

from typing import Any

import pytest

from tests.sim.api_client import APPLY, STRATEGIC, Api
from tests.support import devices

Obj = dict[str, Any]
CLAIMS = "/apis/resource.k8s.io/v1/namespaces/default/resourceclaims"


def claim() -> Obj:
    return devices.resource_claim("gpus", namespace="default")


async def allocated(api: Api, *pods: str) -> Obj:
    """A stored claim that is allocated, and reserved for these pods."""
    await api.made(CLAIMS, claim())
    found = [{"metadata": {"name": name, "uid": f"uid-{name}"}} for name in pods]
    status = devices.allocated(claim(), "n1", "gpu-0", pods=found)["status"]
    reply = await api.patch(f"{CLAIMS}/gpus/status", {"status": status})
    assert reply.code == 200, reply.body
    body: Obj = reply.body
    return body


async def test_the_status_of_a_claim_is_written_alone(api: Api) -> None:
    await api.made(CLAIMS, claim())
    metadata = {"finalizers": [devices.FINALIZER], "labels": {"a": "b"}, "annotations": {"a": "b"}}
    status = devices.allocated(claim(), "n1", "gpu-0")["status"]
    reply = await api.patch(f"{CLAIMS}/gpus/status", {"metadata": metadata, "status": status, "spec": {"devices": {}}})
    assert reply.body["metadata"].keys().isdisjoint(metadata)
    assert reply.body["spec"]["devices"]["requests"]
    assert reply.body["status"] == status


@pytest.mark.parametrize(
    ("status", "where", "why"),
    [
        pytest.param(
            {"allocation": None},
            "status.reservedFor",
            "may not be specified when `allocated` is not set",
            id="taken away from a consumer",
        ),
        pytest.param(
            {
                "allocation": {
                    "devices": {"results": [{"request": "gpu", "driver": "d", "pool": "p", "device": "other"}]}
                }
            },
            "status.allocation",
            "field is immutable",
            id="another device",
        ),
        pytest.param(
            {"reservedFor": [{"resource": "pods", "name": f"p{n}", "uid": f"u{n}"} for n in range(257)]},
            "status.reservedFor",
            "Too many: 257: must have at most 256 items",
            id="too many consumers",
        ),
        pytest.param(
            {"reservedFor": [{"resource": "pods", "name": "p", "uid": "u"}] * 2},
            "status.reservedFor[1].uid",
            "Duplicate value",
            id="a consumer twice",
        ),
        pytest.param(
            {"reservedFor": [{"resource": "pods", "name": "p"}]},
            "status.reservedFor[0].uid",
            "Required value",
            id="a consumer without uid",
        ),
    ],
)
async def test_an_allocation_stays_as_long_as_somebody_uses_it(api: Api, status: Obj, where: str, why: str) -> None:
    await allocated(api, "p")
    reply = await api.patch(f"{CLAIMS}/gpus/status", {"status": status})
    found = {cause["field"]: cause["message"] for cause in reply.body["details"]["causes"]}
    assert (reply.code, why in found[where]) == (422, True), found


async def test_nobody_new_may_use_a_deleted_claim(api: Api) -> None:
    await api.made(CLAIMS, {**claim(), "metadata": {**claim()["metadata"], "finalizers": [devices.FINALIZER]}})
    pods = [{"metadata": {"name": name, "uid": name}} for name in ("p", "q")]
    status = devices.allocated(claim(), "n1", "gpu-0", pods=pods[:1])["status"]
    assert (await api.patch(f"{CLAIMS}/gpus/status", {"status": status})).code == 200
    await api.delete(f"{CLAIMS}/gpus")
    more = {"reservedFor": [devices.reserved_for(each) for each in pods]}
    reply = await api.patch(f"{CLAIMS}/gpus/status", {"status": more})
    assert (reply.code, "new entries may not be added" in reply.message) == (422, True)


@pytest.mark.parametrize(
    ("result", "where"),
    [
        pytest.param({"request": "other"}, "status.allocation.devices.results[0].request", id="of no request"),
        pytest.param({"device": ""}, "status.allocation.devices.results[0].device", id="without a device"),
    ],
)
async def test_a_new_allocation_is_checked(api: Api, result: Obj, where: str) -> None:
    await api.made(CLAIMS, claim())
    whole = {"request": "gpu", "driver": "d", "pool": "p", "device": "gpu-0", **result}
    reply = await api.patch(f"{CLAIMS}/gpus/status", {"status": {"allocation": {"devices": {"results": [whole]}}}})
    assert (reply.code, reply.body["details"]["causes"][0]["field"]) == (422, where)


async def test_consumers_are_merged_by_their_uid(api: Api) -> None:
    await allocated(api, "p")
    more = {"resource": "pods", "name": "q", "uid": "uid-q"}
    reply = await api.patch(f"{CLAIMS}/gpus/status", {"status": {"reservedFor": [more]}}, STRATEGIC)
    assert {each["name"] for each in reply.body["status"]["reservedFor"]} == {"p", "q"}
    gone = {"$patch": "delete", "uid": "uid-p"}
    reply = await api.patch(f"{CLAIMS}/gpus/status", {"status": {"reservedFor": [gone]}}, STRATEGIC)
    assert reply.body["status"]["reservedFor"] == [more]


async def test_drivers_and_schedulers_apply_their_own_parts_of_a_status(api: Api) -> None:
    await allocated(api, "p")
    base = {"apiVersion": devices.API_VERSION, "kind": "ResourceClaim", "metadata": {"name": "gpus"}}
    place = {"driver": devices.DRIVER, "pool": "n1"}
    for number in range(2):
        device = {**place, "device": f"gpu-{number}"}
        path = f"{CLAIMS}/gpus/status?fieldManager=driver-{number}&force=true"
        reply = await api.patch(path, {**base, "status": {"devices": [device]}}, APPLY)
        assert reply.code == 200, reply.body
    assert [each["device"] for each in reply.body["status"]["devices"]] == ["gpu-0", "gpu-1"]
