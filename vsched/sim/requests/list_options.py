"""The options of a list or watch in its query, and which of them can be combined."""

from __future__ import annotations

from vsched.apimachinery.meta.api_errors import bad_request, invalid_options
from vsched.apimachinery.meta.field_errors import Causes
from vsched.sim.requests.request import ApiRequest

_EXACT, _NOT_OLDER = "Exact", "NotOlderThan"
_WITH_CONTINUE = "resourceVersionMatch is forbidden when continue is provided"


def version_match(call: ApiRequest) -> str:
    return call.query.get("resourceVersionMatch", "")


def asked_version(call: ApiRequest) -> int | None:
    """The resourceVersion of the query as a number; None if there is none."""
    given = call.query.get("resourceVersion", "")
    if not given:
        return None
    if not is_version(given):
        raise bad_request(f"invalid resource version: {not_a_version(given)}")
    return int(given)


def is_version(text: str) -> bool:
    return text.isascii() and text.isdecimal()


def not_a_version(text: str) -> str:
    """The real server's message for a resourceVersion that is no number."""
    return f'resourceVersion: Invalid value: "{text}": strconv.ParseUint: parsing "{text}": invalid syntax'


def check_list_options(call: ApiRequest) -> None:
    """Raises a Failure for options of a list that cannot be combined."""
    causes = Causes()
    match, version = version_match(call), call.query.get("resourceVersion", "")
    if match:
        if not version:
            why = "resourceVersionMatch is forbidden unless resourceVersion is provided"
            causes.forbidden("resourceVersionMatch", why)
        if call.query.get("continue"):
            causes.forbidden("resourceVersionMatch", _WITH_CONTINUE)
        if match not in (_EXACT, _NOT_OLDER):
            causes.not_supported("resourceVersionMatch", match, (_EXACT, _NOT_OLDER, ""))
        if match == _EXACT and version == "0":
            why = 'resourceVersionMatch "exact" is forbidden for resourceVersion "0"'
            causes.forbidden("resourceVersionMatch", why)
    if "sendInitialEvents" in call.query:
        causes.forbidden("sendInitialEvents", "sendInitialEvents is forbidden for list")
    _refuse(causes)


def check_watch_options(call: ApiRequest) -> None:
    """Raises a Failure for options of a watch that cannot be combined."""
    causes = Causes()
    match, initial = version_match(call), "sendInitialEvents" in call.query
    if initial and match != _NOT_OLDER:
        why = f"sendInitialEvents requires setting resourceVersionMatch to {_NOT_OLDER}"
        causes.forbidden("resourceVersionMatch", why)
    if match:
        if not initial:
            why = "resourceVersionMatch is forbidden for watch unless sendInitialEvents is provided"
            causes.forbidden("resourceVersionMatch", why)
        if match != _NOT_OLDER:
            causes.not_supported("resourceVersionMatch", match, (_NOT_OLDER,))
        if call.query.get("continue"):
            causes.forbidden("resourceVersionMatch", _WITH_CONTINUE)
    _refuse(causes)


def _refuse(causes: Causes) -> None:
    if causes:
        raise invalid_options("ListOptions", causes)
