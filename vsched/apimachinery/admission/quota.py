"""The usage of ResourceQuotas by objects, and whether a new object exceeds them.

Pure: the caller stores the charged quotas. A quota without a status does not restrict anything.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from vsched.apimachinery.meta.api_errors import forbidden
from vsched.apimachinery.meta.kinds import Kind, Obj
from vsched.apimachinery.validation.resources import COUNTED_OBJECTS
from vsched.cel import quantities

_COMPUTE = ("cpu", "memory", "requests.cpu", "requests.memory", "limits.cpu", "limits.memory")


def charge(kind: Kind, obj: Obj, quotas: Iterable[Obj]) -> list[Obj]:
    """The quotas that count a new object, charged with it; raises Failure if one is exceeded."""
    charged = []
    cost: dict[str, str] | None = None
    for quota in quotas:
        status = quota.get("status") or {}
        hard = status.get("hard") or {}
        if not hard or not in_scope(kind, obj, quota):
            continue
        if cost is None:
            cost = usage(kind, obj)
        if kind.storage == "/pods":
            _check_specified(kind, obj, quota, hard)
        counted = {name: value for name, value in cost.items() if name in hard}
        if counted:
            charged.append(_charged(kind, obj, quota, counted))
    return charged


def _charged(kind: Kind, obj: Obj, quota: Obj, counted: dict[str, str]) -> Obj:
    status = quota["status"]
    hard, used = status["hard"], status.get("used") or {}
    risen = {name: quantities.total((used.get(name, "0"), value)) for name, value in counted.items()}
    over = [
        name
        for name in sorted(counted)
        if quantities.amount(counted[name]) > 0 and quantities.amount(risen[name]) > quantities.amount(hard[name])
    ]
    if over:
        listed = [_listed(over, amounts) for amounts in (counted, used, hard)]
        why = (
            f"exceeded quota: {quota['metadata']['name']}, "
            f"requested: {listed[0]}, used: {listed[1]}, limited: {listed[2]}"
        )
        raise forbidden(kind, obj["metadata"].get("name", ""), why)
    return {**quota, "status": {**status, "used": {**used, **risen}}}


def _listed(names: list[str], amounts: Obj) -> str:
    return ",".join(f"{name}={amounts.get(name, '0')}" for name in names)


def _check_specified(kind: Kind, obj: Obj, quota: Obj, hard: Obj) -> None:
    """The containers of a pod under a compute quota must have requests and limits for it."""
    missing = []
    for name in sorted(set(_COMPUTE) & hard.keys()):
        part, _, resource = name.rpartition(".")
        silent = [
            container["name"]
            for field in ("containers", "initContainers")
            for container in obj["spec"].get(field) or ()
            if resource not in ((container.get("resources") or {}).get(part or "requests") or {})
        ]
        if silent:
            missing.append(f"{name} for: {','.join(sorted(silent))}")
    if missing:
        why = f"failed quota: {quota['metadata']['name']}: must specify {'; '.join(missing)}"
        raise forbidden(kind, obj["metadata"].get("name", ""), why)


def usage(kind: Kind, obj: Obj) -> dict[str, str]:
    """The usage of one object, by the names of quotas."""
    cost = {f"count/{kind.resource}": "1"}
    if not kind.group and kind.plural in COUNTED_OBJECTS:
        cost[kind.plural] = "1"
    compute = _COSTS.get(kind.storage)
    if compute is not None:
        compute(obj, cost)
    return cost


def _pod_cost(obj: Obj, cost: dict[str, str]) -> None:
    if (obj.get("status") or {}).get("phase") in ("Succeeded", "Failed"):
        cost.pop("pods", None)
        return
    spec = obj["spec"]
    for name, value in _pod_amounts(spec, "requests").items():
        cost[f"requests.{name}"] = value
        if "/" not in name:
            cost[name] = value
    for name, value in _pod_amounts(spec, "limits").items():
        cost[f"limits.{name}"] = value


def _pod_amounts(spec: Obj, part: str) -> dict[str, str]:
    """The requests or limits of a pod: the sum of its containers, or the largest init container if that is more."""
    summed: dict[str, list[str]] = {}
    for container in spec.get("containers") or ():
        for name, value in ((container.get("resources") or {}).get(part) or {}).items():
            summed.setdefault(name, []).append(value)
    before: dict[str, str] = {}
    for container in spec.get("initContainers") or ():
        amounts = (container.get("resources") or {}).get(part) or {}
        for name, value in amounts.items():
            if container.get("restartPolicy") == "Always":
                summed.setdefault(name, []).append(value)
            elif quantities.amount(value) > quantities.amount(before.get(name, "0")):
                before[name] = value
    for name, value in (spec.get("overhead") or {}).items():
        summed.setdefault(name, []).append(value)
    total = {name: quantities.total(values) for name, values in summed.items()}
    for name, value in before.items():
        if quantities.amount(value) > quantities.amount(total.get(name, "0")):
            total[name] = value
    return total


def _claim_cost(obj: Obj, cost: dict[str, str]) -> None:
    spec = obj.get("spec") or {}
    storage = ((spec.get("resources") or {}).get("requests") or {}).get("storage")
    name = spec.get("storageClassName")
    if name:
        cost[f"{name}.storageclass.storage.k8s.io/persistentvolumeclaims"] = "1"
    if storage is not None:
        cost["requests.storage"] = storage
        if name:
            cost[f"{name}.storageclass.storage.k8s.io/requests.storage"] = storage


def _service_cost(obj: Obj, cost: dict[str, str]) -> None:
    spec = obj.get("spec") or {}
    ports = str(len(spec.get("ports") or ()))
    if spec.get("type") == "LoadBalancer":
        cost["services.loadbalancers"] = "1"
    if spec.get("type") in ("NodePort", "LoadBalancer"):
        cost["services.nodeports"] = ports


_COSTS: dict[str, Callable[[Obj, dict[str, str]], None]] = {
    "/pods": _pod_cost,
    "/persistentvolumeclaims": _claim_cost,
    "/services": _service_cost,
}


def in_scope(kind: Kind, obj: Obj, quota: Obj) -> bool:
    spec = quota.get("spec") or {}
    scopes: list[Obj] = [{"scopeName": name, "operator": "Exists"} for name in spec.get("scopes") or ()]
    scopes += (spec.get("scopeSelector") or {}).get("matchExpressions") or []
    if not scopes:
        return True
    if kind.storage != "/pods":
        return False
    return all(_matches_scope(obj, scope) for scope in scopes)


def _matches_scope(pod: Obj, scope: Obj) -> bool:
    spec, name = pod["spec"], scope.get("scopeName")
    best_effort = (pod.get("status") or {}).get("qosClass") == "BestEffort"
    bounded = spec.get("activeDeadlineSeconds") is not None
    facts: dict[Any, bool] = {
        "BestEffort": best_effort,
        "NotBestEffort": not best_effort,
        "Terminating": bounded,
        "NotTerminating": not bounded,
    }
    if name in facts:
        return facts[name]
    if name != "PriorityClass":
        return False
    given, values = spec.get("priorityClassName") or "", scope.get("values") or ()
    operators = {"In": given in values, "NotIn": given not in values, "Exists": bool(given), "DoesNotExist": not given}
    return operators.get(scope.get("operator", ""), False)
