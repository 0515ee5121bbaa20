"""The Events for the actions of controllers and kubelets, as values. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from vsched.apimachinery.meta.kinds import Kind, Obj
from vsched.apimachinery.meta.objects import condition, controller_of, is_deleting, is_finished, replicas_of
from vsched.apimachinery.workloads.actions import Create, Delete, SetStatus, Tell, Update

_COMPONENTS = {
    "ReplicaSet": "replicaset-controller",
    "Deployment": "deployment-controller",
    "StatefulSet": "statefulset-controller",
    "DaemonSet": "daemonset-controller",
    "Job": "job-controller",
    "CronJob": "cronjob-controller",
}
KUBELET = "kubelet"
Write = Create | Update | SetStatus | Delete
_COUNTED = ("ReplicaSet", "DaemonSet", "Job")
"""Owners whose Events about pods have the same words."""


@dataclass(frozen=True, slots=True)
class EventMessage:
    """An Event to write: its object, reason, message and source."""

    about: Obj
    """An ObjectReference."""
    reason: str
    message: str
    component: str
    host: str = ""
    warning: bool = False


def of_success(component: str, action: Write, before: Obj | None, made: Obj | None) -> list[EventMessage]:
    """The Events of an action that succeeded; ``made`` is the object that it created."""
    if isinstance(action, Create):
        return list(_created(component, action.resource, made or action.obj))
    if before is None:
        return []
    if isinstance(action, Delete):
        return list(_killed(before) if component == KUBELET else _deleted(component, action.resource, before))
    if isinstance(action, SetStatus):
        return list(_changed(component, action, before))
    return list(_scaled(component, action.obj, before)) if action.resource == "apps/replicasets" else []


def of_failure(component: str, action: Write, before: Obj | None, why: str) -> list[EventMessage]:
    """The Events of a creation or deletion that failed."""
    obj = action.obj if isinstance(action, Create) else before
    owner = _owner(component, obj) if obj is not None else None
    if owner is None or obj is None or not isinstance(action, Create | Delete):
        return []
    verb, reason = ("create", "FailedCreate") if isinstance(action, Create) else ("delete", "FailedDelete")
    message = f"Error {verb[:-1]}ing: {why}"
    if owner["kind"] == "StatefulSet":
        name = obj["metadata"].get("name", "")
        message = f"{verb} Pod {name} in StatefulSet {owner['name']} failed error: {why}"
    elif owner["kind"] == "CronJob":
        message = f"Error {verb[:-1]}ing job: {why}"
    return [_by(owner, reason, message, warning=True)]


def of_telling(component: str, kind: Kind, action: Tell) -> EventMessage:
    """The Event that a controller tells by itself."""
    about = reference(action.obj, kind.api_version, kind.kind)
    source = action.component or component
    return EventMessage(about, action.reason, action.message, source, action.host, action.warning)


def _created(component: str, resource: str, obj: Obj) -> Iterator[EventMessage]:
    owner, name = _owner(component, obj), obj["metadata"].get("name", "")
    if owner is None:
        return
    if owner["kind"] == "StatefulSet":
        message = f"create Pod {name} in StatefulSet {owner['name']} successful"
        yield _by(owner, "SuccessfulCreate", message)
    elif resource == "pods" and owner["kind"] in _COUNTED:
        yield _by(owner, "SuccessfulCreate", f"Created pod: {name}")
    elif owner["kind"] == "CronJob":
        yield _by(owner, "SuccessfulCreate", f"Created job {name}")
    elif owner["kind"] == "Deployment" and replicas_of(obj):
        yield _by(owner, "ScalingReplicaSet", f"Scaled up replica set {name} from 0 to {replicas_of(obj)}")


def _killed(pod: Obj) -> Iterator[EventMessage]:
    """For a pod that a kubelet stops."""
    if not is_finished(pod) and (pod.get("status") or {}).get("containerStatuses"):
        for each in pod["spec"].get("containers") or ():
            yield _by_kubelet(pod, each["name"], "Killing", f"Stopping container {each['name']}")


def _deleted(component: str, resource: str, before: Obj) -> Iterator[EventMessage]:
    owner, name = _owner(component, before), before["metadata"]["name"]
    if owner is None:
        return
    if owner["kind"] == "StatefulSet" and resource == "pods":
        yield _by(owner, "SuccessfulDelete", f"delete Pod {name} in StatefulSet {owner['name']} successful")
    elif resource == "pods" and owner["kind"] in _COUNTED:
        yield _by(owner, "SuccessfulDelete", f"Deleted pod: {name}")
    elif owner["kind"] == "CronJob":
        yield _by(owner, "SuccessfulDelete", f"Deleted job {name}")


def _scaled(component: str, wanted: Obj, before: Obj) -> Iterator[EventMessage]:
    owner, new, old = _owner(component, before), replicas_of(wanted), replicas_of(before)
    if owner is not None and owner["kind"] == "Deployment" and new != old:
        way, name = ("up" if new > old else "down"), before["metadata"]["name"]
        yield _by(owner, "ScalingReplicaSet", f"Scaled {way} replica set {name} from {old} to {new}")


def _changed(component: str, action: SetStatus, before: Obj) -> Iterator[EventMessage]:
    if action.resource == "pods" and component == KUBELET:
        yield from _killed(before) if is_deleting(before) else _ran(action.status, before)
    elif action.resource == "batch/jobs" and component == _COMPONENTS["Job"]:
        yield from _of_job(action.status, before)
    elif action.resource == "batch/cronjobs" and component == _COMPONENTS["CronJob"]:
        yield from _of_cron_job(action.status, before)


def _ran(status: Obj, before: Obj) -> Iterator[EventMessage]:
    """For containers that started or restarted."""
    was = {each["name"]: each for each in _containers(before.get("status") or {})}
    images = {each["name"]: each.get("image", "") for each in _specs(before)}
    for each in _containers(status):
        name, old = each["name"], was.get(each["name"], {})
        begun = bool({"running", "terminated"} & each.get("state", {}).keys()) and not old.get("containerID")
        if begun or each.get("restartCount", 0) > old.get("restartCount", 0):
            pulled = f'Container image "{images.get(name, "")}" already present on machine'
            for reason, message in (
                ("Pulled", pulled),
                ("Created", f"Created container: {name}"),
                ("Started", f"Started container {name}"),
            ):
                yield _by_kubelet(before, name, reason, message)


def _of_job(status: Obj, before: Obj) -> Iterator[EventMessage]:
    about = reference(before, "batch/v1", "Job")
    component = _COMPONENTS["Job"]
    for each in status.get("conditions") or ():
        old = condition(before, each["type"]) or {}
        if old.get("status") == each["status"]:
            continue
        match each["type"], each["status"]:
            case "Complete", "True":
                yield EventMessage(about, "Completed", "Job completed", component)
            case "Failed", "True":
                yield EventMessage(about, each.get("reason", ""), each.get("message", ""), component, warning=True)
            case "Suspended", "True":
                yield EventMessage(about, "Suspended", "Job suspended", component)
            case "Suspended", "False":
                yield EventMessage(about, "Resumed", "Job resumed", component)


def _of_cron_job(status: Obj, before: Obj) -> Iterator[EventMessage]:
    """For Jobs that are no longer active."""
    left = {each["name"] for each in status.get("active") or ()}
    for each in (before.get("status") or {}).get("active") or ():
        if each["name"] not in left:
            about = reference(before, "batch/v1", "CronJob")
            yield EventMessage(about, "SawCompletedJob", f"Saw completed job: {each['name']}", _COMPONENTS["CronJob"])


def _containers(status: Obj) -> list[Obj]:
    return [*(status.get("initContainerStatuses") or ()), *(status.get("containerStatuses") or ())]


def _specs(pod: Obj) -> list[Obj]:
    return [*(pod["spec"].get("initContainers") or ()), *(pod["spec"].get("containers") or ())]


def reference(obj: Obj, api_version: str, kind: str) -> Obj:
    """An ObjectReference to the object."""
    metadata = obj["metadata"]
    return {
        "kind": kind,
        "namespace": metadata.get("namespace", ""),
        "name": metadata["name"],
        "uid": metadata["uid"],
        "apiVersion": api_version,
        "resourceVersion": metadata.get("resourceVersion", ""),
    }


def _owner(component: str, obj: Obj) -> Obj | None:
    """An ObjectReference to the controller of the object, if the component is responsible for that kind."""
    owner = controller_of(obj)
    if owner is None or _COMPONENTS.get(owner["kind"]) != component:
        return None
    kept = {field: owner[field] for field in ("kind", "name", "uid", "apiVersion")}
    return {**kept, "namespace": obj["metadata"]["namespace"]}


def _by(owner: Obj, reason: str, message: str, *, warning: bool = False) -> EventMessage:
    return EventMessage(owner, reason, message, _COMPONENTS[owner["kind"]], warning=warning)


def _by_kubelet(pod: Obj, container: str, reason: str, message: str) -> EventMessage:
    first = any(each["name"] == container for each in pod["spec"].get("initContainers") or ())
    path = f"spec.{'initContainers' if first else 'containers'}{{{container}}}"
    about = {**reference(pod, "v1", "Pod"), "fieldPath": path}
    return EventMessage(about, reason, message, KUBELET, pod["spec"].get("nodeName", ""))
