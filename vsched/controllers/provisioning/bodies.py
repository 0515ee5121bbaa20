"""The contents of writes about ProvisioningRequests."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from typing import Any

import orjson

from vsched.api.resources import POD_TEMPLATES, PROVISIONING_REQUESTS
from vsched.controllers.provisioning.records import ATTEMPT, GANG, MANAGED_BY, SHAPE, VSCHED, LackingGang, OwnRequest
from vsched.framework.policy import Autoscaling
from vsched.writes.bodies import deletion_options
from vsched.writes.writer import Write

Obj = dict[str, Any]
NAME_CHARACTERS = 40
"""How much of the name of a PodGroup is in the names of its requests."""
_OF_THE_POD = frozenset({"nodeName", "hostname", "subdomain", "ephemeralContainers", "schedulingGates", "priority"})
"""Fields of a pod that its template does not have."""
TOKEN_VOLUME = "kube-api-access-"
"""The beginning of names of volumes that Kubernetes adds to every pod."""


def name_of(gang: LackingGang, attempt: int) -> str:
    """The name of a request: always the same for a gang, what it asks for, and the number of the attempt."""
    digest = hashlib.sha256(f"{gang.key} {gang.owner.uid} {gang.shape}".encode()).hexdigest()[:8]
    start = gang.owner.name[:NAME_CHARACTERS].strip("-.").replace(".", "-")
    return f"{start}-{digest}-{attempt}"


def template_name(request: str, number: int) -> str:
    """The name of a PodTemplate of a request."""
    return f"{request}-{number}"


def template_write(gang: LackingGang, request: str, number: int, pod: Mapping[str, Any]) -> Write:
    """The creation of the PodTemplate that a pod of the gang stands for."""
    body = {
        "apiVersion": "v1",
        "kind": "PodTemplate",
        "metadata": _metadata(gang, template_name(request, number), {}),
        "template": {"metadata": {"labels": _of(pod, "metadata").get("labels") or {}}, "spec": _plain_spec(pod)},
    }
    return Write("podtemplate", "POST", POD_TEMPLATES.path(gang.owner.namespace), orjson.dumps(body))


def request_write(gang: LackingGang, attempt: int, rules: Autoscaling) -> Write:
    """The creation of a request."""
    name = name_of(gang, attempt)
    pod_sets = [
        {"podTemplateRef": {"name": template_name(name, number)}, "count": shape.number}
        for number, shape in enumerate(gang.shapes)
    ]
    notes = {GANG: gang.key, SHAPE: gang.shape, ATTEMPT: str(attempt)}
    spec: Obj = {"podSets": pod_sets, "provisioningClassName": rules.class_name}
    if rules.parameters:
        spec["parameters"] = dict(rules.parameters)
    body = {
        "apiVersion": PROVISIONING_REQUESTS.api_version,
        "kind": "ProvisioningRequest",
        "metadata": _metadata(gang, name, notes),
        "spec": spec,
    }
    return Write("provisioningrequest", "POST", PROVISIONING_REQUESTS.path(gang.owner.namespace), orjson.dumps(body))


def deletions(request: OwnRequest) -> Iterator[Write]:
    """The deletion of a request, then of its PodTemplates."""
    body = deletion_options(request.uid)
    path = PROVISIONING_REQUESTS.path(request.namespace, request.name)
    yield Write("provisioningrequest", "DELETE", path, body)
    for name in request.templates:
        if name.startswith(f"{request.name}-"):
            yield Write("podtemplate", "DELETE", POD_TEMPLATES.path(request.namespace, name), b"{}")


def _metadata(gang: LackingGang, name: str, annotations: Mapping[str, str]) -> Obj:
    """Of an object that goes with the PodGroup."""
    owner = gang.owner
    reference = {"apiVersion": owner.api_version, "kind": owner.kind, "name": owner.name, "uid": owner.uid}
    return {
        "name": name,
        "namespace": owner.namespace,
        "labels": {MANAGED_BY: VSCHED},
        "annotations": dict(annotations),
        "ownerReferences": [reference],
    }


def _plain_spec(pod: Mapping[str, Any]) -> Obj:
    """The spec of a pod without what Kubernetes added to it."""
    spec = {key: value for key, value in _of(pod, "spec").items() if key not in _OF_THE_POD}
    for key in ("containers", "initContainers"):
        if spec.get(key):
            spec[key] = [_without_token(one) for one in spec[key]]
    if "volumes" in spec:
        spec["volumes"] = [one for one in spec["volumes"] if not str(one.get("name", "")).startswith(TOKEN_VOLUME)]
    return spec


def _without_token(container: Mapping[str, Any]) -> Obj:
    mounts = [
        one for one in container.get("volumeMounts") or () if not str(one.get("name", "")).startswith(TOKEN_VOLUME)
    ]
    return {**container, "volumeMounts": mounts} if "volumeMounts" in container else dict(container)


def _of(found: Mapping[str, Any], part: str) -> Obj:
    value = found.get(part)
    return value if isinstance(value, dict) else {}
