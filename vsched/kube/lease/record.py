"""What is in a Lease: its settings, the record as client-go writes it, and how to read one that somebody else wrote.

Data in, data out; who asks for the lease and when is ``lease``'s business.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from typing import Any

import msgspec

from vsched.errors import BadInput
from vsched.kube.paths import ApiResource

LEASES = ApiResource("coordination.k8s.io", "v1", "leases")
LONGEST_SECONDS = 3600
RETRY_ROOM = 1.2
"""A deadline must leave room for one retry and a little more."""
RELEASED_SECONDS = 1
"""How long a lease holds that nobody holds: the API server wants more than 0."""
MOST_TRANSITIONS = 2**31 - 1

_NAME = re.compile(r"[a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?")
_NAMESPACE = re.compile(r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?")

Spec = dict[str, Any]


class LeaseSettings(msgspec.Struct, frozen=True, kw_only=True):
    """Which Lease decides who leads, and how fast; raises BadInput where the times do not go together."""

    namespace: str = ""
    """Empty for the namespace where whoever uses this is at home."""
    name: str = "vsched"
    duration_seconds: float = 15.0
    """How long others wait for a sign of the holder before one of them takes over: whole seconds, up to an hour."""
    renew_deadline_seconds: float = 10.0
    """How long the holder tries to renew before it gives up."""
    retry_seconds: float = 2.0
    """Between two attempts to get or renew the lease, at most."""

    def __post_init__(self) -> None:
        if self.namespace:
            _check_name("namespace", self.namespace, _NAMESPACE)
        _check_name("name", self.name, _NAME)
        _check_times(self.duration_seconds, self.renew_deadline_seconds, self.retry_seconds)

    def __str__(self) -> str:
        return f"{self.namespace}/{self.name}"


def _check_name(field: str, text: str, form: re.Pattern[str]) -> None:
    if not form.fullmatch(text):
        raise BadInput(f"lease: {field} {text[:80]!r}: expected lower-case letters, digits and dashes, as in 'vsched'")


def _check_times(duration: float, deadline: float, retry: float) -> None:
    # Written so that a value that is no number is refused, too.
    if not (1 <= duration <= LONGEST_SECONDS and duration == int(duration)):
        raise BadInput(f"lease: duration {duration:g}s: expected whole seconds from 1 to {LONGEST_SECONDS}")
    if not retry > 0:
        raise BadInput(f"lease: retry period {retry:g}s: expected a time above 0")
    if not deadline > RETRY_ROOM * retry:
        least = f"more than {RETRY_ROOM:g} times the retry period of {retry:g}s"
        raise BadInput(f"lease: renew deadline {deadline:g}s: expected {least}")
    if not duration > deadline:
        raise BadInput(f"lease: duration {duration:g}s: expected more than the renew deadline of {deadline:g}s")


class Record(msgspec.Struct, frozen=True):
    """A Lease as it was read; what is absent or of the wrong type counts as not said."""

    lease: dict[str, Any]
    """The whole object."""
    spec: Spec
    holder: str
    """Empty where nobody holds it."""
    duration_seconds: float
    transitions: int


def read_record(lease: dict[str, Any], duration_seconds: float) -> Record:
    """What a Lease says; ``duration_seconds`` is for one that does not say how long it holds."""
    found = lease.get("spec")
    spec: Spec = found if isinstance(found, dict) else {}
    holder = spec.get("holderIdentity")
    duration, transitions = _whole(spec.get("leaseDurationSeconds")), _whole(spec.get("leaseTransitions"))
    return Record(lease, spec, holder if isinstance(holder, str) else "", duration or duration_seconds, transitions)


def _whole(value: object) -> int:
    return value if isinstance(value, int) and value > 0 else 0


def held_spec(record: Record | None, identity: str, duration_seconds: float, now: float) -> Spec:
    """The spec by which ``identity`` gets or keeps the lease; what client-go does not know of in it stays."""
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


def released_spec(record: Record, now: float) -> Spec:
    """The spec by which the lease is nobody's, as client-go gives it back."""
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
    """The time to write; others look for a change, so it differs even when the wall clock stands still."""
    moment = datetime.fromtimestamp(now, UTC)
    stamp = micro_time(moment)
    return stamp if stamp != before.get("renewTime") else micro_time(moment + timedelta(microseconds=1))


def micro_time(moment: datetime) -> str:
    """A moment in UTC as Leases have it: always with six decimals."""
    return moment.strftime("%Y-%m-%dT%H:%M:%S.%fZ")
