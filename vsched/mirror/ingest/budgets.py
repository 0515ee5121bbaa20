"""PodDisruptionBudgets and ResourceQuotas to the model: pure functions of one object each; raise BadObject."""

from __future__ import annotations

from vsched import api
from vsched.api.affinity import LabelSelector
from vsched.api.base import ResourceList
from vsched.errors import BadObject, BadQuantity
from vsched.mirror.ingest.bounds import QUOTA_LINES_MAX, read
from vsched.mirror.ingest.metadata import naming
from vsched.mirror.ingest.rules import decoded, selector_of
from vsched.model.amounts.quantity import parse_quantity
from vsched.model.amounts.resources import is_schedulable, scale_of
from vsched.model.jobs.budget import DisruptionBudget
from vsched.model.names import shared
from vsched.model.queues.quota import Quota, QuotaLine
from vsched.model.words import negative

REQUESTS, LIMITS = "requests.", "limits."
_ON_STORAGE_CLASSES = ".storageclass.storage.k8s.io/"
_OWN = "volcano.sh/namespace."
"""Prefix of lines of a quota that are weights, not limits."""


def budget_of(found: api.PodDisruptionBudget) -> DisruptionBudget | None:
    """The budget with its status; None without a selector (an empty selector selects all pods)."""
    metadata, at = found.metadata, "spec.selector"
    with naming("PodDisruptionBudget", metadata):
        selector = selector_of(decoded(found.spec.selector, LabelSelector, at), at, {})
    if selector is None:
        return None
    status = found.status
    # Like the API server: no eviction until the controller has observed a change of the budget.
    behind = status.observed_generation is not None and status.observed_generation < metadata.generation
    allowed = 0 if behind else max(0, status.disruptions_allowed or 0)
    return DisruptionBudget(
        shared(metadata.namespace or "default"),
        metadata.name,
        selector,
        allowed,
        frozenset(status.disrupted_pods or ()),
        spares_unready=_spares_unready(found),
        lacking=0 if allowed else max(0, (status.desired_healthy or 0) - (status.current_healthy or 0)),
    )


def _spares_unready(found: api.PodDisruptionBudget) -> bool:
    """Whether running pods that are not ready may be evicted whatever the budget allows, like in the API server."""
    if found.spec.unhealthy_pod_eviction_policy == "AlwaysAllow":
        return True
    desired = found.status.desired_healthy or 0
    return 0 < desired <= (found.status.current_healthy or 0)


def quota_of(found: api.ResourceQuota) -> Quota | None:
    """The limits of a quota on pods' resources; None without any, or if the quota has scopes."""
    spec, status = found.spec, found.status
    if spec.scopes or spec.scope_selector:
        return None
    at = "spec.hard" if status.hard is None else "status.hard"
    hard = (spec.hard if status.hard is None else status.hard) or {}
    used = status.used or {}
    with naming("ResourceQuota", found.metadata):
        read(hard, QUOTA_LINES_MAX, at)
        lines = tuple(
            QuotaLine(
                shared(name),
                resource,
                _amount(resource, quantity, f"{at}.{name}"),
                _amount(resource, used.get(name, 0), f"status.used.{name}"),
            )
            for name, quantity in sorted(hard.items())
            if (resource := _limited_by(name))
        )
    return Quota(found.metadata.name, lines) if lines else None


def quota_request_of(resources: ResourceList | None, at: str) -> tuple[tuple[str, int], ...]:
    """What only quotas count of a ResourceList (``requests.``, ``limits.``), in base units; raises BadObject."""
    return tuple(
        sorted(
            (resource, _amount(resource, quantity, f"{at}.{name}"))
            for name, quantity in (resources or {}).items()
            if name.startswith((REQUESTS, LIMITS)) and (resource := _limited_by(name))
        )
    )


def _limited_by(name: str) -> str:
    """The resource that a line of a quota counts, empty where the scheduler does not track it."""
    if name.startswith(LIMITS):
        return shared(name) if is_schedulable(name.removeprefix(LIMITS)) else ""
    if _ON_STORAGE_CLASSES in name or name.startswith(_OWN):
        return ""
    resource = name.removeprefix(REQUESTS)
    return shared(resource) if is_schedulable(resource) else ""


def _amount(resource: str, quantity: str | float, at: str) -> int:
    try:
        value = parse_quantity(str(quantity).strip(), scale_of(resource.removeprefix(LIMITS)))
    except BadQuantity as error:
        raise BadObject(f"{at}: {error}") from None
    if value < 0:
        raise BadObject(negative(at, quantity))
    return value
