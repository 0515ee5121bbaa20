"""A pod's requests and placement rules, without its name: the key under which feasibility and scores are cached.

Tasks with the same ``Shape`` object are equal for each filter and score, except for rules that read their labels.
Labels are in ``PodLabels``, apart from the shape, so that a label with a pod index does not split a gang into many
shapes. Shapes are interned: compare them by identity.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Set

import msgspec

from vsched.model.amounts.resources import Amounts
from vsched.model.deviceshare.records import SharedDeviceRequest
from vsched.model.marks import Address, NodeName, Resource, Value, Word

_NUMBER = re.compile(r"[+-]?[0-9]{1,40}")
_INT64 = 1 << 63


class Requirement(msgspec.Struct, frozen=True):
    """One expression of a label selector: key, operator, values."""

    key: str
    operator: Word
    """In, NotIn, Exists, DoesNotExist, Gt or Lt."""
    values: tuple[Value, ...] = ()


class Selector(msgspec.Struct, frozen=True, cache_hash=True):
    """A label selector: all requirements have to hold; without requirements it matches everything."""

    requirements: tuple[Requirement, ...] = ()

    def matches(self, labels: dict[str, str]) -> bool:
        """Whether every requirement holds for ``labels``."""
        for requirement in self.requirements:  # noqa: SIM110 - a generator would take twice as long
            if not requirement_holds(requirement, labels):
                return False
        return True


def requirement_holds(requirement: Requirement, labels: dict[str, str]) -> bool:
    """One requirement against one set of labels, by the rules of Kubernetes (NotIn holds where the key is absent)."""
    value = labels.get(requirement.key)
    match requirement.operator:
        case "In":
            return value is not None and value in requirement.values
        case "NotIn":
            return value is None or value not in requirement.values
        case "Exists":
            return value is not None
        case "DoesNotExist":
            return value is None
        case "Gt" | "Lt" as operator:
            return value is not None and _compares(value, operator, requirement.values)
    return False


def _compares(value: str, operator: str, bounds: tuple[str, ...]) -> bool:
    left, right = as_int64(value), as_int64(bounds[0]) if bounds else None
    if left is None or right is None:
        return False
    return left > right if operator == "Gt" else left < right


def as_int64(text: str) -> int | None:
    """The label value as a number; None where Kubernetes does not accept it as one."""
    value = int(text) if _NUMBER.fullmatch(text) else _INT64
    return value if -_INT64 <= value < _INT64 else None


class NodeTerm(msgspec.Struct, frozen=True):
    """One term of a node affinity: all expressions (labels) and fields (``metadata.name``) must hold."""

    expressions: tuple[Requirement, ...] = ()
    fields: tuple[Requirement, ...] = ()


class Toleration(msgspec.Struct, frozen=True):
    """A toleration of node taints; an empty key with Exists tolerates everything, an empty effect all effects."""

    key: str = ""
    operator: Word = "Equal"
    value: str = ""
    effect: Word = ""

    def tolerates(self, key: str, value: str, effect: str) -> bool:
        """Whether this toleration covers the taint ``key=value:effect``."""
        if self.effect and self.effect != effect:
            return False
        if self.key and self.key != key:
            return False
        if self.operator == "Exists":
            return True
        return bool(self.key) and self.value == value


class Rules(msgspec.Struct, frozen=True, cache_hash=True):
    """The placement rules of a pod that depend on node attributes only; masks are cached by this value."""

    node_name: NodeName = ""
    """The node that ``spec.affinity`` pins by name field; a bound pod's ``spec.nodeName`` is not a rule."""
    node_selector: tuple[tuple[str, Value], ...] = ()
    required: tuple[NodeTerm, ...] | None = None
    """Any one term must hold; None where the pod has no required node affinity."""
    preferred: tuple[tuple[int, NodeTerm], ...] = ()
    tolerations: tuple[Toleration, ...] = ()
    revocable: bool = False
    """Whether it may use nodes of revocable zones (``volcano.sh/revocable-zone``)."""
    refused: tuple[NodeName, ...] = ()
    """Sorted names of the nodes for which admission refused the pod's binding: they are left out for a while."""


class PodTerm(msgspec.Struct, frozen=True):
    """One pod (anti-)affinity term."""

    topology_key: str
    selector: Selector | None
    """None matches no pod."""
    namespaces: tuple[str, ...] = ()
    namespace_selector: Selector | None = None
    """A term without names and selector is for the pod's own namespace; ingest fills that in."""


class PodAffinity(msgspec.Struct, frozen=True, cache_hash=True):
    """A pod's (anti-)affinity to other pods; weights of preferred terms are 1 to 100."""

    required: tuple[PodTerm, ...] = ()
    preferred: tuple[tuple[int, PodTerm], ...] = ()
    anti_required: tuple[PodTerm, ...] = ()
    anti_preferred: tuple[tuple[int, PodTerm], ...] = ()


class Spread(msgspec.Struct, frozen=True, cache_hash=True):
    """One topology spread constraint; ``matchLabelKeys`` is already folded into the selector."""

    topology_key: str
    max_skew: int
    hard: bool
    """True for DoNotSchedule."""
    selector: Selector | None
    min_domains: int = 1
    honours_node_affinity: bool = True
    honours_node_taints: bool = False


class HostPort(msgspec.Struct, frozen=True):
    """A port of the host; ``0.0.0.0`` means every address."""

    port: int
    protocol: Word = "TCP"
    ip: Address = "0.0.0.0"


class ScoringStrategy(msgspec.Struct, frozen=True):
    """How a pod wants nodes to be scored by its requests; it overrides the policy."""

    most: bool
    """True: fuller nodes are better. False: emptier ones."""
    weights: tuple[tuple[Resource, int], ...]
    """Weights by resource, or by a prefix of its name and a star; sorted. Other resources do not count."""


class ZoneRequest(msgspec.Struct, frozen=True, cache_hash=True):
    """What a Guaranteed pod with whole cpus asks of NUMA zones."""

    policy: Word = ""
    """The policy that it requires of nodes (``volcano.sh/numa-topology-policy``); empty where it requires none."""
    containers: tuple[Amounts, ...] = ()
    """What each of its containers asks for that has whole cpus; they hold it together."""
    steps: tuple[Amounts, ...] = ()
    """The same of its init containers, which hold it one after the other."""
    whole: Amounts = ()
    """What all of it asks for at once."""


class PodLabels(msgspec.Struct, frozen=True, cache_hash=True):
    """Namespace and labels of a pod, interned; selectors of other pods match them."""

    namespace: str
    pairs: tuple[tuple[str, Value], ...]


class Shape(msgspec.Struct, frozen=True, eq=False):
    """A pod's requests and placement rules. Interned by ``ShapeTable``; identity is equality."""

    number: int
    """Position in the table that interned it; for reports and ordering of caches, never for decisions."""
    request: Amounts
    """The amounts that the pod takes from a node, ``pods: 1`` included."""
    scoring_cpu: int
    """Milli-cores for scoring, with Kubernetes' defaults for containers that request none (reference appendix B)."""
    scoring_memory: int
    """Bytes for scoring, with the same defaults."""
    rules: Rules
    ports: tuple[HostPort, ...] = ()
    affinity: PodAffinity | None = None
    spread: tuple[Spread, ...] = ()
    images: tuple[str, ...] = ()
    containers: int = 1
    strategy: ScoringStrategy | None = None
    """The pod's own scoring strategy; None where the policy decides."""
    best_effort: bool = False
    """Whether it requests nothing except ``pods``; the action backfill places such pods."""
    burst: tuple[int, int] = (0, 0)
    """Milli-cores and bytes of its limits beyond its requests; 0 where it has no limit."""
    limits: tuple[tuple[Resource, int], ...] = ()
    """Sums of its containers' limits by the names of quotas (``limits.cpu``), sorted; base units."""
    zones: ZoneRequest | None = None
    """What it asks of NUMA zones; None for pods that the kubelet does not align."""
    devices: SharedDeviceRequest | None = None
    """What it asks of shared devices; None for pods that ask for none."""
    overhead: Amounts = ()
    """What of ``request`` is the overhead of its RuntimeClass, which its containers do not ask for."""


ShapeKey = tuple[
    Amounts,
    tuple[int, int],
    Rules,
    tuple[HostPort, ...],
    PodAffinity | None,
    tuple[Spread, ...],
    tuple[str, ...],
    int,
    ScoringStrategy | None,
    tuple[int, int],
    tuple[tuple[str, int], ...],
    ZoneRequest | None,
    SharedDeviceRequest | None,
    Amounts,
]


class ShapeTable:
    """Interns shapes, rules and label sets by value, so that equal ones are one object."""

    __slots__ = ("_labels", "_made", "_rules", "_shapes")

    def __init__(self) -> None:
        self._shapes: dict[ShapeKey, Shape] = {}
        self._rules: dict[Rules, Rules] = {}
        self._labels: dict[PodLabels, PodLabels] = {}
        self._made = 0

    def rules(self, rules: Rules) -> Rules:
        """The interned object for these rules."""
        return self._rules.setdefault(rules, rules)

    def labels(self, namespace: str, labels: dict[str, str]) -> PodLabels:
        """The interned object for this namespace and these labels."""
        made = PodLabels(namespace, tuple(sorted(labels.items())))
        return self._labels.setdefault(made, made)

    def shape(
        self,
        request: Amounts,
        *,
        scoring_cpu: int = 0,
        scoring_memory: int = 0,
        rules: Rules | None = None,
        ports: tuple[HostPort, ...] = (),
        affinity: PodAffinity | None = None,
        spread: tuple[Spread, ...] = (),
        images: tuple[str, ...] = (),
        containers: int = 1,
        strategy: ScoringStrategy | None = None,
        burst: tuple[int, int] = (0, 0),
        limits: tuple[tuple[str, int], ...] = (),
        zones: ZoneRequest | None = None,
        devices: SharedDeviceRequest | None = None,
        overhead: Amounts = (),
    ) -> Shape:
        """The interned shape with these values."""
        rules = self.rules(rules or Rules())
        scoring = (scoring_cpu, scoring_memory)
        key = (
            request,
            scoring,
            rules,
            ports,
            affinity,
            spread,
            images,
            containers,
            strategy,
            burst,
            limits,
            zones,
            devices,
            overhead,
        )
        shape = self._shapes.get(key)
        if shape is None:
            self._made += 1
            shape = self._shapes[key] = Shape(
                number=self._made,
                request=request,
                scoring_cpu=scoring_cpu,
                scoring_memory=scoring_memory,
                rules=rules,
                ports=ports,
                affinity=affinity,
                spread=spread,
                images=images,
                containers=containers,
                strategy=strategy,
                best_effort=len(request) <= 1 and all(column == 2 for column, _ in request),
                burst=burst,
                limits=limits,
                zones=zones,
                devices=devices,
                overhead=overhead,
            )
        return shape

    def adopt(self, shapes: Iterable[Shape]) -> None:
        """Take over the shapes of another table: equal ones are these objects from now on."""
        for shape in shapes:
            key = (
                shape.request,
                (shape.scoring_cpu, shape.scoring_memory),
                self.rules(shape.rules),
                shape.ports,
                shape.affinity,
                shape.spread,
                shape.images,
                shape.containers,
                shape.strategy,
                shape.burst,
                shape.limits,
                shape.zones,
                shape.devices,
                shape.overhead,
            )
            self._shapes.setdefault(key, shape)
            self._made = max(self._made, shape.number)

    def with_rules(self, shape: Shape, rules: Rules) -> Shape:
        """The interned shape that differs in its rules alone."""
        return self.shape(
            shape.request,
            scoring_cpu=shape.scoring_cpu,
            scoring_memory=shape.scoring_memory,
            rules=rules,
            ports=shape.ports,
            affinity=shape.affinity,
            spread=shape.spread,
            images=shape.images,
            containers=shape.containers,
            strategy=shape.strategy,
            burst=shape.burst,
            limits=shape.limits,
            zones=shape.zones,
            devices=shape.devices,
            overhead=shape.overhead,
        )

    def keep(self, shapes: Set[Shape], labels: Set[PodLabels]) -> None:
        """Keep only these shapes and labels; the caller calls this when the table has grown, to bound it."""
        self._shapes = {key: shape for key, shape in self._shapes.items() if shape in shapes}
        self._labels = {label: label for label in self._labels if label in labels}
        self._rules = {shape.rules: shape.rules for shape in shapes}

    def __len__(self) -> int:
        return len(self._shapes)

    @property
    def labels_count(self) -> int:
        """The number of interned label sets."""
        return len(self._labels)
