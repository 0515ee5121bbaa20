"""Manifests of workloads."""

from __future__ import annotations

from typing import Any

from tests.support.plans import Manifest


def workload(kind: str, version: str = "apps/v1", *, pod: Manifest | None = None, **spec: Any) -> Manifest:
    containers = [{"name": "main", "image": "busybox", "resources": {"requests": {"cpu": "1"}}}]
    template = {
        "metadata": {"labels": {"app": "w"}},
        "spec": {"containers": containers, **({"restartPolicy": "Never"} if kind == "Job" else {}), **(pod or {})},
    }
    selector = {"selector": {"matchLabels": {"app": "w"}}} if version == "apps/v1" else {}
    metadata = {"name": "w", "namespace": "x"}
    return {
        "apiVersion": version,
        "kind": kind,
        "metadata": metadata,
        "spec": {"template": template, **selector, **spec},
    }
