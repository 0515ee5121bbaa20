"""Why not: what plugins and actions answer where they object."""

from __future__ import annotations

from typing import NamedTuple

from vsched.framework.codes import Code


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
