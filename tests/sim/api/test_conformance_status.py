"""The status subresource of pods and nodes: what it takes, what it leaves alone, and what it refuses."""

from __future__ import annotations

from typing import Any

import pytest

from tests.sim.api_client import MERGE, PODS, STRATEGIC, Api, pod

Obj = dict[str, Any]
NODES = "/api/v1/nodes"


@pytest.mark.parametrize("phase", ["Dancing", "Running", "Succeeded", "Failed"])
async def test_any_phase_is_taken_from_any_other(api: Api, phase: str) -> None:
    await api.pod("a")
    await api.patch(f"{PODS}/a/status", {"status": {"phase": "Succeeded"}})
    reply = await api.patch(f"{PODS}/a/status", {"status": {"phase": phase}})
    assert (reply.code, reply.body["status"]["phase"]) == (200, phase)


@pytest.mark.parametrize("phase", ["", None], ids=["empty", "null"])
async def test_no_phase_is_a_phase(api: Api, phase: str | None) -> None:
    await api.pod("a")
    reply = await api.patch(f"{PODS}/a/status", {"status": {"phase": phase}})
    assert (reply.code, reply.body["status"]) == (200, {"qosClass": "Burstable"})


@pytest.mark.parametrize("method", ["PUT", "PATCH"])
async def test_a_pods_status_takes_labels_along_but_no_spec_and_no_owners(api: Api, method: str) -> None:
    made = await api.pod("a")
    owner = {"apiVersion": "v1", "kind": "X", "name": "x", "uid": "1"}
    metadata = {"name": "a", "labels": {"a": "b"}, "annotations": {"c": "d"}, "ownerReferences": [owner]}
    body = {"metadata": metadata, "spec": {**made["spec"], "priority": 9}, "status": {"phase": "Running"}}
    kind = "application/json" if method == "PUT" else MERGE
    reply = await api.request(method, f"{PODS}/a/status", body, Content_Type=kind)
    assert reply.code == 200
    assert reply.body["spec"] == made["spec"]
    assert reply.body["status"] == {"phase": "Running", "qosClass": "Burstable"}
    after = reply.body["metadata"]
    assert (after["labels"], after["annotations"], after["generation"]) == ({"a": "b"}, {"c": "d"}, 1)
    assert "ownerReferences" not in after


async def test_a_nodes_status_takes_labels_along_but_no_spec(api: Api) -> None:
    await api.made(NODES, {"metadata": {"name": "n"}})
    body = {
        "metadata": {"labels": {"a": "b"}},
        "spec": {"unschedulable": True},
        "status": {"capacity": {"cpu": "4000m"}, "conditions": [{"type": "Ready", "status": "True"}]},
    }
    reply = await api.patch(f"{NODES}/n/status", body, STRATEGIC)
    assert (reply.code, reply.body["metadata"]["labels"]) == (200, {"a": "b"})
    assert "unschedulable" not in reply.body["spec"]
    assert reply.body["status"]["capacity"] == {"cpu": "4"}


@pytest.mark.parametrize("path", [f"{PODS}/a", f"{NODES}/a"], ids=["pods", "nodes"])
async def test_conditions_merge_by_type_the_new_ones_first(api: Api, path: str) -> None:
    await api.made(path.rpartition("/")[0], pod("a") if "pods" in path else {"metadata": {"name": "a"}})
    for condition in ("Ready", "Other"):
        conditions = [{"type": condition, "status": "False"}]
        await api.patch(f"{path}/status", {"status": {"conditions": conditions}}, STRATEGIC)
    change = {"status": {"conditions": [{"type": "Ready", "status": "True", "reason": "r"}]}}
    after = (await api.patch(f"{path}/status", change, STRATEGIC)).body["status"]["conditions"]
    assert [(one["type"], one["status"]) for one in after] == [("Other", "False"), ("Ready", "True")]


@pytest.mark.parametrize(
    ("status", "message"),
    [
        ({"qosClass": "Guaranteed"}, 'status.qosClass: Invalid value: "Guaranteed": field is immutable'),
        (
            {"nominatedNodeName": "Bad Name"},
            'status.nominatedNodeName: Invalid value: "Bad Name": a lowercase RFC 1123 subdomain must consist of',
        ),
        (
            {"podIPs": [{"ip": "zz"}]},
            'status.podIPs[0]: Invalid value: "zz": must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)',
        ),
    ],
    ids=["another class of service", "a nominated node that cannot be", "an address that is none"],
)
async def test_a_status_is_refused_for(api: Api, status: Obj, message: str) -> None:
    await api.pod("a")
    reply = await api.patch(f"{PODS}/a/status", {"status": status})
    assert (reply.code, reply.reason) == (422, "Invalid")
    assert reply.message.startswith(f'Pod "a" is invalid: {message}')


async def test_the_class_of_service_stays_when_it_is_not_repeated(api: Api) -> None:
    await api.pod("a")
    reply = await api.put(f"{PODS}/a/status", {"metadata": {"name": "a"}, "status": {"phase": "Running"}})
    assert reply.body["status"]["qosClass"] == "Burstable"


@pytest.mark.parametrize(
    ("status", "shown"),
    [
        ({"podIP": "1.2.3.4"}, {"podIP": "1.2.3.4", "podIPs": [{"ip": "1.2.3.4"}]}),
        ({"podIPs": [{"ip": "1.2.3.4"}]}, {"podIP": "1.2.3.4", "podIPs": [{"ip": "1.2.3.4"}]}),
        (
            {"podIP": "1.2.3.5", "podIPs": [{"ip": "1.2.3.4"}]},
            {"podIP": "1.2.3.5", "podIPs": [{"ip": "1.2.3.5"}]},
        ),
    ],
    ids=["one", "a list", "two that differ"],
)
async def test_the_address_of_a_pod_is_told_twice_when_given_as(api: Api, status: Obj, shown: Obj) -> None:
    await api.pod("a")
    after = (await api.patch(f"{PODS}/a/status", {"status": status})).body["status"]
    assert {key: after[key] for key in ("podIP", "podIPs")} == shown


@pytest.mark.parametrize(
    ("policy", "exit_code", "code"),
    [("Never", 0, 422), ("Never", 1, 422), ("OnFailure", 0, 422), ("OnFailure", 1, 200), ("Always", 0, 200)],
)
async def test_a_container_that_ended_for_good_does_not_start_again(
    api: Api, policy: str, exit_code: int, code: int
) -> None:
    await api.made(PODS, pod("a", spec={"restartPolicy": policy}))

    def running(state: Obj) -> Obj:
        return {"status": {"containerStatuses": [{"name": "c", "image": "i", "imageID": "", "state": state}]}}

    assert (await api.patch(f"{PODS}/a/status", running({"terminated": {"exitCode": exit_code}}))).code == 200
    reply = await api.patch(f"{PODS}/a/status", running({"running": {}, "terminated": None}))
    assert reply.code == code
    if code == 422:
        assert reply.message == (
            'Pod "a" is invalid: status.containerStatuses[0].state: Forbidden:'
            " may not be transitioned to non-terminated state"
        )


async def test_a_stale_put_is_a_conflict_and_one_without_a_version_is_not(api: Api) -> None:
    made = await api.pod("a")
    await api.patch(f"{PODS}/a/status", {"status": {"phase": "Running"}})
    stale = await api.put(f"{PODS}/a/status", made)
    assert (stale.code, stale.body["details"]) == (409, {"name": "a", "kind": "pods"})
    assert (await api.put(f"{PODS}/a/status", {"metadata": {"name": "a"}, "status": {}})).code == 200


async def test_a_status_that_says_nothing_new_keeps_its_version(api: Api) -> None:
    made = await api.pod("a")
    reply = await api.patch(f"{PODS}/a/status", {"status": {"phase": "Pending"}})
    assert reply.body["metadata"] == made["metadata"]
    assert (await api.get(f"{PODS}/a/status")).plain == made


@pytest.mark.parametrize("method", ["POST", "DELETE"])
async def test_a_status_is_neither_made_nor_deleted(api: Api, method: str) -> None:
    await api.pod("a")
    assert (await api.request(method, f"{PODS}/a/status", {})).code == 405
