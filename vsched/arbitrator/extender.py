"""Whether another scheduler may place a pod: what its namespace keeps, and is about to, against what it may hold.

That scheduler asks before it binds, and the binding is seen some time after that. Until then the pod is *granted*: it
counts as held, so that two pods asked about in one breath do not both get the last of what there is: of their
namespace, of a bucket, or of what is lent. Only pods that the mirror knows are let through, as it knows them: whoever
can reach the port can make up others, and they must not hold anybody's room.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterable, Mapping
from enum import Enum, auto
from typing import NamedTuple

import msgspec

from vsched.arbitrator.ceilings import bounds_of, members_of, part_of
from vsched.model.amounts.counted import NOTHING, Counted, summed
from vsched.model.arbitration.pooled import Part, Pooled, overfull
from vsched.model.arbitration.records import SYSTEM_NAMESPACE, Division

GRANT_SECONDS = 10.0
"""How long a pod that may be placed counts as held unseen: as long as schedulers take to bind at worst, or nearly."""
MOST_GRANTS = 10_000
"""A thousand pods a second, none of them ever seen: beyond that the oldest are forgotten."""


class Asking(msgspec.Struct, frozen=True):
    """A pod that somebody wants to place."""

    namespace: str
    name: str
    uid: str
    amounts: Counted
    """What it asks for, ``pods: 1`` included, and its limits."""


class PodState(Enum):
    """What the mirror knows of a pod."""

    UNKNOWN = auto()
    """Not there: not yet, or no more."""
    WAITING = auto()
    """There, without a node."""
    PLACED = auto()
    """It has a node, or is finished: counted as far as it ever will be."""


class Seen(NamedTuple):
    """A pod as the mirror has it."""

    sight: PodState
    asking: Asking | None = None
    """None where it is not known."""
    ours: bool = False
    """We place it ourselves: whoever asks about it is not about to."""


Look = Callable[[str], Seen]
"""What the mirror knows of the pod of this uid."""


class ExtenderAnswer(NamedTuple):
    """What is said to whoever asks."""

    refusal: str | None = None
    """Why the pod may not be placed; None where it may."""
    seen: bool = True
    """False where it might, if it were known: nothing is decided yet."""


class _Grant(msgspec.Struct):
    asking: Asking
    until: float


class Grants:
    """Pods that may be placed and have not been seen on a node yet. The caller tells the time, steady seconds."""

    def __init__(self, seconds: float = GRANT_SECONDS, most: int = MOST_GRANTS) -> None:
        self._seconds = seconds
        self._most = most
        self._grants: OrderedDict[str, _Grant] = OrderedDict()
        """By uid, the first to expire first."""
        self._totals: dict[str, dict[str, int]] = {}
        """What is granted, by namespace."""
        self.changed: set[str] = set()
        """Namespaces to which more or less is granted than when somebody last looked, who clears it."""

    def __len__(self) -> int:
        return len(self._grants)

    def put(self, asking: Asking, now: float) -> None:
        """The pod may be placed from now on; asking again renews it."""
        self.drop(asking.uid)
        self._grants[asking.uid] = _Grant(asking, now + self._seconds)
        self._add(asking, 1)
        if len(self._grants) > self._most:
            self.drop(next(iter(self._grants)))

    def drop(self, uid: str) -> None:
        """The pod counts as held otherwise, or not at all."""
        grant = self._grants.pop(uid, None)
        if grant is not None:
            self._add(grant.asking, -1)

    def held(self, namespace: str) -> Counted:
        """What is granted to pods of a namespace, those included that have been placed since it was settled."""
        return self._totals.get(namespace, NOTHING)

    def settle(self, look: Look) -> bool:
        """Drop what is counted otherwise by now, or gone; True where there was anything. Looks at every grant."""
        settled = [uid for uid in self._grants if look(uid).sight is not PodState.WAITING]
        for uid in settled:
            self.drop(uid)
        return bool(settled)

    def expire(self, now: float) -> None:
        """Drop what was not used in time."""
        while self._grants:
            uid, grant = next(iter(self._grants.items()))
            if grant.until > now:
                break
            self.drop(uid)

    def totals(self) -> Mapping[str, Counted]:
        """What is granted, by namespace; nobody changes it later."""
        return {namespace: dict(total) for namespace, total in self._totals.items()}

    def _add(self, asking: Asking, sign: int) -> None:
        namespace = asking.namespace
        total = self._totals.setdefault(namespace, {})
        for name, value in asking.amounts.items():
            total[name] = total.get(name, 0) + sign * value
        if not any(total.values()):
            del self._totals[namespace]
        self.changed.add(namespace)


class Gate:
    """Judges pods that other schedulers ask about, and remembers which it let through."""

    def __init__(self, held: Callable[[str], Counted], look: Look, grants: Grants | None = None) -> None:
        self._held = held
        """What pods of a namespace keep."""
        self._look = look
        self.grants = Grants() if grants is None else grants
        self._books: Pooled[str] | None = None

    def use(self, division: Division, *, lends: bool) -> None:
        """Go by a new division."""
        awards, parts = division.namespaces, dict[str, Part[str] | None]()

        def part(namespace: str) -> Part[str] | None:
            if namespace not in parts:
                award = None if namespace == SYSTEM_NAMESPACE else awards.get(namespace)
                parts[namespace] = None if award is None else part_of(award, division, lends=lends)
            return parts[namespace]

        self._books = Pooled(part, bounds_of(division), lambda: members_of(division), self._with_grants)

    def moved(self, namespaces: Iterable[str]) -> None:
        """What these keep has changed."""
        self.grants.changed.update(namespaces)

    def judge(self, asking: Asking, now: float) -> ExtenderAnswer:
        """Whether the pod may be placed. Where nothing is divided yet there is nothing to go by."""
        if asking.namespace == SYSTEM_NAMESPACE:
            return ExtenderAnswer()
        seen = self._look(asking.uid)
        known = seen.asking
        if known is not None and (known.namespace, known.name) != (asking.namespace, asking.name):
            seen = Seen(PodState.UNKNOWN)  # somebody else's uid
        if seen.sight is PodState.PLACED:
            return ExtenderAnswer()
        pod = asking if seen.asking is None else seen.asking
        self.grants.drop(pod.uid)
        self.grants.expire(now)
        text = self._refusal(pod)
        # Most pods pass even if every grant counts, which saves looking at each of them.
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
        """What is about to be held by namespace, and not seen yet."""
        self.grants.expire(now)
        self.grants.settle(self._look)
        return self.grants.totals()

    def _refusal(self, asking: Asking) -> str | None:
        if self._books is None:
            return None
        for namespace in self.grants.changed:
            self._books.see(namespace, self._with_grants(namespace))
        self.grants.changed.clear()
        beyond = self._books.excess(asking.namespace, sorted(asking.amounts.items()))
        return overfull(asking.namespace, [(one.key, one) for one in beyond]) if beyond else None

    def _with_grants(self, namespace: str) -> Counted:
        granted = self.grants.held(namespace)
        return summed((self._held(namespace), granted)) if granted else self._held(namespace)
