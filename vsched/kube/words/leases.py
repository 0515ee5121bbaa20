"""What is said of leases."""

from __future__ import annotations

# -- settings ----------------------------------------------------------------------------------------------------------


def bad_name(field: str, text: str) -> str:
    return f"lease: {field} {text!r}: expected lower-case letters, digits and dashes, as in 'vsched'"


def bad_duration(duration: float, longest: int) -> str:
    return f"lease: duration {duration:g}s: expected whole seconds from 1 to {longest}"


def bad_retry_period(retry: float) -> str:
    return f"lease: retry period {retry:g}s: expected a time above 0"


def bad_deadline(deadline: float, expected: str) -> str:
    return f"lease: renew deadline {deadline:g}s: expected {expected}"


def more_than_retries(times: float, retry: float) -> str:
    return f"more than {times:g} times the retry period of {retry:g}s"


def duration_too_short(duration: float, deadline: float) -> str:
    return f"lease: duration {duration:g}s: expected more than the renew deadline of {deadline:g}s"


# -- holding one -------------------------------------------------------------------------------------------------------


def not_renewed_for(seconds: float) -> str:
    return f"not renewed for {seconds:.1f} s"


def taken_by(holder: str) -> str:
    return f"taken by {holder}"


TAKEN_BACK = "taken back by somebody else"


def lease_is_lost(lease: object, why: str) -> str:
    return f"lease {lease} is lost: {why}"


NO_ANSWER = "no answer in time"
