"""Devices and the claims for them: pure functions of one object each; raise BadObject."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from typing import NamedTuple

from vsched.errors import BadObject, BadQuantity
from vsched.mirror import wire
from vsched.mirror.ingest.bounds import ASKED_DEVICES_MAX, ATTRIBUTES_MAX, CONSUMERS_MAX, DEVICES_MAX, read
from vsched.mirror.ingest.memo import remembered
from vsched.mirror.ingest.metadata import claim_owner_of, created_of, naming
from vsched.mirror.ingest.rules import decoded, node_terms, tolerations_of
from vsched.mirror.wire.affinity import NodeSelector
from vsched.mirror.wire.base import Raw, seconds_of
from vsched.mirror.wire.devices import (
    AllocatedFields,
    AllocationFields,
    AttributeFields,
    CapacityFields,
    CapacityPolicyFields,
    ClaimSpecFields,
    ConstraintFields,
    ConsumerFields,
    CounterFields,
    DeviceFields,
    DeviceSelectorFields,
    DeviceStatusFields,
    DeviceTaintFields,
    Quantity,
    RequestFields,
    ResourceSliceSpec,
    SubRequestFields,
)
from vsched.model.amounts.quantity import parse_quantity
from vsched.model.claims.devices import (
    ALL,
    EXACT_COUNT,
    AllocatedDevice,
    Allocation,
    Attribute,
    CapacityPolicy,
    ClaimSpec,
    Consumer,
    Device,
    DeviceClaim,
    DeviceClass,
    DeviceConstraint,
    DeviceId,
    DeviceModel,
    DeviceRequest,
    DeviceSelector,
    DeviceTaint,
    DeviceTraits,
    Quantities,
    Version,
    device_model,
)
from vsched.model.nodes.table import Taint
from vsched.model.pods.shape import NodeTerm
from vsched.model.shared import KNOWN_MAX, shared

EXTENDED_CLAIM = "resource.kubernetes.io/extended-resource-claim"
"""Annotation, "true", of claims that schedulers make for the extended resources of pods."""
TAINT_EFFECTS = ("NoSchedule", "NoExecute", "None")
SCALE = 1000
"""Quantities are in thousandths."""

_NONE: Mapping[str, str] = {}


class Slice(NamedTuple):
    """One ResourceSlice."""

    driver: str
    pool: str
    generation: int
    parts: int
    """How many slices the pool has in this generation."""
    devices: tuple[Device, ...]
    counters: tuple[tuple[str, Quantities], ...]


class DatedClass(NamedTuple):
    """A DeviceClass, and when it was created: of classes with one extended resource, the newest serves it."""

    device_class: DeviceClass
    created: float


def device_claim_of(found: wire.ResourceClaim, key: str, known_uid: Callable[[str], str] = str) -> DeviceClaim:
    """What a ResourceClaim says; ``known_uid`` gives the string under which a pod's uid is kept already."""
    metadata, status = found.metadata, found.status
    with naming("ResourceClaim", metadata):
        read(status.reserved_for, CONSUMERS_MAX, "status.reservedFor")
        failed, ready = _conditions(status.allocation, status.devices or ())
        owner = known_uid(claim_owner_of(metadata))
        return DeviceClaim(
            key,
            metadata.uid,
            claim_spec_of(found.spec),
            _allocation(status.allocation),
            tuple(_consumer(each, owner) for each in status.reserved_for or ()),
            failed,
            ready,
            metadata.deletion_timestamp is not None,
            owner,
            (metadata.annotations or _NONE).get(EXTENDED_CLAIM) == "true",
        )


@remembered
def claim_spec_of(raw: Raw) -> ClaimSpec:
    """The spec of a claim; equal ones are one object."""
    fields = decoded(raw, ClaimSpecFields, "spec") or ClaimSpecFields()
    asked, at = fields.devices, "spec.devices"
    read(asked.requests, ASKED_DEVICES_MAX, f"{at}.requests")
    read(asked.constraints, ASKED_DEVICES_MAX, f"{at}.constraints")
    requests = [_request(each, f"{at}.requests[{number}]") for number, each in enumerate(asked.requests or ())]
    constraints = [
        _constraint(each, f"{at}.constraints[{number}]") for number, each in enumerate(asked.constraints or ())
    ]
    return _same_spec(ClaimSpec(tuple(requests), tuple(constraints)))


def device_class_of(found: wire.DeviceClass) -> DatedClass:
    """What a DeviceClass says."""
    with naming("DeviceClass", found.metadata):
        selectors = _selectors(found.spec.selectors, "spec.selectors")
    made = DeviceClass(found.metadata.name, selectors, found.spec.extended_resource_name or "")
    return DatedClass(made, created_of(found.metadata))


def slice_of(found: wire.ResourceSlice) -> Slice:
    """What a ResourceSlice says."""
    spec = found.spec
    with naming("ResourceSlice", found.metadata):
        read(spec.devices, DEVICES_MAX, "spec.devices")
        read(spec.shared_counters, ASKED_DEVICES_MAX, "spec.sharedCounters")
        driver, pool = shared(spec.driver), shared(spec.pool.name)
        nodes = _reached(spec.node_selector, spec.node_name, spec.all_nodes, "spec")
        devices = tuple(
            _device(each, spec, (driver, pool), nodes, f"spec.devices[{number}]")
            for number, each in enumerate(spec.devices or ())
        )
        counters = tuple(
            (each.name, _counters(each.counters, f"spec.sharedCounters[{number}].counters"))
            for number, each in enumerate(spec.shared_counters or ())
        )
        return Slice(driver, pool, spec.pool.generation, spec.pool.resource_slice_count, devices, counters)


# -- claims -----------------------------------------------------------------------------------------------------------


@lru_cache(maxsize=4096)
def _same_spec(spec: ClaimSpec) -> ClaimSpec:
    return spec


def _request(fields: RequestFields, at: str) -> tuple[DeviceRequest, ...]:
    if fields.exactly is not None:
        return (_exact(fields.exactly, fields.name, f"{at}.exactly"),)
    if not fields.first_available:
        raise BadObject(f"{at}: neither exactly nor firstAvailable (expected one of them)")
    read(fields.first_available, ASKED_DEVICES_MAX, f"{at}.firstAvailable")
    return tuple(
        _exact(each, f"{fields.name}/{each.name}", f"{at}.firstAvailable[{number}]")
        for number, each in enumerate(fields.first_available)
    )


def _exact(fields: SubRequestFields, name: str, at: str) -> DeviceRequest:
    mode = fields.allocation_mode or EXACT_COUNT
    if mode not in (EXACT_COUNT, ALL):
        raise BadObject(f"{at}.allocationMode: {mode!r} is unknown (expected {EXACT_COUNT} or {ALL})")
    count = 1 if fields.count is None or mode == ALL else fields.count
    if count < 1:
        raise BadObject(f"{at}.count: {count} (expected 1 or more)")
    if not fields.device_class_name:
        raise BadObject(f"{at}.deviceClassName: missing (expected the name of a DeviceClass)")
    asked = None if fields.capacity is None else fields.capacity.requests
    return DeviceRequest(
        name,
        shared(fields.device_class_name),
        _selectors(fields.selectors, f"{at}.selectors"),
        mode,
        count,
        bool(fields.admin_access),
        tolerations_of(fields.tolerations or (), f"{at}.tolerations"),
        _quantities(asked, f"{at}.capacity.requests"),
    )


def _selectors(fields: Sequence[DeviceSelectorFields] | None, at: str) -> tuple[DeviceSelector, ...]:
    read(fields, ASKED_DEVICES_MAX, at)
    for number, each in enumerate(fields or ()):
        if each.cel is None:
            raise BadObject(f"{at}[{number}]: no cel (expected a CEL expression)")
    return tuple(DeviceSelector(each.cel.expression) for each in fields or () if each.cel is not None)


def _constraint(fields: ConstraintFields, at: str) -> DeviceConstraint:
    attribute = fields.match_attribute or fields.distinct_attribute
    if not attribute:
        raise BadObject(f"{at}: neither matchAttribute nor distinctAttribute (expected one of them)")
    read(fields.requests, ASKED_DEVICES_MAX, f"{at}.requests")
    return DeviceConstraint(attribute, tuple(fields.requests or ()), not fields.match_attribute)


def _consumer(fields: ConsumerFields, owner: str) -> Consumer:
    uid = owner if fields.uid == owner else fields.uid  # one string for both
    return Consumer(uid, fields.name, shared(fields.resource), shared(fields.api_group or ""))


def _allocation(fields: AllocationFields | None) -> Allocation | None:
    if fields is None:
        return None
    at, results = "status.allocation", fields.devices.results
    read(results, DEVICES_MAX, f"{at}.devices.results")
    devices = [_allocated(each, f"{at}.devices.results[{number}]") for number, each in enumerate(results or ())]
    return Allocation(tuple(devices), _nodes(fields.node_selector, f"{at}.nodeSelector"))


def _allocated(fields: AllocatedFields, at: str) -> AllocatedDevice:
    return AllocatedDevice(
        shared(fields.request),
        DeviceId(shared(fields.driver), shared(fields.pool), shared(fields.device)),
        bool(fields.admin_access),
        fields.share_id or "",
        _quantities(fields.consumed_capacity, f"{at}.consumedCapacity"),
        tolerations_of(fields.tolerations or (), f"{at}.tolerations"),
        tuple(fields.binding_conditions or ()),
        tuple(fields.binding_failure_conditions or ()),
    )


def _conditions(allocation: AllocationFields | None, said: Sequence[DeviceStatusFields]) -> tuple[str, bool]:
    """The binding failure condition that holds, and whether all binding conditions do."""
    results = () if allocation is None else allocation.devices.results or ()
    awaited = [each for each in results if each.binding_conditions or each.binding_failure_conditions]
    if not awaited:
        return "", True
    true = {
        (each.driver, each.pool, each.device, each.share_id): {
            found.type for found in each.conditions or () if found.status == "True"
        }
        for each in said
    }
    failed, ready = "", True
    for each in awaited:
        holds = true.get((each.driver, each.pool, each.device, each.share_id), set())
        failed = failed or next((name for name in each.binding_failure_conditions or () if name in holds), "")
        ready = ready and holds.issuperset(each.binding_conditions or ())
    return failed, ready


# -- slices -----------------------------------------------------------------------------------------------------------


def _device(
    fields: DeviceFields, spec: ResourceSliceSpec, pool: tuple[str, str], reached: tuple[NodeTerm, ...] | None, at: str
) -> Device:
    for found, field in (
        (fields.attributes, "attributes"),
        (fields.capacity, "capacity"),
        (fields.consumes_counters, "consumesCounters"),
        (fields.taints, "taints"),
    ):
        read(found, ATTRIBUTES_MAX, f"{at}.{field}")
    node = spec.node_name
    if spec.per_device_node_selection:
        node, reached = fields.node_name, _reached(fields.node_selector, fields.node_name, fields.all_nodes, at)
    return Device(
        DeviceId(*pool, shared(fields.name)),
        _model(pool[0], _attributes(fields), _capacity(fields.capacity, at), bool(fields.allow_multiple_allocations)),
        shared(node or ""),
        _traits(fields, reached, at),
    )


def _traits(fields: DeviceFields, reached: tuple[NodeTerm, ...] | None, at: str) -> DeviceTraits:
    policies = ((name, each) for name, each in (fields.capacity or {}).items() if each.request_policy is not None)
    traits = DeviceTraits(
        reached,
        tuple(taint_of(each, f"{at}.taints[{number}]") for number, each in enumerate(fields.taints or ())),
        tuple(
            (each.counter_set, _counters(each.counters, f"{at}.consumesCounters[{number}].counters"))
            for number, each in enumerate(fields.consumes_counters or ())
        ),
        tuple(
            sorted(
                (shared(name), _policy(each.request_policy, f"{at}.capacity[{name}].requestPolicy"))
                for name, each in policies
                if each.request_policy is not None
            )
        )
        if fields.allow_multiple_allocations
        else (),
        bool(fields.binds_to_node),
        tuple(fields.binding_conditions or ()),
        tuple(fields.binding_failure_conditions or ()),
    )
    return _same_traits(traits)


@lru_cache(maxsize=512)
def _same_traits(traits: DeviceTraits) -> DeviceTraits:
    return traits


def _model(
    driver: str, attributes: tuple[tuple[str, Attribute | Version], ...], capacity: Quantities, shareable: bool
) -> DeviceModel:
    """The model with these values: one object for devices that are alike."""
    types = tuple([type(value) for _, value in attributes])
    return _same_model(device_model(driver, attributes, capacity, shareable), types)


@lru_cache(maxsize=512)  # models of one device each pass through it
def _same_model(model: DeviceModel, types: tuple[type, ...]) -> DeviceModel:
    """The types only tell models apart: 1 and true are equal, and yet different values."""
    return model


def _reached(
    selector: NodeSelector | None, name: str | None, everywhere: bool | None, at: str
) -> tuple[NodeTerm, ...] | None:
    """The nodes that reach a device which is not on a node of its own; no terms match no node."""
    if selector is not None:
        return _nodes(selector, f"{at}.nodeSelector")
    return None if everywhere or name else ()


def _nodes(selector: NodeSelector | None, at: str) -> tuple[NodeTerm, ...] | None:
    return None if selector is None else _same_nodes(node_terms(selector, at))


@lru_cache(maxsize=KNOWN_MAX)  # most allocations are for one node
def _same_nodes(terms: tuple[NodeTerm, ...]) -> tuple[NodeTerm, ...]:
    return terms


def _attributes(fields: DeviceFields) -> tuple[tuple[str, Attribute | Version], ...]:
    found = ((name, _value(each)) for name, each in (fields.attributes or {}).items())
    pairs = (_same_attribute(shared(name), value) for name, value in found if value is not None)
    return tuple(sorted(pairs, key=lambda pair: pair[0]))


@lru_cache(maxsize=1024, typed=True)  # 1 and true are equal, and yet different values
def _same_attribute(name: str, value: Attribute | Version) -> tuple[str, Attribute | Version]:
    return name, value


def _value(fields: AttributeFields) -> Attribute | Version | None:
    """The value of an attribute, None where it is of a type that is not known here, such as a list."""
    if fields.version is not None:
        return Version(fields.version)
    values: tuple[Attribute | None, ...] = (fields.bool_, fields.int_, fields.string)
    return next((value for value in values if value is not None), None)


def _capacity(fields: Mapping[str, CapacityFields] | None, at: str) -> Quantities:
    return _quantities({name: each.value for name, each in (fields or {}).items()}, f"{at}.capacity")


def _counters(fields: Mapping[str, CounterFields] | None, at: str) -> Quantities:
    read(fields, ATTRIBUTES_MAX, at)
    return _quantities({name: each.value for name, each in (fields or {}).items()}, at)


def _policy(fields: CapacityPolicyFields, at: str) -> CapacityPolicy:
    limits = fields.valid_range
    read(fields.valid_values, ATTRIBUTES_MAX, f"{at}.validValues")

    def amount(quantity: Quantity | None, field: str) -> int | None:
        return None if quantity is None else _amount(quantity, f"{at}.{field}")

    values = sorted(_amount(each, f"{at}.validValues") for each in fields.valid_values or ())
    default = amount(fields.default, "default")
    if limits is None:
        return CapacityPolicy(default, tuple(values))
    least, most, step = limits.min_, limits.max_, limits.step
    return CapacityPolicy(
        default,
        tuple(values),
        amount(least, "validRange.min"),
        amount(most, "validRange.max"),
        amount(step, "validRange.step"),
    )


def taint_of(fields: DeviceTaintFields, at: str) -> DeviceTaint:
    """A taint of a device."""
    if fields.effect not in TAINT_EFFECTS:
        raise BadObject(f"{at}.effect: {fields.effect!r} is unknown (expected {', '.join(TAINT_EFFECTS)})")
    return DeviceTaint(Taint(fields.key, fields.value or "", fields.effect), seconds_of(fields.time_added))


def _quantities(fields: Mapping[str, Quantity] | None, at: str) -> Quantities:
    """Amounts in thousandths, sorted by name."""
    read(fields, ATTRIBUTES_MAX, at)
    found = ((shared(name), _amount(value, f"{at}[{name}]")) for name, value in (fields or {}).items())
    return _same_quantities(tuple(sorted(found)))


@lru_cache(maxsize=4096)  # most devices of a model have the same
def _same_quantities(found: Quantities) -> Quantities:
    return found


def _amount(quantity: Quantity, at: str) -> int:
    try:
        value = parse_quantity(str(quantity).strip(), SCALE)
    except BadQuantity as error:
        raise BadObject(f"{at}: {error}") from None
    if value < 0:
        raise BadObject(f"{at}: {quantity!r} is negative (expected zero or more)")
    return value
