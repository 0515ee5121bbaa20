"""Whether another scheduler may place a pod: what its namespace keeps, and is about to, against what it may hold.

That scheduler asks before it binds, and the binding is seen some time after that. Until then the pod is *granted*: it
counts as held, so that two pods asked about in one breath do not both get the last of what there is.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from enum import Enum, auto

import msgspec

from vsched.model.arbitration import SYSTEM_NAMESPACE, Award
from vsched.model.counted import NOTHING, Counted, format_counted, summed

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


class Sight(Enum):
    """What the mirror knows of a pod."""

    UNKNOWN = auto()
    """Not there: not yet, or no more."""
    WAITING = auto()
    """There, without a node."""
    PLACED = auto()
    """It has a node, or is finished: counted as far as it ever will be."""


Look = Callable[[str], Sight]
"""What the mirror knows of the pod of this uid."""


class _Grant(msgspec.Struct):
    asking: Asking
    until: float
    seen: bool
    """The mirror has known it: if it does not any more, the pod is gone."""


class Grants:
    """Pods that may be placed and have not been seen on a node yet. The caller tells the time, steady seconds."""

    def __init__(self, seconds: float = GRANT_SECONDS, most: int = MOST_GRANTS) -> None:
        self._seconds = seconds
        self._most = most
        self._order: OrderedDict[str, str] = OrderedDict()
        """Namespaces by uid, the first to expire first."""
        self._grants: dict[str, dict[str, _Grant]] = {}
        """By namespace and uid."""
        self._totals: dict[str, dict[str, int]] = {}
        """What is granted, by namespace."""

    def __len__(self) -> int:
        return len(self._order)

    def put(self, asking: Asking, now: float, *, seen: bool = False) -> None:
        """The pod may be placed from now on; asking again renews it."""
        self.drop(asking.uid)
        self._order[asking.uid] = asking.namespace
        self._grants.setdefault(asking.namespace, {})[asking.uid] = _Grant(asking, now + self._seconds, seen)
        self._totals[asking.namespace] = summed((self._totals.get(asking.namespace, NOTHING), asking.amounts))
        if len(self._order) > self._most:
            self.drop(next(iter(self._order)))

    def drop(self, uid: str) -> None:
        """The pod counts as held otherwise, or not at all."""
        namespace = self._order.pop(uid, None)
        if namespace is None:
            return
        grants = self._grants[namespace]
        total = self._totals[namespace]
        for name, value in grants.pop(uid).asking.amounts.items():
            total[name] -= value
        if not grants:
            del self._grants[namespace], self._totals[namespace]

    def held(self, asking: Asking, now: float) -> dict[str, int]:
        """What is granted to other pods of the namespace, those included that have been placed since it was settled."""
        self._expire(now)
        total = dict(self._totals.get(asking.namespace, NOTHING))
        own = self._grants.get(asking.namespace, {}).get(asking.uid)
        if own is not None:
            for name, value in own.asking.amounts.items():
                total[name] -= value
        return total

    def settle(self, namespace: str, look: Look) -> bool:
        """Drop what is counted otherwise by now, or gone; True where there was anything. Looks at every grant."""
        settled = []
        for uid, grant in self._grants.get(namespace, {}).items():
            sight = look(uid)
            if sight is Sight.PLACED or (grant.seen and sight is Sight.UNKNOWN):
                settled.append(uid)
            grant.seen = grant.seen or sight is Sight.WAITING
        for uid in settled:
            self.drop(uid)
        return bool(settled)

    def _expire(self, now: float) -> None:
        while self._order:
            uid, namespace = next(iter(self._order.items()))
            if self._grants[namespace][uid].until > now:
                break
            self.drop(uid)


class Gate:
    """Judges pods that other schedulers ask about, and remembers which it let through."""

    def __init__(self, grants: Grants | None = None) -> None:
        self.grants = Grants() if grants is None else grants

    def judge(self, asking: Asking, held: Counted, award: Award | None, look: Look, now: float) -> str | None:
        """Why the pod may not be placed, None where it may.

        ``held`` is what its namespace keeps. Without an award there is nothing to go by yet: the namespace is newer
        than the last division.
        """
        sight = look(asking.uid)
        if asking.namespace == SYSTEM_NAMESPACE or sight is Sight.PLACED:
            return None
        ceiling = NOTHING if award is None else award.ceiling
        text = refusal(asking, held, self.grants.held(asking, now), ceiling)
        # Most pods pass even if every grant counts, which saves looking at each of them.
        if text is not None and self.grants.settle(asking.namespace, look):
            text = refusal(asking, held, self.grants.held(asking, now), ceiling)
        if text is None:
            self.grants.put(asking, now, seen=sight is Sight.WAITING)
        else:
            self.grants.drop(asking.uid)
        return text


def refusal(asking: Asking, held: Counted, granted: Counted, ceiling: Counted) -> str | None:
    """What the namespace would hold too much of, None where it stays within its ceiling in all the pod asks for."""
    excess = []
    for name, value in sorted(asking.amounts.items()):
        would = held.get(name, 0) + granted.get(name, 0) + value
        if value and would > ceiling.get(name, would):
            shown, most = format_counted(name, would), format_counted(name, ceiling[name])
            excess.append(f"{shown} {name} of the {most} it may")
    return f"namespace {asking.namespace} would hold {', '.join(excess)}" if excess else None
