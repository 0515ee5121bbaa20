"""ResourceClaims: pure functions of one object each; raise BadObject."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache

from vsched import api
from vsched.api.base import Raw
from vsched.api.devices import (
    FINALIZER,
    AllocatedFields,
    AllocationFields,
    ClaimSpecFields,
    ConstraintFields,
    ConsumerFields,
    DeviceStatusFields,
    RequestFields,
    SubRequestFields,
)
from vsched.errors import BadObject, Beyond
from vsched.mirror.ingest.bounds import ASKED_DEVICES_MAX, CONSUMERS_MAX, DEVICES_MAX, EXPRESSIONS_MAX, read
from vsched.mirror.ingest.device_parts import nodes_of, quantities_of, selectors_of
from vsched.mirror.ingest.memo import remembered
from vsched.mirror.ingest.metadata import claim_owner_of, naming
from vsched.mirror.ingest.rules import decoded, tolerations_of
from vsched.mirror.ingest.words import devices as words
from vsched.model.claims.devices import (
    ALL,
    EXACT_COUNT,
    AllocatedDevice,
    AllocationResult,
    ClaimConsumer,
    ClaimSpec,
    DeviceClaim,
    DeviceConstraint,
    DeviceId,
    DeviceRequest,
)
from vsched.model.names import shared

EXTENDED_CLAIM = "resource.kubernetes.io/extended-resource-claim"
"""Annotation, "true", of claims that schedulers make for the extended resources of pods."""

_NONE: Mapping[str, str] = {}


def device_claim_of(found: api.ResourceClaim, key: str, known_uid: Callable[[str], str] = str) -> DeviceClaim:
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
            FINALIZER in (metadata.finalizers or ()),
        )


@remembered
def claim_spec_of(raw: Raw) -> ClaimSpec:
    """The spec of a claim; equal ones are one object."""
    fields = decoded(raw, ClaimSpecFields, "spec") or ClaimSpecFields()
    asked, at = fields.devices, "spec.devices"
    read(asked.requests, ASKED_DEVICES_MAX, f"{at}.requests")
    read(asked.constraints, ASKED_DEVICES_MAX, f"{at}.constraints")
    requests = [_request(each, f"{at}.requests[{number}]") for number, each in enumerate(asked.requests or ())]
    letters = sum(len(one.expression) for each in requests for request in each for one in request.selectors)
    if letters > EXPRESSIONS_MAX:
        raise Beyond(words.long_selectors(at, letters, EXPRESSIONS_MAX))
    constraints = [
        _constraint(each, f"{at}.constraints[{number}]") for number, each in enumerate(asked.constraints or ())
    ]
    return _same_spec(ClaimSpec(tuple(requests), tuple(constraints)))


@lru_cache(maxsize=4096)
def _same_spec(spec: ClaimSpec) -> ClaimSpec:
    return spec


def _request(fields: RequestFields, at: str) -> tuple[DeviceRequest, ...]:
    if fields.exactly is not None:
        return (_exact(fields.exactly, fields.name, f"{at}.exactly"),)
    if not fields.first_available:
        raise BadObject(words.neither_exactly_nor_first(at))
    read(fields.first_available, ASKED_DEVICES_MAX, f"{at}.firstAvailable")
    return tuple(
        _exact(each, f"{fields.name}/{each.name}", f"{at}.firstAvailable[{number}]")
        for number, each in enumerate(fields.first_available)
    )


def _exact(fields: SubRequestFields, name: str, at: str) -> DeviceRequest:
    mode = fields.allocation_mode or EXACT_COUNT
    if mode not in (EXACT_COUNT, ALL):
        raise BadObject(words.unknown_allocation_mode(at, mode, EXACT_COUNT, ALL))
    count = 1 if fields.count is None or mode == ALL else fields.count
    if count < 1:
        raise BadObject(words.less_than_one_device(at, count))
    if not fields.device_class_name:
        raise BadObject(words.no_device_class(at))
    asked = None if fields.capacity is None else fields.capacity.requests
    return DeviceRequest(
        name,
        shared(fields.device_class_name),
        selectors_of(fields.selectors, f"{at}.selectors"),
        mode,
        count,
        bool(fields.admin_access),
        tolerations_of(fields.tolerations or (), f"{at}.tolerations"),
        quantities_of(asked, f"{at}.capacity.requests"),
    )


def _constraint(fields: ConstraintFields, at: str) -> DeviceConstraint:
    attribute = fields.match_attribute or fields.distinct_attribute
    if not attribute:
        raise BadObject(words.no_attribute(at))
    read(fields.requests, ASKED_DEVICES_MAX, f"{at}.requests")
    return DeviceConstraint(attribute, tuple(fields.requests or ()), not fields.match_attribute)


def _consumer(fields: ConsumerFields, owner: str) -> ClaimConsumer:
    uid = owner if fields.uid == owner else fields.uid  # one string for both
    return ClaimConsumer(uid, fields.name, shared(fields.resource), shared(fields.api_group or ""))


def _allocation(fields: AllocationFields | None) -> AllocationResult | None:
    if fields is None:
        return None
    at, results = "status.allocation", fields.devices.results
    read(results, DEVICES_MAX, f"{at}.devices.results")
    devices = [_allocated(each, f"{at}.devices.results[{number}]") for number, each in enumerate(results or ())]
    return AllocationResult(tuple(devices), nodes_of(fields.node_selector, f"{at}.nodeSelector"))


def _allocated(fields: AllocatedFields, at: str) -> AllocatedDevice:
    return AllocatedDevice(
        shared(fields.request),
        DeviceId(shared(fields.driver), shared(fields.pool), shared(fields.device)),
        bool(fields.admin_access),
        fields.share_id or "",
        quantities_of(fields.consumed_capacity, f"{at}.consumedCapacity"),
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
