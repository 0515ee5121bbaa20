"""Where a pod may run: selectors, affinity, tolerations and spread constraints, from a spec's raw parts to the model.

Everything is sorted, so that specs with the same meaning become equal values. Errors name the field under ``spec``;
the caller adds the object.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TypeVar

import msgspec

from vsched.api.affinity import (
    Affinity,
    Expression,
    LabelSelector,
    NodeSelector,
    NodeSelectorTerm,
    PodAffinityFields,
    PodAffinityTerm,
    PreferredTerm,
    SpreadFields,
    TolerationFields,
    WeightedPodTerm,
)
from vsched.api.base import Raw, located
from vsched.errors import UNREADABLE, BadObject
from vsched.mirror.ingest.bounds import (
    NAMES_MAX,
    POD_TERMS_MAX,
    REQUIREMENTS_MAX,
    SPREAD_MAX,
    TERMS_MAX,
    TOLERATIONS_MAX,
    VALUES_MAX,
    read,
)
from vsched.mirror.ingest.metadata import choice_of
from vsched.mirror.ingest.words import nodes as words
from vsched.model.pods.shape import NodeTerm, PodAffinity, PodTerm, Requirement, Rules, Selector, Spread, Toleration

T = TypeVar("T")

NODE_OPERATORS = frozenset({"In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt"})
POD_OPERATORS = frozenset({"In", "NotIn", "Exists", "DoesNotExist"})
TOLERATION_OPERATORS = frozenset({"Exists", "Equal"})
NUMERIC_TOLERATION_OPERATORS = frozenset({"Gt", "Lt"})
EFFECTS = frozenset({"", "NoSchedule", "PreferNoSchedule", "NoExecute"})
UNSATISFIABLE = {"DoNotSchedule": True, "ScheduleAnyway": False}
_ABSENT = (b"", b"null")
_REQUIRED = "spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution"
POLICIES = {"Honor": True, "Ignore": False}


def decoded(raw: Raw, kind: type[T], at: str) -> T | None:
    """A raw part of a spec as its struct, None where it is absent or null; raises BadObject naming the field."""
    data = bytes(raw)
    if data in _ABSENT:
        return None
    try:
        return msgspec.json.decode(data, type=kind)
    except UNREADABLE as error:
        raise BadObject(located(error, at, data)) from None


def rules_of(node_selector: Raw, affinity: Affinity | None, tolerations: Raw, revocable: bool) -> Rules:
    """The rules about nodes."""
    selector = decoded(node_selector, dict[str, str], "spec.nodeSelector") or {}
    read(selector, REQUIREMENTS_MAX, "spec.nodeSelector")
    node = affinity.node_affinity if affinity is not None else None
    required = None if node is None or node.required is None else node_terms(node.required, _REQUIRED)
    preferred = () if node is None else _preferred(node.preferred or ())
    return Rules(
        node_name=_pinned(required),
        node_selector=tuple(sorted(selector.items())),
        required=required,
        preferred=preferred,
        tolerations=tolerations_of(
            decoded(tolerations, list[TolerationFields], "spec.tolerations") or (), "spec.tolerations"
        ),
        revocable=revocable,
    )


def pod_affinity_of(affinity: Affinity | None, namespace: str, labels: Mapping[str, str]) -> PodAffinity | None:
    """Affinity and anti-affinity to other pods, None without any."""
    if affinity is None:
        return None
    near, far = affinity.pod_affinity or PodAffinityFields(), affinity.pod_anti_affinity or PodAffinityFields()
    found = PodAffinity(
        _pod_terms(near.required, "spec.affinity.podAffinity", namespace, labels),
        _weighted_terms(near.preferred, "spec.affinity.podAffinity", namespace, labels),
        _pod_terms(far.required, "spec.affinity.podAntiAffinity", namespace, labels),
        _weighted_terms(far.preferred, "spec.affinity.podAntiAffinity", namespace, labels),
    )
    return None if found == PodAffinity() else found


def spread_of(raw: Raw, labels: Mapping[str, str]) -> tuple[Spread, ...]:
    """Topology spread constraints with ``matchLabelKeys`` folded into the selectors."""
    at = "spec.topologySpreadConstraints"
    found = decoded(raw, list[SpreadFields], at)
    read(found, SPREAD_MAX, at)
    return tuple(_spread(fields, f"{at}[{position}]", labels) for position, fields in enumerate(found or ()))


def selector_of(
    fields: LabelSelector | None,
    at: str,
    labels: Mapping[str, str],
    same: Sequence[str] = (),
    other: Sequence[str] = (),
) -> Selector | None:
    """A label selector; the values of the pod's own labels ``same`` must match, those of ``other`` must not."""
    if fields is None:
        return None
    for names, field in (
        (fields.match_labels, f"{at}.matchLabels"),
        (same, "matchLabelKeys"),
        (other, "mismatchLabelKeys"),
    ):
        read(names, REQUIREMENTS_MAX, field)
    found = {Requirement(key, "In", (value,)) for key, value in (fields.match_labels or {}).items()}
    found.update(_requirements(fields.match_expressions, f"{at}.matchExpressions", POD_OPERATORS))
    found.update(Requirement(key, "In", (labels[key],)) for key in same if key in labels)
    found.update(Requirement(key, "NotIn", (labels[key],)) for key in other if key in labels)
    return Selector(tuple(sorted(found, key=_order)))


def _order(requirement: Requirement) -> tuple[str, str, tuple[str, ...]]:
    return requirement.key, requirement.operator, requirement.values


def _requirements(
    expressions: Sequence[Expression] | None, at: str, operators: frozenset[str]
) -> tuple[Requirement, ...]:
    read(expressions, REQUIREMENTS_MAX, at)
    found = {
        _requirement(expression, f"{at}[{position}]", operators)
        for position, expression in enumerate(expressions or ())
    }
    return tuple(sorted(found, key=_order))


def _requirement(expression: Expression, at: str, operators: frozenset[str]) -> Requirement:
    operator, values = expression.operator, expression.values or []
    read(values, VALUES_MAX, f"{at}.values")
    if operator not in operators:
        raise BadObject(words.unknown_operator(at, operator, ", ".join(sorted(operators))))
    if operator in ("In", "NotIn") and not values:
        raise BadObject(words.no_values(at, operator))
    if operator in ("Gt", "Lt") and not _is_one_integer(values):
        raise BadObject(words.not_one_integer(at, values, operator))
    if operator in ("Exists", "DoesNotExist"):
        values = []
    return Requirement(expression.key, operator, tuple(sorted(set(values))))


def _is_one_integer(values: Sequence[str]) -> bool:
    return len(values) == 1 and values[0].removeprefix("-").isdecimal()


def _node_term(term: NodeSelectorTerm, at: str) -> NodeTerm:
    return NodeTerm(
        _requirements(term.match_expressions, f"{at}.matchExpressions", NODE_OPERATORS),
        _requirements(term.match_fields, f"{at}.matchFields", NODE_OPERATORS),
    )


def node_terms(selector: NodeSelector, at: str) -> tuple[NodeTerm, ...]:
    """The terms of a node selector, of which any one must hold; none matches no node."""
    at = f"{at}.nodeSelectorTerms"
    read(selector.node_selector_terms, TERMS_MAX, at)
    terms = [_node_term(term, f"{at}[{position}]") for position, term in enumerate(selector.node_selector_terms or ())]
    # A term without expressions matches no node, so it adds nothing to terms of which any one must hold.
    return tuple(term for term in terms if term != NodeTerm())


def _preferred(terms: Sequence[PreferredTerm]) -> tuple[tuple[int, NodeTerm], ...]:
    at = "spec.affinity.nodeAffinity.preferredDuringSchedulingIgnoredDuringExecution"
    found = []
    read(terms, TERMS_MAX, at)
    for position, term in enumerate(terms):
        preference = _node_term(term.preference, f"{at}[{position}].preference")
        # A preference for every node, or of no weight, changes no order.
        if term.weight and preference != NodeTerm():
            found.append((term.weight, preference))
    return tuple(found)


def _pinned(required: tuple[NodeTerm, ...] | None) -> str:
    """The one node that ``metadata.name`` fields leave, as DaemonSet pods have it."""
    if required is None or len(required) != 1:
        return ""
    for field in required[0].fields:
        if field.key == "metadata.name" and field.operator == "In" and len(field.values) == 1:
            return field.values[0]
    return ""


def tolerations_of(fields: Sequence[TolerationFields], path: str) -> tuple[Toleration, ...]:
    """Tolerations, sorted; those that compare numbers are left out."""
    found = set()
    read(fields, TOLERATIONS_MAX, path)
    for position, toleration in enumerate(fields):
        at = f"{path}[{position}]"
        operator = toleration.operator or "Equal"
        if operator in NUMERIC_TOLERATION_OPERATORS:
            continue  # Numeric comparison of taints is not supported; to tolerate less is safe.
        if operator not in TOLERATION_OPERATORS:
            raise BadObject(words.unknown_toleration_operator(at, operator))
        if (toleration.effect or "") not in EFFECTS:
            raise BadObject(words.unknown_effect(at, toleration.effect))
        found.add(Toleration(toleration.key or "", operator, toleration.value or "", toleration.effect or ""))
    return tuple(sorted(found, key=msgspec.structs.astuple))


def _pod_term(term: PodAffinityTerm, at: str, namespace: str, labels: Mapping[str, str]) -> PodTerm:
    if not term.topology_key:
        raise BadObject(words.no_topology_label(at))
    selector = selector_of(
        term.label_selector, f"{at}.labelSelector", labels, term.match_label_keys or (), term.mismatch_label_keys or ()
    )
    among = selector_of(term.namespace_selector, f"{at}.namespaceSelector", {})
    read(term.namespaces, NAMES_MAX, f"{at}.namespaces")
    names = tuple(sorted(set(term.namespaces or ())))
    if not names and among is None:
        names = (namespace,)
    return PodTerm(term.topology_key, selector, names, among)


def _pod_terms(
    terms: Sequence[PodAffinityTerm] | None, at: str, namespace: str, labels: Mapping[str, str]
) -> tuple[PodTerm, ...]:
    at = f"{at}.requiredDuringSchedulingIgnoredDuringExecution"
    read(terms, POD_TERMS_MAX, at)
    return tuple(_pod_term(term, f"{at}[{position}]", namespace, labels) for position, term in enumerate(terms or ()))


def _weighted_terms(
    terms: Sequence[WeightedPodTerm] | None, at: str, namespace: str, labels: Mapping[str, str]
) -> tuple[tuple[int, PodTerm], ...]:
    at = f"{at}.preferredDuringSchedulingIgnoredDuringExecution"
    read(terms, POD_TERMS_MAX, at)
    return tuple(
        (term.weight, _pod_term(term.pod_affinity_term, f"{at}[{position}].podAffinityTerm", namespace, labels))
        for position, term in enumerate(terms or ())
    )


def _spread(fields: SpreadFields, at: str, labels: Mapping[str, str]) -> Spread:
    if fields.max_skew < 1:
        raise BadObject(words.max_skew_below_one(at, fields.max_skew))
    if fields.min_domains is not None and fields.min_domains < 1:
        raise BadObject(words.min_domains_below_one(at, fields.min_domains))
    return Spread(
        fields.topology_key,
        fields.max_skew,
        choice_of(fields.when_unsatisfiable, UNSATISFIABLE, f"{at}.whenUnsatisfiable"),
        selector_of(fields.label_selector, f"{at}.labelSelector", labels, fields.match_label_keys or ()),
        fields.min_domains or 1,
        choice_of(fields.node_affinity_policy or "Honor", POLICIES, f"{at}.nodeAffinityPolicy"),
        choice_of(fields.node_taints_policy or "Ignore", POLICIES, f"{at}.nodeTaintsPolicy"),
    )
