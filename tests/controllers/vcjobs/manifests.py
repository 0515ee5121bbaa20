"""Manifests of vcjobs, as people write them."""

from __future__ import annotations

from typing import Any

import msgspec

from vsched.api.batch import VolcanoJob
from vsched.controllers.vcjobs.read import job_of
from vsched.controllers.vcjobs.spec import VcJob

OWNER: dict[str, Any] = {
    "apiVersion": "batch.volcano.sh/v1alpha1", "kind": "Job", "name": "train", "uid": "j1", "controller": True
}  # fmt: skip
"""The reference to a vcjob in what it controls."""


def worker(name: str = "worker", **fields: Any) -> dict[str, Any]:
    """A task of one pod."""
    template = {"spec": {"containers": [{"name": "c", "image": "busybox"}]}}
    return {"name": name, "replicas": 1, "template": template, **fields}


def manifest(*tasks: dict[str, Any], **spec: Any) -> dict[str, Any]:
    """The job ``train`` of these tasks."""
    metadata = {"name": "train", "namespace": "ml", "uid": "u-1", "creationTimestamp": "2026-01-01T00:00:00Z"}
    return {"metadata": metadata, "spec": {"tasks": list(tasks), **spec}}


def job_from(written: dict[str, Any]) -> VcJob:
    """The job that a manifest is read as."""
    return job_of(msgspec.json.decode(msgspec.json.encode(written), type=VolcanoJob))
