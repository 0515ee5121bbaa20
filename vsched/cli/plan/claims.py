"""Claims that controllers would make for pods: of generic ephemeral volumes, and from ResourceClaimTemplates.

Pure: objects of the manifests in, the same with these claims out. A pod that was read from a cluster has its claims
there already, so it is left as it is where it names one.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator, Mapping
from hashlib import sha256
from typing import Any, NamedTuple

from vsched import api
from vsched.api.manifests import Manifests, Origin, made_up_uid
from vsched.mirror.ingest.volumes import CLASS_ANNOTATION
from vsched.model.jobs.native import API_GROUP

Manifest = dict[str, Any]
Found = tuple[Origin, Manifest]
Name = tuple[str, str]
"""Namespace and name."""

TEMPLATE, CLAIM, VOLUME_CLAIM = "ResourceClaimTemplate", "ResourceClaim", "PersistentVolumeClaim"
VERSIONS = {CLAIM: "resource.k8s.io/v1", VOLUME_CLAIM: "v1"}
POD_CLAIM_NAME = "resource.kubernetes.io/pod-claim-name"
GROUP_CLAIM_NAME = "resource.kubernetes.io/podgroup-claim-name"
DEFAULT = "storageclass.kubernetes.io/is-default-class"
DIGITS = 5
"""The length of the last part of a name that is made up."""
ENDED = ("Succeeded", "Failed")


class Known(NamedTuple):
    """What the manifests have of claims."""

    volumes: Container[Name]
    """The PersistentVolumeClaims."""
    claims: Container[Name]
    """The ResourceClaims."""
    templates: dict[Name, Manifest]
    groups: dict[Name, Manifest]
    """The PodGroups of Kubernetes itself whose claims were made, with the names of the claims in their status."""


def with_claims(found: Iterable[Found]) -> list[Found]:
    """The objects, with the claims that are made for the pods among them.

    A PersistentVolumeClaim that names no storage class gets the default one, as from an API server.
    """
    objects = list(found)
    if not any(manifest["kind"] == "Pod" and _wants_claims(manifest) for _, manifest in objects):
        return _classed(objects)
    known = _known(objects)
    complete: list[Found] = []
    objects.sort(key=lambda one: not _is_group(one[1]))  # pods share the claims of their groups
    for origin, manifest in objects:
        told, claims = claims_for(manifest, known)
        complete += [(origin, told), *((origin, claim) for claim in claims)]
    return _classed(complete)


def claims_for(owner: Manifest, known: Known) -> tuple[Manifest, list[Manifest]]:
    """A pod or a native PodGroup with the names of its claims in its status, and the claims that are not there yet.

    Other objects are left as they are.
    """
    if _is_group(owner):
        return _for_group(owner, known)
    return _for_pod(owner, known) if owner["kind"] == "Pod" and _wants_claims(owner) else (owner, [])


def _is_group(manifest: Manifest) -> bool:
    return manifest["kind"] == "PodGroup" and str(manifest.get("apiVersion")).partition("/")[0] == API_GROUP


def _for_group(group: Manifest, known: Known) -> tuple[Manifest, list[Manifest]]:
    statuses = list((group.get("status") or {}).get("resourceClaimStatuses") or ())
    made = _from_templates(group, known, statuses)
    if statuses:
        group = {**group, "status": {**(group.get("status") or {}), "resourceClaimStatuses": statuses}}
    known.groups[_namespace(group), str(group["metadata"].get("name"))] = group
    return group, made


def _shared(pod: Manifest, known: Known) -> Iterator[Manifest]:
    """The statuses of the entries that a pod shares with its PodGroup."""
    spec = pod.get("spec")
    named = (spec.get("schedulingGroup") if isinstance(spec, dict) else None) or {}
    group = known.groups.get((_namespace(pod), str(named.get("podGroupName")))) if isinstance(named, dict) else None
    if group is None:
        return
    entries, made = _entries(group, "resourceClaims"), (group.get("status") or {}).get("resourceClaimStatuses") or ()
    by_name = {each.get("name"): each for each in made}
    for entry in _unmade(pod):
        if entry in entries and entry.get("name") in by_name:
            yield by_name[entry.get("name")]


def _from_templates(owner: Manifest, known: Known, statuses: list[Manifest]) -> list[Manifest]:
    """The claims of entries that no status names; they are added to the statuses."""
    made, named = [], {each.get("name") for each in statuses if isinstance(each, dict)}
    for entry in _entries(owner, "resourceClaims"):
        template = known.templates.get((_namespace(owner), str(entry.get("resourceClaimTemplateName"))))
        if template is None or entry.get("name") in named:
            continue
        claim = _from_template(owner, str(entry.get("name")), template)
        statuses.append({"name": entry.get("name"), "resourceClaimName": claim["metadata"]["name"]})
        if (_namespace(owner), claim["metadata"]["name"]) not in known.claims:
            made.append(claim)
    return made


def _for_pod(pod: Manifest, known: Known) -> tuple[Manifest, list[Manifest]]:
    if (pod.get("status") or {}).get("phase") in ENDED:
        return pod, []
    made = list(_ephemeral(pod, known.volumes))
    statuses = list((pod.get("status") or {}).get("resourceClaimStatuses") or ())
    statuses += _shared(pod, known)
    made += _from_templates(pod, known, statuses)
    if statuses:
        pod = {**pod, "status": {**(pod.get("status") or {}), "resourceClaimStatuses": statuses}}
    return pod, made


def new_volume_claims(manifests: Manifests) -> Iterator[str]:
    """The PersistentVolumeClaims (``namespace/name``) that no controller has seen yet."""
    for one in manifests.objects[VOLUME_CLAIM]:
        if isinstance(one, api.PersistentVolumeClaim) and not one.status.phase:
            yield f"{one.metadata.namespace}/{one.metadata.name}"


def _classed(objects: list[Found]) -> list[Found]:
    """The objects; claims without a class have the default class, where there is one: the newest, then by name."""
    defaults = [one for _, one in objects if one["kind"] == "StorageClass" and _annotations(one).get(DEFAULT) == "true"]
    if not defaults:
        return objects
    newest = max(str(one["metadata"].get("creationTimestamp") or "") for one in defaults)
    ages = {one["metadata"]["name"]: str(one["metadata"].get("creationTimestamp") or "") for one in defaults}
    name = min(name for name, age in ages.items() if age == newest)
    return [(origin, _with_class(one, name) if _lacks_class(one) else one) for origin, one in objects]


def _lacks_class(manifest: Manifest) -> bool:
    spec = manifest.get("spec")
    if manifest["kind"] != VOLUME_CLAIM or not isinstance(spec, dict) or CLASS_ANNOTATION in _annotations(manifest):
        return False
    return spec.get("storageClassName") is None and not spec.get("volumeName")


def _with_class(manifest: Manifest, name: str) -> Manifest:
    return {**manifest, "spec": {**manifest["spec"], "storageClassName": name}}


def _annotations(manifest: Manifest) -> Manifest:
    metadata = manifest.get("metadata")
    found = metadata.get("annotations") if isinstance(metadata, dict) else None
    return found if isinstance(found, dict) else {}


def missing_templates(pod: Manifest, known: Mapping[Name, Manifest]) -> list[str]:
    """The ResourceClaimTemplates that a pod names and that are not known, so that its claims cannot be made."""
    named = (
        str(entry["resourceClaimTemplateName"]) for entry in _unmade(pod) if entry.get("resourceClaimTemplateName")
    )
    return sorted({name for name in named if (_namespace(pod), name) not in known})


def _unmade(pod: Manifest) -> list[Manifest]:
    """The entries of ``spec.resourceClaims`` of which the status of the pod does not say what was made of them."""
    statuses = (pod.get("status") or {}).get("resourceClaimStatuses") or ()
    there = {each.get("name") for each in statuses if isinstance(each, dict)}
    return [entry for entry in _entries(pod, "resourceClaims") if entry.get("name") not in there]


def _known(objects: Iterable[Found]) -> Known:
    volumes, claims, templates = set[Name](), set[Name](), dict[Name, Manifest]()
    for _, manifest in objects:
        name = (_namespace(manifest), str((manifest.get("metadata") or {}).get("name")))
        if manifest["kind"] == VOLUME_CLAIM:
            volumes.add(name)
        elif manifest["kind"] == CLAIM:
            claims.add(name)
        elif manifest["kind"] == TEMPLATE:
            templates[name] = manifest
    return Known(volumes, claims, templates, {})


def _wants_claims(pod: Manifest) -> bool:
    return bool(_entries(pod, "resourceClaims")) or any("ephemeral" in each for each in _entries(pod, "volumes"))


def _ephemeral(pod: Manifest, known: Container[Name]) -> Iterator[Manifest]:
    """The claims of generic ephemeral volumes that are not there."""
    for volume in _entries(pod, "volumes"):
        template = (volume.get("ephemeral") or {}).get("volumeClaimTemplate")
        name = f"{pod['metadata']['name']}-{volume.get('name')}"
        if isinstance(template, dict) and (_namespace(pod), name) not in known:
            yield _claim(VOLUME_CLAIM, pod, name, template, {})


def _from_template(owner: Manifest, entry: str, template: Manifest) -> Manifest:
    """The claim of an entry of ``spec.resourceClaims``; its name is always the same for the same owner."""
    digest = sha256(f"{_namespace(owner)}/{owner['metadata']['name']}/{entry}".encode()).hexdigest()[:DIGITS]
    name = f"{owner['metadata']['name']}-{entry}-{digest}"
    mark = POD_CLAIM_NAME if owner["kind"] == "Pod" else GROUP_CLAIM_NAME
    return _claim(CLAIM, owner, name, template.get("spec") or {}, {mark: entry})


def _claim(kind: str, made_for: Manifest, name: str, template: Manifest, marks: Mapping[str, str]) -> Manifest:
    """A claim as a controller makes it for a pod or a PodGroup."""
    meta, own = made_for["metadata"], template.get("metadata") or {}
    of = api.kind_of(made_for.get("apiVersion") or "v1", made_for["kind"])
    owner = {
        "apiVersion": made_for.get("apiVersion") or "v1",
        "kind": made_for["kind"],
        "name": meta["name"],
        "uid": meta.get("uid") or made_up_uid(of, _namespace(made_for), meta["name"]),
        "controller": True,
        "blockOwnerDeletion": True,
    }
    metadata = {
        "name": name,
        "namespace": _namespace(made_for),
        "labels": own.get("labels"),
        "annotations": {**(own.get("annotations") or {}), **marks},
        "ownerReferences": [owner],
        "creationTimestamp": meta.get("creationTimestamp"),
    }
    known = {key: value for key, value in metadata.items() if value is not None}
    return {"apiVersion": VERSIONS[kind], "kind": kind, "metadata": known, "spec": template.get("spec") or {}}


def _namespace(manifest: Manifest) -> str:
    return str((manifest.get("metadata") or {}).get("namespace") or "default")


def _entries(pod: Manifest, field: str) -> list[Manifest]:
    """A list in the spec of a pod; what is not of this form is left to the reader of pods, which complains of it."""
    spec = pod.get("spec")
    found = spec.get(field) if isinstance(spec, dict) else None
    return [each for each in found if isinstance(each, dict)] if isinstance(found, list) else []
