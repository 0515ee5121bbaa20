"""Applies the objects of manifests to an embedded cluster."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from vsched.apimachinery.manifests.documents import FIRST_KINDS, Manifest
from vsched.apimachinery.meta.api_errors import Failure
from vsched.apimachinery.meta.kinds import Kind, KindRegistry, Obj
from vsched.errors import BadObject
from vsched.sim.client import LocalClient

_SERVER_OWNED = (
    "uid",
    "resourceVersion",
    "creationTimestamp",
    "generation",
    "managedFields",
    "selfLink",
    "deletionTimestamp",
    "deletionGracePeriodSeconds",
)


def apply_all(client: LocalClient, registry: KindRegistry, manifests: Iterable[Manifest]) -> None:
    """Creates or updates the objects; raises BadObject with the place of an object that is rejected."""
    ranks = {kind: rank for rank, kind in enumerate(FIRST_KINDS)}
    ordered = sorted(manifests, key=lambda each: ranks.get(each.obj["kind"], len(ranks)))
    uids: dict[str, str] = {}
    made: list[tuple[Manifest, str, Obj]] = []
    claimed: list[tuple[str, Obj]] = []
    for manifest in ordered:
        kind = registry.of(manifest.obj["apiVersion"], manifest.obj["kind"])
        if kind is None:
            version, name = manifest.obj["apiVersion"], manifest.obj["kind"]
            raise BadObject(f'{manifest.where}: no kind "{name}" is served in version "{version}"')
        try:
            obj = _apply(client, kind, manifest.obj)
        except Failure as failure:
            raise BadObject(f"{manifest.where}: {failure.message}") from None
        if old_uid := manifest.obj["metadata"].get("uid"):
            uids[old_uid] = obj["metadata"]["uid"]
        if manifest.obj["metadata"].get("ownerReferences"):
            made.append((manifest, kind.path, obj))
        if kind.kind in ("PersistentVolume", "ResourceClaim"):
            claimed.append((kind.path, obj))
    for resource, obj in claimed:
        _relink_claim(client, resource, obj, uids)
    for manifest, resource, obj in made:
        _relink(client, resource, obj, manifest.obj["metadata"]["ownerReferences"], uids)


def _apply(client: LocalClient, kind: Kind, obj: Obj) -> Obj:
    given = obj["metadata"]
    metadata = {key: value for key, value in given.items() if key not in (*_SERVER_OWNED, "ownerReferences")}
    if kind.namespaced:
        metadata.setdefault("namespace", "default")
    wanted = {**obj, "metadata": metadata}
    namespace, resource = metadata.get("namespace", ""), kind.path
    old = client.get(resource, namespace, metadata["name"]) if metadata.get("name") else None
    if old is None:
        stored = client.create(resource, wanted)
    else:
        merged = {**old["metadata"], **metadata}
        stored = client.update(resource, {**old, **wanted, "metadata": merged})
    status = obj.get("status")
    if status and kind.has_status and kind.kind != "Node":
        name = stored["metadata"]["name"]
        client.patch_status(
            resource, namespace, name, lambda now: {**now, "status": {**now.get("status", {}), **status}}
        )
    return stored


def _relink(client: LocalClient, resource: str, obj: Obj, references: Sequence[Obj], uids: dict[str, str]) -> None:
    """Sets owner references with the new uids of their owners, without references to objects that were not applied."""
    kept = [{**each, "uid": uids[each["uid"]]} for each in references if each.get("uid") in uids]
    current = client.get(resource, obj["metadata"].get("namespace", ""), obj["metadata"]["name"])
    if kept and current is not None:
        client.update(resource, {**current, "metadata": {**current["metadata"], "ownerReferences": kept}})


def _relink_claim(client: LocalClient, resource: str, obj: Obj, uids: dict[str, str]) -> None:
    """Has a volume name its claim, and a resource claim its consumers, by their new uids."""
    namespace, name = obj["metadata"].get("namespace", ""), obj["metadata"]["name"]
    reference = obj.get("spec", {}).get("claimRef") or {}
    if reference.get("uid") in uids:
        named = {**reference, "uid": uids[reference["uid"]]}
        client.patch(resource, namespace, name, lambda now: {**now, "spec": {**now["spec"], "claimRef": named}})
    current = client.get(resource, namespace, name)
    consumers = ((current or {}).get("status") or {}).get("reservedFor") or ()
    if any(each.get("uid") in uids for each in consumers):
        kept = [{**each, "uid": uids.get(each["uid"], each["uid"])} for each in consumers]
        client.patch_status(
            resource, namespace, name, lambda now: {**now, "status": {**now["status"], "reservedFor": kept}}
        )
