"""Admission webhooks of others in a bottle: they deny, hang, or change what is written about some objects."""

from __future__ import annotations

import asyncio
from random import Random

import orjson

from vsched.apimachinery.meta.kinds import Obj
from vsched.lab.soak.bottle import words
from vsched.lab.soak.bottle.faults import WebhookFault, WebhookFaultKind
from vsched.sim.api.fault_injection import denied, mutated, unanswered
from vsched.sim.api.fault_plan import CHANGES, WRITES, is_among
from vsched.sim.requests.attributes import Attributes, attributes_of
from vsched.sim.requests.request import ApiRequest

SIDECAR: Obj = {
    "name": "sidecar",
    "image": "registry.example.com/mesh",
    "resources": {"requests": {"cpu": "0", "memory": "16Mi"}},
}
"""What is added to pods: a gang that fills its nodes has to fit all the same, so it asks for next to nothing."""
DAEMONS = "vsched/"
"""How the User-Agent of a daemon begins."""


class Webhook:
    """One that is asked about every write while it is there."""

    def __init__(self, rule: WebhookFault, salt: int) -> None:
        self._rule, self._salt = rule, salt

    async def review(self, call: ApiRequest) -> bool:
        """Change a write, or raise a Failure in place of it; whether it had anything to do with it."""
        wanted, kind = attributes_of(call), self._rule.fault
        if wanted.path or wanted.verb not in WRITES or not self._is_about(wanted, call):
            return False
        if kind is WebhookFaultKind.CHANGES:
            if wanted.verb not in CHANGES or not (_is_daemon(call) or _makes_a_pod(wanted)):
                return False
            call.body = with_sidecar(mutated(call)) if _makes_a_pod(wanted) else mutated(call)
            return True
        if not _is_daemon(call):
            return False
        if kind is WebhookFaultKind.HANGS:
            await asyncio.sleep(self._rule.timeout_seconds)
            raise unanswered()
        raise denied(words.REFUSED_FOR_NOW)

    def _is_about(self, wanted: Attributes, call: ApiRequest) -> bool:
        """Whether it concerns the object: that of a creation is known by what is in it."""
        if not is_among(self._rule.resources, wanted):
            return False
        whom = wanted.name or call.body.decode("utf-8", "replace")
        return Random(f"{self._salt} {wanted.namespace} {whom}").random() * 100 < self._rule.percent


def with_sidecar(pod: bytes) -> bytes:
    """A pod with a container more; as it is where it is no pod."""
    try:
        found = orjson.loads(pod)
        containers = [*found["spec"]["containers"], SIDECAR]
        return orjson.dumps({**found, "spec": {**found["spec"], "containers": containers}})
    except (orjson.JSONDecodeError, KeyError, TypeError):
        return pod


def _is_daemon(call: ApiRequest) -> bool:
    return call.user_agent.startswith(DAEMONS)


def _makes_a_pod(wanted: Attributes) -> bool:
    return wanted.verb == "create" and wanted.combined == "pods"
