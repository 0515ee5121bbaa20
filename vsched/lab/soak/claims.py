"""Which promises about claims are broken."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

from vsched.lab.sender import Obj


def key_of(obj: Obj) -> str:
    """``namespace/name``."""
    return f"{obj['metadata'].get('namespace', '')}/{obj['metadata']['name']}"


def wrong(pods: Sequence[Obj], claims: Sequence[Obj], volume_claims: Sequence[Obj]) -> Iterator[str]:
    """What must never be, not even for a moment: pods with a node and without their claims, devices of two claims."""
    by_key, disks = {key_of(each): each for each in claims}, {key_of(each): each for each in volume_claims}
    for pod in pods:
        if pod["spec"].get("nodeName") and pod["status"].get("phase") not in ("Succeeded", "Failed"):
            yield from _lacks_volumes(pod, disks)
            yield from _lacks_devices(pod, by_key)
    yield from _twice(claims)


def _lacks_volumes(pod: Obj, disks: Mapping[str, Obj]) -> Iterator[str]:
    where = f"{key_of(pod)} is on {pod['spec']['nodeName']}"
    for volume in pod["spec"].get("volumes") or ():
        if "ephemeral" in volume:
            name = f"{pod['metadata']['name']}-{volume['name']}"
        elif "persistentVolumeClaim" in volume:
            name = volume["persistentVolumeClaim"]["claimName"]
        else:
            continue
        claim = disks.get(f"{pod['metadata']['namespace']}/{name}")
        if claim is None or not claim["spec"].get("volumeName"):
            yield f"{where}, and the volume claim {name} is not bound"


def _lacks_devices(pod: Obj, claims: Mapping[str, Obj]) -> Iterator[str]:
    node, uid = pod["spec"]["nodeName"], pod["metadata"]["uid"]
    made = {each["name"]: each.get("resourceClaimName") for each in pod["status"].get("resourceClaimStatuses") or ()}
    for asked in pod["spec"].get("resourceClaims") or ():
        name = asked.get("resourceClaimName") or made.get(asked["name"])
        status = (claims.get(f"{pod['metadata']['namespace']}/{name}") or {}).get("status") or {}
        where = f"{key_of(pod)} is on {node}, and the claim {name}"
        results = _results(status)
        if not results or any(each["pool"] != node for each in results):
            yield f"{where} has no devices there"
        group = (pod["spec"].get("schedulingGroup") or {}).get("podGroupName")
        users = status.get("reservedFor") or ()
        if all(each["uid"] != uid and not (_is_group(each) and each["name"] == group) for each in users):
            yield f"{where} is not reserved for it"


def _results(status: Obj) -> Sequence[Obj]:
    return ((status.get("allocation") or {}).get("devices") or {}).get("results") or ()


def _twice(claims: Iterable[Obj]) -> Iterator[str]:
    seen: dict[tuple[str, str, str], str] = {}
    for claim in claims:
        for each in _results(claim.get("status") or {}):
            device = each["driver"], each["pool"], each["device"]
            if device in seen:
                yield f"{'/'.join(device)} belongs to {seen[device]} and to {key_of(claim)}"
            seen[device] = key_of(claim)


def for_nobody(pods: Iterable[Obj], claims: Iterable[Obj]) -> Iterator[str]:
    """Claims that are reserved for pods that are gone or wait; once everything is at rest there are none.

    What is reserved for a PodGroup stays so until the group is gone, or its pods have to wait.
    """
    placed: dict[str, bool] = {}
    for pod in pods:
        has_node = bool(pod["spec"].get("nodeName"))
        placed[pod["metadata"]["uid"]] = has_node
        group = (pod["spec"].get("schedulingGroup") or {}).get("podGroupName")
        if group:
            where = f"{pod['metadata']['namespace']}/{group}"
            placed[where] = placed.get(where, False) or has_node
    for claim in claims:
        yield from _in_vain(claim, placed)


def _in_vain(claim: Obj, placed: Mapping[str, bool]) -> Iterator[str]:
    status = claim.get("status") or {}
    users: Collection[Obj] = status.get("reservedFor") or ()
    for user in users:
        known = f"{claim['metadata']['namespace']}/{user['name']}" if _is_group(user) else user["uid"]
        if not placed.get(known):
            state = "which has no node" if known in placed else "which is gone"
            yield f"{key_of(claim)} is reserved for {user['name']}, {state}"
    if status.get("allocation") and not users:
        yield f"{key_of(claim)} has devices for nobody"


def _is_group(consumer: Obj) -> bool:
    return bool(consumer["resource"] == "podgroups")
