"""Consumers, buckets, Allocations and limits of quotas to the model: pure functions of one object each.

Invalid fields that people write raise BadObject with one line. Invalid fields that the arbitrator writes (Allocations
and every status) count as absent, and are written again.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from vsched import api
from vsched.api.arbitration import AllocationSpec, ArbitrationStatus
from vsched.api.base import ObjectCondition, Raw, ResourceList, moment_of, part_of
from vsched.errors import BadInput, BadObject
from vsched.mirror.ingest.bounds import DIVIDED_MAX, read, short
from vsched.mirror.ingest.metadata import created_of, naming
from vsched.mirror.ingest.words import groups as words
from vsched.model.amounts.counted import NOTHING, Counted, counted_name, parse_counted
from vsched.model.arbitration.records import AllocationRecord, ArbitrationCondition, Bucket, Claim
from vsched.model.names import NAME_LIMIT, is_subdomain, shared

WEIGHTS = range(1, 1 << 31)

_NONE: Mapping[str, str] = {}


def claim_of(found: api.Consumer) -> Claim:
    """What a Consumer says; raises BadObject."""
    metadata, spec = found.metadata, found.spec
    status = _status(found.status)
    with naming("Consumer", metadata):
        return Claim(
            namespace=shared(metadata.namespace or "default"),
            name=metadata.name,
            uid=metadata.uid,
            version=metadata.resource_version,
            generation=_generation(metadata),
            created=created_of(metadata),
            hard=counted_of(spec.hard, "spec.hard"),
            reserved=counted_of(spec.reserved, "spec.reserved"),
            weight=0 if spec.weight is None else _weight(spec.weight),
            parent=shared(_parent(spec.parent or "")),
            stated_hard=_stated(spec.hard),
            stated_reserved=_stated(spec.reserved),
            conditions=_conditions(status.conditions),
            observed=status.observed_generation or 0,
        )


def bucket_of(found: api.Bucket) -> Bucket:
    """What a Bucket says; raises BadObject."""
    metadata, spec = found.metadata, found.spec
    status = _status(found.status)
    with naming("Bucket", metadata):
        return Bucket(
            name=shared(metadata.name),
            uid=metadata.uid,
            version=metadata.resource_version,
            generation=_generation(metadata),
            hard=counted_of(spec.hard, "spec.hard"),
            reserved=counted_of(spec.reserved, "spec.reserved"),
            weight=1 if spec.weight is None else _weight(spec.weight),
            parent=_parent(spec.parent or ""),
            deserved=_stated(status.deserved),
            allocated=_stated(status.allocated),
            conditions=_conditions(status.conditions),
            observed=status.observed_generation or 0,
        )


def allocation_of(found: api.Allocation) -> AllocationRecord:
    """What an Allocation says; raises nothing."""
    metadata = found.metadata
    spec = part_of(found.spec, AllocationSpec) or AllocationSpec()
    status = _status(found.status)
    return AllocationRecord(
        namespace=shared(metadata.namespace or "default"),
        name=metadata.name,
        uid=metadata.uid,
        version=metadata.resource_version,
        deserved=_stated(spec.deserved),
        hard=_stated(spec.hard),
        reserved=_stated(spec.reserved),
        allocated=_stated(status.allocated),
        conditions=_conditions(status.conditions),
    )


def limits_of_quota(found: api.ResourceQuota) -> Counted | None:
    """The limits of a quota on what arbitration divides; None without any, or if the quota has scopes.

    Raises BadObject. Of two names of one resource the lower limit counts.
    """
    spec, status = found.spec, found.status
    if spec.scopes or spec.scope_selector:
        return None
    at = "spec.hard" if status.hard is None else "status.hard"
    limits: dict[str, int] = {}
    for name, quantity in ((spec.hard if status.hard is None else status.hard) or {}).items():
        counted = counted_name(name)
        if counted:
            try:
                value = parse_counted(counted, quantity)
            except BadInput as error:
                raise BadObject(f"{api.named('ResourceQuota', found.metadata)}: {at}.{error}") from None
            limits[shared(counted)] = min(value, limits.get(counted, value))
    return limits or None


def counted_of(resources: ResourceList | None, at: str) -> Counted:
    """Amounts of an object, base units by counted name; raises BadObject naming the field."""
    if not resources:
        return NOTHING
    read(resources, DIVIDED_MAX, at)
    found: dict[str, int] = {}
    spelt: dict[str, str] = {}
    for name, quantity in sorted(resources.items()):
        counted = counted_name(short(name, at))
        if not counted:
            raise BadObject(words.cannot_be_divided(at, name, words.DIVIDED_RESOURCES))
        try:
            value = parse_counted(counted, quantity)
        except BadInput as error:
            # The message has the name as written, not as counted.
            raise BadObject(f"{at}.{name}{str(error).removeprefix(counted)}") from None
        if found.setdefault(shared(counted), value) != value:
            other = spelt[counted]
            raise BadObject(words.two_amounts(at, name, quantity, other, resources[other], counted))
        spelt.setdefault(counted, name)
    return found


def _generation(metadata: api.Metadata) -> int:
    """The generation of an object, which is written back as the observed one."""
    if not 0 <= metadata.generation < 1 << 63:
        raise BadObject(words.bad_generation(str(metadata.generation)[:40]))
    return metadata.generation


def _weight(weight: int) -> int:
    if weight not in WEIGHTS:
        raise BadObject(f"spec.weight: {weight} (expected {WEIGHTS[0]} to {WEIGHTS[-1]})")
    return weight


def _parent(name: str) -> str:
    if name and not is_subdomain(name):
        shown = repr(name[:NAME_LIMIT])
        raise BadObject(words.bad_parent(shown))
    return name


def _stated(resources: ResourceList | None) -> Mapping[str, str]:
    return {shared(name): str(quantity) for name, quantity in resources.items()} if resources else _NONE


def _status(raw: Raw) -> ArbitrationStatus:
    return part_of(raw, ArbitrationStatus) or ArbitrationStatus()


def _conditions(conditions: Sequence[ObjectCondition] | None) -> tuple[ArbitrationCondition, ...]:
    return tuple(
        ArbitrationCondition(
            found.type, found.status, found.reason or "", found.message or "", moment_of(found.last_transition_time)
        )
        for found in conditions or ()
    )
