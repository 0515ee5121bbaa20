"""From a pod's spec to its interned ``Shape``: one dictionary look-up for a spec that was seen before.

The memo's key is the raw bytes of the parts that matter, so equal specs may have several keys; ``ShapeTable`` interns
by meaning. Parts that differ between equal pods (mounts, environment, tokens) are not in the key.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping, Set
from typing import NamedTuple, TypeVar

import msgspec

from vsched.api.affinity import Affinity
from vsched.api.base import Wire
from vsched.api.pods import Container, Pod
from vsched.errors import BadObject, Beyond, NoColumn
from vsched.mirror.ingest.bounds import (
    ADDED_LABELS_MAX,
    CONTAINERS_MAX,
    LABELS_MAX,
    PART_BYTES_MAX,
    PORTS_MAX,
    bounded,
    read,
)
from vsched.mirror.ingest.deviceshare import device_request_of, in_full, wishes_of
from vsched.mirror.ingest.metadata import is_revocable, numa_policy_of
from vsched.mirror.ingest.npus import npu_wishes_of
from vsched.mirror.ingest.requests import bound_resources, limits_of, request_of, resize_infeasible, zones_asked_by
from vsched.mirror.ingest.rules import decoded, pod_affinity_of, rules_of, spread_of
from vsched.mirror.ingest.words import fields as words
from vsched.model.amounts.resources import ONE_POD, AskedColumns, Columns, OfferedColumns, ResourceAxis
from vsched.model.pods.shape import HostPort, PodLabels, ScoringStrategy, Shape, ShapeTable

Found = TypeVar("Found")

_PROTOCOLS = ("TCP", "UDP", "SCTP")
_EVERY_ADDRESS = frozenset({"", "0.0.0.0", "::"})
_NO_LABELS: Mapping[str, str] = {}


class ContainerPort(Wire):
    """A port of a container."""

    container_port: int = 0
    host_port: int | None = None
    protocol: str | None = None
    host_ip: str | None = msgspec.field(default=None, name="hostIP")


class Occupancy(NamedTuple):
    """What a pod that cannot be used takes of its node."""

    shape: Shape
    lacks_column: bool = False
    """Whether there was no column left for one of its resources: then only those count that nodes and queues name."""


class Shaper:
    """Reads the shapes of pods, with bounded memos."""

    MEMO_LIMIT = 4096
    MEMO_BYTES = 32 << 10
    """Longer specs are remembered by a hash only."""
    LARGE_MAX = 256
    """How many of those are remembered."""
    TABLE_FLOOR = 2048
    """Tables smaller than this are never swept."""

    def __init__(self, axis: ResourceAxis, *, limits: bool = False) -> None:
        self._axis = axis
        self._asked = AskedColumns(axis)
        self._offered = OfferedColumns(axis)
        self._limits = limits
        """Whether limits are part of shapes, which arbitration needs."""
        self._table = ShapeTable()
        self._memo: dict[Hashable, Shape] = {}
        self._large: dict[int, Shape] = {}
        """Shapes of long specs by their hash."""
        self._occupants: dict[int, Occupancy] = {}
        """The same of pods on nodes that cannot be read otherwise, by a hash of their spec and of the columns then."""
        self._sweep_at = self.TABLE_FLOOR

    def __len__(self) -> int:
        return len(self._table)

    def shape(self, pod: Pod, strategy: ScoringStrategy | None = None) -> Shape:
        """The shape of a pod; raises BadObject naming the field."""
        key = (_key(pod), strategy)
        shape = self._memo.get(key)
        if shape is None:
            shape = self._large.get(hash(key)) or self._read(pod, strategy)
            if length_of(pod) > self.MEMO_BYTES:
                _keep(self._large, hash(key), shape, self.LARGE_MAX)
                return shape
            if len(self._memo) >= self.MEMO_LIMIT:
                self._memo.clear()
            self._memo[key] = shape
        return shape

    def occupant(self, pod: Pod) -> Occupancy:
        """The shape with only the pod's requests, for pods with other fields that cannot be used."""
        key = hash((_key(pod), self._axis.version))  # the key itself may be very large
        known = self._occupants.get(key)
        if known is not None:
            return known
        try:
            bound_resources(pod)
            found = Occupancy(self._requests(pod, self._asked))
        except NoColumn:
            found = Occupancy(self._requests(pod, self._offered), lacks_column=True)
        except BadObject:  # it names too much: to read that again would cost a lot, and there is never room for it
            found = Occupancy(self._requests(pod, self._offered))
        _keep(self._occupants, key, found, self.LARGE_MAX)
        return found

    def nothing(self) -> Shape:
        """The shape of a pod that exceeds a bound: one pod, without requests."""
        return self._table.shape(ONE_POD)

    def labels(self, namespace: str, labels: dict[str, str]) -> PodLabels:
        """The interned label set of a pod."""
        return self._table.labels(namespace, labels)

    @property
    def table(self) -> ShapeTable:
        """Where shapes and label sets are interned."""
        return self._table

    @property
    def overgrown(self) -> bool:
        """Whether the tables have doubled since the last sweep."""
        return len(self._table) + self._table.labels_count >= self._sweep_at

    def sweep(self, shapes: Set[Shape], labels: Set[PodLabels]) -> None:
        """Forget what no pod uses any more; these are what pods have."""
        self._table.keep(shapes, labels)
        self._memo.clear()
        self._large.clear()
        self._occupants.clear()
        self._sweep_at = max(self.TABLE_FLOOR, 2 * (len(shapes) + len(labels)))

    def _read(self, pod: Pod, strategy: ScoringStrategy | None) -> Shape:
        spec, metadata = pod.spec, pod.metadata
        labels = metadata.labels or _NO_LABELS
        _bound_parts(pod)
        affinity = decoded(spec.affinity, Affinity, "spec.affinity")
        request = request_of(pod, self._asked)
        devices = device_request_of(pod)
        every = (*(spec.containers or ()), *(spec.init_containers or ()))
        return self._table.shape(
            request.amounts if devices is None else in_full(request.amounts, devices, self._axis),
            scoring_cpu=request.scoring_cpu,
            scoring_memory=request.scoring_memory,
            rules=rules_of(spec.node_selector, affinity, spec.tolerations, is_revocable(metadata)),
            ports=_host_ports(pod),
            affinity=pod_affinity_of(affinity, metadata.namespace or "default", labels),
            spread=spread_of(spec.topology_spread_constraints, labels),
            images=tuple(sorted(_tagged(container.image) for container in every if container.image)),
            containers=len(every),
            strategy=strategy,
            burst=request.burst,
            limits=self._limits_of(pod, self._asked),
            zones=zones_asked_by(pod, self._asked, numa_policy_of(metadata)),
            devices=devices,
            overhead=request.overhead,
        )

    def _requests(self, pod: Pod, axis: Columns) -> Shape:
        request = request_of(pod, axis)
        return self._table.shape(
            request.amounts,
            scoring_cpu=request.scoring_cpu,
            scoring_memory=request.scoring_memory,
            burst=request.burst,
            limits=self._limits_of(pod, axis),
        )

    def _limits_of(self, pod: Pod, axis: Columns) -> tuple[tuple[str, int], ...]:
        return limits_of(pod, axis) if self._limits else ()


def _keep(memo: dict[int, Found], key: int, found: Found, most: int) -> None:
    if len(memo) >= most:
        memo.clear()
    memo[key] = found


def bound_labels(pod: Pod) -> None:
    """Raise Beyond where a pod has too many labels."""
    most = LABELS_MAX + (ADDED_LABELS_MAX if pod.spec.node_name else 0)
    read(pod.metadata.labels, most, "metadata.labels")


def _parts(pod: Pod) -> list[tuple[str, msgspec.Raw]]:
    """The parts of a spec that stay raw, by field."""
    spec = pod.spec
    return [
        ("spec.affinity", spec.affinity),
        ("spec.topologySpreadConstraints", spec.topology_spread_constraints),
        ("spec.nodeSelector", spec.node_selector),
        ("spec.tolerations", spec.tolerations),
        ("spec.overhead", spec.overhead),
        ("spec.resources", spec.resources),
    ]


def length_of(pod: Pod) -> int:
    """How many bytes the raw parts have."""
    spec = pod.spec
    every = (*(spec.containers or ()), *(spec.init_containers or ()))
    inside = sum(len(bytes(one.resources)) + len(bytes(one.ports)) for one in every)
    return inside + sum(len(bytes(raw)) for _, raw in _parts(pod))


def _bound_parts(pod: Pod) -> None:
    """Raise Beyond where a part of the spec is too large."""
    spec = pod.spec
    for at, raw in _parts(pod):
        size = len(bytes(raw))
        if size > PART_BYTES_MAX:
            raise Beyond(words.too_many_bytes(at, size, PART_BYTES_MAX))
    bounded(len(spec.containers or ()) + len(spec.init_containers or ()), CONTAINERS_MAX, "spec.containers")
    bound_resources(pod)


def _key(pod: Pod) -> Hashable:
    spec = pod.spec
    affinity, spread = bytes(spec.affinity), bytes(spec.topology_spread_constraints)
    namespace = pod.metadata.namespace if affinity else ""
    # "atchLabelKeys" is in both matchLabelKeys and mismatchLabelKeys: terms that depend on the pod's own labels.
    own = b"atchLabelKeys" in affinity or b"atchLabelKeys" in spread
    return (
        affinity,
        spread,
        namespace,
        tuple(sorted((pod.metadata.labels or _NO_LABELS).items())) if own else None,
        bytes(spec.node_selector),
        bytes(spec.tolerations),
        is_revocable(pod.metadata),
        numa_policy_of(pod.metadata),
        wishes_of(pod.metadata),
        npu_wishes_of(pod.metadata),
        bytes(spec.overhead),
        bytes(spec.resources),
        spec.host_network,
        tuple([container_key(container) for container in spec.containers or ()]),
        tuple([container_key(container) for container in spec.init_containers]) if spec.init_containers else None,
        bool(spec.node_name),
        resize_key(pod) if spec.node_name else None,
    )


def container_key(container: Container) -> Hashable:
    """What is read of a container."""
    return (
        container.name,
        container.image,
        bytes(container.resources),
        bytes(container.ports),
        container.restart_policy,
    )


def resize_key(pod: Pod) -> Hashable:
    """The allocated resources of each container."""
    status = pod.status
    found = status.container_statuses
    if status.init_container_statuses:
        found = [*(found or ()), *status.init_container_statuses]
    if not found:
        return None
    given = [(one.name, bytes(one.allocated_resources), bytes(one.resources)) for one in found]
    return tuple(given), resize_infeasible(pod)


def _host_ports(pod: Pod) -> tuple[HostPort, ...]:
    return tuple(sorted(set(_ports(pod)), key=msgspec.structs.astuple))


def _ports(pod: Pod) -> Iterator[HostPort]:
    spec = pod.spec
    listening = [("containers", position, found) for position, found in enumerate(spec.containers or ())]
    listening += [
        ("initContainers", position, found)
        for position, found in enumerate(spec.init_containers or ())
        if found.restart_policy == "Always"
    ]
    for field, position, container in listening:
        at = f"spec.{field}[{position}].ports"
        ports = decoded(container.ports, list[ContainerPort], at)
        read(ports, PORTS_MAX, at)
        for number, fields in enumerate(ports or ()):
            port = _host_port(fields, bool(spec.host_network), f"{at}[{number}]")
            if port is not None:
                yield port


def _host_port(fields: ContainerPort, host_network: bool, at: str) -> HostPort | None:
    # The API server fills in hostPort for pods on the host's network; manifests from people may lack it.
    port = fields.host_port or (fields.container_port if host_network else 0)
    if not port:
        return None
    if not 0 < port < 65536:
        raise BadObject(f"{at}.hostPort: {port} (expected 1 to 65535)")
    protocol = fields.protocol or "TCP"
    if protocol not in _PROTOCOLS:
        raise BadObject(words.unknown_protocol(at, protocol, ", ".join(_PROTOCOLS)))
    address = fields.host_ip or ""
    return HostPort(port, protocol, "0.0.0.0" if address in _EVERY_ADDRESS else address)


def _tagged(image: str | None) -> str:
    """The image name with its tag, as nodes list it."""
    name = image or ""
    return name if ":" in name.rpartition("/")[2] else f"{name}:latest"
