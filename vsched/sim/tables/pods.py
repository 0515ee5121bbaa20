"""The cells of pods and nodes."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from vsched.apimachinery.meta.kinds import Obj
from vsched.sim.tables.ages import age_of

NONE = "<none>"
UNKNOWN = "<unknown>"


def _sidecars(obj: Obj) -> set[str]:
    """The names of sidecars: init containers that run beside the others."""
    containers = obj.get("spec", {}).get("initContainers") or ()
    return {container["name"] for container in containers if container.get("restartPolicy") == "Always"}


def _statuses(obj: Obj) -> list[Obj]:
    """The statuses of containers and sidecars."""
    status, sidecars = obj.get("status", {}), _sidecars(obj)
    counted = [one for one in status.get("initContainerStatuses") or () if one.get("name") in sidecars]
    return [*counted, *(status.get("containerStatuses") or ())]


def ready(obj: Obj, now: datetime) -> str:
    up = sum(bool(one.get("ready") and "running" in (one.get("state") or {})) for one in _statuses(obj))
    return f"{up}/{len(obj.get('spec', {}).get('containers') or ()) + len(_sidecars(obj))}"


def restarts(obj: Obj, now: datetime) -> str:
    statuses = _statuses(obj)
    count = sum(one.get("restartCount", 0) for one in statuses)
    ends = [(one.get("lastState") or {}).get("terminated", {}).get("finishedAt") or "" for one in statuses]
    last = max(ends, default="")
    return f"{count} ({age_of(last, now)} ago)" if count and last else str(count)


def address(obj: Obj, now: datetime) -> str:
    status = obj.get("status", {})
    addresses = status.get("podIPs") or ()
    return (addresses[0].get("ip") if addresses else status.get("podIP")) or NONE


def pod_reason(obj: Obj) -> str:
    """The text of the STATUS column."""
    status = obj.get("status", {})
    reason: str = status.get("reason") or status.get("phase") or "Unknown"
    conditions = {one.get("type"): one for one in status.get("conditions") or ()}
    if conditions.get("PodScheduled", {}).get("reason") == "SchedulingGated":
        reason = "SchedulingGated"
    initializing = _init_reason(obj)
    if initializing:
        reason = initializing
    else:
        reason = _container_reason(status, conditions, reason)
    if "deletionTimestamp" in obj["metadata"]:
        if status.get("reason") == "NodeLost":
            return "Unknown"
        if status.get("phase") not in ("Succeeded", "Failed"):
            return "Terminating"
    return reason


def _init_reason(obj: Obj) -> str:
    spec, status = obj.get("spec", {}), obj.get("status", {})
    sidecars = _sidecars(obj)
    total = len(spec.get("initContainers") or ())
    for index, one in enumerate(status.get("initContainerStatuses") or ()):
        state = one.get("state") or {}
        terminated, waiting = state.get("terminated"), state.get("waiting") or {}
        if (terminated is not None and terminated.get("exitCode") == 0) or (
            one.get("name") in sidecars and one.get("started")
        ):
            continue
        if terminated is not None:
            return f"Init:{_terminated(terminated)}"
        if waiting.get("reason") and waiting["reason"] != "PodInitializing":
            return f"Init:{waiting['reason']}"
        return f"Init:{index}/{total}"
    return ""


def _terminated(state: Obj) -> str:
    if state.get("reason"):
        return str(state["reason"])
    return f"Signal:{state['signal']}" if state.get("signal") else f"ExitCode:{state.get('exitCode', 0)}"


def _container_reason(status: Obj, conditions: dict[Any, Obj], reason: str) -> str:
    running = False
    for one in reversed(status.get("containerStatuses") or ()):
        state = one.get("state") or {}
        waiting, terminated = state.get("waiting") or {}, state.get("terminated")
        if waiting.get("reason"):
            reason = waiting["reason"]
        elif terminated is not None:
            reason = _terminated(terminated)
        elif one.get("ready") and "running" in state:
            running = True
    if reason == "Completed" and running:
        return "Running" if conditions.get("Ready", {}).get("status") == "True" else "NotReady"
    return reason


def readiness_gates(obj: Obj, now: datetime) -> str:
    gates = obj.get("spec", {}).get("readinessGates") or ()
    if not gates:
        return NONE
    conditions = obj.get("status", {}).get("conditions") or ()
    true = {one.get("type") for one in conditions if one.get("status") == "True"}
    return f"{sum(gate.get('conditionType') in true for gate in gates)}/{len(gates)}"


def node_address(obj: Obj, kind: str) -> str:
    addresses = obj.get("status", {}).get("addresses") or ()
    return next((one.get("address") for one in addresses if one.get("type") == kind), "") or NONE


def node_status(obj: Obj, now: datetime) -> str:
    ready = next((one for one in obj.get("status", {}).get("conditions") or () if one.get("type") == "Ready"), None)
    words = ["Unknown" if ready is None else "Ready" if ready.get("status") == "True" else "NotReady"]
    if obj.get("spec", {}).get("unschedulable"):
        words.append("SchedulingDisabled")
    return ",".join(words)


def node_roles(obj: Obj, now: datetime) -> str:
    labels, prefix = obj["metadata"].get("labels") or {}, "node-role.kubernetes.io/"
    roles = {key.removeprefix(prefix) for key in labels if key.startswith(prefix) and key != prefix}
    if labels.get("kubernetes.io/role"):
        roles.add(labels["kubernetes.io/role"])
    return ",".join(sorted(roles)) or NONE
