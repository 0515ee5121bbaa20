"""The cells of pods and nodes, whose status takes some reading."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from vsched.sim.store.kinds import Obj
from vsched.sim.tables.ages import age_of

NONE = "<none>"
UNKNOWN = "<unknown>"


def pod_cells(obj: Obj, now: datetime) -> list[Any]:
    spec, status, metadata = obj.get("spec", {}), obj.get("status", {}), obj["metadata"]
    ready, restarts, restarted_at = _container_counts(spec, status)
    total = len(spec.get("containers") or ()) + sum(map(_is_sidecar, spec.get("initContainers") or ()))
    restarts_shown = str(restarts)
    if restarts and restarted_at:
        restarts_shown = f"{restarts} ({age_of(restarted_at, now)} ago)"
    addresses = status.get("podIPs") or ()
    return [
        metadata.get("name", ""),
        f"{ready}/{total}",
        pod_reason(obj),
        restarts_shown,
        age_of(metadata.get("creationTimestamp"), now),
        (addresses[0].get("ip") if addresses else status.get("podIP")) or NONE,
        spec.get("nodeName") or NONE,
        status.get("nominatedNodeName") or NONE,
        _readiness_gates(spec, status),
    ]


def _is_sidecar(container: Obj) -> bool:
    return container.get("restartPolicy") == "Always"


def _container_counts(spec: Obj, status: Obj) -> tuple[int, int, str]:
    """How many containers are ready, how often they restarted and when last."""
    ready = restarts = 0
    last = ""
    sidecars = {container["name"] for container in spec.get("initContainers") or () if _is_sidecar(container)}
    counted = [one for one in status.get("initContainerStatuses") or () if one.get("name") in sidecars]
    for one in [*counted, *(status.get("containerStatuses") or ())]:
        restarts += one.get("restartCount", 0)
        finished = (one.get("lastState") or {}).get("terminated", {}).get("finishedAt") or ""
        last = max(last, finished)
        ready += bool(one.get("ready") and "running" in (one.get("state") or {}))
    return ready, restarts, last


def pod_reason(obj: Obj) -> str:
    """The word in the STATUS column."""
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
    sidecars = {one["name"] for one in spec.get("initContainers") or () if _is_sidecar(one)}
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


def _readiness_gates(spec: Obj, status: Obj) -> str:
    gates = spec.get("readinessGates") or ()
    if not gates:
        return NONE
    true = {one.get("type") for one in status.get("conditions") or () if one.get("status") == "True"}
    return f"{sum(gate.get('conditionType') in true for gate in gates)}/{len(gates)}"


def node_cells(obj: Obj, now: datetime) -> list[Any]:
    status = obj.get("status", {})
    system = status.get("nodeInfo") or {}
    addresses = {one.get("type"): one.get("address") for one in reversed(status.get("addresses") or ())}
    return [
        obj["metadata"].get("name", ""),
        _node_status(obj),
        _node_roles(obj["metadata"].get("labels") or {}),
        age_of(obj["metadata"].get("creationTimestamp"), now),
        system.get("kubeletVersion", ""),
        addresses.get("InternalIP") or NONE,
        addresses.get("ExternalIP") or NONE,
        system.get("osImage") or UNKNOWN,
        system.get("kernelVersion") or UNKNOWN,
        system.get("containerRuntimeVersion") or UNKNOWN,
    ]


def _node_status(obj: Obj) -> str:
    ready = next((one for one in obj.get("status", {}).get("conditions") or () if one.get("type") == "Ready"), None)
    words = ["Unknown" if ready is None else "Ready" if ready.get("status") == "True" else "NotReady"]
    if obj.get("spec", {}).get("unschedulable"):
        words.append("SchedulingDisabled")
    return ",".join(words)


def _node_roles(labels: dict[str, str]) -> str:
    prefix = "node-role.kubernetes.io/"
    roles = {key.removeprefix(prefix) for key in labels if key.startswith(prefix) and key != prefix}
    if labels.get("kubernetes.io/role"):
        roles.add(labels["kubernetes.io/role"])
    return ",".join(sorted(roles)) or NONE
