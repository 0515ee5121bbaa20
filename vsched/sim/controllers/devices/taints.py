"""Evicts the pods whose devices have a NoExecute taint that their claims do not tolerate, or no longer."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import ClassVar

from vsched.apimachinery.meta.kinds import Obj
from vsched.apimachinery.meta.objects import (
    is_deleting,
    is_finished,
    seconds_since,
    split_key,
    tolerates,
    with_condition,
)
from vsched.apimachinery.meta.times import utc_now
from vsched.apimachinery.workloads.actions import Action, After, Tell, delete, set_status
from vsched.sim.client import LocalClient
from vsched.sim.controllers.controller import Controller
from vsched.sim.controllers.devices.objects import CLAIMS, RULES, SLICES, DeviceKey, consumers_of, device_of, results_of
from vsched.sim.controllers.pod_claims import resource_claims
from vsched.sim.controllers.pod_index import PodIndex
from vsched.sim.store.store import key_of

_EVICTS = "NoExecute"


def tolerated_seconds(result: Obj, taint: Obj) -> float | None:
    """How long an allocated device is used in spite of a taint: 0 for not at all, None for ever."""
    found = [each.get("tolerationSeconds") for each in result.get("tolerations") or () if tolerates(each, taint)]
    if None in found:
        return None
    return min((max(0.0, float(seconds)) for seconds in found if seconds is not None), default=0.0)


def _is_about(rule: Obj, device: DeviceKey) -> bool:
    """Whether a DeviceTaintRule, by its spec, taints a device; without a selector it taints none."""
    selector = rule.get("deviceSelector")
    if selector is None:
        return False
    named = zip(("driver", "pool", "device"), device, strict=True)
    return all(selector.get(field) in (None, value) for field, value in named)


class DeviceTaintEviction(Controller):
    """Its keys are claims."""

    name: ClassVar[str] = "device taint eviction"
    primary: ClassVar[str] = CLAIMS
    component: ClassVar[str] = "device-taint-eviction-controller"
    watches: ClassVar[tuple[str, ...]] = (SLICES, RULES, CLAIMS, "pods")
    only_pods_with_claims: ClassVar[bool] = True

    def __init__(self, client: LocalClient, pod_index: PodIndex) -> None:
        super().__init__(client, pod_index)
        self._taints: dict[DeviceKey, list[Obj]] = {}
        self._tainted_in: dict[str, list[DeviceKey]] = {}
        """The tainted devices of a slice."""
        self._rules: dict[str, Obj] = {}
        """The specs of DeviceTaintRules that evict."""
        self._claims_of: dict[DeviceKey, dict[str, None]] = defaultdict(dict)
        self._devices_of: dict[str, list[DeviceKey]] = {}

    def affected(self, resource: str, obj: Obj, old: Obj | None, *, gone: bool) -> Iterable[str]:
        if resource == SLICES:
            return self._note_slice(obj, gone=gone)
        if resource == RULES:
            return self._note_rule(obj, gone=gone)
        if resource == CLAIMS:
            self._note_claim(obj, gone=gone)
            used = self._devices_of.get(key_of(obj), ())
            return (key_of(obj),) if any(self._taints_of(device) for device in used) else ()
        came = not gone and obj["spec"].get("nodeName") and (old is None or not old["spec"].get("nodeName"))
        if not came or not (self._taints or self._rules):
            return ()
        namespace = obj["metadata"]["namespace"]
        return [f"{namespace}/{name}" for name in resource_claims(obj).values() if name]

    def _note_slice(self, slice_: Obj, *, gone: bool) -> list[str]:
        """The claims that use the devices of a slice whose taints changed."""
        name, spec = slice_["metadata"]["name"], slice_["spec"]
        changed = self._tainted_in.pop(name, [])
        for device in changed:
            self._taints.pop(device, None)
        tainted: list[DeviceKey] = []
        for each in () if gone else spec.get("devices") or ():
            taints = [taint for taint in each.get("taints") or () if taint["effect"] == _EVICTS]
            if taints:
                device = DeviceKey(spec["driver"], spec["pool"]["name"], each["name"])
                self._taints[device] = taints
                tainted.append(device)
        if tainted:
            self._tainted_in[name] = tainted
        return [claim for device in {*changed, *tainted} for claim in self._claims_of.get(device, ())]

    def _note_rule(self, rule: Obj, *, gone: bool) -> list[str]:
        """The claims that use the devices of a rule which changed."""
        name, spec = rule["metadata"]["name"], rule["spec"]
        before = self._rules.pop(name, None)
        if not gone and spec["taint"]["effect"] == _EVICTS:
            self._rules[name] = spec
        concerned = [each for each in (before, self._rules.get(name)) if each is not None]
        used = (device for device in self._claims_of if any(_is_about(each, device) for each in concerned))
        return [claim for device in used for claim in self._claims_of[device]]

    def _taints_of(self, device: DeviceKey) -> list[Obj]:
        """The taints of a device that evict: by its driver, and by rules."""
        found = self._taints.get(device, [])
        return [*found, *(rule["taint"] for rule in self._rules.values() if _is_about(rule, device))]

    def _note_claim(self, claim: Obj, *, gone: bool) -> None:
        key = key_of(claim)
        for device in self._devices_of.pop(key, ()):
            self._claims_of[device].pop(key, None)
            if not self._claims_of[device]:
                del self._claims_of[device]
        devices = [] if gone else [device_of(each) for each in results_of(claim)]
        for device in devices:
            self._claims_of[device][key] = None
        if devices:
            self._devices_of[key] = devices

    def reconcile(self, key: str) -> Sequence[Action]:
        claim = self.find(key)
        left = None if claim is None else self._left(claim)
        if claim is None or left is None:
            return ()
        pods = [pod for pod in self._users(claim) if pod["spec"].get("nodeName")]
        if left > 0:
            return [After(left)] if pods else ()
        return [action for pod in pods for action in _evict(pod)]

    def _left(self, claim: Obj) -> float | None:
        """Seconds until the users of the claim have to go; None if they may stay."""
        now, found = utc_now(), list[float]()
        for result in results_of(claim):
            for taint in self._taints_of(device_of(result)):
                seconds = tolerated_seconds(result, taint)
                if seconds is not None:
                    found.append(seconds - seconds_since(taint.get("timeAdded"), now))
        return min(found, default=None)

    def _users(self, claim: Obj) -> list[Obj]:
        namespace = split_key(key_of(claim))[0]
        named = (each for each in consumers_of(claim) if each["resource"] == "pods")
        pods = [self.client.get("pods", namespace, each["name"]) for each in named]
        if any(each["resource"] != "pods" for each in consumers_of(claim)):  # its pods are those that name the claim
            pods += (
                self.client.get("pods", *split_key(pod)) for pod in self.pod_index.keys_of_resource_claim(key_of(claim))
            )
        return [pod for pod in pods if pod is not None and not is_deleting(pod) and not is_finished(pod)]


def _evict(pod: Obj) -> list[Action]:
    why = {
        "type": "DisruptionTarget",
        "status": "True",
        "reason": "DeletionByDeviceTaintManager",
        "message": "Device Taint manager: deleting due to NoExecute taint",
    }
    status = {**pod["status"], "conditions": with_condition(pod["status"].get("conditions"), why, utc_now())}
    told = Tell("pods", pod, "DeviceTaintManagerEviction", f"Marking for deletion Pod {key_of(pod)}")
    return [*set_status("pods", pod, status), told, delete("pods", pod)]
