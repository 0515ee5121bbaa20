"""The kinds of volumes and devices, as the API server takes them."""

from __future__ import annotations

from typing import Any

import pytest

from tests.sim.api_client import Api
from tests.support import devices, volumes
from vsched.sim.store.kinds import KindRegistry

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
