"""Validation of ResourceClaims, their templates and their status."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from vsched.apimachinery.meta.api_errors import FieldCause
from vsched.apimachinery.meta.field_errors import Causes
from vsched.apimachinery.meta.kinds import Obj
from vsched.apimachinery.meta.name_formats import (
    label_problems,
    qualified_name_problems,
    subdomain_problems,
)
from vsched.cel.devices import MOST_COST_SERVED, cost_of
from vsched.cel.errors import NotCompiled
from vsched.cel.expressions import compiled

MOST_REQUESTS = MOST_CONSTRAINTS = MOST_SELECTORS = MOST_RESULTS = 32
MOST_SUBREQUESTS = 8
MOST_CONSUMERS = 256
MOST_EXPRESSION_BYTES = 10 * 1024
_MODES = ("All", "ExactCount")
_POSITIVE = "must be greater than zero"
_UNKNOWN = "must be the name of a request in the claim or the name of a request and a subrequest separated by '/'"


def too_many(causes: Causes, path: str, count: int, most: int) -> None:
    if count > most:
        causes.append(FieldCause("FieldValueTooMany", f"Too many: {count}: must have at most {most} items", path))


def check_claim_object(obj: Obj, causes: Causes) -> None:
    _check_claim_spec(obj.get("spec") or {}, "spec", causes)


def check_template(obj: Obj, causes: Causes) -> None:
    _check_claim_spec((obj.get("spec") or {}).get("spec") or {}, "spec.spec", causes)


def check_unchanged(new: Obj, old: Obj, causes: Causes) -> None:
    """The spec of claims and templates never changes."""
    if new.get("spec") != old.get("spec"):
        causes.invalid("spec", new.get("spec"), "field is immutable")


def _check_claim_spec(spec: Obj, path: str, causes: Causes) -> None:
    devices = spec.get("devices") or {}
    where = f"{path}.devices"
    names: set[str] = set()
    subrequests: set[str] = set()
    requests = devices.get("requests") or ()
    too_many(causes, f"{where}.requests", len(requests), MOST_REQUESTS)
    for index, request in enumerate(requests):
        at = f"{where}.requests[{index}]"
        _check_name(request.get("name"), names, at, causes)
        subrequests |= _check_request(request, at, causes)
    known = names | subrequests
    constraints = devices.get("constraints") or ()
    too_many(causes, f"{where}.constraints", len(constraints), MOST_CONSTRAINTS)
    for index, constraint in enumerate(constraints):
        _check_constraint(constraint, known, f"{where}.constraints[{index}]", causes)
    for index, config in enumerate(devices.get("config") or ()):
        at = f"{where}.config[{index}]"
        _check_known(config.get("requests") or (), known, f"{at}.requests", causes)
        check_opaque(config, at, causes)


def _check_request(request: Obj, path: str, causes: Causes) -> set[str]:
    """The names of its subrequests, as ``request/subrequest``."""
    exactly, alternatives = request.get("exactly"), request.get("firstAvailable") or ()
    if (exactly is None) == (not alternatives):
        causes.invalid(path, _given(request), "exactly one of `exactly` or `firstAvailable` is required")
    if exactly is not None:
        _check_exact(exactly, f"{path}.exactly", causes)
    too_many(causes, f"{path}.firstAvailable", len(alternatives), MOST_SUBREQUESTS)
    names: set[str] = set()
    for index, one in enumerate(alternatives):
        at = f"{path}.firstAvailable[{index}]"
        _check_name(one.get("name"), names, at, causes)
        _check_exact(one, at, causes)
    return {f"{request.get('name')}/{name}" for name in names}


def _given(request: Obj) -> Obj:
    return {"name": request.get("name", "")}


def _check_name(name: str | None, names: set[str], path: str, causes: Causes) -> None:
    causes.check_name(name, label_problems, f"{path}.name")
    if name:
        causes.check_unique(name, names, f"{path}.name")


def _check_exact(request: Obj, path: str, causes: Causes) -> None:
    causes.check_name(request.get("deviceClassName"), subdomain_problems, f"{path}.deviceClassName")
    check_selectors(request.get("selectors") or (), f"{path}.selectors", causes)
    mode, count = request.get("allocationMode"), request.get("count", 0)
    if mode == "ExactCount" and count <= 0:
        causes.invalid(f"{path}.count", count, _POSITIVE)
    elif mode == "All" and count:
        causes.invalid(f"{path}.count", count, "must not be specified when allocationMode is 'All'")
    elif mode not in _MODES:
        causes.not_supported(f"{path}.allocationMode", mode or "", _MODES)
    for index, toleration in enumerate(request.get("tolerations") or ()):
        _check_toleration(toleration, f"{path}.tolerations[{index}]", causes)
    for name in (request.get("capacity") or {}).get("requests") or ():
        causes.check_format(name, attribute_name_problems, f"{path}.capacity.requests")


def _check_toleration(toleration: Obj, path: str, causes: Causes) -> None:
    operator, key = toleration.get("operator", ""), toleration.get("key") or ""
    if operator not in ("Equal", "Exists"):
        causes.check_required_one_of(operator, ("Equal", "Exists"), f"{path}.operator")
    if key:
        causes.check_format(key, qualified_name_problems, f"{path}.key")
    elif operator == "Equal":
        causes.required(f"{path}.key", "must be specified when operator is 'Equal'")
    if operator == "Exists" and toleration.get("value"):
        causes.invalid(f"{path}.value", toleration["value"], "must be empty for operator `Exists`")
    if toleration.get("effect"):
        causes.check_one_of(toleration["effect"], ("NoExecute", "NoSchedule"), f"{path}.effect")


def check_selectors(selectors: Sequence[Obj], path: str, causes: Causes) -> None:
    """Checks that the CEL expressions of a class or a request compile, and do not cost too much."""
    too_many(causes, path, len(selectors), MOST_SELECTORS)
    for index, selector in enumerate(selectors):
        at = f"{path}[{index}].cel"
        if selector.get("cel") is None:
            causes.required(at)
            continue
        text = selector["cel"].get("expression") or ""
        if not text.strip():
            causes.required(f"{at}.expression")
        elif len(text.encode()) > MOST_EXPRESSION_BYTES:
            why = f"Too long: may not be more than {MOST_EXPRESSION_BYTES} bytes"
            causes.append(FieldCause("FieldValueTooLong", why, f"{at}.expression"))
        else:
            try:
                compiled(text, ("device",))
                if cost_of(text) > MOST_COST_SERVED:
                    why = "Forbidden: too complex, exceeds cost limit"
                    causes.append(FieldCause("FieldValueForbidden", why, f"{at}.expression"))
            except NotCompiled as error:
                causes.invalid(f"{at}.expression", text, f"compilation failed: {error}")


def check_opaque(config: Obj, path: str, causes: Causes) -> None:
    opaque = config.get("opaque")
    if opaque is None:
        causes.required(f"{path}.opaque")
        return
    causes.check_name(opaque.get("driver"), subdomain_problems, f"{path}.opaque.driver")
    if opaque.get("parameters") is None:
        causes.required(f"{path}.opaque.parameters")


def attribute_name_problems(name: str) -> Iterable[str]:
    """An attribute is an identifier, with or without a domain before it."""
    domain, slash, bare = name.rpartition("/")
    if slash:
        yield from subdomain_problems(domain)
    if not bare.isidentifier():
        yield (
            "a valid C identifier must start with alphabetic character or '_', followed by a string of alphanumeric "
            "characters or '_' (e.g. 'my_name',  or 'MY_NAME',  or 'MyName', regex used for validation is "
            "'[A-Za-z_][A-Za-z0-9_]*')"
        )


def _check_constraint(constraint: Obj, known: set[str], path: str, causes: Causes) -> None:
    _check_known(constraint.get("requests") or (), known, f"{path}.requests", causes)
    match, distinct = constraint.get("matchAttribute"), constraint.get("distinctAttribute")
    if match is None and distinct is None:
        causes.append(FieldCause("FieldValueRequired", "Required value: exactly one of matchAttribute or"
                                 " distinctAttribute is required", path))  # fmt: skip
    for field, name in (("matchAttribute", match), ("distinctAttribute", distinct)):
        if name is None:
            continue
        if "/" not in name:
            causes.invalid(f"{path}.{field}", name, "must include a domain")
        else:
            causes.check_format(name, attribute_name_problems, f"{path}.{field}")


def _check_known(requests: Iterable[str], known: set[str], path: str, causes: Causes) -> None:
    for index, name in enumerate(requests):
        if name not in known:
            causes.invalid(f"{path}[{index}]", name, _UNKNOWN)


# -- the status


def check_claim_status(new: Obj, old: Obj, causes: Causes) -> None:
    """Checks a written status: what is allocated stays until it is taken away as a whole, and nobody uses it then."""
    now, was = new.get("status") or {}, old.get("status") or {}
    allocation, consumers = now.get("allocation"), now.get("reservedFor") or []
    _check_consumers(consumers, causes)
    if consumers and allocation is None:
        causes.forbidden("status.reservedFor", "may not be specified when `allocated` is not set")
    elif consumers and old["metadata"].get("deletionTimestamp"):
        before = was.get("reservedFor") or ()
        if any(each not in before for each in consumers):
            why = "new entries may not be added while `deallocationRequested` or `deletionTimestamp` are set"
            causes.forbidden("status.reservedFor", why)
    if allocation is None:
        return
    if was.get("allocation") is None:
        _check_allocation(allocation, old, causes)
    elif allocation != was["allocation"]:
        causes.invalid("status.allocation", allocation, "field is immutable")


def _check_consumers(consumers: Sequence[Obj], causes: Causes) -> None:
    where = "status.reservedFor"
    too_many(causes, where, len(consumers), MOST_CONSUMERS)
    seen: set[str] = set()
    for index, each in enumerate(consumers):
        for field in ("resource", "name", "uid"):
            if not each.get(field):
                causes.required(f"{where}[{index}].{field}")
        causes.check_unique(each.get("uid", ""), seen, f"{where}[{index}].uid")


def _check_allocation(allocation: Obj, claim: Obj, causes: Causes) -> None:
    where = "status.allocation"
    results = (allocation.get("devices") or {}).get("results") or ()
    too_many(causes, f"{where}.devices.results", len(results), MOST_RESULTS)
    known = _request_names(claim)
    for index, result in enumerate(results):
        at = f"{where}.devices.results[{index}]"
        if result.get("request") not in known:
            causes.invalid(f"{at}.request", result.get("request", ""), _UNKNOWN)
        for field in ("driver", "pool", "device"):
            if not result.get(field):
                causes.required(f"{at}.{field}")
    selector = allocation.get("nodeSelector")
    terms = (selector or {}).get("nodeSelectorTerms") or ()
    if selector is not None and len(terms) != 1:
        causes.invalid(f"{where}.nodeSelector.nodeSelectorTerms", terms, "must have exactly one node selector term")


def _request_names(claim: Obj) -> set[str]:
    """The names that results may have: a request with alternatives is named with the one that was taken."""
    found: set[str] = set()
    for request in (claim["spec"].get("devices") or {}).get("requests") or ():
        alternatives = request.get("firstAvailable") or ()
        found |= {f"{request['name']}/{each['name']}" for each in alternatives} or {request["name"]}
    return found
