"""ResourceSlices and DeviceClasses: pure functions of one object each; raise BadObject."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import NamedTuple

from vsched import api
from vsched.api.affinity import NodeSelector
from vsched.api.base import seconds_of
from vsched.api.devices import (
    AttributeFields,
    CapacityFields,
    CapacityPolicyFields,
    CounterFields,
    DeviceFields,
    DeviceTaintFields,
    Quantity,
    ResourceSliceSpec,
)
from vsched.errors import BadObject
from vsched.mirror.ingest.bounds import ASKED_DEVICES_MAX, ATTRIBUTES_MAX, DEVICES_MAX, read
from vsched.mirror.ingest.device_parts import amount_of, nodes_of, quantities_of, selectors_of
from vsched.mirror.ingest.metadata import created_of, naming
from vsched.mirror.ingest.words import devices as words
from vsched.model.claims.devices import (
    Attribute,
    CapacityPolicy,
    Device,
    DeviceClass,
    DeviceId,
    DeviceModel,
    DeviceTaint,
    DeviceTraits,
    Quantities,
    Version,
    device_model,
)
from vsched.model.names import shared
from vsched.model.nodes.table import Taint
from vsched.model.pods.shape import NodeTerm

TAINT_EFFECTS = ("NoSchedule", "NoExecute", "None")


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


def device_class_of(found: api.DeviceClass) -> DatedClass:
    """What a DeviceClass says."""
    with naming("DeviceClass", found.metadata):
        selectors = selectors_of(found.spec.selectors, "spec.selectors")
    made = DeviceClass(found.metadata.name, selectors, found.spec.extended_resource_name or "")
    return DatedClass(made, created_of(found.metadata))


def slice_of(found: api.ResourceSlice) -> Slice:
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
        return nodes_of(selector, f"{at}.nodeSelector")
    return None if everywhere or name else ()


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
    return quantities_of({name: each.value for name, each in (fields or {}).items()}, f"{at}.capacity")


def _counters(fields: Mapping[str, CounterFields] | None, at: str) -> Quantities:
    read(fields, ATTRIBUTES_MAX, at)
    return quantities_of({name: each.value for name, each in (fields or {}).items()}, at)


def _policy(fields: CapacityPolicyFields, at: str) -> CapacityPolicy:
    limits = fields.valid_range
    read(fields.valid_values, ATTRIBUTES_MAX, f"{at}.validValues")

    def amount(quantity: Quantity | None, field: str) -> int | None:
        return None if quantity is None else amount_of(quantity, f"{at}.{field}")

    values = sorted(amount_of(each, f"{at}.validValues") for each in fields.valid_values or ())
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
        raise BadObject(words.unknown_taint_effect(at, fields.effect, ", ".join(TAINT_EFFECTS)))
    return DeviceTaint(Taint(fields.key, fields.value or "", fields.effect), seconds_of(fields.time_added))
