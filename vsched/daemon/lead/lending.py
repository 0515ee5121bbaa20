"""Which nodes each shard may use at present: its own slice, without nodes that it has lent, and those that it borrows.

At any time a node belongs to one shard. A shard that finds no room on its nodes asks for others by an annotation of its
Lease; the shard that they belong to stops using them, and then says in an annotation of its own Lease that they are
lent. They go back in the same way: the borrower stops using them, and then asks no more. Whoever takes over a Lease
goes on from these annotations.

An ask has a number, and the loan repeats it. So what a shard sees late of another never makes it use a node that has
gone back meanwhile.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import Any, NamedTuple

import msgspec

ASKS, LENT = "vsched.io/shard-asks", "vsched.io/shard-lent"
"""The annotations of Leases."""
ASKS_MAX = 256
"""The most nodes that a daemon borrows at a time, for all its shards together."""
KEPT_SECONDS = 10.0
"""A borrowed node goes back once nothing has wanted it for so long."""


BACK = -1
"""In place of the number of an ask: the node is our own, and has come back."""


class Loan(NamedTuple):
    """Who has borrowed a node, and the number of the ask."""

    shard: int
    number: int


class Notes(NamedTuple):
    """What a shard says of nodes."""

    asks: Mapping[str, int] = {}
    """By name of a node of another shard: the number of the ask."""
    lent: Mapping[str, Loan] = {}
    """By name of a node of its own: who may use it."""


NO_NOTES = Notes()


def notes_of(annotations: Mapping[str, str]) -> Notes:
    """The notes in the annotations of a Lease; what cannot be read counts as not there."""
    return Notes(
        _decoded(annotations.get(ASKS), dict[str, int], {}), _decoded(annotations.get(LENT), dict[str, Loan], {})
    )


def annotations_of(notes: Notes) -> dict[str, str | None]:
    """The annotations that say this; None for none."""
    return {
        name: msgspec.json.encode(dict(sorted(found.items()))).decode() if found else None
        for name, found in ((ASKS, notes.asks), (LENT, notes.lent))
    }


def _decoded(text: str | None, kind: Any, default: Any) -> Any:
    try:
        return default if text is None else msgspec.json.decode(text, type=kind)
    except msgspec.DecodeError:
        return default


class Sight(NamedTuple):
    """What a daemon sees when it looks at its loans."""

    now: float
    """Seconds of a steady clock."""
    stamp: int
    """Milliseconds since the epoch, for the numbers of asks: those of former daemons are lower."""
    others: Mapping[int, Notes]
    """By shard of another daemon: its notes, as they were seen last. What was seen before the latest shard of ours
    became ours does not count: whoever had that shard may have known more, and acted on it."""
    written: Mapping[int, Notes]
    """By shard of ours: the notes that its Lease has for certain."""
    wanted: Collection[str]
    """Nodes on which jobs of ours would find room, or have taken some, in the latest session."""
    binding: Callable[[], Collection[str]]
    """Nodes with bindings of ours that the watch has not confirmed."""
    seen: int
    """The version of the lending that the latest session had."""


class Lending:
    """The loans of the shards of one daemon."""

    def __init__(self, slice_of: Callable[[str], int | None]) -> None:
        """``slice_of`` is the shard that a node belongs to by itself; None for a node that there is not."""
        self._slice_of = slice_of
        self._asks: dict[int, dict[str, int]] = {}
        """By shard of ours, what its Lease says or is about to say."""
        self._lent: dict[int, dict[str, Loan]] = {}
        self._loans: dict[int, Mapping[str, Loan]] = {}
        """By shard of another daemon, what it lends."""
        self._reserved: dict[str, tuple[Loan, int]] = {}
        """Our nodes that are about to be lent, with the version since which sessions do not use them."""
        self._taken_back: dict[str, bool] = {}
        """Our nodes that were lent until now, and whether our Lease says so already."""
        self._returning: dict[str, int] = {}
        """Borrowed nodes that are about to go back, with the version since which sessions do not use them."""
        self._last_wanted: dict[str, float] = {}
        self._checked: dict[str, int] = {}
        """Borrowed nodes of which the mirror has all pods, with the number of the ask."""
        self._number = 0
        self.version = 0
        """Rises whenever the nodes that may be used change."""

    def adopt(self, shard: int, notes: Notes) -> None:
        """A shard is ours from now on, and this is what its Lease says."""
        self._asks[shard], self._lent[shard] = dict(notes.asks), dict(notes.lent)
        self._loans.pop(shard, None)
        self.version += 1

    def leave(self, shard: int) -> None:
        """A shard is not ours any more."""
        self._asks.pop(shard, None)
        self._lent.pop(shard, None)
        self._reserved = {node: found for node, found in self._reserved.items() if self._slice_of(node) != shard}
        self._taken_back = {node: said for node, said in self._taken_back.items() if self._slice_of(node) != shard}
        self.version += 1

    def notes(self, shard: int) -> Notes:
        """What the Lease of a shard of ours is to say."""
        return Notes(self._asks.get(shard, {}), self._lent.get(shard, {}))

    def loans_of(self, shard: int) -> set[str]:
        """The nodes of other shards that are lent to a shard of ours, or that it has asked other daemons for."""
        lent = {node for found in self._lent.values() for node, loan in found.items() if loan.shard == shard}
        return lent | {node for node in self._asks.get(shard, {}) if self._slice_of(node) not in self._lent}

    # -- which nodes may be used

    def barred(self) -> set[str]:
        """Nodes of our shards that sessions may not use."""
        lent = {node for found in self._lent.values() for node, loan in found.items() if loan.shard not in self._asks}
        return lent | self._reserved.keys() | self._taken_back.keys()

    def borrowed(self) -> set[str]:
        """Nodes of other shards that sessions may use."""
        return {node for node, number in self.granted().items() if self._checked.get(node) == number}

    def granted(self) -> dict[str, int]:
        """Nodes that others lend us and that we do not give back, with the numbers of our asks."""
        found = {}
        for shard, asks in self._asks.items():
            for node, number in asks.items():
                owner = self._slice_of(node)
                loan = None if owner is None else self._loans.get(owner, {}).get(node)
                if loan == Loan(shard, number) and node not in self._returning:
                    found[node] = number
        return found

    def unchecked(self) -> dict[str, int]:
        """Nodes that may be used once it is certain that the mirror has all pods there, with what to confirm.

        The daemon that used them until now may have bound pods that our watch has not shown yet.
        """
        granted = {node: number for node, number in self.granted().items() if self._checked.get(node) != number}
        return granted | dict.fromkeys((node for node, said in self._taken_back.items() if said), BACK)

    def check(self, node: str, number: int) -> None:
        """The mirror has all pods of a node."""
        if number == BACK:
            self._taken_back.pop(node, None)
        else:
            self._checked[node] = number
        self.version += 1

    # -- what changes

    def look(self, sight: Sight) -> set[int]:
        """Take the next steps; returns the shards of ours whose Lease has to say something else."""
        before = {shard: (dict(self._asks[shard]), dict(self._lent[shard])) for shard in self._asks}
        usable = self.barred(), self.borrowed()
        self._loans = {shard: found.lent for shard, found in sight.others.items()}
        self._lend(sight)
        self._borrow(sight)
        if usable != (self.barred(), self.borrowed()):
            self.version += 1
        self._stamp()
        return {shard for shard, found in before.items() if found != (self._asks[shard], self._lent[shard])}

    def _stamp(self) -> None:
        """Nodes that were barred in this look are barred from this version on."""
        self._reserved = {node: (loan, since or self.version) for node, (loan, since) in self._reserved.items()}
        self._returning = {node: since or self.version for node, since in self._returning.items()}

    def _lend(self, sight: Sight) -> None:
        """As the one whom nodes belong to."""
        wishes: dict[str, Loan] = {}
        for shard, found in sight.others.items():
            for node, number in found.asks.items():
                if self._slice_of(node) in self._lent:
                    wishes.setdefault(node, Loan(shard, number))
        for shard, lent in self._lent.items():
            said = sight.written.get(shard, NO_NOTES).lent
            for node in self._taken_back:
                self._taken_back[node] |= self._slice_of(node) == shard and node not in said
            for node, loan in list(lent.items()):
                ours = loan.shard in self._lent
                borrower = (sight.written if ours else sight.others).get(loan.shard)
                if borrower is not None and node not in borrower.asks:
                    del lent[node]
                    self._taken_back[node] = False
                elif borrower is not None and borrower.asks[node] != loan.number:
                    lent[node] = Loan(loan.shard, borrower.asks[node])  # it went back, and is asked for again
        binding: Collection[str] | None = None
        for node, (loan, since) in list(self._reserved.items()):
            if wishes.get(node) != loan:
                del self._reserved[node]
            elif sight.seen >= since > 0:
                binding = sight.binding() if binding is None else binding
                if node not in binding:
                    owner = self._slice_of(node)
                    assert owner is not None, "only our own nodes are wanted back"
                    self._lent[owner][node] = loan
                    del self._reserved[node]
        for node, loan in wishes.items():
            owner = self._slice_of(node)
            free = owner is not None and node not in self._lent[owner] and node not in self._taken_back
            if free and node not in self._reserved and node not in sight.wanted:
                self._reserved[node] = (loan, 0)

    def _borrow(self, sight: Sight) -> None:
        """As the one who borrows nodes of others."""
        self._last_wanted |= dict.fromkeys(sight.wanted, sight.now)
        binding: Collection[str] | None = None
        for asks in self._asks.values():
            for node in list(asks):
                owner = self._slice_of(node)
                if owner is None or owner in self._asks:
                    del asks[node]  # it is gone, or its shard is ours by now
                    self._returning.pop(node, None)
                elif node in self._returning:
                    if sight.seen >= self._returning[node] > 0:
                        binding = sight.binding() if binding is None else binding
                        if node not in binding:
                            del asks[node], self._returning[node]
                elif sight.now - self._last_wanted.setdefault(node, sight.now) >= KEPT_SECONDS:
                    self._returning[node] = 0
        asked = {node for asks in self._asks.values() for node in asks}
        home = min(self._asks, default=None)
        for node in sorted(sight.wanted):
            owner = self._slice_of(node)
            if home is not None and node not in asked and owner in sight.others and len(asked) < ASKS_MAX:
                self._number = max(self._number + 1, sight.stamp)
                self._asks[home][node] = self._number
                asked.add(node)
        self._last_wanted = {node: at for node, at in self._last_wanted.items() if node in asked}
        self._checked = {node: number for node, number in self._checked.items() if node in asked}
