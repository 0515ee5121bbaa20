"""The objects that every cluster starts with: definitions, namespaces, priority classes."""

from __future__ import annotations

from vsched.apimachinery.meta.kinds import Obj
from vsched.apimachinery.objects.crds import foreign_definitions, shipped_definitions
from vsched.apimachinery.objects.system import NAMESPACES, system_priority_classes
from vsched.sim.writer import ObjectWriter


def seed(writer: ObjectWriter) -> None:
    """Creates those that are missing; safe to repeat."""
    for name in NAMESPACES:
        _ensure(writer, {"kind": "Namespace", "apiVersion": "v1", "metadata": {"name": name}})
    for found in system_priority_classes():
        _ensure(writer, found, checked=False)
    for definition in (*shipped_definitions(), *foreign_definitions()):
        _ensure(writer, definition)
    writer.custom.all_used()


def _ensure(writer: ObjectWriter, obj: Obj, *, checked: bool = True) -> None:
    """Creates an object that is missing; without checks where users could not create it."""
    kind = writer.store.registry.of(obj["apiVersion"], obj["kind"])
    assert kind is not None
    if writer.store.get(kind, "", obj["metadata"]["name"]) is not None:
        return
    if checked:
        writer.create(kind, "", obj)
    else:
        writer.create_unchecked(kind, obj)
