"""Whether another scheduler may place a pod: would its namespace hold more than it may?

The other scheduler asks before it binds, and the mirror sees the binding some time later. In between the pod is
*granted*: it counts as held. So two pods asked about shortly after one another cannot both get the last room of their
namespace, of a bucket, or of what is lent. Only pods that the mirror knows are let through, with the amounts that the
mirror knows. Anyone who can reach the port can invent pods, and invented pods must not occupy room.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterable, Mapping
from enum import Enum, auto
from typing import NamedTuple

import msgspec

from vsched.arbitrator.ceilings import bounds_of, members_of, part_of
from vsched.model.amounts.counted import NOTHING, Counted, summed
from vsched.model.arbitration.pooled import Pooled, PoolPart, overfull
from vsched.model.arbitration.records import SYSTEM_NAMESPACE, Division

GRANT_SECONDS = 10.0
"""How long a granted pod counts as held before its binding is seen: about the longest time schedulers take to bind."""
MOST_GRANTS = 10_000
"""The largest number of grants, enough for a thousand pods a second; beyond it the oldest are dropped."""


class PlacementRequest(msgspec.Struct, frozen=True):
    """A pod that another scheduler wants to place."""

    namespace: str
    name: str
    uid: str
    amounts: Counted
    """Its requests, ``pods: 1`` included, and its limits."""


class PodState(Enum):
    """What the mirror knows of a pod."""

    UNKNOWN = auto()
    """The mirror has no such pod: it has not arrived yet, or it is deleted."""
    WAITING = auto()
    """The mirror has it, without a node."""
    PLACED = auto()
    """It has a node, or is finished; the mirror counts it already."""


class Seen(NamedTuple):
    """A pod as the mirror has it."""

    sight: PodState
    asking: PlacementRequest | None = None
    """None for an unknown pod."""
    ours: bool = False
    """vsched places this pod itself, so the other scheduler is not about to."""


Look = Callable[[str], Seen]
"""What the mirror knows of the pod of this uid."""


class ExtenderAnswer(NamedTuple):
    """The answer to the other scheduler."""

    refusal: str | None = None
    """Why the pod may not be placed; None if it may."""
    seen: bool = True
    """False if the mirror does not know the pod yet and nothing else speaks against it: not decided yet."""


class _Grant(msgspec.Struct):
    asking: PlacementRequest
    until: float


class Grants:
    """Pods that may be placed and have not been seen on a node yet. Callers pass the time as monotonic seconds."""

    def __init__(self, seconds: float = GRANT_SECONDS, most: int = MOST_GRANTS) -> None:
        self._seconds = seconds
        self._most = most
        self._grants: OrderedDict[str, _Grant] = OrderedDict()
        """By uid, the first to expire first."""
        self._totals: dict[str, dict[str, int]] = {}
        """Granted amounts by namespace."""
        self.changed: set[str] = set()
        """Namespaces whose granted amounts have changed; the reader clears it."""

    def __len__(self) -> int:
        return len(self._grants)

    def put(self, asking: PlacementRequest, now: float) -> None:
        """Grant a pod; granting it again renews the grant."""
        self.drop(asking.uid)
        self._grants[asking.uid] = _Grant(asking, now + self._seconds)
        self._add(asking, 1)
        if len(self._grants) > self._most:
            self.drop(next(iter(self._grants)))

    def drop(self, uid: str) -> None:
        """Remove the grant of a pod, if it has one."""
        grant = self._grants.pop(uid, None)
        if grant is not None:
            self._add(grant.asking, -1)

    def held(self, namespace: str) -> Counted:
        """The amounts granted to pods of a namespace. They include pods placed since the last ``settle``."""
        return self._totals.get(namespace, NOTHING)

    def settle(self, look: Look) -> bool:
        """Drop the grants of pods that are placed or gone; True if there were any. Looks at every grant."""
        settled = [uid for uid in self._grants if look(uid).sight is not PodState.WAITING]
        for uid in settled:
            self.drop(uid)
        return bool(settled)

    def expire(self, now: float) -> None:
        """Drop the grants that have expired."""
        while self._grants:
            uid, grant = next(iter(self._grants.items()))
            if grant.until > now:
                break
            self.drop(uid)

    def totals(self) -> Mapping[str, Counted]:
        """A copy of the granted amounts by namespace."""
        return {namespace: dict(total) for namespace, total in self._totals.items()}

    def _add(self, asking: PlacementRequest, sign: int) -> None:
        namespace = asking.namespace
        total = self._totals.setdefault(namespace, {})
        for name, value in asking.amounts.items():
            total[name] = total.get(name, 0) + sign * value
        if not any(total.values()):
            del self._totals[namespace]
        self.changed.add(namespace)


class Gate:
    """Decides on pods that other schedulers ask about, and keeps grants for those it lets through."""

    def __init__(self, held: Callable[[str], Counted], look: Look, grants: Grants | None = None) -> None:
        self._held = held
        """Returns what the pods of a namespace keep."""
        self._look = look
        self.grants = Grants() if grants is None else grants
        self._pooled: Pooled[str] | None = None

    def use(self, division: Division, *, lends: bool) -> None:
        """Decide by a new division from now on."""
        awards, parts = division.namespaces, dict[str, PoolPart[str] | None]()

        def part(namespace: str) -> PoolPart[str] | None:
            if namespace not in parts:
                award = None if namespace == SYSTEM_NAMESPACE else awards.get(namespace)
                parts[namespace] = None if award is None else part_of(award, division, lends=lends)
            return parts[namespace]

        self._pooled = Pooled(part, bounds_of(division), lambda: members_of(division), self._with_grants)

    def moved(self, namespaces: Iterable[str]) -> None:
        """Note that these namespaces keep other amounts than before."""
        self.grants.changed.update(namespaces)

    def judge(self, asking: PlacementRequest, now: float) -> ExtenderAnswer:
        """Whether the pod may be placed. Before the first division no pod is refused."""
        if asking.namespace == SYSTEM_NAMESPACE:
            return ExtenderAnswer()
        seen = self._look(asking.uid)
        known = seen.asking
        if known is not None and (known.namespace, known.name) != (asking.namespace, asking.name):
            seen = Seen(PodState.UNKNOWN)  # the uid belongs to another pod
        if seen.sight is PodState.PLACED:
            return ExtenderAnswer()
        pod = asking if seen.asking is None else seen.asking
        self.grants.drop(pod.uid)
        self.grants.expire(now)
        text = self._refusal(pod)
        # Most pods pass even if every grant counts, so the grants are checked one by one only before a refusal.
        if text is not None and self.grants.settle(self._look):
            text = self._refusal(pod)
        if text is not None:
            return ExtenderAnswer(text)
        if seen.sight is PodState.UNKNOWN:
            return ExtenderAnswer(seen=False)
        if not seen.ours:
            self.grants.put(pod, now)
        return ExtenderAnswer()

    def granted(self, now: float) -> Mapping[str, Counted]:
        """The amounts by namespace that are granted and not yet seen on a node."""
        self.grants.expire(now)
        self.grants.settle(self._look)
        return self.grants.totals()

    def _refusal(self, asking: PlacementRequest) -> str | None:
        if self._pooled is None:
            return None
        for namespace in self.grants.changed:
            self._pooled.see(namespace, self._with_grants(namespace))
        self.grants.changed.clear()
        beyond = self._pooled.excess(asking.namespace, sorted(asking.amounts.items()))
        return overfull(asking.namespace, [(one.key, one) for one in beyond]) if beyond else None

    def _with_grants(self, namespace: str) -> Counted:
        granted = self.grants.held(namespace)
        return summed((self._held(namespace), granted)) if granted else self._held(namespace)
