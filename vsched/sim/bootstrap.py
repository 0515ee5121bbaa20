"""The objects that every cluster starts with: definitions, namespaces, priority classes."""

from __future__ import annotations

from vsched.apimachinery.meta.kinds import Obj
from vsched.apimachinery.objects.crds import foreign_definitions, shipped_definitions
from vsched.sim.writer import ObjectWriter

NAMESPACES = ("default", "kube-system", "kube-public", "kube-node-lease")
_PRIORITY_CLASSES = (
    (
        "system-node-critical",
        2_000_001_000,
        "Used for system critical pods that must not be moved from their current node.",
    ),
    (
        "system-cluster-critical",
        2_000_000_000,
        "Used for system critical pods that must run in the cluster, but can be moved to another node if necessary.",
    ),
)


def seed(writer: ObjectWriter) -> None:
    """Creates those that are missing; safe to repeat."""
    for name in NAMESPACES:
        _ensure(writer, {"kind": "Namespace", "apiVersion": "v1", "metadata": {"name": name}})
    for name, value, description in _PRIORITY_CLASSES:
        _ensure_class(writer, name, value, description)
    for definition in (*shipped_definitions(), *foreign_definitions()):
        _ensure(writer, definition)
    writer.custom.all_used()


def _ensure(writer: ObjectWriter, obj: Obj) -> None:
    kind = writer.store.registry.of(obj["apiVersion"], obj["kind"])
    assert kind is not None
    if writer.store.get(kind, "", obj["metadata"]["name"]) is None:
        writer.create(kind, "", obj)


def _ensure_class(writer: ObjectWriter, name: str, value: int, description: str) -> None:
    """Creates a class without checks, because users may not create classes with these values."""
    kind = writer.store.registry.resource("scheduling.k8s.io/priorityclasses")
    if writer.store.get(kind, "", name) is None:
        writer.create_unchecked(
            kind,
            {
                "kind": "PriorityClass",
                "apiVersion": "scheduling.k8s.io/v1",
                "metadata": {"name": name},
                "value": value,
                "preemptionPolicy": "PreemptLowerPriority",
                "description": description,
            },
        )
