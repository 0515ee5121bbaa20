"""The fields that vsched reads of reports on NUMA zones: NodeResourceTopology, and Volcano's Numatopology."""

from __future__ import annotations

import msgspec

from vsched.api.base import ApiObject, Metadata, Timestamp, Wire
from vsched.api.volumes import Quantity


class ManagedFields(Wire):
    """Who wrote parts of an object last, and when."""

    time: Timestamp | None = None


class ReportMetadata(Metadata):
    """The metadata of a report: its last write says how old it is."""

    managed_fields: list[ManagedFields] | None = None


class Report(ApiObject):
    """Base of the two kinds."""

    metadata: ReportMetadata


class Attribute(Wire):
    """A name and a value."""

    name: str = ""
    value: str = ""


class ZoneResource(Wire):
    """How much of a resource a zone has."""

    name: str
    capacity: Quantity = 0
    allocatable: Quantity | None = None
    available: Quantity | None = None


class ZoneFields(Wire):
    """One zone."""

    name: str
    type: str
    resources: list[ZoneResource] | None = None


class NodeResourceTopology(Report):
    """topology.node.k8s.io/v1alpha2 NodeResourceTopology, named as its node."""

    topology_policies: list[str] | None = None
    """Policy and scope in one word; the attributes have replaced it."""
    attributes: list[Attribute] | None = None
    zones: list[ZoneFields] | None = None


class CpuPlace(Wire, rename=None):
    """Where a cpu is."""

    numa: int = 0
    socket: int = 0
    core: int = 0


class CpuSets(Wire):
    """The cpus of a resource that are free, as ``0-3,8``."""

    allocatable: str | None = None
    capacity: int = 0


class ContainerAllocation(Wire):
    """What a container was given, by resource; of cpus the numbers."""

    name: str = ""
    allocations: dict[str, str] | None = None


class PodAllocation(Wire):
    """What a pod was given."""

    uid: str
    container_allocations: list[ContainerAllocation] | None = None


class NumatopologySpec(Wire):
    """The spec of a Numatopology."""

    policies: dict[str, str] | None = None
    res_reserved: dict[str, Quantity] | None = None
    numares: dict[str, CpuSets] | None = None
    cpu_detail: dict[str, CpuPlace] | None = None
    pod_allocations: list[PodAllocation] | None = None


class Numatopology(Report):
    """nodeinfo.volcano.sh/v1alpha1 Numatopology, named as its node."""

    spec: NumatopologySpec = msgspec.field(default_factory=NumatopologySpec)
