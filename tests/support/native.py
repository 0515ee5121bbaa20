"""A small world with a native PodGroup, for tests without a cluster."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from tests.support import builders as make
from tests.support.plans import NOW
from vsched import api
from vsched.mirror.mirror import Mirror
from vsched.mirror.stores import MirrorSettings
from vsched.model.snapshot import Snapshot


def native_world(
    version: str = "v1beta1", cpu: str = "2", setbacks: Mapping[str, str] | None = None, **spec: Any
) -> Snapshot:
    """A gang of 3 on a node, by default with room for 2 pods; ``setbacks`` are messages by the uid of a pod."""
    group = {
        "apiVersion": f"scheduling.k8s.io/{version}",
        "kind": "PodGroup",
        "metadata": {"name": "g", "namespace": "ns"},
        "spec": {"schedulingPolicy": {"gang": {"minCount": 3}}, **spec},
    }
    grouped = {"schedulingGroup": {"podGroupName": "g"}, "containers": [make.container("1")]}
    pods = [make.pod(f"p{number}", spec=grouped) for number in range(3)]
    node = make.node("n1", status={"allocatable": {"cpu": cpu, "memory": "1Gi", "pods": "9"}})
    cache = Mirror(MirrorSettings(frozenset({"volcano"})))
    for fields in (make.queue("default"), node, group, *pods):
        kind = api.kind_of(fields.get("apiVersion", ""), fields["kind"])
        cache.intake.apply(kind, "ADDED", api.read(kind, msgspec.json.encode(fields)))
    cache.snapshot(NOW)
    for uid, message in (setbacks or {}).items():
        cache.assumptions.binding_refused(uid, message)
    return cache.snapshot(NOW)
