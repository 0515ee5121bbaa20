"""The kinds of volumes and devices, as the API server takes them."""

from __future__ import annotations

from typing import Any

import pytest

from tests.sim.api_client import Api, pod
from tests.support import devices, volumes
from vsched.apimachinery.meta.kinds import KindRegistry

Obj = dict[str, Any]
POD = {"metadata": {"name": "p", "uid": "uid-p"}}
CLAIM = devices.resource_claim(namespace="default")

MANIFESTS = [
    volumes.storage_class(zones=("a", "b")),
    volumes.claim(namespace="default"),
    volumes.claim(namespace="default", volume="pv", selected_node="n1"),
    volumes.volume(),
    volumes.volume(claim="default/data", node="n1"),
    volumes.volume(zone="a"),
    volumes.csi_node(limits={"csi.example.com": 3}, topology_keys=("topology.kubernetes.io/zone",)),
    volumes.csi_driver(counts_capacity=True),
    volumes.storage_capacity(zone="a", namespace="default"),
    volumes.attachment(),
    devices.device_class(),
    devices.resource_slice(
        devices=[devices.device(taints=["bad=yes:NoExecute"], attributes={"model": "h100", "n": 1})]
    ),
    devices.resource_slice("", spec={"allNodes": True}),
    CLAIM,
    devices.claim_template(
        "t",
        devices.first_available("gpu", devices.request("big"), devices.request("small", 2)),
        namespace="default",
    ),
    devices.allocated(CLAIM, "n1", "gpu-0", pods=[POD]),
    devices.from_template(CLAIM, POD),
]

LOOPS = "".join(f"device.attributes.all(d{depth}, " for depth in range(4)) + "true))))"


def path_of(obj: Obj) -> str:
    kind = KindRegistry().of(obj["apiVersion"], obj["kind"])
    assert kind is not None
    base = f"/apis/{obj['apiVersion']}" if kind.group else f"/api/{obj['apiVersion']}"
    return (
        f"{base}/namespaces/{obj['metadata']['namespace']}/{kind.plural}"
        if kind.namespaced
        else f"{base}/{kind.plural}"
    )


@pytest.mark.parametrize(
    "manifest", MANIFESTS, ids=lambda manifest: f"{manifest['kind']} {manifest['metadata']['name']}"
)
async def test_the_short_manifests_are_accepted_to_the_letter(api: Api, manifest: Obj) -> None:
    reply = await api.post(f"{path_of(manifest)}?fieldValidation=Strict", manifest)
    assert reply.code == 201, reply.body
    for part in ("spec", "provisioner", "nodeTopology"):
        assert _within(manifest.get(part), reply.body.get(part)), reply.body[part]


def _within(part: Any, whole: Any) -> bool:
    """Whether every field of the one is in the other, which may have defaults besides."""
    if isinstance(part, dict):
        return all(key in whole and _within(value, whole[key]) for key, value in part.items())
    if isinstance(part, list):
        return len(part) == len(whole) and all(map(_within, part, whole))
    return bool(part == whole)


CLAIMS = "/apis/resource.k8s.io/v1/namespaces/default/resourceclaims"
TEMPLATES = "/apis/resource.k8s.io/v1/namespaces/default/resourceclaimtemplates"


def claim(*requests: Obj, **more: Any) -> Obj:
    return devices.resource_claim("gpus", *requests, namespace="default", **more)


async def test_a_request_asks_for_one_device_unless_it_says_otherwise(api: Api) -> None:
    bare = {"name": "gpu", "exactly": {"deviceClassName": "c", "tolerations": [{"key": "k", "value": "v"}]}}
    made = await api.made(CLAIMS, claim(bare))
    toleration = {"key": "k", "operator": "Equal", "value": "v"}
    (request,) = made["spec"]["devices"]["requests"]
    assert request["exactly"] == {
        "deviceClassName": "c",
        "allocationMode": "ExactCount",
        "count": 1,
        "tolerations": [toleration],
    }
    assert made["status"] == {}
    one_of = {"name": "gpu", "firstAvailable": [{"name": "a", "deviceClassName": "c"}]}
    template = await api.made(TEMPLATES, devices.claim_template("t", one_of, namespace="default"))
    (request,) = template["spec"]["spec"]["devices"]["requests"]
    assert request["firstAvailable"] == [
        {"name": "a", "deviceClassName": "c", "allocationMode": "ExactCount", "count": 1}
    ]


@pytest.mark.parametrize(
    ("made", "where", "why"),
    [
        pytest.param(claim({"name": "g"}), "spec.devices.requests[0]", "exactly one of `exactly`", id="neither form"),
        pytest.param(
            claim(devices.request(count=-1)),
            "spec.devices.requests[0].exactly.count",
            "must be greater than zero",
            id="a negative count",
        ),
        pytest.param(
            claim(devices.request(allocationMode="All")),
            "spec.devices.requests[0].exactly.count",
            "must not be specified",
            id="a count of all",
        ),
        pytest.param(
            claim(devices.request(), devices.request()),
            "spec.devices.requests[1].name",
            "Duplicate value",
            id="two requests of one name",
        ),
        pytest.param(
            claim(devices.request("gpu", 1, "device.driver ==")),
            "spec.devices.requests[0].exactly.selectors[0].cel.expression",
            "compilation failed",
            id="broken CEL",
        ),
        pytest.param(
            claim(devices.request("gpu", 1, LOOPS)),
            "spec.devices.requests[0].exactly.selectors[0].cel.expression",
            "too complex, exceeds cost limit",
            id="CEL that might take too long",
        ),
        pytest.param(
            devices.device_class("c", LOOPS),
            "spec.selectors[0].cel.expression",
            "too complex, exceeds cost limit",
            id="a class with CEL that might",
        ),
        pytest.param(
            claim(devices.request("gpu", 1, "node.name == 'n'")),
            "spec.devices.requests[0].exactly.selectors[0].cel.expression",
            "undeclared reference to 'node'",
            id="CEL about something else",
        ),
        pytest.param(
            claim(constraints=[{"requests": ["x"], "matchAttribute": "a.b/c"}]),
            "spec.devices.constraints[0].requests[0]",
            "must be the name of a request",
            id="a constraint of no request",
        ),
        pytest.param(
            claim(constraints=[{"matchAttribute": "numa"}]),
            "spec.devices.constraints[0].matchAttribute",
            "must include a domain",
            id="an attribute without its domain",
        ),
        pytest.param(
            claim(devices.request(adminAccess=True)),
            "spec.devices.requests[0].exactly.adminAccess",
            "requires the `resource.kubernetes.io/admin-access: true` label",
            id="admin access in a plain namespace",
        ),
        pytest.param(
            devices.device_class("c", "device.driver ="),
            "spec.selectors[0].cel.expression",
            "compilation failed",
            id="a class with broken CEL",
        ),
        pytest.param(
            devices.resource_slice(spec={"allNodes": True}),
            "spec",
            "exactly one of `nodeName`",
            id="a slice of two places",
        ),
        pytest.param(devices.resource_slice(""), "spec", "exactly one of `nodeName`", id="a slice of no place"),
        pytest.param(
            devices.resource_slice(devices=129),
            "spec.devices",
            "must have at most 128 items",
            id="a slice of too many devices",
        ),
        pytest.param(
            devices.resource_slice(devices=[devices.device(), devices.device()]),
            "spec.devices[1].name",
            "Duplicate value",
            id="a slice with a device twice",
        ),
        pytest.param(
            devices.resource_slice(count=0),
            "spec.pool.resourceSliceCount",
            "must be greater than zero",
            id="a pool of no slice",
        ),
        pytest.param(
            devices.resource_slice(devices=[devices.device(bindingConditions=["a"])]),
            "spec.devices[0].bindingFailureConditions",
            "are required",
            id="binding conditions without those for failures",
        ),
        pytest.param(
            volumes.volume(spec={"csi": {"driver": ""}}),
            "spec.csi.driver",
            "Required value",
            id="a volume without a driver",
        ),
        pytest.param(
            volumes.volume(spec={"accessModes": []}),
            "spec.accessModes",
            "Required value",
            id="a volume without access modes",
        ),
        pytest.param(
            volumes.volume(spec={"nfs": {"server": "s", "path": "/"}}),
            "spec.nfs",
            "may not specify more than 1 volume type",
            id="a volume of two types",
        ),
        pytest.param(
            volumes.claim(namespace="default", modes=("ReadWriteOncePod", "ReadWriteOnce")),
            "spec.accessModes",
            "may not use ReadWriteOncePod with other access modes",
            id="a claim for one pod and for many",
        ),
        pytest.param(volumes.attachment(node=""), "spec.nodeName", "Required value", id="an attachment to no node"),
    ],
)
async def test_what_is_refused(api: Api, made: Obj, where: str, why: str) -> None:
    reply = await api.post(path_of(made), made)
    assert (reply.code, reply.reason) == (422, "Invalid"), reply.body
    found = {cause["field"]: cause["message"] for cause in reply.body["details"]["causes"]}
    assert why in found[where], found


async def test_admin_access_is_for_namespaces_that_are_labelled(api: Api) -> None:
    labels = {"resource.kubernetes.io/admin-access": "true"}
    await api.patch("/api/v1/namespaces/default", {"metadata": {"labels": labels}})
    await api.made(CLAIMS, claim(devices.request(adminAccess=True)))


async def test_the_spec_of_a_claim_never_changes(api: Api) -> None:
    made = await api.made(CLAIMS, claim())
    made["spec"]["devices"]["requests"][0]["exactly"]["count"] = 2
    reply = await api.put(f"{CLAIMS}/gpus", made)
    assert (reply.code, reply.body["details"]["causes"][0]["field"]) == (422, "spec")


@pytest.mark.parametrize(
    ("spec", "where", "why"),
    [
        pytest.param(
            {"resourceClaims": [{"name": "g"}]},
            "spec.resourceClaims[0]",
            "must specify one of",
            id="a claim from nowhere",
        ),
        pytest.param(
            {"resourceClaims": [{"name": "g", "resourceClaimName": "a", "resourceClaimTemplateName": "b"}]},
            "spec.resourceClaims[0]",
            "at most one of",
            id="a claim from two sources",
        ),
        pytest.param(
            {"resourceClaims": devices.pod_claims(g="a") * 2},
            "spec.resourceClaims[1].name",
            "Duplicate value",
            id="two claims of one name",
        ),
        pytest.param(
            {"containers": [{"name": "c", "image": "i", "resources": {"claims": [{"name": "g"}]}}]},
            "spec.containers[0].resources.claims[0]",
            'Not found: "g"',
            id="a container with a claim that the pod has not",
        ),
        pytest.param(
            {"volumes": [{"name": "v", "ephemeral": {}}]},
            "spec.volumes[0].ephemeral.volumeClaimTemplate",
            "Required value",
            id="an ephemeral volume without a template",
        ),
    ],
)
async def test_what_is_refused_of_pods(api: Api, spec: Obj, where: str, why: str) -> None:
    reply = await api.post("/api/v1/namespaces/default/pods", pod("p", spec=spec))
    assert reply.code == 422, reply.body
    found = {cause["field"]: cause["message"] for cause in reply.body["details"]["causes"]}
    assert why in found[where], found


async def test_volumes_and_claims_are_protected_from_the_start(api: Api) -> None:
    made = await api.made("/api/v1/persistentvolumes", volumes.volume())
    assert made["metadata"]["finalizers"] == ["kubernetes.io/pv-protection"]
    made = await api.made("/api/v1/namespaces/default/persistentvolumeclaims", volumes.claim(namespace="default"))
    assert made["metadata"]["finalizers"] == ["kubernetes.io/pvc-protection"]


async def test_the_source_and_the_place_of_a_volume_stay(api: Api) -> None:
    made = await api.made("/api/v1/persistentvolumes", volumes.volume(zone="a"))
    made["spec"]["csi"]["volumeHandle"] = "other"
    made["spec"]["nodeAffinity"]["required"] = volumes.in_topology(volumes.ZONE, "b")
    reply = await api.put("/api/v1/persistentvolumes/pv", made)
    found = {cause["field"] for cause in reply.body["details"]["causes"]}
    assert (reply.code, found) == (422, {"spec.persistentvolumesource", "spec.nodeAffinity"})
