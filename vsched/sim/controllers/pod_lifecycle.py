"""The life of a pod on its node: its stage, and what its kubelet does next. Pure."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from vsched.apimachinery.meta.kinds import Obj
from vsched.apimachinery.meta.objects import (
    TERMINAL,
    condition,
    duration_seconds,
    is_finished,
    restarts_of,
    with_condition,
)
from vsched.apimachinery.meta.times import format_time, parse_time
from vsched.apimachinery.workloads.actions import Action, After, delete, set_status
from vsched.errors import BadInput
from vsched.sim.controllers.pod_usage import usage_problem

DURATION = "vsched.io/duration"
EXIT_CODE = "vsched.io/exit-code"

STARTING, RUNNING, ENDING, DONE = "starting", "running", "ending", "done"
KILLED_EXIT_CODE = 137


@dataclass(frozen=True, slots=True)
class PodTimes:
    """How long the stages of a pod take, in seconds."""

    start: float = 0.0
    run: float | None = None
    """For pods without a duration whose restart policy is not Always; None means until they are deleted."""
    termination: float = 1.0
    """At most; a shorter grace period of the pod wins."""


@dataclass(frozen=True, slots=True)
class PodHost:
    """What a pod needs to know of its node."""

    ip: str
    ready: bool


def stage_of(pod: Obj) -> tuple[str, int]:
    """The stage of a pod, and its restart count: the time of a stage starts again with a restart."""
    status = pod.get("status", {})
    if pod["metadata"].get("deletionTimestamp"):
        return ENDING, 0
    if is_finished(pod):
        return DONE, 0
    if status.get("startTime") and status.get("phase") == "Running":
        return RUNNING, restarts_of(pod)
    return STARTING, 0


def stage_began(pod: Obj, stage: str) -> datetime | None:
    """When the stage began, by the time stamps of the object, which have whole seconds."""
    if stage == ENDING:
        return None
    if stage == RUNNING:
        found = condition(pod, "ContainersReady")
        text = (found or {}).get("lastTransitionTime") or pod["status"].get("startTime")
    else:
        text = (condition(pod, "PodScheduled") or {}).get("lastTransitionTime")
    return parse_time(text) if text else None


def may_act(pod: Obj, times: PodTimes) -> bool:
    """Whether the kubelet may have to do something for the pod; for most running pods it has not."""
    if pod["metadata"].get("deletionTimestamp"):
        return True
    phase = pod.get("status", {}).get("phase")
    if phase != "Running":
        return phase not in TERMINAL
    ends = times.run is not None or DURATION in (pod["metadata"].get("annotations") or ())
    return ends and pod["spec"].get("restartPolicy", "Always") != "Always"


def next_steps(
    pod: Obj, host: PodHost | None, elapsed: float, now: datetime, times: PodTimes, new_ip: Callable[[], str]
) -> list[Action]:
    """What the kubelet does for a pod that is ``elapsed`` seconds in its stage; nothing if the node is down."""
    if host is None or not host.ready:
        return []
    stage, _ = stage_of(pod)
    if stage == STARTING:
        return _start(pod, host, times.start - elapsed, now, new_ip)
    if stage == RUNNING:
        return _finish(pod, elapsed, now, times)
    if stage == ENDING:
        return _end(pod, elapsed, now, times)
    return []


def _start(pod: Obj, host: PodHost, wait: float, now: datetime, new_ip: Callable[[], str]) -> list[Action]:
    if wait > 0:
        return [After(wait)]
    pod_ip = host.ip if pod["spec"].get("hostNetwork") else new_ip()
    return set_status("pods", pod, running_status(pod, host.ip, pod_ip, now))


def _finish(pod: Obj, elapsed: float, now: datetime, times: PodTimes) -> list[Action]:
    policy = pod["spec"].get("restartPolicy", "Always")
    if policy == "Always":
        return []
    duration, exit_code = _script(pod, times)
    if duration is None:
        return []
    if elapsed < duration:
        return [After(duration - elapsed)]
    if exit_code and policy == "OnFailure":
        return set_status("pods", pod, restarted_status(pod, exit_code, now))
    return set_status("pods", pod, finished_status(pod, exit_code, now))


def _end(pod: Obj, elapsed: float, now: datetime, times: PodTimes) -> list[Action]:
    meta = pod["metadata"]
    grace = float(meta.get("deletionGracePeriodSeconds") or 0)
    wait = min(times.termination, grace) - elapsed
    if wait > 0:
        return [After(wait)]
    actions: list[Action] = []
    if meta.get("finalizers") and not is_finished(pod):
        actions += set_status("pods", pod, finished_status(pod, KILLED_EXIT_CODE, now))
    if grace > 0 or not meta.get("finalizers"):
        actions.append(delete("pods", pod, grace_seconds=0))
    return actions


def _script(pod: Obj, times: PodTimes) -> tuple[float | None, int]:
    """How long the pod runs, and its exit code; invalid annotations are ignored."""
    annotations = pod["metadata"].get("annotations") or {}
    duration = times.run
    if DURATION in annotations:
        with suppress(BadInput):
            duration = duration_seconds(annotations[DURATION])
    exit_code = annotations.get(EXIT_CODE, "0")
    return duration, int(exit_code) if _is_exit_code(exit_code) else 0


def _is_exit_code(text: str) -> bool:
    return text.isdecimal() and int(text) <= 255


def script_problem(pod: Obj) -> str:
    """What is wrong with the annotations for duration and exit code; empty if nothing is."""
    annotations = pod["metadata"].get("annotations") or {}
    try:
        duration_seconds(annotations.get(DURATION, "0s"))
    except BadInput as error:
        return f"annotation {DURATION}: {error}"
    if not _is_exit_code(annotations.get(EXIT_CODE, "0")):
        return f"annotation {EXIT_CODE}: {annotations[EXIT_CODE]!r} is not an exit code: expected 0 to 255"
    return ""


def running_status(pod: Obj, host_ip: str, pod_ip: str, now: datetime) -> Obj:
    """The status of a pod whose containers all just became ready."""
    spec, moment = pod["spec"], format_time(now)
    status: Obj = {
        **pod.get("status", {}),
        "phase": "Running",
        "conditions": _conditions(pod, moment),
        "hostIP": host_ip,
        "hostIPs": [{"ip": host_ip}],
        "podIP": pod_ip,
        "podIPs": [{"ip": pod_ip}],
        "startTime": moment,
    }
    if problem := script_problem(pod) or usage_problem(pod):
        status["reason"], status["message"] = "InvalidAnnotation", problem
    if spec.get("initContainers"):
        ended = {"terminated": {"exitCode": 0, "reason": "Completed", "startedAt": moment, "finishedAt": moment}}
        status["initContainerStatuses"] = [
            _container(pod, each, ended, ready=True, started=False) for each in spec["initContainers"]
        ]
    running = {"running": {"startedAt": moment}}
    status["containerStatuses"] = [
        _container(pod, each, running, ready=True, started=True) for each in spec.get("containers") or ()
    ]
    return status


def waiting_status(pod: Obj, host_ip: str, now: datetime) -> Obj:
    """The status of a pod on its node that cannot start its containers yet."""
    moment = format_time(now)
    status = pod.get("status", {})
    conditions = list(status.get("conditions") or ())
    for type_, holds in (("PodReadyToStartContainers", "False"), ("Initialized", "True")):
        conditions = with_condition(conditions, {"type": type_, "status": holds, "lastProbeTime": None}, now)
    names = ", ".join(each["name"] for each in pod["spec"].get("containers") or ())
    why = {"reason": "ContainersNotReady", "message": f"containers with unready status: [{names}]"}
    for type_ in ("Ready", "ContainersReady"):
        conditions = with_condition(conditions, {"type": type_, "status": "False", "lastProbeTime": None, **why}, now)
    waiting = {"waiting": {"reason": "ContainerCreating"}}
    return {
        **status,
        "conditions": conditions,
        "hostIP": host_ip,
        "hostIPs": [{"ip": host_ip}],
        "startTime": status.get("startTime", moment),
        "containerStatuses": [
            {**_container(pod, each, waiting, ready=False, started=False), "containerID": ""}
            for each in pod["spec"].get("containers") or ()
        ],
    }


def rejected_status(pod: Obj, reason: str, why: str, now: datetime) -> Obj:
    """The status of a pod that its kubelet refuses: it has failed, and none of its containers was started."""
    return {
        **pod.get("status", {}),
        "phase": "Failed",
        "reason": reason,
        "message": f"Pod was rejected: {why}",
        "startTime": format_time(now),
    }


def finished_status(pod: Obj, exit_code: int, now: datetime) -> Obj:
    """The status of a pod whose containers ended with this exit code."""
    reason = "Error" if exit_code else "PodCompleted"
    conditions: list[Obj] = list(pod.get("status", {}).get("conditions") or ())
    for type_ in ("Ready", "ContainersReady"):
        ended = {"type": type_, "status": "False", "lastProbeTime": None, "reason": reason}
        conditions = with_condition(conditions, ended, now)
    return {
        **pod.get("status", {}),
        "phase": "Failed" if exit_code else "Succeeded",
        "conditions": conditions,
        "containerStatuses": [_ended(each, exit_code, now) for each in _container_statuses(pod)],
    }


def restarted_status(pod: Obj, exit_code: int, now: datetime) -> Obj:
    """The status of a pod whose containers failed and were started again."""
    moment = format_time(now)
    containers = []
    for each in _container_statuses(pod):
        last = _ended(each, exit_code, now)["state"]
        count = each.get("restartCount", 0) + 1
        containers.append(
            {**each, "restartCount": count, "lastState": last, "state": {"running": {"startedAt": moment}}}
        )
    conditions = [
        {**each, "lastTransitionTime": moment} if each.get("type") in ("Ready", "ContainersReady") else each
        for each in pod["status"].get("conditions") or ()
    ]
    return {**pod["status"], "conditions": conditions, "containerStatuses": containers}


def _conditions(pod: Obj, moment: str) -> list[Obj]:
    """The conditions of a running pod, all true, with those of readiness gates."""
    gates = tuple(gate["conditionType"] for gate in pod["spec"].get("readinessGates") or ())
    types = ("PodReadyToStartContainers", "Initialized", "Ready", "ContainersReady", "PodScheduled", *gates)
    old = {each["type"]: each for each in pod.get("status", {}).get("conditions") or ()}
    fresh = {"status": "True", "lastProbeTime": None, "lastTransitionTime": moment}
    return [
        *(each for each in old.values() if each["type"] not in types),
        *(old[type_] if old.get(type_, {}).get("status") == "True" else {"type": type_, **fresh} for type_ in types),
    ]


def _container(pod: Obj, container: Obj, state: Obj, *, ready: bool, started: bool) -> Obj:
    name, image = container["name"], container.get("image", "")
    return {
        "name": name,
        "image": image,
        "imageID": image,
        "containerID": f"sim://{pod['metadata']['uid']}/{name}",
        "ready": ready,
        "started": started,
        "restartCount": 0,
        "state": state,
        "lastState": {},
    }


def _container_statuses(pod: Obj) -> list[Obj]:
    """The container statuses of the pod, or new ones for a pod that never started."""
    known: list[Any] | None = pod.get("status", {}).get("containerStatuses")
    if known:
        return known
    return [_container(pod, each, {}, ready=False, started=False) for each in pod["spec"].get("containers") or ()]


def _ended(container: Obj, exit_code: int, now: datetime) -> Obj:
    started = container.get("state", {}).get("running", {}).get("startedAt", format_time(now))
    terminated = {
        "exitCode": exit_code,
        "reason": "Error" if exit_code else "Completed",
        "startedAt": started,
        "finishedAt": format_time(now),
        "containerID": container["containerID"],
    }
    return {**container, "ready": False, "started": False, "state": {"terminated": terminated}}
