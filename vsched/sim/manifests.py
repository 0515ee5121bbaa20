"""Manifest files: reads YAML or JSON with places for messages, and applies the objects to an embedded cluster."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from vsched import files
from vsched.apimachinery.meta.api_errors import Failure
from vsched.apimachinery.meta.kinds import Kind, KindRegistry, Obj
from vsched.errors import BadInput, BadObject
from vsched.sim.client import LocalClient
from vsched.yamltext import KubernetesLoader, check_aliases, is_too_deep

FIRST_KINDS = (
    "CustomResourceDefinition",
    "Namespace",
    "PriorityClass",
    "StorageClass",
    "CSIDriver",
    "DeviceClass",
    "Node",
    "CSINode",
    "CSIStorageCapacity",
    "ResourceSlice",
    "DeviceTaintRule",
    "HyperNode",
    "NodeResourceTopology",
    "Numatopology",
    "Queue",
    "ResourceQuota",
    "ConfigMap",
    "Secret",
    "PersistentVolume",
    "PersistentVolumeClaim",
    "ResourceClaimTemplate",
    "ResourceClaim",
    "Workload",
    "CompositePodGroup",
    "PodGroup",
)
"""Applied before all others, in this order, so that files can have any order."""

_SERVER_OWNED = (
    "uid",
    "resourceVersion",
    "creationTimestamp",
    "generation",
    "managedFields",
    "selfLink",
    "deletionTimestamp",
    "deletionGracePeriodSeconds",
)


@dataclass(frozen=True, slots=True)
class Manifest:
    """An object, and its place in a file."""

    obj: Any
    where: str


def read_documents(path: Path) -> list[Manifest]:
    """The documents of a file (``-`` is standard input) that are not empty."""
    try:
        text = sys.stdin.read() if str(path) == "-" else files.text(path)
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "not UTF-8 text"
        raise BadInput(f"{path}: cannot be read: {reason}") from None
    if is_too_deep(text):
        raise BadInput(f"{path}: nested too deeply (expected Kubernetes objects)")
    try:
        check_aliases(text)
    except yaml.YAMLError as error:
        raise BadInput(f"{path}{_yaml_problem(error)}") from None
    found: list[Manifest] = []
    documents = yaml.load_all(text, Loader=KubernetesLoader)
    number = 0
    while True:
        number += 1
        try:
            content = next(documents)
        except StopIteration:
            return found
        except yaml.YAMLError as error:
            raise BadInput(f"{path}: document {number}{_yaml_problem(error)}") from None
        if content is not None:
            found.append(Manifest(content, f"{path}: document {number}"))


def _yaml_problem(error: yaml.YAMLError) -> str:
    mark = getattr(error, "problem_mark", None)
    problem = " ".join(str(getattr(error, "problem", None) or error).split())
    return f", line {mark.line + 1}: {problem}" if mark is not None else f": {problem}"


def read_manifests(path: Path) -> list[Manifest]:
    """The objects of a file and of Lists in it; raises BadInput that names file and document."""
    return [each for document in read_documents(path) for each in _objects(document)]


def _objects(document: Manifest) -> Iterator[Manifest]:
    obj = document.obj
    if not isinstance(obj, dict):
        raise BadObject(f"{document.where}: expected a Kubernetes object, found {type(obj).__name__}")
    if isinstance(obj.get("kind"), str) and obj["kind"].endswith("List") and isinstance(obj.get("items"), list):
        for index, item in enumerate(obj["items"]):
            yield _checked(Manifest(item, f"{document.where}, items[{index}]"))
        return
    yield _checked(document)


def _checked(manifest: Manifest) -> Manifest:
    obj, where = manifest.obj, manifest.where
    if not isinstance(obj, dict):
        raise BadObject(f"{where}: expected a Kubernetes object, found {type(obj).__name__}")
    for field in ("apiVersion", "kind"):
        if not isinstance(obj.get(field), str) or not obj[field]:
            raise BadObject(f"{where}: {field} is missing: expected a Kubernetes object")
    metadata = obj.get("metadata")
    if not isinstance(metadata, dict) or not isinstance(metadata.get("name") or metadata.get("generateName"), str):
        raise BadObject(f"{where}: {obj['kind']} without metadata.name")
    return Manifest(obj, f"{where} ({obj['kind']} {metadata.get('name') or metadata['generateName']})")


def apply_all(client: LocalClient, registry: KindRegistry, manifests: Iterable[Manifest]) -> None:
    """Creates or updates the objects; raises BadObject with the place of an object that is rejected."""
    ranks = {kind: rank for rank, kind in enumerate(FIRST_KINDS)}
    ordered = sorted(manifests, key=lambda each: ranks.get(each.obj["kind"], len(ranks)))
    uids: dict[str, str] = {}
    made: list[tuple[Manifest, str, Obj]] = []
    claimed: list[tuple[str, Obj]] = []
    for manifest in ordered:
        kind = registry.of(manifest.obj["apiVersion"], manifest.obj["kind"])
        if kind is None:
            version, name = manifest.obj["apiVersion"], manifest.obj["kind"]
            raise BadObject(f'{manifest.where}: no kind "{name}" is served in version "{version}"')
        try:
            obj = _apply(client, kind, manifest.obj)
        except Failure as failure:
            raise BadObject(f"{manifest.where}: {failure.message}") from None
        if old_uid := manifest.obj["metadata"].get("uid"):
            uids[old_uid] = obj["metadata"]["uid"]
        if manifest.obj["metadata"].get("ownerReferences"):
            made.append((manifest, kind.path, obj))
        if kind.kind in ("PersistentVolume", "ResourceClaim"):
            claimed.append((kind.path, obj))
    for resource, obj in claimed:
        _relink_claim(client, resource, obj, uids)
    for manifest, resource, obj in made:
        _relink(client, resource, obj, manifest.obj["metadata"]["ownerReferences"], uids)


def _apply(client: LocalClient, kind: Kind, obj: Obj) -> Obj:
    given = obj["metadata"]
    metadata = {key: value for key, value in given.items() if key not in (*_SERVER_OWNED, "ownerReferences")}
    if kind.namespaced:
        metadata.setdefault("namespace", "default")
    wanted = {**obj, "metadata": metadata}
    namespace, resource = metadata.get("namespace", ""), kind.path
    old = client.get(resource, namespace, metadata["name"]) if metadata.get("name") else None
    if old is None:
        stored = client.create(resource, wanted)
    else:
        merged = {**old["metadata"], **metadata}
        stored = client.update(resource, {**old, **wanted, "metadata": merged})
    status = obj.get("status")
    if status and kind.has_status and kind.kind != "Node":
        name = stored["metadata"]["name"]
        client.patch_status(
            resource, namespace, name, lambda now: {**now, "status": {**now.get("status", {}), **status}}
        )
    return stored


def _relink(client: LocalClient, resource: str, obj: Obj, references: Sequence[Obj], uids: dict[str, str]) -> None:
    """Sets owner references with the new uids of their owners, without references to objects that were not applied."""
    kept = [{**each, "uid": uids[each["uid"]]} for each in references if each.get("uid") in uids]
    current = client.get(resource, obj["metadata"].get("namespace", ""), obj["metadata"]["name"])
    if kept and current is not None:
        client.update(resource, {**current, "metadata": {**current["metadata"], "ownerReferences": kept}})


def _relink_claim(client: LocalClient, resource: str, obj: Obj, uids: dict[str, str]) -> None:
    """Has a volume name its claim, and a resource claim its consumers, by their new uids."""
    namespace, name = obj["metadata"].get("namespace", ""), obj["metadata"]["name"]
    reference = obj.get("spec", {}).get("claimRef") or {}
    if reference.get("uid") in uids:
        named = {**reference, "uid": uids[reference["uid"]]}
        client.patch(resource, namespace, name, lambda now: {**now, "spec": {**now["spec"], "claimRef": named}})
    current = client.get(resource, namespace, name)
    consumers = ((current or {}).get("status") or {}).get("reservedFor") or ()
    if any(each.get("uid") in uids for each in consumers):
        kept = [{**each, "uid": uids.get(each["uid"], each["uid"])} for each in consumers]
        client.patch_status(
            resource, namespace, name, lambda now: {**now, "status": {**now["status"], "reservedFor": kept}}
        )
