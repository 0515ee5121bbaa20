"""Requests that pods end by themselves: the condition that is the request, the annotations and EvictionRequests that
tell of it, and how all of them are withdrawn. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from math import ceil

import orjson

from vsched.api.resources import EVICTION_REQUESTS, PODS
from vsched.kube.client import MERGE_PATCH
from vsched.kube.times import time_stamp
from vsched.model.plan import AskAgain, Evict, Withdraw
from vsched.model.pods.cooperation import (
    ASKED,
    DEADLINE,
    EXPECTED,
    FOR,
    READY,
    REASON,
    REQUEST_ANNOTATIONS,
    REQUESTED,
    UNTIL,
)
from vsched.writes.bodies import pod_status_write
from vsched.writes.writer import Write

APPLY_PATCH = "application/apply-patch+yaml"
MANAGER = "vsched"
REQUESTER = "vsched.io/scheduler"
"""Who asks, in EvictionRequests."""


def request_of(eviction: Evict, now: float, most_seconds: float) -> AskAgain:
    """The request that a pod ends by itself, made now."""
    return AskAgain(
        eviction.uid,
        eviction.namespace,
        eviction.name,
        now,
        ceil(now + min(eviction.wait or most_seconds, most_seconds)),
        eviction.action,
        eviction.beneficiary,
        responds=eviction.responds,
        told=False,
        whom=eviction.whom,
    )


def condition_write(asked: AskAgain) -> Write:
    """The condition that is the request."""
    # A daemon that comes after this one reads the beneficiary from it: by its key.
    message = f"{_cause_of(asked.action, asked.beneficiary)}{UNTIL}{time_stamp(asked.deadline)}"
    return _state(asked, status="True", reason="AskedToEnd", message=message, since=asked.at)


def telling_write(asked: AskAgain) -> Write:
    """Tell the owner of a pod that it was asked to end. Answers to an earlier request are removed."""
    annotations = {
        REQUESTED: time_stamp(asked.at),
        DEADLINE: time_stamp(asked.deadline),
        REASON: _cause_of(asked.action, asked.whom or asked.beneficiary),
        EXPECTED: None,
        READY: None,
    }
    return _annotate(asked, annotations)


def untelling_write(withdrawal: Withdraw) -> Write:
    """Remove the annotations of a request, and the answers to it."""
    return _annotate(withdrawal, dict.fromkeys(REQUEST_ANNOTATIONS))


def withdrawal_write(withdrawal: Withdraw, now: float) -> Write:
    """End the request."""
    return _state(withdrawal, status="False", reason="Withdrawn", message=withdrawal.why, since=now)


def responders_write(eviction: Evict | AskAgain) -> Write:
    """Ask the responders of a pod. The same again changes nothing; one that was withdrawn asks again.

    The request belongs to the pod, and goes with it.
    """
    name = name_of_request(eviction.uid)
    body = {
        "apiVersion": EVICTION_REQUESTS.api_version,
        "kind": "EvictionRequest",
        "metadata": {
            "name": name,
            "namespace": eviction.namespace,
            "ownerReferences": [{"apiVersion": "v1", "kind": "Pod", "name": eviction.name, "uid": eviction.uid}],
        },
        "spec": {
            "target": {"pod": {"name": eviction.name, "uid": eviction.uid}},
            "requester": REQUESTER,
            "intent": "Eviction",
        },
    }
    path = f"{EVICTION_REQUESTS.path(eviction.namespace, name)}?fieldManager={MANAGER}&force=true"
    return Write("eviction", "PATCH", path, orjson.dumps(body), APPLY_PATCH)


def release_write(withdrawal: Withdraw) -> Write:
    """Tell the responders of a pod that it need not end any more."""
    path = EVICTION_REQUESTS.path(withdrawal.namespace, name_of_request(withdrawal.uid))
    return Write("eviction", "PATCH", path, orjson.dumps({"spec": {"intent": "Withdrawn"}}), MERGE_PATCH)


def name_of_request(uid: str) -> str:
    """The name of our EvictionRequest for the pod of this uid."""
    return f"vsched-{uid}"


def _cause_of(action: str, beneficiary: str) -> str:
    """The action, and the job that gets the room where there is one."""
    return f"{action}{FOR}{beneficiary}" if beneficiary else action


def _state(about: AskAgain | Withdraw, *, status: str, reason: str, message: str, since: float) -> Write:
    """Set the condition."""
    condition = {"type": ASKED, "status": status, "reason": reason, "message": message}
    conditions = [{**condition, "lastTransitionTime": time_stamp(since)}]
    return pod_status_write(about.namespace, about.name, about.uid, {"conditions": conditions})


def _annotate(about: AskAgain | Withdraw, annotations: Mapping[str, str | None]) -> Write:
    """A patch of annotations; the uid makes it this pod or none."""
    body = orjson.dumps({"metadata": {"uid": about.uid, "annotations": annotations}})
    return Write("eviction", "PATCH", PODS.path(about.namespace, about.name), body, MERGE_PATCH)
