"""A CustomResourceDefinition for tests."""

from __future__ import annotations

from typing import Any

Obj = dict[str, Any]


def definition(group: str = "example.com", **more: Any) -> Obj:
    properties = {
        "spec": {
            "type": "object",
            "properties": {"size": {"type": "integer", "default": 3}, "free": {"type": "object", "x": 1}},
        },
        "status": {"type": "object", "x-kubernetes-preserve-unknown-fields": True},
    }
    properties["spec"]["properties"]["free"] = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    version = {
        "name": "v1",
        "served": True,
        "storage": True,
        "schema": {"openAPIV3Schema": {"type": "object", "properties": properties}},
        "subresources": {"status": {}, "scale": {"specReplicasPath": ".spec.size", "statusReplicasPath": ".status.n"}},
    }
    spec = {
        "group": group,
        "scope": "Namespaced",
        "names": {"kind": "Thing", "plural": "things"},
        "versions": [version, {**version, "name": "v2", "storage": False}],
    }
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"things.{group}", **more},
        "spec": spec,
    }
