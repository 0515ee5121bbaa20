"""The parts of a pod template that are read and added to: whether they have the shape that Kubernetes gives them.

Templates are kept as they are written, because a vcjob's definition need not say what is in them. What is not read here
is left to the API server, which sees the pods.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from vsched.api.base import Wire, located
from vsched.controllers.vcjobs import words

_Objects = list[dict[str, Any]] | None


class _Metadata(Wire):
    labels: dict[str, str] | None = None
    annotations: dict[str, str] | None = None


class _Container(Wire):
    name: str | None = None
    env: _Objects = None
    ports: _Objects = None
    volume_mounts: _Objects = None


class _Spec(Wire):
    containers: list[_Container] | None = None
    init_containers: list[_Container] | None = None
    volumes: _Objects = None
    hostname: str | None = None
    subdomain: str | None = None
    scheduler_name: str | None = None
    priority_class_name: str | None = None
    host_network: bool | None = None
    dns_policy: str | None = None


class _Template(Wire):
    metadata: _Metadata | None = None
    spec: _Spec | None = None


def template_problem(template: Mapping[str, Any], at: str) -> str:
    """The first field that is of another type, with what was expected; empty where there is none."""
    try:
        found = msgspec.convert(template, _Template)
    except msgspec.ValidationError as error:
        return located(error, at, msgspec.json.encode(template))
    if found.spec is None or not found.spec.containers:
        return words.no_containers(at)
    return ""


def part(body: dict[str, Any], field: str) -> list[dict[str, Any]]:
    """A list in an object, to be added to: an empty one where there is none."""
    found: list[dict[str, Any]] | None = body.get(field)
    if found is None:
        found = body[field] = []
    return found
