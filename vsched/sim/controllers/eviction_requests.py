"""The controller of EvictionRequests: makes an Eviction of them, and gives its responders their turns.

It does not play the last responder, which evicts the pod as everybody can: who asked does that here.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta
from typing import ClassVar

from vsched.apimachinery.meta.kinds import Obj
from vsched.apimachinery.meta.objects import is_finished, split_key
from vsched.apimachinery.meta.times import format_time, parse_time, utc_now
from vsched.apimachinery.workloads.actions import Action, After, Create, Delete, SetStatus
from vsched.sim.client import LocalClient
from vsched.sim.controllers.controller import Controller
from vsched.sim.controllers.pod_index import PodIndex
from vsched.sim.store.store import key_of

GROUP = "lifecycle.k8s.io"
REQUESTS, EVICTIONS = f"{GROUP}/evictionrequests", f"{GROUP}/evictions"
IMPERATIVE = "imperative-eviction.k8s.io/evictor"
HEARTBEAT = timedelta(minutes=20)
"""A responder that says nothing for so long loses its turn."""


class EvictionRequests(Controller):
    """Its keys are Evictions, which have the uid of their pod as name."""

    name: ClassVar[str] = "eviction requests"
    primary: ClassVar[str] = EVICTIONS
    watches: ClassVar[tuple[str, ...]] = (REQUESTS, EVICTIONS)

    def __init__(self, client: LocalClient, pod_index: PodIndex) -> None:
        super().__init__(client, pod_index)
        self._requests: dict[str, dict[str, Obj]] = {}
        """The requests for an Eviction, by name."""

    def affected(self, resource: str, obj: Obj, old: Obj | None, *, gone: bool) -> Iterable[str]:
        if resource == EVICTIONS:
            return (key_of(obj),)
        pod = obj["spec"]["target"].get("pod")
        if pod is None:
            return ()
        key, name = f"{obj['metadata']['namespace']}/{pod['uid']}", obj["metadata"]["name"]
        requests = self._requests.setdefault(key, {})
        if gone:
            requests.pop(name, None)
        else:
            requests[name] = obj
        if not requests:
            del self._requests[key]
        return (key,)

    def keys(self) -> Iterable[str]:
        return {*self._requests, *super().keys()}

    def reconcile(self, key: str) -> Sequence[Action]:
        eviction, (namespace, uid) = self.find(key), split_key(key)
        requests = list(self._requests.get(key, {}).values())
        if not requests:
            return () if eviction is None else [Delete(EVICTIONS, namespace, uid)]
        target = requests[0]["spec"]["target"]
        pod = self.client.get("pods", namespace, target["pod"]["name"])
        if pod is None or pod["metadata"]["uid"] != uid or is_finished(pod):
            return ()
        if eviction is None:
            meta = {"name": uid, "namespace": namespace}
            return [Create(EVICTIONS, {**_TYPE, "metadata": meta, "spec": {"target": target}})]
        now = utc_now()
        status = _asked(eviction.get("status") or {}, requests, pod, now)
        _take_turns(status, now)
        active = any(one["state"] == "Active" and one["name"] != IMPERATIVE for one in status["targetResponders"])
        again = [After(HEARTBEAT.total_seconds())] if active else []
        return [SetStatus(EVICTIONS, namespace, uid, status), *again]


_TYPE = {"apiVersion": f"{GROUP}/v1alpha1", "kind": "Eviction"}


def _asked(status: Obj, requests: list[Obj], pod: Obj, now: datetime) -> Obj:
    """The status with the present intents; it begins anew where an Eviction that was canceled is wanted again."""
    requesters = [{"name": one["spec"]["requester"], "intent": one["spec"]["intent"]} for one in requests]
    wanted = any(one["intent"] == "Eviction" for one in requesters)
    if not status.get("targetResponders") or (wanted and status.get("conditions")):
        chosen = sorted(pod["spec"].get("evictionResponders") or (), key=lambda one: -(one.get("priority") or 0))
        targets = [{"name": one["name"], "priority": one.get("priority") or 0} for one in chosen]
        targets.append({"name": IMPERATIVE, "priority": 100})
        status = {
            "targetResponders": [{**one, "state": "Inactive"} for one in targets],
            "responders": [{"name": one["name"]} for one in targets],
        }
    status = {**status, "requesters": requesters}
    if not wanted and not status.get("conditions"):
        canceled = {"type": "Failed", "status": "True", "reason": "Canceled", "message": "all requests are withdrawn"}
        status["conditions"] = [{**canceled, "lastTransitionTime": format_time(now)}]
        status["targetResponders"] = [
            {**one, "state": "Canceled"} if one["state"] == "Active" else one for one in status["targetResponders"]
        ]
    return status


def _take_turns(status: Obj, now: datetime) -> None:
    """End the turn of a responder that is done or silent, and give the next one its turn."""
    if status.get("conditions"):
        return
    targets = [dict(one) for one in status["targetResponders"]]
    reports = [dict(one) for one in status["responders"]]
    status["targetResponders"], status["responders"] = targets, reports
    for target, report in zip(targets, reports, strict=True):
        if target["state"] == "Inactive":
            target["state"] = "Active"
            report["startTime"] = format_time(now)
        if target["state"] != "Active":
            continue
        if report.get("completionTime"):
            target["state"] = "Completed"
        elif now - parse_time(report.get("heartbeatTime") or report["startTime"]) >= HEARTBEAT:
            target["state"] = "Interrupted"
        else:
            return
