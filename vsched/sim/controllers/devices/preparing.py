"""A pod starts once its resource claims are allocated for its node, reserved for it, and their devices are prepared.

The pretended driver prepares only devices that are published, and none for two claims.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable

from vsched.apimachinery.meta.kinds import Obj
from vsched.sim.client import LocalClient
from vsched.sim.controllers.devices.objects import (
    CLAIMS,
    DeviceKey,
    allocation_of,
    consumers_of,
    device_of,
    exclusive_devices,
    is_reserved_for,
    owner_of,
    results_of,
)
from vsched.sim.controllers.pod_claims import is_owned_by, resource_claims
from vsched.sim.controllers.pod_index import PodIndex
from vsched.sim.controllers.start_checks import StartObstacle
from vsched.sim.store.node_selectors import matches_node_selector
from vsched.sim.store.store import key_of


class PublishedDevices:
    """Follows the slices."""

    def __init__(self) -> None:
        self._slices: dict[tuple[str, str], dict[str, tuple[int, frozenset[str]]]] = defaultdict(dict)
        """The generation and the devices of each slice, by driver and pool."""
        self._pool_of: dict[str, tuple[str, str]] = {}

    def note(self, slice_: Obj, *, gone: bool) -> None:
        name, spec = slice_["metadata"]["name"], slice_["spec"]
        pool = spec["driver"], spec["pool"]["name"]
        before = self._pool_of.pop(name, pool)
        self._slices[before].pop(name, None)
        if not gone:
            devices = frozenset(each["name"] for each in spec.get("devices") or ())
            self._slices[pool][name] = int(spec["pool"].get("generation", 0)), devices
            self._pool_of[name] = pool
        if not self._slices[before]:
            del self._slices[before]

    def __contains__(self, device: DeviceKey) -> bool:
        slices = self._slices.get((device.driver, device.pool), {}).values()
        newest = max((generation for generation, _ in slices), default=0)
        return any(generation == newest and device.device in devices for generation, devices in slices)


FAILED_PREPARE = "FailedPrepareDynamicResources"
_GROUP = "scheduling.k8s.io/group-name"


class DevicesPrepared:
    """The check of the resource claims of a pod."""

    def __init__(self, client: LocalClient, pod_index: PodIndex) -> None:
        self._client = client
        self._pod_index = pod_index
        self._published = PublishedDevices()
        self._prepared: dict[DeviceKey, str] = {}
        """The claims (by uid) that devices are prepared for."""
        self._devices_of: dict[str, list[DeviceKey]] = {}
        self._waiting: dict[str, None] = {}
        """The pods that wait for a device to be published, or to be free."""

    def obstacle(self, pod: Obj, node: Obj) -> StartObstacle | None:
        for entry, name in resource_claims(pod).items():
            why = self._problem(pod, node, entry, name)
            if why:
                return StartObstacle(FAILED_PREPARE, f"Failed to prepare dynamic resources: {why}")
        return None

    def _problem(self, pod: Obj, node: Obj, entry: str, name: str | None) -> str:
        if name is None:
            return f"pod claim {entry}: ResourceClaim not created yet"
        claim = self._client.get(CLAIMS, pod["metadata"]["namespace"], name)
        if claim is None:
            missing = f'resourceclaims.resource.k8s.io "{name}" not found'
            return f"failed to fetch ResourceClaim {name} referenced by pod {pod['metadata']['name']}: {missing}"
        if _is_from_template(pod, entry) and not is_owned_by(claim, pod) and not _is_owned_by_group(claim, pod):
            return f"ResourceClaim {key_of(claim)} was not created for pod {key_of(pod)} (pod is not owner)"
        if not is_reserved_for(claim, pod) and not _is_reserved_for_group(claim, pod):
            metadata, uid = pod["metadata"], claim["metadata"]["uid"]
            return f"pod {metadata['name']}({metadata['uid']}) is not allowed to use ResourceClaim {name}({uid})"
        allocation = allocation_of(claim)
        if allocation is None:
            return f"ResourceClaim {name} is not allocated"
        if not matches_node_selector(allocation.get("nodeSelector"), node):
            return _refused(name, f"node {node['metadata']['name']} is not one of those that can use its devices")
        return self._unusable(pod, claim)

    def _unusable(self, pod: Obj, claim: Obj) -> str:
        name, uid = claim["metadata"]["name"], claim["metadata"]["uid"]
        for result in results_of(claim):
            if device_of(result) not in self._published:
                self._waiting[key_of(pod)] = None
                return _refused(name, f"device {device_of(result)} is not published")
            unmet = _unmet_conditions(claim, result)
            if unmet:
                return _refused(name, f"device {device_of(result)} is not ready: {unmet} is not true")
        for device in exclusive_devices(claim):
            if self._prepared.get(device, uid) != uid:
                self._waiting[key_of(pod)] = None
                return _refused(name, f"device {device} is already prepared for another claim")
        return ""

    def started(self, pod: Obj) -> None:
        for name in resource_claims(pod).values():
            claim = self._client.get(CLAIMS, pod["metadata"]["namespace"], name) if name else None
            if claim is None:
                continue
            uid = claim["metadata"]["uid"]
            self._devices_of[uid] = list(exclusive_devices(claim))
            self._prepared.update(dict.fromkeys(self._devices_of[uid], uid))

    def affected(self, resource: str, obj: Obj, *, gone: bool) -> Iterable[str]:
        if resource == "resource.k8s.io/resourceclaims":
            given_back = (gone or allocation_of(obj) is None) and self._release(obj)
            return [*self._pod_index.keys_of_resource_claim(key_of(obj)), *(self._wake() if given_back else ())]
        if resource == "resource.k8s.io/resourceslices":
            self._published.note(obj, gone=gone)
            return self._wake()
        return ()

    def _wake(self) -> Iterable[str]:
        waiting, self._waiting = self._waiting, {}
        return waiting

    def _release(self, claim: Obj) -> bool:
        """Whether the claim had devices that were prepared for it; they no longer are."""
        uid = claim["metadata"]["uid"]
        devices = self._devices_of.pop(uid, [])
        for device in devices:
            if self._prepared.get(device) == uid:
                del self._prepared[device]
        return bool(devices)


def _is_from_template(pod: Obj, entry: str) -> bool:
    entries = pod["spec"].get("resourceClaims") or ()
    return any(each["name"] == entry and each.get("resourceClaimTemplateName") for each in entries)


def _is_owned_by_group(claim: Obj, pod: Obj) -> bool:
    """Whether the claim was made for the PodGroup of the pod."""
    group, owner = (pod["spec"].get("schedulingGroup") or {}).get("podGroupName"), owner_of(claim, "PodGroup")
    return owner is not None and owner["name"] == group


def _is_reserved_for_group(claim: Obj, pod: Obj) -> bool:
    """Whether the claim is reserved for the PodGroup of the pod."""
    group = (pod["spec"].get("schedulingGroup") or {}).get("podGroupName")
    names = {group, (pod["metadata"].get("annotations") or {}).get(_GROUP)} - {None}
    return any(each["resource"] == "podgroups" and each["name"] in names for each in consumers_of(claim))


def _unmet_conditions(claim: Obj, result: Obj) -> str:
    """The first binding condition of a device that does not hold."""
    wanted = result.get("bindingConditions") or ()
    if not wanted:
        return ""
    true: set[str] = set()
    for each in claim["status"].get("devices") or ():
        if (each["driver"], each["pool"], each["device"]) == device_of(result):
            true |= {found["type"] for found in each.get("conditions") or () if found.get("status") == "True"}
    return next((each for each in wanted if each not in true), "")


def _refused(claim: str, why: str) -> str:
    return f"NodePrepareResources failed for ResourceClaim {claim}: {why}"
