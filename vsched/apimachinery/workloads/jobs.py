"""What to do for a Job: pods to start or stop, its status, and whether it is over. Pure.

Pods have the tracking finalizer until they are counted in the status, so that none is lost or counted twice.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime

from vsched.apimachinery.meta.kinds import Obj
from vsched.apimachinery.meta.objects import (
    is_active,
    is_deleting,
    is_finished,
    is_ready,
    is_true,
    pod_from,
    reference_to,
    restarts_of,
    seconds_since,
    with_condition,
    without_finalizer,
)
from vsched.apimachinery.meta.times import format_time
from vsched.apimachinery.workloads.actions import Action, After, Create, Update, delete, set_status
from vsched.apimachinery.workloads.pod_failure_policy import FAIL_JOB, IGNORE, verdict_on

TRACKING = "batch.kubernetes.io/job-tracking"
JOB_CONTROLLER = "kubernetes.io/job-controller"
"""What ``spec.managedBy`` says of Jobs that Kubernetes' own controller manages."""
INDEX = "batch.kubernetes.io/job-completion-index"
BURST = 100
"""Pods made at a time."""


@dataclass(frozen=True, slots=True)
class JobTimes:
    """How long a Job waits after a failed pod; doubled with each further one."""

    backoff: float = 1.0
    backoff_limit: float = 600.0


@dataclass(slots=True)
class PodCounts:
    """The pods of a Job, with all finished ones counted."""

    succeeded: int
    failed: int
    indexes: set[int]
    counted: list[Obj]
    active: list[Obj]
    terminating: int
    hopeless: bool = False
    """The pod failure policy ends the Job."""

    @classmethod
    def of(cls, job: Obj, pods: Sequence[Obj]) -> PodCounts:
        status = job.get("status") or {}
        indexes = parse_indexes(status.get("completedIndexes", ""))
        tally = cls(status.get("succeeded", 0), status.get("failed", 0), indexes, [], [], 0)
        for pod in pods:
            tally._count(pod, job["spec"])
        if job["spec"].get("completionMode") == "Indexed":
            tally.succeeded = len(tally.indexes)
        return tally

    def _count(self, pod: Obj, spec: Obj) -> None:
        if is_active(pod):
            self.active.append(pod)
            return
        never_ran = is_deleting(pod) and not pod["spec"].get("nodeName")
        if not is_finished(pod) and not never_ran:
            self.terminating += 1
            return
        if not is_tracked(pod):
            return
        self.counted.append(pod)
        if pod.get("status", {}).get("phase") != "Succeeded":
            stopped_by_us = spec.get("suspend") and is_deleting(pod)
            action = IGNORE if stopped_by_us else verdict_on(pod, spec)
            self.failed += action != IGNORE
            self.hopeless = self.hopeless or action == FAIL_JOB
        elif spec.get("completionMode") == "Indexed":
            self.indexes.add(index_of(pod))
        else:
            self.succeeded += 1


def is_tracked(pod: Obj) -> bool:
    """Whether the pod is still to be counted."""
    return TRACKING in (pod["metadata"].get("finalizers") or ())


def index_of(pod: Obj) -> int:
    text = (pod["metadata"].get("annotations") or {}).get(INDEX, "")
    return int(text) if text.isdecimal() else -1


def parse_indexes(text: str) -> set[int]:
    """``1,3-5`` as a set."""
    found: set[int] = set()
    for part in filter(None, text.split(",")):
        first, _, last = part.partition("-")
        found.update(range(int(first), int(last or first) + 1))
    return found


def format_indexes(indexes: Iterable[int]) -> str:
    runs: list[list[int]] = []
    for index in sorted(each for each in indexes if each >= 0):
        if runs and index == runs[-1][1] + 1:
            runs[-1][1] = index
        else:
            runs.append([index, index])
    return ",".join(str(first) if first == last else f"{first}-{last}" for first, last in runs)


def is_over(job: Obj) -> bool:
    return is_true(job, "Complete") or is_true(job, "Failed")


def reconcile(job: Obj, pods: Sequence[Obj], now: datetime, times: JobTimes) -> list[Action]:
    """``pods`` are those the job controls. A Job that another controller manages is left alone."""
    if job["spec"].get("managedBy", JOB_CONTROLLER) != JOB_CONTROLLER:
        return []
    tally = PodCounts.of(job, pods)
    releases = [Update("pods", without_finalizer(pod, TRACKING)) for pod in tally.counted]
    if is_deleting(job):
        return [*_status(job, tally, [], now), *releases]
    if is_over(job):
        return [*_status(job, tally, [], now), *releases, *_stop(tally.active), *_expire(job, now)]
    verdict = _verdict(job, tally, pods, now)
    if verdict and (tally.active or tally.terminating):
        announced = [_announcement(verdict)]
        return [*_status(job, tally, announced, now), *releases, *_stop(tally.active)]
    if verdict:
        return [*_status(job, tally, [_announcement(verdict), verdict], now), *releases, *_expire(job, now)]
    if job["spec"].get("suspend"):
        suspended = {"type": "Suspended", "status": "True", "reason": "JobSuspended", "message": "Job suspended"}
        return [*_status(job, tally, [suspended], now), *releases, *_stop(tally.active)]
    starts, wait = _starts(job, tally, pods, now, times)
    resumed = {"type": "Suspended", "status": "False", "reason": "JobResumed", "message": "Job resumed"}
    conditions = [resumed] if is_true(job, "Suspended") else []
    waits = [After(each) for each in (wait, _deadline(job, now)) if each is not None]
    return [*_status(job, tally, conditions, now), *releases, *starts, *waits]


def _verdict(job: Obj, tally: PodCounts, pods: Sequence[Obj], now: datetime) -> Obj | None:
    """The condition that ends the Job; None while it goes on."""
    spec = job["spec"]
    completions = spec.get("completions")
    if is_true(job, "FailureTarget"):
        reason = next(each for each in job["status"]["conditions"] if each["type"] == "FailureTarget")
        return {"type": "Failed", "status": "True", "reason": reason.get("reason"), "message": reason.get("message")}
    if tally.hopeless:
        message = "A pod failed in a way that the pod failure policy lets end the job"
        return {"type": "Failed", "status": "True", "reason": "PodFailurePolicy", "message": message}
    restarts = sum(restarts_of(pod) for pod in tally.active) if _restarts_in_place(spec) else 0
    if tally.failed + restarts > spec.get("backoffLimit", 6):
        message = "Job has reached the specified backoff limit"
        return {"type": "Failed", "status": "True", "reason": "BackoffLimitExceeded", "message": message}
    deadline = _deadline(job, now)
    if deadline is not None and deadline <= 0:
        message = "Job was active longer than specified deadline"
        return {"type": "Failed", "status": "True", "reason": "DeadlineExceeded", "message": message}
    if completions is None:
        done = tally.succeeded > 0 and not tally.active
    else:
        done = tally.succeeded >= completions
    if not done:
        return None
    message = "Reached expected number of succeeded pods"
    return {"type": "Complete", "status": "True", "reason": "CompletionsReached", "message": message}


def _announcement(verdict: Obj) -> Obj:
    """The condition that comes first, while the Job still has pods."""
    return {**verdict, "type": "SuccessCriteriaMet" if verdict["type"] == "Complete" else "FailureTarget"}


def _restarts_in_place(spec: Obj) -> bool:
    return bool((spec.get("template") or {}).get("spec", {}).get("restartPolicy") == "OnFailure")


def _deadline(job: Obj, now: datetime) -> float | None:
    """Seconds left of activeDeadlineSeconds; None without one."""
    limit = job["spec"].get("activeDeadlineSeconds")
    started = (job.get("status") or {}).get("startTime")
    return None if limit is None or not started else limit - seconds_since(started, now)


def _stop(active: Sequence[Obj]) -> list[Action]:
    return [delete("pods", pod) for pod in active]


def _expire(job: Obj, now: datetime) -> list[Action]:
    """Deletes a finished Job after its ttlSecondsAfterFinished."""
    ttl = job["spec"].get("ttlSecondsAfterFinished")
    if ttl is None:
        return []
    ended = [
        each for each in (job.get("status") or {}).get("conditions") or () if each["type"] in ("Complete", "Failed")
    ]
    left = ttl - max((seconds_since(each.get("lastTransitionTime"), now) for each in ended), default=0.0)
    if left > 0 or not ended:
        return [After(max(left, 0.0))]
    return [delete("batch/jobs", job, propagation="Foreground")]


def _starts(
    job: Obj, tally: PodCounts, pods: Sequence[Obj], now: datetime, times: JobTimes
) -> tuple[list[Action], float | None]:
    """The pods to create or stop, and the seconds until more can be created."""
    spec = job["spec"]
    parallelism = spec.get("parallelism", 1)
    completions = spec.get("completions")
    in_place = len(tally.active) + (tally.terminating if spec.get("podReplacementPolicy") == "Failed" else 0)
    if completions is not None:
        wanted = min(parallelism, completions - tally.succeeded)
    else:
        wanted = len(tally.active) if tally.succeeded else parallelism
    if len(tally.active) > wanted:
        surplus = sorted(tally.active, key=lambda pod: (is_ready(pod), pod["metadata"]["name"]))
        return _stop(surplus[: len(tally.active) - wanted]), None
    missing = wanted - in_place
    if missing <= 0:
        return [], None
    wait = _backoff(tally, pods, now, times)
    if wait > 0:
        return [], wait
    made: list[Action]
    if spec.get("completionMode") == "Indexed":
        taken = tally.indexes | {index_of(pod) for pod in tally.active}
        free = [index for index in range(completions or 0) if index not in taken]
        made = [Create("pods", _pod(job, index)) for index in free[: min(missing, BURST)]]
    else:
        made = [Create("pods", _pod(job, None))] * min(missing, BURST)
    return made, 0.0 if missing > BURST else None


def _backoff(tally: PodCounts, pods: Sequence[Obj], now: datetime, times: JobTimes) -> float:
    """Seconds until a pod may be created after failures."""
    failures = [pod for pod in pods if pod.get("status", {}).get("phase") == "Failed"]
    if not tally.failed or not failures:
        return 0.0
    pause = min(times.backoff_limit, times.backoff * 2.0 ** min(tally.failed - 1, 20))
    return pause - min(seconds_since(_ended_at(pod), now) for pod in failures)


def _ended_at(pod: Obj) -> str | None:
    ends = (each.get("state", {}).get("terminated", {}) for each in pod["status"].get("containerStatuses") or ())
    return max((end["finishedAt"] for end in ends if end.get("finishedAt")), default=None)


def _pod(job: Obj, index: int | None) -> Obj:
    meta, spec = job["metadata"], job["spec"]
    labels = {
        "controller-uid": meta["uid"],
        "job-name": meta["name"],
        "batch.kubernetes.io/controller-uid": meta["uid"],
        "batch.kubernetes.io/job-name": meta["name"],
    }
    pod = pod_from(spec.get("template") or {}, meta["namespace"], reference_to(job, "batch/v1", "Job"), labels=labels)
    made = pod["metadata"]
    made["finalizers"] = [*made.get("finalizers", ()), TRACKING]
    if index is None:
        made["generateName"] = f"{meta['name'][:57]}-"
        return pod
    made["generateName"] = f"{meta['name'][:50]}-{index}-"
    made["annotations"] = {**made.get("annotations", {}), INDEX: str(index)}
    made["labels"][INDEX] = str(index)
    source = {"fieldRef": {"apiVersion": "v1", "fieldPath": f"metadata.labels['{INDEX}']"}}
    variable = {"name": "JOB_COMPLETION_INDEX", "valueFrom": source}
    containers = [{**each, "env": [*(each.get("env") or ()), variable]} for each in pod["spec"].get("containers") or ()]
    pod["spec"] = {**pod["spec"], "hostname": f"{meta['name']}-{index}", "containers": containers}
    return pod


def _status(job: Obj, tally: PodCounts, conditions: Sequence[Obj], now: datetime) -> list[Action]:
    old = job.get("status") or {}
    counts: Counter[str] = Counter(
        active=len(tally.active),
        ready=sum(is_ready(pod) for pod in tally.active),
        succeeded=tally.succeeded,
        failed=tally.failed,
        terminating=tally.terminating,
    )
    status: Obj = {key: count for key, count in counts.items() if count or key in ("ready", "terminating")}
    if job["spec"].get("completionMode") == "Indexed" and tally.indexes:
        status["completedIndexes"] = format_indexes(tally.indexes)
    status["uncountedTerminatedPods"] = {}
    suspended = any(each["type"] == "Suspended" and each["status"] == "True" for each in conditions)
    if old.get("startTime") and not suspended:
        status["startTime"] = old["startTime"]
    elif not suspended and not is_deleting(job):
        status["startTime"] = format_time(now)
    merged = list(old.get("conditions") or ())
    for each in conditions:
        merged = with_condition(merged, each, now)
    if merged:
        status["conditions"] = merged
    if old.get("completionTime"):
        status["completionTime"] = old["completionTime"]
    elif any(each["type"] == "Complete" for each in conditions):
        status["completionTime"] = format_time(now)
    return set_status("batch/jobs", job, status)
