"""Why not: what plugins and actions answer where they object."""

from __future__ import annotations

from typing import NamedTuple

from vsched.framework.codes import Code

TAKES_NOTHING = frozenset((Code.QUEUE_NOT_FOUND, Code.QUEUE_CLOSED, Code.QUEUE_LEFT_OUT, Code.QUEUE_NOT_LEAF))
"""Queues that take nothing, however little is asked for."""

LASTS, PASSES = 1, 2
"""Ranks of refusals by amounts."""


class Shortage(NamedTuple):
    """One resource of which a limit leaves less than is asked for; base units."""

    resource: str
    held: int
    """What counts against the limit already, all that is promised to others included."""
    asked: int
    limit: int
    promised: int = 0
    """The part of ``held`` that nobody holds yet: it was promised to jobs that were admitted before."""

    @property
    def is_others(self) -> bool:
        """Whether there would be enough, had nothing been promised to others."""
        return self.held - self.promised + self.asked <= self.limit

    @property
    def is_lasting(self) -> bool:
        """Whether there would not be enough if nobody held anything."""
        return self.asked > self.limit


class Bound(NamedTuple):
    """What sets how much of a resource a queue may hold at most."""

    limit: int
    """What it may hold, base units."""
    amount: int
    """What there is to be shared, base units."""
    holder: str = ""
    """The queue whose capability it is; empty where it is all that the cluster has."""
    guaranteed: tuple[str, ...] = ()
    """Other queues that are guaranteed a part of it, by name."""


class Refusal(NamedTuple):
    """Why not: a machine's word and a sentence for people."""

    reason: str
    message: str
    passing: bool = False
    """Whether it may be otherwise in a moment: it rests on what others happen to ask for."""
    code: Code = Code.OTHER
    """The sort of constraint it is."""
    subject: str = ""
    """The queue, namespace or quota it is about."""
    shortages: tuple[Shortage, ...] = ()
    """What there is too little of, where that is what it rests on."""

    @property
    def rank(self) -> int:
        """Which of several is told: 0 for a queue that takes nothing at all, 1 for what lasts, 2 for what may pass."""
        if self.code in TAKES_NOTHING:
            return 0
        return LASTS if any(one.is_lasting for one in self.shortages) else PASSES
