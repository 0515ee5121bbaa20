"""Devices (dynamic resource allocation, ``resource.k8s.io``): what drivers publish, and what ResourceClaims ask for.

Names of attributes and capacities are as the driver writes them; one without a domain is of the driver's domain.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache

import msgspec

from vsched.model.marks import Expression, NodeName, RequestName, Sentence, Uid, Value, Word
from vsched.model.nodes.table import Taint
from vsched.model.pods.shape import NodeTerm, Toleration

Attribute = bool | int | Value
Quantities = tuple[tuple[str, int], ...]
"""Amounts by qualified name, sorted by name; thousandths of the unit, so that ``1500m`` is exact."""

EXACT_COUNT, ALL = "ExactCount", "All"
"""Allocation modes."""
MOST_CONSUMERS = 256
"""How many pods and PodGroups a ResourceClaim can be reserved for."""
POD_GROUPS = "podgroups"
"""The resource of a consumer that is a PodGroup."""


class DeviceId(msgspec.Struct, frozen=True, array_like=True):
    """The name of a device in the cluster."""

    driver: str
    pool: Value
    device: str

    @property
    def path(self) -> str:
        """``driver/pool/device``, as people read it."""
        return f"{self.driver}/{self.pool}/{self.device}"


class Version(msgspec.Struct, frozen=True):
    """An attribute that is a semantic version."""

    text: str


class DeviceSeries(msgspec.Struct, frozen=True, cache_hash=True):
    """What models have in common that differ in nothing but the values of attributes. Equal ones are one object."""

    driver: str
    names: tuple[str, ...] = ()
    """Of the attributes, sorted."""
    capacity: Quantities = ()
    shareable: bool = False
    """``allowMultipleAllocations``."""


class DeviceModel(msgspec.Struct, frozen=True):
    """What selectors can see of a device. Devices that are alike share one object, so that a selector runs once.

    Real devices have ids as attributes, so each is a model of its own: a model keeps nothing but the values.
    """

    series: DeviceSeries
    values: tuple[Attribute | Version, ...] = ()
    """Of the attributes, in the order of their names in the series."""

    @property
    def driver(self) -> str:
        """The driver that published the device."""
        return self.series.driver

    @property
    def attributes(self) -> tuple[tuple[str, Attribute | Version], ...]:
        """By name, sorted."""
        return tuple(zip(self.series.names, self.values, strict=True))

    @property
    def capacity(self) -> Quantities:
        """The amounts that the device has."""
        return self.series.capacity

    @property
    def shareable(self) -> bool:
        """Whether several claims may use the device."""
        return self.series.shareable


def device_model(
    driver: str,
    attributes: tuple[tuple[str, Attribute | Version], ...] = (),
    capacity: Quantities = (),
    shareable: bool = False,
) -> DeviceModel:
    """The model with these attributes, which are sorted by name."""
    names = tuple([name for name, _ in attributes])
    series = _same_series(DeviceSeries(driver, names, capacity, shareable))
    return DeviceModel(series, tuple([value for _, value in attributes]))


@lru_cache(maxsize=512)
def _same_series(series: DeviceSeries) -> DeviceSeries:
    return series


class CapacityPolicy(msgspec.Struct, frozen=True):
    """How requests for a part of a device's capacity are rounded up (``requestPolicy``); thousandths."""

    default: int | None = None
    values: tuple[int, ...] = ()
    """The valid amounts, ascending; empty where a range or nothing limits them."""
    least: int | None = None
    """``validRange.min``; None where there is no range."""
    most: int | None = None
    step: int | None = None


class DeviceTaint(msgspec.Struct, frozen=True):
    """A taint of a device."""

    taint: Taint
    added: float = 0.0
    """When it was added, seconds since the epoch; 0 where that is not known."""


class DeviceTraits(msgspec.Struct, frozen=True):
    """What few devices have. Those that are alike share one object: most devices have none of it."""

    nodes: tuple[NodeTerm, ...] | None = None
    """Of a device that is not on one node: the nodes that reach it (any one term); None for every node."""
    taints: tuple[DeviceTaint, ...] = ()
    consumes: tuple[tuple[str, Quantities], ...] = ()
    """What it takes of its pool's counters: (counter set, amounts by counter)."""
    policies: tuple[tuple[str, CapacityPolicy], ...] = ()
    """By name of a capacity; only of devices that may be shared."""
    binds_to_node: bool = False
    binding_conditions: tuple[str, ...] = ()
    binding_failures: tuple[str, ...] = ()


class Device(msgspec.Struct, frozen=True):
    """A device of a pool."""

    id: DeviceId
    model: DeviceModel
    node: NodeName = ""
    """The node that has it; empty where ``traits.nodes`` says which nodes reach it."""
    traits: DeviceTraits = DeviceTraits()


class DevicePool(msgspec.Struct, frozen=True):
    """The newest generation of one driver's pool."""

    driver: str
    name: Value
    generation: int
    devices: tuple[Device, ...]
    """In the order of the slices' names, then as listed."""
    counters: tuple[tuple[str, Quantities], ...] = ()
    """What its devices share: (counter set, amounts by counter)."""
    complete: bool = True
    """Whether all slices of the generation are there. If not, no claim gets its devices, and nobody gets all devices of
    a node that reaches it."""
    problem: Sentence = ""
    """Why the pool cannot be used (a device name twice); empty where it can."""


class DeviceSelector(msgspec.Struct, frozen=True, cache_hash=True):
    """A CEL expression over a device."""

    expression: Expression


class DeviceClass(msgspec.Struct, frozen=True):
    """A DeviceClass."""

    name: Word
    selectors: tuple[DeviceSelector, ...] = ()
    extended_resource: Word = ""
    """The resource name by which pods may ask for its devices, besides ``deviceclass.resource.kubernetes.io/NAME``."""


class DeviceRequest(msgspec.Struct, frozen=True, cache_hash=True):
    """A request of a claim: ``exactly``, or one alternative of ``firstAvailable``."""

    name: str
    """Of an alternative: ``request/alternative``."""
    device_class: Word
    selectors: tuple[DeviceSelector, ...] = ()
    mode: Word = EXACT_COUNT
    count: int = 1
    admin: bool = False
    """Administrative access: it also gets devices that are in use, and does not use them up."""
    tolerations: tuple[Toleration, ...] = ()
    capacity: Quantities = ()
    """What it asks of each device's capacity."""


class DeviceConstraint(msgspec.Struct, frozen=True, cache_hash=True):
    """All devices of some requests must have the same value of an attribute, or all different ones."""

    attribute: str
    """The qualified name."""
    requests: tuple[str, ...] = ()
    """Names of requests, or of alternatives; empty for all."""
    distinct: bool = False
    """False: ``matchAttribute``. True: ``distinctAttribute``."""


class ClaimSpec(msgspec.Struct, frozen=True, cache_hash=True):
    """What a ResourceClaim asks for. Interned by the mirror: equal specs are one object."""

    requests: tuple[tuple[DeviceRequest, ...], ...] = ()
    """For each request its alternatives in order of preference; a plain request has one."""
    constraints: tuple[DeviceConstraint, ...] = ()


class AllocatedDevice(msgspec.Struct, frozen=True):
    """A device that a claim has (one result of an allocation)."""

    request: RequestName
    """``request`` or ``request/alternative``."""
    device: DeviceId
    admin: bool = False
    share: Uid = ""
    """The id of this share of a device that several claims use."""
    consumed: Quantities = ()
    """What this share takes of the device's capacity."""
    tolerations: tuple[Toleration, ...] = ()
    binding_conditions: tuple[str, ...] = ()
    binding_failures: tuple[str, ...] = ()


class AllocationResult(msgspec.Struct, frozen=True):
    """The devices of a claim, and the nodes on which they can be used."""

    devices: tuple[AllocatedDevice, ...] = ()
    nodes: tuple[NodeTerm, ...] | None = None
    """Any one term must hold; None for every node."""


class ClaimConsumer(msgspec.Struct, frozen=True):
    """A pod, or a PodGroup, that a claim is reserved for."""

    uid: Uid
    name: str
    resource: Word = "pods"
    group: Word = ""
    """The API group of ``resource``."""


class DeviceClaim(msgspec.Struct, frozen=True):
    """A ResourceClaim: as the watch shows it, plus what was decided and the watch does not show yet."""

    key: str
    """``namespace/name``."""
    uid: Uid
    spec: ClaimSpec = ClaimSpec()
    allocation: AllocationResult | None = None
    """None until it has devices."""
    consumers: tuple[ClaimConsumer, ...] = ()
    """``status.reservedFor``."""
    failed: str = ""
    """The binding failure condition that is true on one of its devices; empty where none is."""
    ready: bool = True
    """Whether every binding condition of its devices is true."""
    deleting: bool = False
    owner: Uid = ""
    """The uid of the pod, or of the native PodGroup, that it was made for; empty where it was made for none."""
    extended: bool = False
    """Whether a scheduler made it for the extended resources of its owner."""
    protected: bool = False
    """Whether it has the finalizer that it needs before it gets devices."""


NAMES = ("uuid", "parentUUID")
"""Attributes of drivers: the uuid of the device, and that of the device of which it is a partition."""


def uuids_of(device: Device) -> Iterator[str]:
    """The uuids of a device, and of the one that it is a partition of; none where its driver does not say them."""
    for name, value in device.model.attributes:
        if name.rpartition("/")[2] in NAMES and isinstance(value, str):
            yield value
