"""Whether a node takes a pod, by labels and taints."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from vsched.apimachinery.meta.kinds import Obj
from vsched.apimachinery.meta.label_selectors import matches_label_selector
from vsched.apimachinery.meta.objects import tolerates

HARD_EFFECTS = ("NoSchedule", "NoExecute")


def is_open_to(spec: Obj, tolerations: Sequence[Obj], node: Obj) -> bool:
    """Whether pods with this spec fit the labels and taints of the node; fields of nodes are not looked at."""
    labels: Mapping[str, str] = node["metadata"].get("labels") or {}
    if not (spec.get("nodeSelector") or {}).items() <= labels.items():
        return False
    required = (
        (spec.get("affinity") or {}).get("nodeAffinity", {}).get("requiredDuringSchedulingIgnoredDuringExecution", {})
    )
    terms = required.get("nodeSelectorTerms")
    if terms and not any(
        matches_label_selector({"matchExpressions": each.get("matchExpressions")}, labels) for each in terms
    ):
        return False
    hard = [each for each in node["spec"].get("taints") or () if each.get("effect") in HARD_EFFECTS]
    return all(any(tolerates(toleration, taint) for toleration in tolerations) for taint in hard)
