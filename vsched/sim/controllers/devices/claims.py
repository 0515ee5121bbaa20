"""The controllers of ResourceClaims: claims are made from templates for pods, and given back when nobody uses them."""

from __future__ import annotations

import hashlib
from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import ClassVar

from vsched.sim.client import LocalClient
from vsched.sim.controllers.actions import Action, Create, Tell, Update, delete, set_status
from vsched.sim.controllers.controller import Controller
from vsched.sim.controllers.devices.objects import (
    API_VERSION,
    CLAIMS,
    FINALIZER,
    POD_CLAIM_NAME,
    TEMPLATES,
    consumers_of,
    is_done,
    owning_pod,
)
from vsched.sim.controllers.objects import (
    SAFE_ALPHABET,
    is_deleting,
    is_finished,
    reference_to,
    split_key,
    without_finalizer,
)
from vsched.sim.controllers.pod_claims import is_owned_by, resource_claims
from vsched.sim.controllers.pod_index import PodIndex
from vsched.sim.store.kinds import Obj, without
from vsched.sim.store.store import key_of

CLAIM_CONTROLLER = "resource_claim"
_SUFFIX_CHARS, _BASE_CHARS = 5, 58


class PodResourceClaims(Controller):
    """Makes the claims of pods that name templates, and writes their names into the status of the pods."""

    name: ClassVar[str] = "resource claims of pods"
    primary: ClassVar[str] = "pods"
    component: ClassVar[str] = CLAIM_CONTROLLER
    only_pods_with_claims: ClassVar[bool] = True
    watches: ClassVar[tuple[str, ...]] = ("pods", TEMPLATES, CLAIMS)

    def __init__(self, client: LocalClient, pod_index: PodIndex) -> None:
        super().__init__(client, pod_index)
        self._waiting: dict[str, dict[str, None]] = defaultdict(dict)
        """The pods that wait for a template."""
        self._made: dict[str, dict[str, str]] = defaultdict(dict)
        """The claims that were made for a pod (by uid), by their names in its spec."""

    def affected(self, resource: str, obj: Obj, old: Obj | None, *, gone: bool) -> Iterable[str]:
        if resource == TEMPLATES:
            return () if gone else self._waiting.pop(key_of(obj), ())
        if resource == CLAIMS:
            self._note_claim(obj, gone=gone)
            return self.pod_index.keys_of_resource_claim(key_of(obj)) if gone else ()
        if gone or not obj["spec"].get("resourceClaims"):
            return ()
        return (key_of(obj),) if old is None or None in resource_claims(obj).values() else ()

    def _note_claim(self, claim: Obj, *, gone: bool) -> None:
        owner, metadata = owning_pod(claim), claim["metadata"]
        name = (metadata.get("annotations") or {}).get(POD_CLAIM_NAME)
        if owner is None or not name:
            return
        made = self._made[owner["uid"]]
        if not gone:
            made[name] = metadata["name"]
        elif made.get(name) == metadata["name"]:
            del made[name]
        if not made:
            del self._made[owner["uid"]]

    def reconcile(self, key: str) -> Sequence[Action]:
        pod = self.find(key)
        if pod is None or is_deleting(pod) or is_finished(pod):
            return ()
        known, actions = resource_claims(pod), list[Action]()
        names = {each["name"]: each.get("resourceClaimName") for each in _statuses(pod)}
        for entry in pod["spec"].get("resourceClaims") or ():
            if not entry.get("resourceClaimTemplateName") or entry["name"] not in known:
                continue
            name, more = self._claim_for(pod, entry, known[entry["name"]])
            actions += more
            if name:
                names[entry["name"]] = name
        statuses = [
            {"name": entry, **({"resourceClaimName": claim} if claim else {})} for entry, claim in names.items()
        ]
        if statuses != _statuses(pod):
            actions += set_status("pods", pod, {**pod["status"], "resourceClaimStatuses": statuses})
        return actions

    def _claim_for(self, pod: Obj, entry: Obj, known: str | None) -> tuple[str, list[Action]]:
        """The name of the claim for an entry, and what makes it; no name if it cannot be made yet."""
        namespace, uid = pod["metadata"]["namespace"], pod["metadata"]["uid"]
        for name in (known, self._made.get(uid, {}).get(entry["name"])):
            claim = self.client.get(CLAIMS, namespace, name) if name else None
            if claim is not None and is_owned_by(claim, pod):
                return claim["metadata"]["name"], []
        source = entry["resourceClaimTemplateName"]
        template = self.client.get(TEMPLATES, namespace, source)
        if template is None:
            self._waiting[f"{namespace}/{source}"][key_of(pod)] = None
            missing = f'resourceclaimtemplate.resource.k8s.io "{source}" not found'
            why = f'PodResourceClaim {entry["name"]}: resource claim template "{source}": {missing}'
            return "", [Tell("pods", pod, "FailedResourceClaimCreation", why, warning=True)]
        name = self._free_name(pod, entry["name"])
        return name, [Create(CLAIMS, _claim_from(template, pod, entry["name"], name))]

    def _free_name(self, pod: Obj, entry: str) -> str:
        """A name of the form that the API server generates; the same for the same pod, unless it is taken."""
        metadata, attempt = pod["metadata"], 0
        while True:
            name = _base(pod, entry) + _suffix(f"{metadata['uid']} {entry} {attempt}")
            if self.client.get(CLAIMS, metadata["namespace"], name) is None:
                return name
            attempt += 1


def _statuses(pod: Obj) -> list[Obj]:
    return list((pod.get("status") or {}).get("resourceClaimStatuses") or ())


def _base(pod: Obj, entry: str) -> str:
    return f"{pod['metadata']['name']}-{entry}-"[:_BASE_CHARS]


def _suffix(text: str) -> str:
    digest = hashlib.sha256(text.encode()).digest()
    return "".join(SAFE_ALPHABET[byte % len(SAFE_ALPHABET)] for byte in digest[:_SUFFIX_CHARS])


def _claim_from(template: Obj, pod: Obj, entry: str, name: str) -> Obj:
    given = template["spec"].get("metadata") or {}
    metadata: Obj = {
        "name": name,
        "generateName": _base(pod, entry),
        "namespace": pod["metadata"]["namespace"],
        "annotations": {**(given.get("annotations") or {}), POD_CLAIM_NAME: entry},
        "ownerReferences": [reference_to(pod, "v1", "Pod")],
    }
    if given.get("labels"):
        metadata["labels"] = given["labels"]
    return {"apiVersion": API_VERSION, "kind": "ResourceClaim", "metadata": metadata, "spec": template["spec"]["spec"]}


class ResourceClaims(Controller):
    """Takes consumers that are gone off the claims, and gives the devices of claims back that nobody uses."""

    name: ClassVar[str] = "resource claims"
    primary: ClassVar[str] = CLAIMS
    component: ClassVar[str] = CLAIM_CONTROLLER
    watches: ClassVar[tuple[str, ...]] = (
        *(CLAIMS, "pods"),
        *("scheduling.k8s.io/podgroups", "scheduling.volcano.sh/podgroups"),
    )

    def __init__(self, client: LocalClient, pod_index: PodIndex) -> None:
        super().__init__(client, pod_index)
        self._users: dict[str, tuple[str, ...]] = {}
        """The uids of the consumers and the owner of a claim."""
        self._claims_of: dict[str, dict[str, None]] = defaultdict(dict)
        """The claims of a consumer or an owner, by uid."""

    def affected(self, resource: str, obj: Obj, old: Obj | None, *, gone: bool) -> Iterable[str]:
        if resource == CLAIMS:
            self._note(obj, gone=gone)
            return () if gone else (key_of(obj),)
        if not gone and (resource != "pods" or not is_done(obj)):
            return ()
        return list(self._claims_of.get(obj["metadata"]["uid"], ()))

    def _note(self, claim: Obj, *, gone: bool) -> None:
        key, owner = key_of(claim), owning_pod(claim)
        users = dict.fromkeys(each["uid"] for each in consumers_of(claim))
        if owner is not None:
            users[owner["uid"]] = None
        now = () if gone else tuple(users)
        before = self._users.pop(key, ())
        if now:
            self._users[key] = now
        for uid in before:
            if uid not in now:
                self._claims_of[uid].pop(key, None)
                if not self._claims_of[uid]:
                    del self._claims_of[uid]
        for uid in now:
            self._claims_of[uid][key] = None

    def reconcile(self, key: str) -> Sequence[Action]:
        claim = self.find(key)
        if claim is None:
            return ()
        consumers, namespace = consumers_of(claim), split_key(key)[0]
        left = [each for each in consumers if self._uses(each, namespace)]
        if left and len(left) < len(consumers):
            return set_status(CLAIMS, claim, {**claim["status"], "reservedFor": left})
        if left:
            return ()
        if consumers or (is_deleting(claim) and FINALIZER in (claim["metadata"].get("finalizers") or ())):
            return _give_back(claim)
        if not is_deleting(claim) and not self._owner_needs(claim, namespace):
            return [delete(CLAIMS, claim)]
        return ()

    def _uses(self, consumer: Obj, namespace: str) -> bool:
        """Whether a consumer still needs its claim; one of a kind that is not served here does."""
        group, resource = consumer.get("apiGroup") or "", consumer["resource"]
        path = f"{group}/{resource}" if group else resource
        try:
            found = self.client.get(path, namespace, consumer["name"])
        except KeyError:
            return True
        if found is None or found["metadata"]["uid"] != consumer["uid"]:
            return False
        return path != "pods" or not is_done(found)

    def _owner_needs(self, claim: Obj, namespace: str) -> bool:
        """Whether the pod that a claim was made for may still need it; true for claims that people made."""
        owner = owning_pod(claim)
        if owner is None:
            return True
        pod = self.client.get("pods", namespace, owner["name"])
        return pod is not None and pod["metadata"]["uid"] == owner["uid"] and not is_done(pod)


def _give_back(claim: Obj) -> list[Action]:
    """Frees the devices of a claim, and then takes its protection away."""
    status = without(claim.get("status") or {}, ("reservedFor", "allocation", "devices"))
    actions = set_status(CLAIMS, claim, status)
    finalizers = claim["metadata"].get("finalizers") or ()
    if FINALIZER not in finalizers:
        return actions
    # Without its resourceVersion, which the write of the status changes.
    bare = without_finalizer(claim, FINALIZER)
    return [*actions, Update(CLAIMS, {**bare, "metadata": without(bare["metadata"], ("resourceVersion",))})]
