"""Whether a write says which object it means: another one may have its name by the time the write arrives."""

from __future__ import annotations

from typing import Any

import orjson

from vsched.sim.api.fault_plan import WRITES
from vsched.sim.requests.attributes import attributes_of
from vsched.sim.requests.request import ApiRequest

BY_NAME = frozenset({"events", "queues/status", "podtemplates"})
"""What is true of whatever has the name: counts of an Event, and what a queue of this name holds. And PodTemplates of
ProvisioningRequests: their names follow from the gang's uid and from what it asks for."""
ACTS = frozenset({"pods/binding", "pods/eviction"})
"""Created, but about an object that is there."""
STATED = ("uid", "resourceVersion")
PATHS = frozenset(f"/metadata/{name}" for name in STATED)


def says_which(call: ApiRequest) -> bool:
    """Whether a request names the uid or the version of the object that it changes, or changes none that is there."""
    wanted = attributes_of(call)
    new = wanted.verb == "create" and wanted.combined not in ACTS
    if wanted.path or wanted.verb not in WRITES or new or wanted.combined in BY_NAME:
        return True
    try:
        body = orjson.loads(call.body)
    except orjson.JSONDecodeError:
        return False
    if isinstance(body, list):  # a JSON patch
        return any(isinstance(step, dict) and step.get("path") in PATHS for step in body)
    found = (_part(body, "metadata"), _part(body, "preconditions"), _part(body, "deleteOptions", "preconditions"))
    return any(each.get(name) for each in found for name in STATED)


def _part(body: Any, *path: str) -> dict[str, Any]:
    for name in path:
        body = body.get(name) if isinstance(body, dict) else None
    return body if isinstance(body, dict) else {}
