"""What the API server said about bindings that it refused, and the nodes that pods are excluded from for it.

A refusal by admission concerns one node: the pod is excluded from it as long as neither of them changes, for a time
that doubles with each round of refusals. So it goes elsewhere at once, and is tried again where there is nowhere else.
All nodes that refuse it until then are one round: a webhook that fails for a moment says no for each of them.
"""

from __future__ import annotations

import heapq
from collections.abc import Mapping

import msgspec

from vsched.kube.backoff import doubled

REMEMBERED = 10_000
"""How many pods are remembered; the oldest are dropped first."""
NODES_MAX = 256
"""How many nodes a pod is excluded from at most; the oldest are dropped first."""
LONGEST = 300
"""The longest message; some of them quote whole objects."""
FIRST_SECONDS, CEILING_SECONDS = 5.0, 300.0
"""How long a pod is excluded from nodes after the last refusal of its first round; it doubles with each, up to the
ceiling."""


class _Refusals(msgspec.Struct):
    """What is remembered of a pod."""

    message: str
    """The last one."""
    nodes: dict[str, None]
    """In the order of the refusals."""
    rounds: int = 0
    """How often admission began to refuse its bindings."""
    until: float = 0.0
    """When the pod may be tried again on all nodes."""


class RefusedBindings:
    """Refusals by the pod's uid; those of pods that were not refused for longest come first."""

    def __init__(self, remembered: int = REMEMBERED) -> None:
        self._remembered = remembered
        self._pods: dict[str, _Refusals] = {}
        self._by_node: dict[str, dict[str, None]] = {}
        """The uids of the pods that are excluded from a node."""
        self._due: list[tuple[float, str]] = []
        """A heap: when pods may be tried again. Entries that no longer hold are passed over."""
        self._published: dict[str, str] = {}

    def note(self, uid: str, message: str, node: str = "", at: float = 0.0) -> list[str]:
        """A binding was refused, by admission for this node where one is named; returns the pods that are dropped."""
        shown = message if len(message) <= LONGEST else f"{message[: LONGEST - 1]}…"
        known = self._pods.pop(uid, None) or _Refusals(shown, {})
        known.message, nodes = shown, known.nodes
        self._pods[uid] = known
        if node:
            known.rounds += not nodes or node in nodes
            nodes.pop(node, None)
            nodes[node] = None
            self._by_node.setdefault(node, {})[uid] = None
            if len(nodes) > NODES_MAX:
                self._take(uid, next(iter(nodes)), nodes)
            known.until = at + doubled(FIRST_SECONDS, CEILING_SECONDS, known.rounds)
            heapq.heappush(self._due, (known.until, uid))
        self._published = {}
        if len(self._pods) <= self._remembered:
            return []
        oldest = next(iter(self._pods))
        self.drop(oldest)
        return [oldest]

    def drop(self, uid: str) -> bool:
        """The pod was bound, has changed, or is gone; True where something was known of it."""
        known = self._pods.pop(uid, None)
        if known is None:
            return False
        for node in list(known.nodes):
            self._take(uid, node, known.nodes)
        self._published = {}
        return True

    def nodes(self, uid: str) -> tuple[str, ...]:
        """The nodes that a pod is excluded from, sorted."""
        known = self._pods.get(uid)
        return () if known is None else tuple(sorted(known.nodes))

    def forget_node(self, node: str) -> list[str]:
        """The node has changed, or is gone; returns the pods that were excluded from it."""
        uids = list(self._by_node.get(node, ()))
        for uid in uids:
            self._take(uid, node, self._pods[uid].nodes)
        return uids

    def expire(self, now: float) -> list[str]:
        """Let pods be tried again on nodes that refused them long enough ago; returns these pods."""
        over: list[str] = []
        while self._due and self._due[0][0] <= now:
            until, uid = heapq.heappop(self._due)
            known = self._pods.get(uid)
            if known is not None and known.until == until and known.nodes:
                for node in list(known.nodes):
                    self._take(uid, node, known.nodes)
                over.append(uid)
        return over

    def publish(self) -> Mapping[str, str]:
        """All messages; immutable, and the same object while nothing is new."""
        if self._pods and not self._published:
            self._published = {uid: known.message for uid, known in self._pods.items()}
        return self._published

    def _take(self, uid: str, node: str, nodes: dict[str, None]) -> None:
        """A pod is not excluded from a node any more."""
        nodes.pop(node, None)
        uids = self._by_node[node]
        uids.pop(uid, None)
        if not uids:
            del self._by_node[node]
