"""Nodes with devices, and gangs whose pods claim some."""

from __future__ import annotations

from tests.support.builders import Fields, node, pod, pod_group
from tests.support.devices import claim_template, pod_claims, resource_slice


def gang(size: int, *requests: Fields) -> list[Fields]:
    """A gang whose pods have claims of a template."""
    entry = {"resourceClaims": pod_claims(gpu="template/big")}
    pods = [pod(f"p{number}", group="g", spec=entry) for number in range(size)]
    return [claim_template("big", *requests), pod_group("g", spec={"minMember": size, "queue": "default"}), *pods]


def machine(name: str, devices: int) -> list[Fields]:
    return [node(name), resource_slice(name, devices)] if devices else [node(name)]
