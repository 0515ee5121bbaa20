"""Evictions, in whose status the responders of a pod say how far they are."""

from __future__ import annotations

from vsched.mirror import wire
from vsched.mirror.ingest.bounds import NAME_LENGTH_MAX
from vsched.mirror.wire.base import seconds_of
from vsched.model.pods.cooperation import NO_ANSWER, ResponderAnswer

IMPERATIVE = "imperative-eviction.k8s.io/evictor"
"""The responder that Kubernetes appends to every list: it evicts the pod as everybody can, and saves nothing."""
ENDED = frozenset(("Completed", "Interrupted", "Canceled"))
"""States of responders that do nothing any more. Kubernetes interrupts one without a heartbeat for 20 minutes."""


def target_of(found: wire.Eviction) -> str:
    """The uid of the pod that an Eviction is about; empty where it is about something else."""
    pod = found.spec.target.pod
    return "" if pod is None else pod.uid


def answer_of(found: wire.Eviction) -> ResponderAnswer:
    """What the responders of a pod say. An Eviction that has failed, or was canceled, says nothing."""
    status = found.status
    if any(one.type == "Failed" and one.status == "True" for one in status.conditions or ()):
        return NO_ANSWER
    responders = [one for one in status.target_responders or () if one.name != IMPERATIVE]
    active = {one.name for one in responders if one.state == "Active"}
    for one in status.responders or ():
        if one.name in active and one.completion_time is None:
            message = " ".join(one.message[:NAME_LENGTH_MAX].split())
            return ResponderAnswer(seconds_of(one.expected_completion_time), message=message)
    return ResponderAnswer(done=bool(responders) and all(one.state in ENDED for one in responders))
