"""Requests that pods end by themselves: annotations and EvictionRequests that ask, and how both are withdrawn. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from math import ceil

import orjson

from vsched.kube.client import MERGE_PATCH
from vsched.kube.times import time_stamp
from vsched.mirror.resources import EVICTION_REQUESTS, PODS
from vsched.model.plan import AskResponders, Evict, Withdraw
from vsched.model.pods.cooperation import DEADLINE, EXPECTED, READY, REASON, REQUEST_ANNOTATIONS, REQUESTED
from vsched.writes.bodies import cause_of_eviction
from vsched.writes.writer import Write

APPLY_PATCH = "application/apply-patch+yaml"
MANAGER = "vsched"
REQUESTER = "vsched.io/scheduler"
"""Who asks, in EvictionRequests."""


def request_write(eviction: Evict, now: float, most_seconds: float) -> Write:
    """Ask a pod to end by itself. Answers to an earlier request are removed."""
    annotations = {
        REQUESTED: time_stamp(now),
        DEADLINE: time_stamp(ceil(now + min(eviction.wait or most_seconds, most_seconds))),
        REASON: cause_of_eviction(eviction),
        EXPECTED: None,
        READY: None,
    }
    return _annotate(eviction, annotations)


def withdrawal_write(withdrawal: Withdraw) -> Write:
    """Remove a request, and the answers to it."""
    return _annotate(withdrawal, dict.fromkeys(REQUEST_ANNOTATIONS))


def responders_write(eviction: Evict | AskResponders) -> Write:
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


def _annotate(about: Evict | Withdraw, annotations: Mapping[str, str | None]) -> Write:
    """A patch of annotations; the uid makes it this pod or none."""
    body = orjson.dumps({"metadata": {"uid": about.uid, "annotations": annotations}})
    return Write("eviction", "PATCH", PODS.path(about.namespace, about.name), body, MERGE_PATCH)
