"""Validation of resources: names, amounts, and requests against limits."""

from __future__ import annotations

from functools import lru_cache

from vsched.apimachinery.meta.field_errors import NOT_NEGATIVE, Causes
from vsched.apimachinery.meta.kinds import Obj
from vsched.apimachinery.meta.name_formats import qualified_name_problems
from vsched.cel import quantities

_CONTAINER_RESOURCES = frozenset({"cpu", "memory", "ephemeral-storage"})
COUNTED_OBJECTS = (
    "pods", "services", "replicationcontrollers", "resourcequotas", "secrets", "configmaps", "persistentvolumeclaims"
)  # fmt: skip
"""Objects that a quota counts by their plain names."""
COUNTED = frozenset({*COUNTED_OBJECTS, "services.nodeports", "services.loadbalancers"})
"""Resources of a quota that are counts."""
_STANDARD = (
    _CONTAINER_RESOURCES
    | COUNTED
    | {"storage", "requests.storage"}
    | {f"{part}.{name}" for part in ("requests", "limits") for name in _CONTAINER_RESOURCES}
)
_HUGE = "hugepages-"
_REQUESTS = "requests."

NOT_INTEGER = "must be an integer"


def _is_native(name: str) -> bool:
    return "/" not in name or "kubernetes.io/" in name


def _may_overcommit(name: str) -> bool:
    """Only native resources other than huge pages may have limits above their requests."""
    return _is_native(name) and not name.startswith(_HUGE)


@lru_cache(maxsize=1024)
def container_resource_problems(name: str) -> tuple[str, ...]:
    problems = qualified_name_problems(name)
    if problems:
        return problems
    if "/" not in name:
        found = []
        if name not in _STANDARD and not name.startswith(_HUGE):
            found.append("must be a standard resource type or fully qualified")
        if name not in _CONTAINER_RESOURCES and not name.startswith(_HUGE):
            found.append("must be a standard resource for containers")
        return tuple(found)
    if not _is_native(name) and name.startswith(_REQUESTS):
        return ("doesn't follow extended resource name standard",)
    return ()


@lru_cache(maxsize=1024)
def quota_resource_problems(name: str) -> tuple[str, ...]:
    problems = qualified_name_problems(name)
    if problems or "/" in name:
        return problems
    found = []
    if name not in _STANDARD and not name.startswith((_HUGE, "requests.hugepages-")):
        found.append("must be a standard resource type or fully qualified")
        if not name.startswith("count."):
            found.append("must be a standard resource for quota")
    return tuple(found)


def check_amount(name: str, value: str, path: str, causes: Causes, *, whole: bool | None = None) -> None:
    """An amount must not be negative, and must be an integer for countable resources."""
    amount = quantities.amount(value)
    if amount < 0:
        causes.invalid(path, value, NOT_NEGATIVE)
    if whole is None:
        whole = not _is_native(name) or name in ("pods", "services", "secrets", "configmaps", "resourcequotas")
    if whole and amount != amount.to_integral_value():
        causes.invalid(path, value, NOT_INTEGER)


def check_resources(resources: Obj, path: str, causes: Causes) -> None:
    limits: Obj = resources.get("limits") or {}
    requests: Obj = resources.get("requests") or {}
    for kind, amounts in (("limits", limits), ("requests", requests)):
        for name, value in amounts.items():
            causes.check_format(name, container_resource_problems, f"{path}.{kind}[{name}]")
            if not _plain(name, value):
                check_amount(name, value, f"{path}.{kind}[{name}]", causes)
    for name, value in requests.items():
        _check_request(name, value, limits, path, causes)
    named = limits.keys() | requests.keys()
    if not named & {"cpu", "memory"} and any(name.startswith(_HUGE) for name in named):
        causes.forbidden(path, "HugePages require cpu or memory")


@lru_cache(maxsize=16384)
def _plain(name: str, value: str) -> bool:
    """Whether an amount has no errors."""
    causes = Causes()
    check_amount(name, value, "", causes)
    return not causes


def _check_request(name: str, value: str, limits: Obj, path: str, causes: Causes) -> None:
    limit = limits.get(name)
    if limit is None:
        if not _may_overcommit(name):
            causes.required(f"{path}.limits", "Limit must be set for non overcommitable resources")
        return
    if limit == value:
        return
    requested, limited = quantities.amount(value), quantities.amount(limit)
    if requested != limited and not _may_overcommit(name):
        causes.invalid(f"{path}.requests", value, f"must be equal to {name} limit of {limit}")
    elif requested > limited:
        causes.invalid(f"{path}.requests", value, f"must be less than or equal to {name} limit of {limit}")
