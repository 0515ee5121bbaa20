"""A ResourceClaim that a gang and others write in any order: nobody loses what is theirs."""

from __future__ import annotations

from typing import Any

import orjson
from hypothesis import given
from hypothesis import strategies as st

from tests.support import devices
from tests.support.claiming import allocation
from tests.writes.claims.reading import read
from vsched.model.claims.devices import ClaimConsumer
from vsched.writes.claims.devices import give_back, reserve
from vsched.writes.claims.objects import DeviceClaimRead
from vsched.writes.claims.steps import Done, Failed, Send, Step
from vsched.writes.claims.wishes import ClaimedDevices

OURS = (ClaimConsumer("uid-a", "a"), ClaimConsumer("uid-b", "b"))
WISH = ClaimedDevices("ns/gpus", "uid-gpus", allocation("n1", "gpu-0"), True, OURS)
OTHERS = [{"resource": "pods", "name": f"other-{number}", "uid": f"uid-other-{number}"} for number in range(3)]
STEPS = st.lists(st.sampled_from(["reserve", "give back", "join", "leave", "allocate"]), max_size=14)
Obj = dict[str, Any]


def merge(target: Any, change: Any) -> Any:
    """A JSON merge patch."""
    if not isinstance(change, dict):
        return change
    found = dict(target) if isinstance(target, dict) else {}
    for key, value in change.items():
        if value is None:
            found.pop(key, None)
        else:
            found[key] = merge(found.get(key), value)
    return found


def decide(what: str, claim: Obj) -> Step:
    found = read(DeviceClaimRead, claim)
    if what == "reserve":
        return reserve(found, WISH, {}, 0.0)
    return give_back(found, "uid-gpus", lambda consumer: consumer.uid in {pod.uid for pod in OURS})


def written(step: Send, claim: Obj) -> Obj:
    body = orjson.loads(step.write.body)
    if step.write.path.endswith("/status"):
        return {**claim, "status": merge(claim.get("status"), body["status"])}
    return {**claim, "metadata": {**merge(claim["metadata"], body["metadata"]), "uid": "uid-gpus"}}


def by_others(what: str, claim: Obj) -> Obj:
    """What another scheduler and its pods do; nobody takes part in a claim without devices."""
    status = dict(claim.get("status") or {})
    users = list(status.get("reservedFor") or ())
    new = [each for each in OTHERS if each not in users][:1]
    if what == "allocate" and "allocation" not in status:
        taken = devices.allocated(claim, "n2", "gpu-9")
        return {**taken, "status": {**taken["status"], "reservedFor": users + new}}
    if what == "join" and "allocation" in status:
        status["reservedFor"] = users + new
    if what == "leave":
        status["reservedFor"] = [each for each in users if each not in OTHERS[:1]]
    return {**claim, "status": status}


def users(claim: Obj) -> list[Obj]:
    return list((claim.get("status") or {}).get("reservedFor") or ())


def of_others(claim: Obj) -> list[Obj]:
    return [each for each in users(claim) if each in OTHERS]


def given_devices(claim: Obj) -> Any:
    return (claim.get("status") or {}).get("allocation")


@given(STEPS)
def test_nobody_loses_what_is_theirs(steps: list[str]) -> None:
    claim: Obj = devices.resource_claim()
    for what in steps:
        if what not in ("reserve", "give back"):
            claim = by_others(what, claim)
            continue
        before = claim
        for _ in range(4):
            step = decide(what, claim)
            if not isinstance(step, Send):
                break
            claim = written(step, claim)
            assert [each for each in users(claim) if each in OTHERS] == [
                each for each in users(before) if each in OTHERS
            ]
            assert not given_devices(before) or given_devices(claim) in (given_devices(before), None)
            assert given_devices(claim) or not users(claim), "nothing is reserved without devices"
        assert isinstance(step, Done | Failed), "three writes are enough"
        ours = [each["name"] for each in users(claim) if each not in OTHERS]
        if what == "give back":
            assert ours == []
            assert given_devices(claim) is None or users(claim)
        elif isinstance(step, Done):
            assert ours == ["a", "b"]
            assert devices.FINALIZER in claim["metadata"]["finalizers"]
