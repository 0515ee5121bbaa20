"""Users who are named by another label or annotation than ours: objects are read as if they used ours."""

from __future__ import annotations

from vsched import api
from vsched.mirror.ingest.metadata import is_made
from vsched.model.jobs.spec import USER

NAMING = (api.Pod, api.PodGroup, api.NativePodGroup, api.CompositePodGroup, api.Workload, api.WorkloadObject)
"""Kinds of objects that may name a user."""


def rename_user(found: api.Object, key: str) -> None:
    """Read the user by the annotation or label ``key``, and by nothing else; ours has it then.

    A PodGroup that vsched made has the annotation of ours already, copied from its workload.
    """
    if key == USER or not isinstance(found, NAMING):
        return
    metadata = found.metadata
    label = (metadata.labels or {}).get(key)
    said = (metadata.annotations or {}).get(key, label)
    if not is_made(metadata) or said is not None:
        metadata.annotations = _with(metadata.annotations, said)
    if isinstance(found, api.Pod):
        metadata.labels = _with(metadata.labels, label)


def _with(pairs: dict[str, str] | None, user: str | None) -> dict[str, str] | None:
    if user is not None:
        return {**(pairs or {}), USER: user}
    if pairs and USER in pairs:
        return {key: value for key, value in pairs.items() if key != USER}
    return pairs
