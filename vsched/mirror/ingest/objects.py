"""Small objects to the model: PriorityClasses, Namespaces, and whatever selects pods by their labels."""

from __future__ import annotations

from collections.abc import Mapping

from vsched import api
from vsched.api.affinity import LabelSelector
from vsched.errors import BadObject
from vsched.mirror.ingest.bounds import LABELS_MAX, read
from vsched.mirror.ingest.metadata import INT32, QUEUE_NAME, naming
from vsched.mirror.ingest.rules import decoded, selector_of
from vsched.mirror.ingest.words import fields as words
from vsched.model.names import shared
from vsched.model.pods.shape import Selector
from vsched.model.queues.queue import Namespace, PriorityClass

NAMESPACE_NAME = "kubernetes.io/metadata.name"

_NONE: Mapping[str, str] = {}


def class_of(found: api.PriorityClass) -> PriorityClass:
    """What a PriorityClass says; raises BadObject."""
    if not -INT32 <= found.value < INT32:
        name = api.named("PriorityClass", found.metadata)
        raise BadObject(words.bad_value(name, found.value))
    preempts = found.preemption_policy != "Never"
    return PriorityClass(found.metadata.name, found.value, bool(found.global_default), preempts)


def namespace_of(found: api.Namespace) -> Namespace:
    """What a Namespace says; its weight comes from its quotas. Raises BadObject."""
    metadata = found.metadata
    with naming("Namespace", metadata):
        read(metadata.labels, LABELS_MAX, "metadata.labels")
    labels = {NAMESPACE_NAME: metadata.name} | (metadata.labels or {})
    queue = (metadata.annotations or _NONE).get(QUEUE_NAME, "")
    return Namespace(shared(metadata.name), labels=tuple(sorted(labels.items())), queue=queue)


def selected_by(found: api.Selecting) -> Selector | None:
    """Which pods an object selects, None where it names no label; raises BadObject."""
    at, raw = "spec.selector", found.spec.selector
    with naming(type(found).__name__, found.metadata):
        if isinstance(found, api.Service | api.ReplicationController):
            fields = LabelSelector(decoded(raw, dict[str, str], at))
        else:
            fields = decoded(raw, LabelSelector, at) or LabelSelector()
        selector = selector_of(fields, at, {})
    return selector if selector is not None and selector.requirements else None
