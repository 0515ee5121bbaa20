"""Requests that pods end by themselves: annotations that ask a pod, and their removal. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from math import ceil

import orjson

from vsched.kube.client import MERGE_PATCH
from vsched.mirror.resources import PODS
from vsched.model.plan import Evict, Withdraw
from vsched.model.pods.cooperation import DEADLINE, EXPECTED, READY, REASON, REQUEST_ANNOTATIONS, REQUESTED
from vsched.writes.bodies import cause_of_eviction, time_stamp
from vsched.writes.writer import Write


def request_write(eviction: Evict, now: float, most_seconds: float) -> Write:
    """Ask a pod to end by itself. Answers to an earlier request are removed."""
    annotations = {
        REQUESTED: time_stamp(now),
        DEADLINE: time_stamp(ceil(now + min(eviction.wait, most_seconds))),
        REASON: cause_of_eviction(eviction),
        EXPECTED: None,
        READY: None,
    }
    return _annotate(eviction, annotations)


def withdrawal_write(withdrawal: Withdraw) -> Write:
    """Remove a request, and the answers to it."""
    return _annotate(withdrawal, dict.fromkeys(REQUEST_ANNOTATIONS))


def _annotate(about: Evict | Withdraw, annotations: Mapping[str, str | None]) -> Write:
    """A patch of annotations; the uid makes it this pod or none."""
    body = orjson.dumps({"metadata": {"uid": about.uid, "annotations": annotations}})
    return Write("eviction", "PATCH", PODS.path(about.namespace, about.name), body, MERGE_PATCH)
