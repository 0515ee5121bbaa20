"""The content of a Lease: its settings, how to read the record, and how to write it as client-go does.

Pure functions; the election itself is in ``candidate``.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

import msgspec

from vsched.errors import BadInput
from vsched.kube.paths import ApiResource
from vsched.kube.words import leases as words

PREFERRED = "vsched.io/preferred-holder"
"""The annotation by which a candidate asks the holder for a Lease; a free Lease is kept for it for a time."""
LEASES = ApiResource("coordination.k8s.io", "v1", "leases")
LONGEST_SECONDS = 3600
RETRY_ROOM = 1.2
"""A deadline must leave room for one retry and a little more."""
RELEASED_SECONDS = 1
"""``leaseDurationSeconds`` of a released lease: the API server requires more than 0."""
MOST_TRANSITIONS = 2**31 - 1

_NAME = re.compile(r"[a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?")
_NAMESPACE = re.compile(r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?")

Spec = dict[str, Any]


class LeaseSettings(msgspec.Struct, frozen=True, kw_only=True):
    """The name and the times of a Lease; raises BadInput if the times do not go together."""

    namespace: str = ""
    """Empty for the namespace that the caller runs in."""
    name: str = "vsched"
    duration_seconds: float = 15.0
    """How long others wait for a renewal before one of them takes over: whole seconds, up to an hour."""
    renew_deadline_seconds: float = 10.0
    """How long the holder tries to renew before it gives up."""
    retry_seconds: float = 2.0
    """The longest time between two attempts to get or renew the lease."""

    def __post_init__(self) -> None:
        if self.namespace:
            _check_name("namespace", self.namespace, _NAMESPACE)
        _check_name("name", self.name, _NAME)
        _check_times(self.duration_seconds, self.renew_deadline_seconds, self.retry_seconds)

    def __str__(self) -> str:
        return f"{self.namespace}/{self.name}"


def _check_name(field: str, text: str, form: re.Pattern[str]) -> None:
    if not form.fullmatch(text):
        raise BadInput(words.bad_name(field, text[:80]))


def _check_times(duration: float, deadline: float, retry: float) -> None:
    # Written so that NaN is refused, too.
    if not (1 <= duration <= LONGEST_SECONDS and duration == int(duration)):
        raise BadInput(words.bad_duration(duration, LONGEST_SECONDS))
    if not retry > 0:
        raise BadInput(words.bad_retry_period(retry))
    if not deadline > RETRY_ROOM * retry:
        least = words.more_than_retries(RETRY_ROOM, retry)
        raise BadInput(words.bad_deadline(deadline, least))
    if not duration > deadline:
        raise BadInput(words.duration_too_short(duration, deadline))


class LeaseRecord(msgspec.Struct, frozen=True):
    """A Lease as it was read; fields that are absent or of the wrong type count as not set."""

    lease: dict[str, Any]
    """The whole object."""
    spec: Spec
    holder: str
    """Empty if it has no holder."""
    duration_seconds: float
    transitions: int
    preferred: str = ""
    """Who asks for it; empty for nobody."""


def read_record(lease: dict[str, Any], duration_seconds: float) -> LeaseRecord:
    """Read a Lease; ``duration_seconds`` is the default for one that does not state its duration."""
    found = lease.get("spec")
    spec: Spec = found if isinstance(found, dict) else {}
    holder = spec.get("holderIdentity")
    duration, transitions = _whole(spec.get("leaseDurationSeconds")), _whole(spec.get("leaseTransitions"))
    preferred = annotations_of(lease).get(PREFERRED)
    return LeaseRecord(
        lease,
        spec,
        holder if isinstance(holder, str) else "",
        duration or duration_seconds,
        transitions,
        preferred if isinstance(preferred, str) else "",
    )


def annotations_of(lease: dict[str, Any]) -> dict[str, Any]:
    """The annotations of a Lease."""
    metadata = lease.get("metadata")
    found = metadata.get("annotations") if isinstance(metadata, dict) else None
    return found if isinstance(found, dict) else {}


def annotated(lease: dict[str, Any], notes: Mapping[str, str | None]) -> dict[str, Any]:
    """The Lease with other annotations; None takes one off."""
    kept = {key: value for key, value in {**annotations_of(lease), **notes}.items() if value is not None}
    return {**lease, "metadata": {**(lease.get("metadata") or {}), "annotations": kept}}


def lease_name(name: str, shard: int) -> str:
    """The name of the Lease of a shard."""
    return f"{name}-{shard}"


def _whole(value: object) -> int:
    return value if isinstance(value, int) and value > 0 else 0


def held_spec(record: LeaseRecord | None, identity: str, duration_seconds: float, now: float) -> Spec:
    """The spec by which ``identity`` gets or keeps the lease; other fields of the spec stay as they are."""
    kept = record is not None and record.holder == identity
    before = {} if record is None else record.spec
    renewed = _stamp(before, now)
    since = before.get("acquireTime") if kept else None
    passed = 0 if record is None else record.transitions + (not kept)
    return {
        **before,
        "holderIdentity": identity,
        "leaseDurationSeconds": int(duration_seconds),
        "acquireTime": since if isinstance(since, str) else renewed,
        "renewTime": renewed,
        "leaseTransitions": min(MOST_TRANSITIONS, passed),
    }


def released_spec(record: LeaseRecord, now: float) -> Spec:
    """The spec of a lease without a holder, as client-go writes it on release."""
    stamp = _stamp(record.spec, now)
    return {
        **record.spec,
        "holderIdentity": "",
        "leaseDurationSeconds": RELEASED_SECONDS,
        "acquireTime": stamp,
        "renewTime": stamp,
        "leaseTransitions": record.transitions,
    }


def _stamp(before: Spec, now: float) -> str:
    """The time to write. Others look for a change, so it differs from the last one even if the clock stands still."""
    moment = datetime.fromtimestamp(now, UTC)
    stamp = micro_time(moment)
    return stamp if stamp != before.get("renewTime") else micro_time(moment + timedelta(microseconds=1))


def micro_time(moment: datetime) -> str:
    """A moment in UTC in the format of Leases: always with six decimals."""
    return moment.strftime("%Y-%m-%dT%H:%M:%S.%fZ")
