"""What to do next about one object, given how it was read."""

from __future__ import annotations

from typing import NamedTuple

from vsched.writes.writer import Write


class Send(NamedTuple):
    """Send this write, and look at the object again."""

    write: Write


class Done(NamedTuple):
    """The object is as it should be."""


class Wait(NamedTuple):
    """Somebody else has to act first."""

    why: str


class Failed(NamedTuple):
    """The object cannot become what it should be."""

    why: str


Step = Send | Done | Wait | Failed
DONE = Done()
