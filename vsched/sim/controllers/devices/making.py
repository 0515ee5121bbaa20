"""Makes ResourceClaims from templates: for pods, and for native PodGroups, whose pods share them."""

from __future__ import annotations

import hashlib
from abc import abstractmethod
from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import ClassVar

from vsched.apimachinery.meta.kinds import Obj
from vsched.apimachinery.meta.objects import SAFE_ALPHABET, is_deleting, is_finished, reference_to
from vsched.apimachinery.workloads.actions import Action, Create, Tell, set_status
from vsched.sim.client import LocalClient
from vsched.sim.controllers.controller import Controller
from vsched.sim.controllers.devices.objects import (
    API_VERSION,
    CLAIM_CONTROLLER,
    CLAIMS,
    GROUP_CLAIM_NAME,
    GROUPS,
    POD_CLAIM_NAME,
    TEMPLATES,
    owner_of,
)
from vsched.sim.controllers.pod_claims import is_owned_by, resource_claims
from vsched.sim.controllers.pod_index import PodIndex
from vsched.sim.store.store import key_of

_SUFFIX_CHARS, _BASE_CHARS = 5, 58


class ClaimMaker(Controller):
    """Makes the claims of objects of one kind, and writes their names into ``status.resourceClaimStatuses``."""

    component: ClassVar[str] = CLAIM_CONTROLLER
    owner_kind: ClassVar[str]
    mark: ClassVar[str]
    """The annotation of a claim that names the entry it was made for."""

    def __init__(self, client: LocalClient, pod_index: PodIndex) -> None:
        super().__init__(client, pod_index)
        self._waiting: dict[str, dict[str, None]] = defaultdict(dict)
        """The owners that wait for a template."""
        self._made: dict[str, dict[str, str]] = defaultdict(dict)
        """The claims that were made for an owner (by uid), by the names of their entries."""

    @abstractmethod
    def owner_reference(self, owner: Obj) -> Obj:
        """The reference to the owner of a claim."""

    def note_claim(self, claim: Obj, *, gone: bool) -> None:
        """A claim was made, has changed or is gone."""
        owner, metadata = owner_of(claim, self.owner_kind), claim["metadata"]
        name = (metadata.get("annotations") or {}).get(self.mark)
        if owner is None or not name:
            return
        made = self._made[owner["uid"]]
        if not gone:
            made[name] = metadata["name"]
        elif made.get(name) == metadata["name"]:
            del made[name]
        if not made:
            del self._made[owner["uid"]]

    def templates_changed(self, template: Obj, *, gone: bool) -> Iterable[str]:
        """The owners that waited for a template."""
        return () if gone else self._waiting.pop(key_of(template), ())

    def claim_for(self, owner: Obj, entry: Obj, known: str | None) -> tuple[str, list[Action]]:
        """The name of the claim for an entry, and what makes it; no name if it cannot be made yet."""
        namespace, uid = owner["metadata"]["namespace"], owner["metadata"]["uid"]
        for name in (known, self._made.get(uid, {}).get(entry["name"])):
            claim = self.client.get(CLAIMS, namespace, name) if name else None
            if claim is not None and is_owned_by(claim, owner):
                return claim["metadata"]["name"], []
        source = entry["resourceClaimTemplateName"]
        template = self.client.get(TEMPLATES, namespace, source)
        if template is None:
            self._waiting[f"{namespace}/{source}"][key_of(owner)] = None
            missing = f'resourceclaimtemplate.resource.k8s.io "{source}" not found'
            why = f'{self.owner_kind}ResourceClaim {entry["name"]}: resource claim template "{source}": {missing}'
            return "", [Tell(self.primary, owner, "FailedResourceClaimCreation", why, warning=True)]
        name = self._free_name(owner, entry["name"])
        return name, [Create(CLAIMS, self._claim_from(template, owner, entry["name"], name))]

    def with_statuses(self, owner: Obj, names: dict[str, str | None]) -> list[Action]:
        """What writes the claims of the entries into the status of the owner."""
        statuses = [
            {"name": entry, **({"resourceClaimName": claim} if claim else {})} for entry, claim in names.items()
        ]
        if statuses == statuses_of(owner):
            return []
        return set_status(self.primary, owner, {**(owner.get("status") or {}), "resourceClaimStatuses": statuses})

    def _free_name(self, owner: Obj, entry: str) -> str:
        """A name of the form that the API server generates; the same for the same owner, unless it is taken."""
        metadata, attempt = owner["metadata"], 0
        while True:
            name = _base(owner, entry) + _suffix(f"{metadata['uid']} {entry} {attempt}")
            if self.client.get(CLAIMS, metadata["namespace"], name) is None:
                return name
            attempt += 1

    def _claim_from(self, template: Obj, owner: Obj, entry: str, name: str) -> Obj:
        given = template["spec"].get("metadata") or {}
        metadata: Obj = {
            "name": name,
            "generateName": _base(owner, entry),
            "namespace": owner["metadata"]["namespace"],
            "annotations": {**(given.get("annotations") or {}), self.mark: entry},
            "ownerReferences": [self.owner_reference(owner)],
        }
        if given.get("labels"):
            metadata["labels"] = given["labels"]
        spec = template["spec"]["spec"]
        return {"apiVersion": API_VERSION, "kind": "ResourceClaim", "metadata": metadata, "spec": spec}


class PodResourceClaims(ClaimMaker):
    """Makes the claims of pods. Those that a pod shares with its PodGroup are made for the group."""

    name: ClassVar[str] = "resource claims of pods"
    primary: ClassVar[str] = "pods"
    owner_kind: ClassVar[str] = "Pod"
    mark: ClassVar[str] = POD_CLAIM_NAME
    only_pods_with_claims: ClassVar[bool] = True
    watches: ClassVar[tuple[str, ...]] = ("pods", TEMPLATES, CLAIMS, GROUPS)

    def __init__(self, client: LocalClient, pod_index: PodIndex) -> None:
        super().__init__(client, pod_index)
        self._awaiting_group: dict[str, dict[str, None]] = defaultdict(dict)
        """The pods that wait for their PodGroup, or for one of its claims."""

    def owner_reference(self, owner: Obj) -> Obj:
        return reference_to(owner, "v1", "Pod")

    def affected(self, resource: str, obj: Obj, old: Obj | None, *, gone: bool) -> Iterable[str]:
        if resource == TEMPLATES:
            return self.templates_changed(obj, gone=gone)
        if resource == GROUPS:
            return () if gone else self._awaiting_group.pop(key_of(obj), ())
        if resource == CLAIMS:
            self.note_claim(obj, gone=gone)
            return self.pod_index.keys_of_resource_claim(key_of(obj)) if gone else ()
        if gone or not obj["spec"].get("resourceClaims"):
            return ()
        return (key_of(obj),) if old is None or None in resource_claims(obj).values() else ()

    def reconcile(self, key: str) -> Sequence[Action]:
        pod = self.find(key)
        if pod is None or is_deleting(pod) or is_finished(pod):
            return ()
        known, actions = resource_claims(pod), list[Action]()
        names = {each["name"]: each.get("resourceClaimName") for each in statuses_of(pod)}
        wanted = [
            each
            for each in pod["spec"].get("resourceClaims") or ()
            if each.get("resourceClaimTemplateName") and each["name"] in known
        ]
        named = (pod["spec"].get("schedulingGroup") or {}).get("podGroupName")
        group = self._group(pod, named) if named and wanted else None
        for entry in wanted:
            if named and (group is None or entry in (group["spec"].get("resourceClaims") or ())):
                name, more = self._shared_claim(pod, named, group, entry), list[Action]()
            else:
                name, more = self.claim_for(pod, entry, known[entry["name"]])
            actions += more
            if name:
                names[entry["name"]] = name
        return [*actions, *self.with_statuses(pod, names)]

    def _group(self, pod: Obj, name: str) -> Obj | None:
        try:
            return self.client.get(GROUPS, pod["metadata"]["namespace"], name)
        except KeyError:
            return None

    def _shared_claim(self, pod: Obj, name: str, group: Obj | None, entry: Obj) -> str:
        """The claim that was made for the PodGroup; empty until there is one."""
        made = {} if group is None else {each["name"]: each for each in statuses_of(group)}
        found = str((made.get(entry["name"]) or {}).get("resourceClaimName") or "")
        if not found:
            self._awaiting_group[f"{pod['metadata']['namespace']}/{name}"][key_of(pod)] = None
        return found


class PodGroupResourceClaims(ClaimMaker):
    """Makes the claims of native PodGroups; the garbage collector deletes them with their group."""

    name: ClassVar[str] = "resource claims of PodGroups"
    primary: ClassVar[str] = GROUPS
    owner_kind: ClassVar[str] = "PodGroup"
    mark: ClassVar[str] = GROUP_CLAIM_NAME
    watches: ClassVar[tuple[str, ...]] = (GROUPS, TEMPLATES, CLAIMS)

    def owner_reference(self, owner: Obj) -> Obj:
        return reference_to(owner, self.client.kind(GROUPS).api_version, "PodGroup")

    def affected(self, resource: str, obj: Obj, old: Obj | None, *, gone: bool) -> Iterable[str]:
        if resource == TEMPLATES:
            return self.templates_changed(obj, gone=gone)
        if resource == CLAIMS:
            self.note_claim(obj, gone=gone)
            owner = owner_of(obj, self.owner_kind)
            return (f"{obj['metadata']['namespace']}/{owner['name']}",) if gone and owner is not None else ()
        return () if gone or not obj["spec"].get("resourceClaims") else (key_of(obj),)

    def reconcile(self, key: str) -> Sequence[Action]:
        group = self.find(key)
        if group is None or is_deleting(group):
            return ()
        actions = list[Action]()
        names = {each["name"]: each.get("resourceClaimName") for each in statuses_of(group)}
        for entry in group["spec"].get("resourceClaims") or ():
            if entry.get("resourceClaimTemplateName"):
                name, more = self.claim_for(group, entry, names.get(entry["name"]))
                actions += more
                if name:
                    names[entry["name"]] = name
        return [*actions, *self.with_statuses(group, names)]


def statuses_of(owner: Obj) -> list[Obj]:
    """The claims that were made for a pod or a PodGroup, as its status says."""
    return list((owner.get("status") or {}).get("resourceClaimStatuses") or ())


def _base(owner: Obj, entry: str) -> str:
    return f"{owner['metadata']['name']}-{entry}-"[:_BASE_CHARS]


def _suffix(text: str) -> str:
    digest = hashlib.sha256(text.encode()).digest()
    return "".join(SAFE_ALPHABET[byte % len(SAFE_ALPHABET)] for byte in digest[:_SUFFIX_CHARS])
