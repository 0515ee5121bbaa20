"""The keys of pods by controller, by node and by claim. The pods themselves are read from the store.

A pod that a controller creates is noted at once, so that it is not created twice before its event arrives.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator

from vsched.apimachinery.meta.kinds import Obj
from vsched.apimachinery.meta.objects import controller_uid, split_key
from vsched.sim.client import LocalClient
from vsched.sim.controllers.pod_claims import has_claims, resource_claims, volume_claims
from vsched.sim.store.store import key_of

_Place = tuple[str, str, tuple[str, ...], tuple[str, ...]]
"""Controller, node, volume claims and resource claims of a pod."""
_NOWHERE: _Place = ("", "", (), ())


class PodIndex:
    """The engine keeps it up to date."""

    def __init__(self, client: LocalClient) -> None:
        self._client = client
        self._by_owner: dict[str, dict[str, None]] = defaultdict(dict)
        self._by_node: dict[str, dict[str, None]] = defaultdict(dict)
        self._by_volume_claim: dict[str, dict[str, None]] = defaultdict(dict)
        self._by_resource_claim: dict[str, dict[str, None]] = defaultdict(dict)
        self._places: dict[str, _Place] = {}

    def note(self, pod: Obj, *, gone: bool) -> None:
        key = key_of(pod)
        place = _NOWHERE if gone else _place_of(pod)
        before = self._places.get(key, _NOWHERE)
        if before == place:
            return
        for index, name in self._entries(before):
            _drop(index, name, key)
        if place == _NOWHERE:
            del self._places[key]
            return
        self._places[key] = place
        for index, name in self._entries(place):
            index[name][key] = None

    def _entries(self, place: _Place) -> Iterator[tuple[dict[str, dict[str, None]], str]]:
        owner, node, volume_claims, resource_claims = place
        if owner:
            yield self._by_owner, owner
        if node:
            yield self._by_node, node
        for name in volume_claims:
            yield self._by_volume_claim, name
        for name in resource_claims:
            yield self._by_resource_claim, name

    def owned_by(self, owner: Obj) -> list[Obj]:
        """The pods whose controller is the owner."""
        uid = owner["metadata"]["uid"]
        return [pod for pod in self._read(self._by_owner.get(uid, ())) if controller_uid(pod) == uid]

    def keys_on(self, node: str) -> list[str]:
        return list(self._by_node.get(node, ()))

    def on(self, node: str) -> list[Obj]:
        """The pods bound to the node."""
        return self._read(self._by_node.get(node, ()))

    def nodes(self) -> list[str]:
        """The names of nodes that pods are bound to; the nodes may not exist."""
        return list(self._by_node)

    def keys_of_volume_claim(self, claim: str) -> list[str]:
        """The pods that name this PersistentVolumeClaim (``namespace/name``)."""
        return list(self._by_volume_claim.get(claim, ()))

    def of_volume_claim(self, claim: str) -> list[Obj]:
        return self._read(self._by_volume_claim.get(claim, ()))

    def keys_of_resource_claim(self, claim: str) -> list[str]:
        """The pods that use this ResourceClaim (``namespace/name``), as far as they know its name."""
        return list(self._by_resource_claim.get(claim, ()))

    def in_namespace(self, namespace: str) -> list[Obj]:
        return self._client.list("pods", namespace)

    def _read(self, keys: Iterable[str]) -> list[Obj]:
        found = (self._client.get("pods", *split_key(key)) for key in list(keys))
        return [pod for pod in found if pod is not None]


def _place_of(pod: Obj) -> _Place:
    owner, node = controller_uid(pod), pod["spec"].get("nodeName") or ""
    if not has_claims(pod):
        return owner, node, (), ()
    namespace = pod["metadata"]["namespace"]
    volumes = tuple(f"{namespace}/{name}" for name in volume_claims(pod).values())
    return owner, node, volumes, tuple(f"{namespace}/{name}" for name in resource_claims(pod).values() if name)


def _drop(index: dict[str, dict[str, None]], name: str, key: str) -> None:
    keys = index.get(name)
    if keys is not None:
        keys.pop(key, None)
        if not keys:
            del index[name]
