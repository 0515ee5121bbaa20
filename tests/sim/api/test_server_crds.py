"""Custom resource definitions over HTTP: what is posted is served, pruned, defaulted, checked, and goes again."""

from __future__ import annotations

from typing import Any

import pytest

from tests.sim.api_client import CRDS, SCHEDULING, Api, queue
from tests.sim.definitions import Obj, definition

PODGROUPS = f"{SCHEDULING}/namespaces/default/podgroups"
APPROVED = "KubernetesAPIApprovalPolicyConformant"
THINGS = "/apis/example.com/v1/namespaces/default/things"


def thing(name: str = "t", version: str = "v1", **spec: Any) -> Obj:
    return {"apiVersion": f"example.com/{version}", "kind": "Thing", "metadata": {"name": name}, "spec": spec}


async def test_batch_kinds_are_there_from_the_start(api: Api) -> None:
    reply = await api.get(CRDS)
    assert reply.names() == [
        "allocations.kube-arbitrator.incubator.k8s.io",
        "buckets.kube-arbitrator.incubator.k8s.io",
        "capacitybuffers.autoscaling.x-k8s.io",
        "commands.bus.volcano.sh",
        "consumers.kube-arbitrator.incubator.k8s.io",
        "cronjobs.batch.volcano.sh",
        "evictionrequests.lifecycle.k8s.io",
        "evictions.lifecycle.k8s.io",
        "hypernodes.topology.volcano.sh",
        "jobflows.flow.volcano.sh",
        "jobs.batch.volcano.sh",
        "jobtemplates.flow.volcano.sh",
        "noderesourcetopologies.topology.node.k8s.io",
        "nodeshards.shard.volcano.sh",
        "numatopologies.nodeinfo.volcano.sh",
        "podgroups.scheduling.volcano.sh",
        "provisioningrequests.autoscaling.x-k8s.io",
        "queues.scheduling.volcano.sh",
    ]
    for item in reply.body["items"]:
        conditions = {each["type"]: each["status"] for each in item["status"]["conditions"]}
        approved = item["metadata"].get("annotations", {}).get("api-approved.kubernetes.io", "").startswith("https:")
        approval = {APPROVED: str(approved)} if item["spec"]["group"].endswith(".k8s.io") else {}
        assert conditions == {"NamesAccepted": "True", "Established": "True", **approval}


async def test_queues_and_pod_groups_get_their_defaults(api: Api) -> None:
    made = await api.made(f"{SCHEDULING}/queues", queue("q"))
    assert made["spec"] == {"weight": 1, "reclaimable": True, "dequeueStrategy": "traverse"}
    group = {"apiVersion": "scheduling.volcano.sh/v1beta1", "kind": "PodGroup", "metadata": {"name": "g"}}
    made = await api.made(PODGROUPS, {**group, "spec": {"minMember": 2, "networkTopology": {"highestTierAllowed": 1}}})
    assert made["spec"] == {
        "minMember": 2,
        "queue": "default",
        "networkTopology": {"highestTierAllowed": 1, "mode": "hard"},
    }


@pytest.mark.parametrize(
    ("spec", "field", "text"),
    [
        ({"weight": 0}, "spec.weight", "should be greater than or equal to 1"),
        ({"weight": "x"}, "spec.weight", 'must be of type integer: "string"'),
        ({"dequeueStrategy": "lifo"}, "spec.dequeueStrategy", 'supported values: "fifo", "traverse"'),
        ({"capability": {"cpu": "lots"}}, "spec.capability.cpu", "should match"),
        ({"capability": {"cpu": True}}, "spec.capability.cpu", "must be of type integer,string"),
    ],
    ids=["a number out of range", "a wrong type", "a word not in the list", "a bad quantity", "a quantity of no type"],
)
async def test_the_schema_refuses(api: Api, spec: Obj, field: str, text: str) -> None:
    reply = await api.post(f"{SCHEDULING}/queues", queue("q", **spec))
    assert (reply.code, reply.reason) == (422, "Invalid")
    assert reply.message.startswith('Queue.scheduling.volcano.sh "q" is invalid: ' + field)
    assert text in reply.body["details"]["causes"][0]["message"]
    assert reply.body["details"]["causes"][0]["field"] == field


async def test_a_posted_definition_is_served_at_once_in_all_its_versions(api: Api) -> None:
    assert (await api.get(THINGS)).code == 404
    made = await api.made(CRDS, definition())
    assert made["spec"]["names"] == {"kind": "Thing", "plural": "things", "singular": "thing", "listKind": "ThingList"}
    made = await api.made(THINGS, thing(nope=1, free={"any": [1]}))
    assert made["spec"] == {"size": 3, "free": {"any": [1]}}
    assert made["metadata"]["generation"] == 1
    other = (await api.get(THINGS.replace("v1", "v2") + "/t")).body
    assert (other["apiVersion"], other["spec"]) == ("example.com/v2", made["spec"])
    assert (await api.get(THINGS)).body["kind"] == "ThingList"


async def test_unknown_fields_of_custom_objects_are_refused_with_strict(api: Api) -> None:
    await api.made(CRDS, definition())
    reply = await api.post(f"{THINGS}?fieldValidation=Strict", thing(nope=1))
    assert (reply.code, reply.message) == (400, 'strict decoding error: unknown field "spec.nope"')


async def test_status_and_scale_of_custom_objects(api: Api) -> None:
    await api.made(CRDS, definition())
    made = await api.made(THINGS, {**thing(), "status": {"n": 1}})
    assert "status" not in made
    change = {"status": {"n": 2}, "metadata": {"labels": {"a": "b"}}}
    told = (await api.patch(f"{THINGS}/t/status", change)).body
    assert (told["status"], told["metadata"].get("labels")) == ({"n": 2}, None)
    scale = (await api.get(f"{THINGS}/t/scale")).body
    assert (scale["spec"], scale["status"]) == ({"replicas": 3}, {"replicas": 2})
    await api.patch(f"{THINGS}/t/scale", {"spec": {"replicas": 8}})
    assert (await api.get(f"{THINGS}/t")).body["spec"]["size"] == 8


async def test_a_deleted_definition_takes_its_objects_along_and_ends_their_watches(api: Api) -> None:
    await api.made(CRDS, definition())
    await api.made(THINGS, thing())
    async with api.watch(f"{THINGS}?watch=1") as watch:
        assert await watch.take(1) == [("ADDED", "t")]
        reply = await api.delete(f"{CRDS}/things.example.com")
        assert reply.body["metadata"]["finalizers"] == ["customresourcecleanup.apiextensions.k8s.io"]
        assert await watch.take(1) == [("DELETED", "t")]
        assert await watch.ended()
    assert (await api.get(THINGS)).code == 404
    assert (await api.get(f"{CRDS}/things.example.com")).code == 404


async def test_a_finalizer_of_an_object_keeps_its_definition(api: Api) -> None:
    await api.made(CRDS, definition())
    await api.made(THINGS, {**thing(), "metadata": {"name": "t", "finalizers": ["a.b/c"]}})
    await api.delete(f"{CRDS}/things.example.com")
    assert (await api.get(f"{CRDS}/things.example.com")).code == 200
    await api.patch(f"{THINGS}/t", {"metadata": {"finalizers": None}})
    assert (await api.get(f"{CRDS}/things.example.com")).code == 404


async def test_a_version_no_longer_served_is_gone(api: Api) -> None:
    await api.made(CRDS, definition())
    await api.made(THINGS, thing())
    change = {"spec": {"versions": [definition()["spec"]["versions"][0]]}}
    assert (await api.patch(f"{CRDS}/things.example.com", change)).code == 200
    assert (await api.get(THINGS.replace("v1", "v2"))).code == 404
    assert (await api.get(f"{THINGS}/t")).code == 200


APPROVAL = "api-approved.kubernetes.io"


@pytest.mark.parametrize(
    ("annotation", "code", "status"),
    [
        (None, 422, None),
        ("yes", 422, None),
        ("https://example.com/review", 201, "True"),
        ("unapproved, experimental", 201, "False"),
    ],
    ids=["nothing is refused", "any text is refused", "a URL approves", "unapproved is served, too"],
)
async def test_definitions_in_protected_groups_need_a_word_of_approval(
    api: Api, annotation: str | None, code: int, status: str | None
) -> None:
    body = definition("arbitrator.k8s.io", **({"annotations": {APPROVAL: annotation}} if annotation else {}))
    assert (await api.post(CRDS, body)).code == code
    if status is not None:
        stored = (await api.get(f"{CRDS}/things.arbitrator.k8s.io")).body
        conditions = {each["type"]: each["status"] for each in stored["status"]["conditions"]}
        assert conditions["KubernetesAPIApprovalPolicyConformant"] == status


async def test_a_definition_must_be_named_for_what_it_defines(api: Api) -> None:
    body = definition()
    reply = await api.post(CRDS, {**body, "metadata": {"name": "other"}})
    assert (reply.code, reply.body["details"]["causes"][0]["field"]) == (422, "metadata.name")
