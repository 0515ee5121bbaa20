"""The operations of a workload, with all their numbers, and the workloads of a file."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

import msgspec

Labels = Mapping[str, str]


class CreateNodes(msgspec.Struct, frozen=True, kw_only=True):
    """Create nodes from a template."""

    count: int
    template: Path | None = None
    """None: 110 pods, 4 cores and 32 GiB."""
    label: str = ""
    """A label that the nodes get, with ``values`` in turn; with a value of its own for each node where ``values`` is
    empty."""
    values: tuple[str, ...] = ()
    allocatable: Labels = {}
    """Amounts that nodes have besides those of the template."""
    attachable: Mapping[str, int] = {}
    """How many volumes of each CSI driver can be attached to a node; a CSINode says so."""
    migrated: tuple[str, ...] = ()
    """In-tree volume plugins that a CSI driver stands for."""


class CreateNamespaces(msgspec.Struct, frozen=True, kw_only=True):
    """Create namespaces that are called ``prefix-0``, ``prefix-1``, …."""

    prefix: str
    count: int
    template: Path | None = None


class CreatePods(msgspec.Struct, frozen=True, kw_only=True):
    """Create pods in a namespace, and wait until they are on nodes."""

    namespace: str
    count: int
    template: Path | None = None
    """None: a pod without requests."""
    volume: Path | None = None
    """The template of a PersistentVolume that each pod has, bound to its claim."""
    claim: Path | None = None
    """The template of that claim."""
    measured: bool = False
    waits: bool = True
    steady_seconds: float = 0.0
    """So long each pod that is on a node is deleted, and replaced by a new one; 0: they stay."""


class CreatePodSets(msgspec.Struct, frozen=True, kw_only=True):
    """Create the same pods in several namespaces: ``prefix-0``, ``prefix-1``, …."""

    count: int
    prefix: str
    pods: CreatePods


class Churn(msgspec.Struct, frozen=True, kw_only=True):
    """From now on, create an object of each template at intervals; replace the oldest ones once there are ``kept``."""

    namespace: str
    templates: tuple[Path, ...]
    seconds: float
    kept: int = 0
    """0: all of them stay."""
    most: int = 0
    """How often; 0: until the workload ends."""


class Barrier(msgspec.Struct, frozen=True, kw_only=True):
    """Wait until pods are on nodes, or until the scheduler has tried to place them."""

    namespaces: tuple[str, ...] = ()
    """Empty for all."""
    labels: Labels = {}
    attempted: bool = False
    """It is enough that the scheduler has tried."""


class Sleep(msgspec.Struct, frozen=True, kw_only=True):
    """Let time pass."""

    seconds: float


class DeletePods(msgspec.Struct, frozen=True, kw_only=True):
    """Delete pods, so many a second."""

    namespace: str
    labels: Labels = {}
    per_second: float = 0.0
    """0: all at once."""
    waits: bool = True


class CreateAny(msgspec.Struct, frozen=True, kw_only=True):
    """Create objects of any kind."""

    template: Path
    namespace: str = ""
    count: int = 1


class UpdateAny(msgspec.Struct, frozen=True, kw_only=True):
    """Change objects of any kind into what the template says."""

    template: Path
    namespace: str = ""
    count: int = 1
    per_second: float = 0.0
    """0: all at once."""


class CreateResourceDriver(msgspec.Struct, frozen=True, kw_only=True):
    """Have a DRA driver publish devices of nodes."""

    driver: str
    nodes: str
    """The names of the nodes, with wildcards."""
    devices: int
    """Of each node."""


class AllocateClaims(msgspec.Struct, frozen=True, kw_only=True):
    """Allocate devices to all ResourceClaims of a namespace."""

    namespace: str


class StartMeasuring(msgspec.Struct, frozen=True, kw_only=True):
    """Count pods of these namespaces from now on."""

    name: str = ""
    namespaces: tuple[str, ...] = ()
    """Empty for all."""
    labels: Labels = {}


class StopMeasuring(msgspec.Struct, frozen=True, kw_only=True):
    """Stop counting."""


Operation = (
    CreateNodes
    | CreateNamespaces
    | CreatePods
    | CreatePodSets
    | Churn
    | Barrier
    | Sleep
    | DeletePods
    | CreateAny
    | UpdateAny
    | CreateResourceDriver
    | AllocateClaims
    | StartMeasuring
    | StopMeasuring
)


class SuiteThreshold(NamedTuple):
    """What a file expects at least."""

    number: float
    counts: str = ""
    """What it counts; empty: pods per second."""


class Workload(msgspec.Struct, frozen=True, kw_only=True):
    """One workload of a test case, ready to be carried out."""

    case: str
    name: str
    where: str
    """``file:line``."""
    labels: tuple[str, ...] = ()
    gates: Mapping[str, bool] = {}
    """kube-scheduler's feature gates, which mean nothing to vsched."""
    threshold: SuiteThreshold | None = None
    operations: tuple[Operation, ...] = ()
    left_out: str = ""
    """Why it cannot be carried out; empty where it can."""
    notes: tuple[str, ...] = ()
    """What the file says that is passed over."""

    @property
    def full_name(self) -> str:
        return f"{self.case}/{self.name}"
