"""The keys of pods by controller and by node. The pods themselves are read from the store.

A pod that a controller creates is noted at once, so that it is not created twice before its event arrives.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable

from vsched.sim.client import LocalClient
from vsched.sim.controllers.objects import controller_uid, split_key
from vsched.sim.store.kinds import Obj
from vsched.sim.store.store import key_of


class PodIndex:
    """The engine keeps it up to date."""

    def __init__(self, client: LocalClient) -> None:
        self._client = client
        self._by_owner: dict[str, dict[str, None]] = defaultdict(dict)
        self._by_node: dict[str, dict[str, None]] = defaultdict(dict)
        self._places: dict[str, tuple[str, str]] = {}

    def note(self, pod: Obj, *, gone: bool) -> None:
        key = key_of(pod)
        place = ("", "") if gone else (controller_uid(pod), pod["spec"].get("nodeName") or "")
        if self._places.get(key, ("", "")) == place:
            return
        owner, node = self._places.pop(key, ("", ""))
        _drop(self._by_owner, owner, key)
        _drop(self._by_node, node, key)
        if place == ("", ""):
            return
        self._places[key] = place
        if place[0]:
            self._by_owner[place[0]][key] = None
        if place[1]:
            self._by_node[place[1]][key] = None

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

    def in_namespace(self, namespace: str) -> list[Obj]:
        return self._client.list("pods", namespace)

    def _read(self, keys: Iterable[str]) -> list[Obj]:
        found = (self._client.get("pods", *split_key(key)) for key in list(keys))
        return [pod for pod in found if pod is not None]


def _drop(index: dict[str, dict[str, None]], owner: str, key: str) -> None:
    keys = index.get(owner)
    if keys is not None:
        keys.pop(key, None)
        if not keys:
            del index[owner]
