"""What ``vsched plan`` makes of clusters that are divided among namespaces."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tests.support.plans import DEFAULT_POLICY, NOW, Manifest, manifests
from vsched.api.manifests import Origin, decode_manifests
from vsched.arbitrator.rules import ArbitrationRules
from vsched.cli.plan.arbitrate import AT_ONCE
from vsched.cli.plan.live import OUR_NAMES
from vsched.cli.plan.on_paper import decide_on_paper
from vsched.cli.plan.view import Document, as_document

GROUP = "kube-arbitrator.incubator.k8s.io/v1"


def consumer(namespace: str, name: str = "defaults", **spec: Any) -> Manifest:
    return {"apiVersion": GROUP, "kind": "Consumer", "metadata": {"name": name, "namespace": namespace}, "spec": spec}


def bucket(name: str, **spec: Any) -> Manifest:
    return {"apiVersion": GROUP, "kind": "Bucket", "metadata": {"name": name}, "spec": spec}


def planned(
    text: str, *more: Manifest, cycles: int = 1, rules: ArbitrationRules | None = AT_ONCE, strangers: Sequence[str] = ()
) -> Document:
    """The plan for what the text describes and for further objects; pods of ``strangers`` are another scheduler's."""
    objects = [*manifests(text), *more]
    for found in objects:
        if found["kind"] == "Pod" and found["metadata"]["namespace"] in strangers:
            found["spec"]["schedulerName"] = "default-scheduler"
    decoded = decode_manifests((Origin("text", str(at)), found) for at, found in enumerate(objects))
    return as_document(decide_on_paper(decoded, DEFAULT_POLICY, OUR_NAMES, cycles=cycles, now=NOW, rules=rules).planned)


def evicted(document: Document) -> list[list[str]]:
    """Who leaves for the sake of the division, cycle by cycle."""
    return [[one["pod"] for one in cycle["evictions"] if one["action"] == "arbitrate"] for cycle in document["cycles"]]
