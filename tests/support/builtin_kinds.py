"""The built-in kinds by name, and small objects of them, for the tests of the pure functions."""

from __future__ import annotations

from typing import Any

from vsched.apimachinery.meta.kinds import BUILTIN, Kind, PrinterColumn

Obj = dict[str, Any]

KINDS = {f"{kind.group.partition('.')[0]}/{kind.kind}": kind for kind in BUILTIN}
POD, NODE = KINDS["/Pod"], KINDS["/Node"]

WIDGET = Kind(
    group="example.com",
    version="v1",
    kind="Widget",
    plural="widgets",
    singular="widget",
    namespaced=True,
    storage="example.com/widgets",
    custom=True,
    columns=(
        PrinterColumn("Weight", "integer", json_path=".spec.weight"),
        PrinterColumn("Ready", "string", json_path='.status.conditions[?(@.type=="Ready")].status'),
        PrinterColumn("Since", "date", json_path=".status.since"),
    ),
    schema={
        "type": "object",
        "properties": {
            "spec": {
                "type": "object",
                "properties": {
                    "weight": {"type": "integer"},
                    "parts": {
                        "type": "array",
                        "x-kubernetes-list-type": "map",
                        "x-kubernetes-list-map-keys": ["name"],
                        "items": {
                            "type": "object",
                            "properties": {"name": {"type": "string"}, "size": {"type": "integer"}},
                        },
                    },
                    "words": {"type": "array", "items": {"type": "string"}},
                },
            }
        },
    },
)


def pod(**spec: Any) -> Obj:
    """A pod of one container that says no more than it must."""
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "p", "namespace": "d"},
        "spec": {"containers": [{"name": "c", "image": "app"}], **spec},
    }


def container(**fields: Any) -> Obj:
    return {"name": "c", "image": "app", **fields}
