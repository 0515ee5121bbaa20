"""Selectors, affinity, tolerations and spread constraints, as they stand in the specs of pods and other objects."""

from __future__ import annotations

import msgspec

from vsched.api.base import Wire


class Expression(Wire):
    """An expression of a label selector or a node affinity term."""

    key: str
    operator: str
    values: list[str] | None = None


class LabelSelector(Wire):
    """metav1.LabelSelector."""

    match_labels: dict[str, str] | None = None
    match_expressions: list[Expression] | None = None


class NodeSelectorTerm(Wire):
    """One term of a node affinity."""

    match_expressions: list[Expression] | None = None
    match_fields: list[Expression] | None = None


class NodeSelector(Wire):
    """Required node affinity."""

    node_selector_terms: list[NodeSelectorTerm] | None = None


class PreferredTerm(Wire):
    """A weighted node affinity term."""

    weight: int
    preference: NodeSelectorTerm


class NodeAffinity(Wire):
    """spec.affinity.nodeAffinity."""

    required: NodeSelector | None = msgspec.field(default=None, name="requiredDuringSchedulingIgnoredDuringExecution")
    preferred: list[PreferredTerm] | None = msgspec.field(
        default=None, name="preferredDuringSchedulingIgnoredDuringExecution"
    )


class PodAffinityTerm(Wire):
    """A pod (anti-)affinity term."""

    topology_key: str
    label_selector: LabelSelector | None = None
    namespaces: list[str] | None = None
    namespace_selector: LabelSelector | None = None
    match_label_keys: list[str] | None = None
    mismatch_label_keys: list[str] | None = None


class WeightedPodTerm(Wire):
    """A weighted pod (anti-)affinity term."""

    weight: int
    pod_affinity_term: PodAffinityTerm


class PodAffinityFields(Wire):
    """spec.affinity.podAffinity and podAntiAffinity."""

    required: list[PodAffinityTerm] | None = msgspec.field(
        default=None, name="requiredDuringSchedulingIgnoredDuringExecution"
    )
    preferred: list[WeightedPodTerm] | None = msgspec.field(
        default=None, name="preferredDuringSchedulingIgnoredDuringExecution"
    )


class Affinity(Wire):
    """spec.affinity."""

    node_affinity: NodeAffinity | None = None
    pod_affinity: PodAffinityFields | None = None
    pod_anti_affinity: PodAffinityFields | None = None


class TolerationFields(Wire):
    """One of spec.tolerations."""

    key: str | None = None
    operator: str | None = None
    value: str | None = None
    effect: str | None = None


class SpreadFields(Wire):
    """One of spec.topologySpreadConstraints."""

    max_skew: int
    topology_key: str
    when_unsatisfiable: str
    label_selector: LabelSelector | None = None
    min_domains: int | None = None
    node_affinity_policy: str | None = None
    node_taints_policy: str | None = None
    match_label_keys: list[str] | None = None
