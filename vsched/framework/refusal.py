"""The refusal: the answer of a plugin or an action that does not allow something, with the amounts that are short."""

from __future__ import annotations

from typing import NamedTuple

from vsched.framework.codes import Code

TAKES_NOTHING = frozenset((Code.QUEUE_NOT_FOUND, Code.QUEUE_CLOSED, Code.QUEUE_LEFT_OUT, Code.QUEUE_NOT_LEAF))
"""Codes of queues that accept no job at all, whatever it asks for."""

LASTS, PASSES = 1, 2
"""Ranks of refusals: those that last, and those that may pass."""


class Shortage(NamedTuple):
    """One resource of which a limit leaves less than is asked for. All amounts are in base units."""

    resource: str
    held: int
    """What already counts against the limit, including what is promised to admitted jobs."""
    asked: int
    limit: int
    promised: int = 0
    """The part of ``held`` that is promised to jobs admitted earlier, and that their pods do not hold yet."""

    @property
    def is_others(self) -> bool:
        """Whether there would be enough if nothing were promised to other jobs."""
        return self.held - self.promised + self.asked <= self.limit

    @property
    def is_lasting(self) -> bool:
        """Whether the request exceeds the limit even when nothing else is held."""
        return self.asked > self.limit


class QueueBound(NamedTuple):
    """What sets how much of a resource a queue may hold at most."""

    limit: int
    """The most the queue may hold, base units."""
    amount: int
    """The amount that queues share, base units."""
    holder: str = ""
    """The queue whose capability ``amount`` is; empty where it is the capacity of the cluster."""
    guaranteed: tuple[str, ...] = ()
    """Names of other queues that are guaranteed a part of ``amount``."""


class Refusal(NamedTuple):
    """Why something is not allowed: a reason for programs and a message for people."""

    reason: str
    message: str
    passing: bool = False
    """Whether the refusal may soon be lifted by itself, because it depends on what other jobs ask for."""
    code: Code = Code.OTHER
    """The kind of constraint."""
    subject: str = ""
    """The name of the queue, namespace or quota that the refusal is about."""
    shortages: tuple[Shortage, ...] = ()
    """The resources that are short, where the refusal is about amounts."""
    lasting: bool = False
    """Of a refusal that is not about amounts: whether it stays until somebody changes an object or the policy."""

    @property
    def rank(self) -> int:
        """Decides which of several refusals is reported; the lowest wins.

        0: the queue accepts no jobs; 1: the refusal lasts; 2: it may pass.
        """
        if self.code in TAKES_NOTHING:
            return 0
        if self.lasting:
            return LASTS
        for one in self.shortages:
            if one.asked > one.limit:
                return LASTS
        return PASSES
