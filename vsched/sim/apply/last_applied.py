"""The annotation of kubectl's client-side apply, which has the configuration that was applied last.

When kubectl changes from client-side to server-side apply, it owns the fields in the annotation, even if managedFields
names another manager. Server-side apply by kubectl keeps the annotation up to date, so that it can change back.
"""

from __future__ import annotations

import orjson

from vsched.apimachinery.meta.kinds import Kind, Obj
from vsched.sim.store.field_ownership import Path, owned_paths, shape_of, value_at

KUBECTL = "kubectl"
ANNOTATION = "kubectl.kubernetes.io/last-applied-configuration"
_MOST_BYTES = 256 * 1024
"""The limit for all annotations of an object."""


def fields_of(kind: Kind, obj: Obj) -> set[Path]:
    """The fields of the annotation that still have the applied values."""
    try:
        applied = orjson.loads(_annotations(obj).get(ANNOTATION, ""))
    except orjson.JSONDecodeError:
        return set()
    if not isinstance(applied, dict) or applied.get("apiVersion") != kind.api_version:
        return set()
    shape = shape_of(kind)
    return {path for path in owned_paths(kind, applied) if value_at(applied, path, shape) == value_at(obj, path, shape)}


def brought_up_to_date(obj: Obj, applied: Obj) -> Obj:
    """The object with its annotation, if it has one, brought up to date."""
    annotations = _annotations(obj)
    if ANNOTATION not in annotations:
        return obj
    given = {name: value for name, value in _annotations(applied).items() if name != ANNOTATION}
    metadata = {name: value for name, value in applied["metadata"].items() if name != "annotations"}
    said = {**applied, "metadata": {**metadata, "annotations": given} if given else metadata}
    annotations = {**annotations, ANNOTATION: _encoded(said)}
    if sum(len(name.encode()) + len(value.encode()) for name, value in annotations.items()) > _MOST_BYTES:
        del annotations[ANNOTATION]
    return {**obj, "metadata": {**obj["metadata"], "annotations": annotations}}


def _annotations(obj: Obj) -> dict[str, str]:
    return dict((obj.get("metadata") or {}).get("annotations") or {})


def _encoded(obj: Obj) -> str:
    """As Go writes JSON: sorted keys, escaped ``<>&``, a line end."""
    text = orjson.dumps(obj, option=orjson.OPT_SORT_KEYS).decode()
    for letter in "<>&":
        text = text.replace(letter, f"\\u{ord(letter):04x}")
    return text + "\n"
