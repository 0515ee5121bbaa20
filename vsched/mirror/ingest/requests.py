"""The resource requests of a pod: sums over its containers, by the rules of Kubernetes.

Init containers run one after the other; restartable ones (sidecars) stay. Pod-level resources replace the sums of the
same resources, and overhead is added. During an in-place resize the larger of desired and allocated counts.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import NamedTuple

from vsched.api.base import Raw, ResourceList, Wire
from vsched.api.pods import Container, ContainerStatus, Pod
from vsched.mirror.ingest.amounts import Amount, quantities
from vsched.mirror.ingest.bounds import RESOURCES_MAX, bounded, short
from vsched.mirror.ingest.rules import decoded
from vsched.model.amounts.counted import LIMITS
from vsched.model.amounts.quantity import MOST, MOST_HELD
from vsched.model.amounts.resources import CPU, MEMORY, PODS, Amounts, Columns, without_zeros
from vsched.model.pods.shape import ZoneRequest

SCORING_DEFAULTS = {CPU: 100, MEMORY: 200 * 1024 * 1024}
"""What scoring assumes for a container without requests: milli-cores and bytes."""

_POD_LEVEL = ("cpu", "memory")
_POD_LEVEL_PREFIX = "hugepages-"
_NO_STATUSES: Mapping[str, ContainerStatus] = {}

ContainerReader = Callable[[Columns, Container, str, Mapping[str, ContainerStatus], bool], Amount]
"""Reads one container: columns, container, its path, statuses by container, and whether a resize was refused."""


class Resources(Wire):
    """The resources of a container or of a pod."""

    requests: ResourceList | None = None
    limits: ResourceList | None = None


class PodRequest(NamedTuple):
    """The request of a pod, and what scoring counts."""

    amounts: Amounts
    scoring_cpu: int
    scoring_memory: int
    burst: tuple[int, int]
    """cpu and memory that limits allow beyond the request."""
    overhead: Amounts
    """What of ``amounts`` is the overhead of the pod's RuntimeClass."""


def request_of(pod: Pod, axis: Columns) -> PodRequest:
    """The request of a pod; raises BadObject naming the field."""
    spec = pod.spec
    apps, inits, restartable = _container_amounts(pod, axis, _container_request)
    total = _aggregate(apps, inits, restartable)
    scoring = _aggregate(list(map(_with_defaults, apps)), list(map(_with_defaults, inits)), restartable)
    pod_level = _pod_level(axis, decoded(spec.resources, Resources, "spec.resources"), total)
    overhead = quantities(axis, decoded(spec.overhead, ResourceList, "spec.overhead"), "spec.overhead")
    for sums in (total, scoring):
        sums.update(pod_level)
        _add(sums, overhead)
    total[PODS] = 1
    most = MOST_HELD if spec.node_name else MOST
    amounts = tuple(sorted((column, min(value, most)) for column, value in total.items() if value))
    limits = _limits(pod, axis)
    cpu, memory = (max(0, limits.get(column, 0) - total.get(column, 0)) for column in (CPU, MEMORY))
    scoring_cpu, scoring_memory = (min(scoring.get(column, 0), most) for column in (CPU, MEMORY))
    return PodRequest(
        amounts, scoring_cpu, scoring_memory, (min(cpu, most), min(memory, most)), without_zeros(overhead)
    )


def limits_of(pod: Pod, axis: Columns) -> tuple[tuple[str, int], ...]:
    """The sums of a pod's limits by counted name, as quotas count them: containers without a limit count as zero.

    Init containers, sidecars, pod-level limits and overhead count as for requests; raises BadObject.
    """
    spec = pod.spec
    total = _aggregate(*_container_amounts(pod, axis, _container_limit))
    pod_level = decoded(spec.resources, Resources, "spec.resources")
    if pod_level is not None:
        total.update(quantities(axis, _counted_a_pod(pod_level.limits), "spec.resources.limits"))
    for column, value in quantities(
        axis, decoded(spec.overhead, ResourceList, "spec.overhead"), "spec.overhead"
    ).items():
        if column in total:
            total[column] += value
    named = ((f"limits.{axis.names[column]}", value) for column, value in total.items())
    return tuple(sorted((name, value) for name, value in named if value and name in LIMITS))


def zones_asked_by(pod: Pod, axis: Columns, policy: str) -> ZoneRequest | None:
    """What a pod asks of NUMA zones: None unless it is Guaranteed and a container has whole cpus. Raises BadObject."""
    spec = pod.spec
    apps, inits, restartable = _container_amounts(pod, axis, _guaranteed_request)
    if not all(apps) or not all(inits) or not any(map(_is_aligned, (*apps, *inits))):
        return None
    stays = [asked for asked, sidecar in zip(inits, restartable, strict=True) if sidecar]
    steps = [asked for asked, sidecar in zip(inits, restartable, strict=True) if not sidecar]
    whole = _aggregate(apps, inits, restartable)
    _add(whole, quantities(axis, decoded(spec.overhead, ResourceList, "spec.overhead"), "spec.overhead"))
    return ZoneRequest(
        policy,
        tuple(without_zeros(asked) for asked in (*stays, *apps) if _is_aligned(asked)),
        tuple(without_zeros(asked) for asked in steps if _is_aligned(asked)),
        without_zeros(whole),
    )


def _guaranteed_request(
    axis: Columns, container: Container, at: str, statuses: Mapping[str, ContainerStatus], infeasible: bool
) -> Amount:
    """The request of a container whose limits of cpu and memory equal it; nothing for others."""
    asked = _container_request(axis, container, at, statuses, infeasible)
    limits = _limit(axis, container.resources, f"{at}.resources")
    bound = all(limits.get(column, 0) > 0 and asked.get(column) == limits[column] for column in (CPU, MEMORY))
    return asked if bound else {}


def _is_aligned(asked: Amount) -> bool:
    return asked.get(CPU, 0) > 0 and asked[CPU] % 1000 == 0


class ContainerAmounts(NamedTuple):
    """The requests or the limits of each container of a pod."""

    apps: list[Amount]
    inits: list[Amount]
    restartable: list[bool]
    """For each init container, whether it is a sidecar."""


def _container_amounts(pod: Pod, axis: Columns, one: ContainerReader) -> ContainerAmounts:
    spec = pod.spec
    statuses = resize_statuses(pod)
    infeasible = bool(statuses) and resize_infeasible(pod)

    def read(containers: Sequence[Container] | None, field: str) -> list[Amount]:
        return [
            one(axis, container, f"spec.{field}[{position}]", statuses, infeasible)
            for position, container in enumerate(containers or ())
        ]

    apps, inits = read(spec.containers, "containers"), read(spec.init_containers, "initContainers")
    restartable = [container.restart_policy == "Always" for container in spec.init_containers or ()]
    return ContainerAmounts(apps, inits, restartable)


def resize_statuses(pod: Pod) -> Mapping[str, ContainerStatus]:
    """Statuses with allocated resources by container; empty for a pod without a node."""
    if not pod.spec.node_name:
        return _NO_STATUSES
    status = pod.status
    if not status.container_statuses and not status.init_container_statuses:
        return _NO_STATUSES
    both = (*(status.container_statuses or ()), *(status.init_container_statuses or ()))
    return {found.name: found for found in both}


def resize_infeasible(pod: Pod) -> bool:
    """Whether the kubelet has refused a resize for good."""
    for condition in pod.status.conditions or ():
        if condition.type == "PodResizePending":
            return condition.status == "True" and condition.reason == "Infeasible"
    return False


def bound_resources(pod: Pod) -> None:
    """Raise Beyond where a pod names more resources than are read, before any of them gets a column."""
    spec = pod.spec
    names = set(decoded(spec.overhead, ResourceList, "spec.overhead") or ())
    parts = [("spec.resources", spec.resources)]
    for field, containers in (("containers", spec.containers), ("initContainers", spec.init_containers)):
        parts += [(f"spec.{field}[{number}].resources", one.resources) for number, one in enumerate(containers or ())]
    for at, raw in parts:
        found = decoded(raw, Resources, at)
        if found is not None:
            names.update(found.requests or (), found.limits or ())
    for name in names:
        short(name, "spec.containers[*].resources")
    bounded(len(names), RESOURCES_MAX, "spec.containers[*].resources")


def _container_request(
    axis: Columns, container: Container, at: str, statuses: Mapping[str, ContainerStatus], infeasible: bool
) -> Amount:
    wanted = _defaulted(axis, decoded(container.resources, Resources, f"{at}.resources"), f"{at}.resources")
    status = statuses.get(container.name)
    if status is None:
        return wanted
    where = f"status.containerStatuses[{container.name}]"
    given = decoded(status.allocated_resources, ResourceList, f"{where}.allocatedResources")
    actual = decoded(status.resources, Resources, f"{where}.resources")
    if given is None and actual is None:
        return wanted
    held = quantities(axis, given, f"{where}.allocatedResources")
    _raise_to(held, quantities(axis, actual.requests if actual else None, f"{where}.resources.requests"))
    if not infeasible:
        _raise_to(held, wanted)
    return held


def _container_limit(
    axis: Columns, container: Container, at: str, statuses: Mapping[str, ContainerStatus], infeasible: bool
) -> Amount:
    wanted = _limit(axis, container.resources, f"{at}.resources")
    status = statuses.get(container.name)
    if status is None or not bytes(status.resources):
        return wanted
    held = _limit(axis, status.resources, f"status.containerStatuses[{container.name}].resources")
    if not infeasible:
        _raise_to(held, wanted)
    return held


def _defaulted(axis: Columns, resources: Resources | None, at: str) -> Amount:
    if resources is None:
        return {}
    asked = quantities(axis, resources.limits, f"{at}.limits")
    asked.update(quantities(axis, resources.requests, f"{at}.requests"))
    return asked


def _pod_level(axis: Columns, resources: Resources | None, total: Amount) -> Amount:
    if resources is None:
        return {}
    at = "spec.resources"
    limits, requests = _counted_a_pod(resources.limits), _counted_a_pod(resources.requests)
    found = quantities(axis, requests, f"{at}.requests")
    for column, value in quantities(axis, limits, f"{at}.limits").items():
        if column not in total:
            found.setdefault(column, value)
    return found


def _counted_a_pod(resources: ResourceList | None) -> ResourceList:
    return {
        name: value
        for name, value in (resources or {}).items()
        if name in _POD_LEVEL or name.startswith(_POD_LEVEL_PREFIX)
    }


def _limits(pod: Pod, axis: Columns) -> Amount:
    """The limits of the pod by column, without resources for which some container has no limit."""
    spec = pod.spec
    sidecars = [one for one in spec.init_containers or () if one.restart_policy == "Always"]
    limits = [_limit(axis, one.resources, "spec.containers") for one in (*(spec.containers or ()), *sidecars)]
    common = set(limits[0]).intersection(*limits) if limits else set()
    total = {column: sum(limit[column] for limit in limits) for column in common}
    return total | _limit(axis, spec.resources, "spec.resources")


def _limit(axis: Columns, raw: Raw, at: str) -> Amount:
    resources = decoded(raw, Resources, at)
    return {} if resources is None else quantities(axis, resources.limits, f"{at}.limits")


def _aggregate(apps: Iterable[Amount], inits: Iterable[Amount], restartable: Iterable[bool]) -> Amount:
    total: Amount = {}
    for asked in apps:
        _add(total, asked)
    sidecars: Amount = {}
    largest: Amount = {}
    for asked, stays in zip(inits, restartable, strict=True):
        if stays:
            _add(total, asked)
            _add(sidecars, asked)
            _raise_to(largest, sidecars)
        else:
            step = dict(sidecars)
            _add(step, asked)
            _raise_to(largest, step)
    _raise_to(total, largest)
    return total


def _with_defaults(asked: Amount) -> Amount:
    return SCORING_DEFAULTS | asked


def _add(into: Amount, amount: Amount) -> None:
    for column, value in amount.items():
        into[column] = into.get(column, 0) + value


def _raise_to(into: Amount, amount: Amount) -> None:
    for column, value in amount.items():
        if value > into.get(column, -1):
            into[column] = value
