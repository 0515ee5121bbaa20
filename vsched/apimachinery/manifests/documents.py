"""Reads manifests, YAML or JSON, with places for messages."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from vsched import files
from vsched.errors import BadInput, BadObject
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
