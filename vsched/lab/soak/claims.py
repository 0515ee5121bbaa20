"""What the pods of a soak claim, and which promises about claims are broken."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

import orjson

from vsched.api.resources import NODES, PODS, RESOURCE_CLAIMS, VOLUME_CLAIMS
from vsched.kube.client import ApiClient
from vsched.lab.claiming import fixtures
from vsched.lab.sender import Obj, Sender
from vsched.lab.soak import words

IN_VAIN_SECONDS = 120.0
"""For how long a claim may be reserved for pods that wait or are gone, whatever goes wrong meanwhile."""


async def offer(client: ApiClient, sender: Sender, namespaces: Iterable[str], devices: int) -> None:
    """Create what pods claim: on every node so many devices."""
    nodes = [each["metadata"]["name"] for each in (await client.list(NODES.path()))["items"]]
    for path, found in fixtures(nodes, namespaces, devices):
        await sender.send("POST", path, orjson.dumps(found))


async def broken(client: ApiClient) -> list[tuple[str, str]]:
    """The promises about claims that are broken now, each with a line: pods are deleted first, their claims then."""
    pods, claims, disks = [(await client.list(kind.path()))["items"] for kind in (PODS, RESOURCE_CLAIMS, VOLUME_CLAIMS)]
    return [
        *((words.WITHOUT_CLAIMS, each) for each in wrong(pods, claims, disks)),
        *((words.CLAIM_FOR_NOBODY, each) for each in for_nobody(pods, claims)),
    ]


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
    where = words.is_on(key_of(pod), pod["spec"]["nodeName"])
    for volume in pod["spec"].get("volumes") or ():
        if "ephemeral" in volume:
            name = f"{pod['metadata']['name']}-{volume['name']}"
        elif "persistentVolumeClaim" in volume:
            name = volume["persistentVolumeClaim"]["claimName"]
        else:
            continue
        claim = disks.get(f"{pod['metadata']['namespace']}/{name}")
        if claim is None or not claim["spec"].get("volumeName"):
            yield words.volume_not_bound(where, name)


def _lacks_devices(pod: Obj, claims: Mapping[str, Obj]) -> Iterator[str]:
    node, uid = pod["spec"]["nodeName"], pod["metadata"]["uid"]
    made = {each["name"]: each.get("resourceClaimName") for each in pod["status"].get("resourceClaimStatuses") or ()}
    for asked in pod["spec"].get("resourceClaims") or ():
        name = asked.get("resourceClaimName") or made.get(asked["name"])
        status = (claims.get(f"{pod['metadata']['namespace']}/{name}") or {}).get("status") or {}
        where = words.has_claim(key_of(pod), node, name)
        results = _results(status)
        if not results or any(each["pool"] != node for each in results):
            yield words.no_devices(where)
        group = (pod["spec"].get("schedulingGroup") or {}).get("podGroupName")
        users = status.get("reservedFor") or ()
        if all(each["uid"] != uid and not (_is_group(each) and each["name"] == group) for each in users):
            yield words.not_reserved(where)


def _results(status: Obj) -> Sequence[Obj]:
    return ((status.get("allocation") or {}).get("devices") or {}).get("results") or ()


def _twice(claims: Iterable[Obj]) -> Iterator[str]:
    seen: dict[tuple[str, str, str], str] = {}
    for claim in claims:
        for each in _results(claim.get("status") or {}):
            device = each["driver"], each["pool"], each["device"]
            if device in seen:
                yield words.two_owners("/".join(device), seen[device], key_of(claim))
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
            state = words.WITHOUT_NODE if known in placed else words.IS_GONE
            yield words.reserved_for(key_of(claim), user["name"], state)
    if status.get("allocation") and not users:
        yield words.devices_for_nobody(key_of(claim))


def _is_group(consumer: Obj) -> bool:
    return bool(consumer["resource"] == "podgroups")
