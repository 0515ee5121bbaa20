"""The controller that gives ResourceClaims back when nobody uses them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import ClassVar

from vsched.apimachinery.meta.kinds import Obj, without
from vsched.apimachinery.meta.objects import (
    is_deleting,
    split_key,
    without_finalizer,
)
from vsched.apimachinery.workloads.actions import Action, Update, delete, set_status
from vsched.sim.client import LocalClient
from vsched.sim.controllers.controller import Controller
from vsched.sim.controllers.devices.objects import (
    CLAIM_CONTROLLER,
    CLAIMS,
    FINALIZER,
    GROUPS,
    consumers_of,
    is_done,
    owner_of,
)
from vsched.sim.controllers.pod_index import PodIndex
from vsched.sim.store.store import key_of


class ResourceClaims(Controller):
    """Takes consumers that are gone off the claims, and gives the devices of claims back that nobody uses."""

    name: ClassVar[str] = "resource claims"
    primary: ClassVar[str] = CLAIMS
    component: ClassVar[str] = CLAIM_CONTROLLER
    watches: ClassVar[tuple[str, ...]] = (
        *(CLAIMS, "pods"),
        *(GROUPS, "scheduling.volcano.sh/podgroups"),
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
        key, owner = key_of(claim), owner_of(claim, "Pod")
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
        owner = owner_of(claim, "Pod")
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
