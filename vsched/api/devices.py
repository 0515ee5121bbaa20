"""The fields that vsched reads of devices (``resource.k8s.io/v1``): slices, classes, and claims for them."""

from __future__ import annotations

import msgspec

from vsched.api.affinity import NodeSelector, TolerationFields
from vsched.api.base import NO_BYTES, ApiObject, Metadata, Raw, Timestamp, Wire

FINALIZER = "resource.kubernetes.io/delete-protection"
"""Keeps a ResourceClaim while it has devices."""
Quantity = str | int | float
Quantities = dict[str, Quantity]


class CelSelector(Wire):
    """A CEL expression over a device."""

    expression: str


class DeviceSelectorFields(Wire):
    """A selector of a class or a request; CEL is the only kind there is."""

    cel: CelSelector | None = None


class DeviceClassSpec(Wire):
    """The spec of a DeviceClass."""

    selectors: list[DeviceSelectorFields] | None = None
    extended_resource_name: str | None = None


class DeviceClass(ApiObject):
    """resource.k8s.io/v1 DeviceClass."""

    spec: DeviceClassSpec = msgspec.field(default_factory=DeviceClassSpec)


class CapacityAsked(Wire):
    """What a request asks of each device's capacity."""

    requests: Quantities | None = None


class SubRequestFields(Wire):
    """One alternative of ``firstAvailable``; also the part of ``exactly`` that both have."""

    name: str = ""
    device_class_name: str = ""
    selectors: list[DeviceSelectorFields] | None = None
    allocation_mode: str | None = None
    count: int | None = None
    admin_access: bool | None = None
    tolerations: list[TolerationFields] | None = None
    capacity: CapacityAsked | None = None


class RequestFields(Wire):
    """A request of a claim."""

    name: str
    exactly: SubRequestFields | None = None
    first_available: list[SubRequestFields] | None = None


class ConstraintFields(Wire):
    """A constraint over the devices of some requests."""

    requests: list[str] | None = None
    match_attribute: str | None = None
    distinct_attribute: str | None = None


class DevicesAsked(Wire):
    """``spec.devices`` of a claim."""

    requests: list[RequestFields] | None = None
    constraints: list[ConstraintFields] | None = None


class ClaimSpecFields(Wire):
    """The spec of a claim."""

    devices: DevicesAsked = msgspec.field(default_factory=DevicesAsked)


class AllocatedFields(Wire):
    """A device that was allocated."""

    request: str = ""
    driver: str = ""
    pool: str = ""
    device: str = ""
    admin_access: bool | None = None
    share_id: str | None = msgspec.field(default=None, name="shareID")
    consumed_capacity: Quantities | None = None
    tolerations: list[TolerationFields] | None = None
    binding_conditions: list[str] | None = None
    binding_failure_conditions: list[str] | None = None

    @property
    def identity(self) -> tuple[str, str, str, str]:
        """Which device, or which share of it."""
        return self.driver, self.pool, self.device, self.share_id or ""


class AllocatedDevices(Wire):
    """``status.allocation.devices`` of a claim."""

    results: list[AllocatedFields] | None = None


class AllocationFields(Wire):
    """``status.allocation`` of a claim."""

    devices: AllocatedDevices = msgspec.field(default_factory=AllocatedDevices)
    node_selector: NodeSelector | None = None

    @property
    def results(self) -> list[AllocatedFields]:
        return self.devices.results or []


class ConsumerFields(Wire, omit_defaults=True):
    """An entry of ``status.reservedFor``."""

    resource: str = ""
    name: str = ""
    uid: str = ""
    api_group: str | None = None


class DeviceCondition(Wire):
    """A condition that a driver sets on an allocated device."""

    type: str = ""
    status: str = ""


class DeviceStatusFields(Wire):
    """What a driver says of an allocated device."""

    driver: str = ""
    pool: str = ""
    device: str = ""
    share_id: str | None = msgspec.field(default=None, name="shareID")
    conditions: list[DeviceCondition] | None = None

    @property
    def identity(self) -> tuple[str, str, str, str]:
        """Which device, or which share of it."""
        return self.driver, self.pool, self.device, self.share_id or ""


class ResourceClaimStatus(Wire):
    """The status of a claim."""

    allocation: AllocationFields | None = None
    reserved_for: list[ConsumerFields] | None = None
    devices: list[DeviceStatusFields] | None = None


class ClaimMetadata(Metadata):
    """The metadata of a claim."""

    finalizers: list[str] | None = None


class ResourceClaim(ApiObject):
    """resource.k8s.io/v1 ResourceClaim. Its spec stays raw: equal ones are decoded once."""

    metadata: ClaimMetadata
    spec: Raw = NO_BYTES
    status: ResourceClaimStatus = msgspec.field(default_factory=ResourceClaimStatus)


class PoolFields(Wire):
    """The pool that a slice is a part of."""

    name: str
    generation: int = 0
    resource_slice_count: int = 0


class AttributeFields(Wire):
    """An attribute of a device: one of these."""

    int_: int | None = msgspec.field(default=None, name="int")
    bool_: bool | None = msgspec.field(default=None, name="bool")
    string: str | None = None
    version: str | None = None


class CapacityRange(Wire):
    """The amounts that a share of a device may take."""

    min_: Quantity | None = msgspec.field(default=None, name="min")
    max_: Quantity | None = msgspec.field(default=None, name="max")
    step: Quantity | None = None


class CapacityPolicyFields(Wire):
    """How requests for a part of a capacity are rounded."""

    default: Quantity | None = None
    valid_values: list[Quantity] | None = None
    valid_range: CapacityRange | None = None


class CapacityFields(Wire):
    """A capacity of a device."""

    value: Quantity
    request_policy: CapacityPolicyFields | None = None


class CounterFields(Wire):
    """An amount of a counter."""

    value: Quantity


class ConsumedFields(Wire):
    """What a device takes of the counters of a set."""

    counter_set: str
    counters: dict[str, CounterFields] | None = None


class CounterSetFields(Wire):
    """Counters that the devices of a pool share."""

    name: str
    counters: dict[str, CounterFields] | None = None


class DeviceTaintFields(Wire):
    """A taint of a device."""

    key: str
    effect: str
    value: str | None = None
    time_added: Timestamp | None = None


class TaintedDevices(Wire):
    """The devices that a DeviceTaintRule is about: all that have what is said here."""

    driver: str | None = None
    pool: str | None = None
    device: str | None = None
    device_class_name: str | None = None
    """Only in older versions, like ``selectors``."""
    selectors: list[Raw] | None = None


class DeviceTaintRuleSpec(Wire):
    """The spec of a DeviceTaintRule."""

    taint: DeviceTaintFields
    device_selector: TaintedDevices | None = None


class DeviceTaintRule(ApiObject):
    """resource.k8s.io/v1beta2 DeviceTaintRule."""

    spec: DeviceTaintRuleSpec


class DeviceFields(Wire):
    """A device of a slice."""

    name: str
    attributes: dict[str, AttributeFields] | None = None
    capacity: dict[str, CapacityFields] | None = None
    consumes_counters: list[ConsumedFields] | None = None
    node_name: str | None = None
    node_selector: NodeSelector | None = None
    all_nodes: bool | None = None
    taints: list[DeviceTaintFields] | None = None
    binds_to_node: bool | None = None
    binding_conditions: list[str] | None = None
    binding_failure_conditions: list[str] | None = None
    allow_multiple_allocations: bool | None = None


class ResourceSliceSpec(Wire):
    """The spec of a ResourceSlice."""

    driver: str
    pool: PoolFields
    node_name: str | None = None
    node_selector: NodeSelector | None = None
    all_nodes: bool | None = None
    per_device_node_selection: bool | None = None
    devices: list[DeviceFields] | None = None
    shared_counters: list[CounterSetFields] | None = None


class ResourceSlice(ApiObject):
    """resource.k8s.io/v1 ResourceSlice."""

    spec: ResourceSliceSpec


class TemplateSpec(Wire):
    """What a ResourceClaimTemplate makes."""

    spec: Raw = NO_BYTES


class ResourceClaimTemplate(ApiObject):
    """resource.k8s.io/v1 ResourceClaimTemplate."""

    spec: TemplateSpec = msgspec.field(default_factory=TemplateSpec)


class PodClaimFields(Wire):
    """An entry of a pod's ``spec.resourceClaims``."""

    name: str = ""
    resource_claim_name: str | None = None
    resource_claim_template_name: str | None = None


class PodClaimStatus(Wire):
    """An entry of a pod's ``status.resourceClaimStatuses``."""

    name: str = ""
    resource_claim_name: str | None = None


class ExtendedClaimStatus(Wire):
    """``status.extendedResourceClaimStatus`` of a pod: the claim for its extended resources."""

    resource_claim_name: str = ""
