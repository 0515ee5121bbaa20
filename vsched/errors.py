"""The errors vsched raises itself, as one tree.

VschedError
  BadInput            what a person or a file gave cannot be used: where, what, what was expected
    BadQuantity       a Kubernetes quantity that does not parse
    BadObject         a manifest or an API object that cannot be used
      NoColumn        one that asks for a resource which nobody offers, where many such are asked for
    BadPolicy         a policy file that is refused, with one problem a line
  ApiError            the API server's answer was not a success (vsched.kube)
  Unavailable         something outside did not answer in time or at all

A refusal of the scheduler ("does not fit") is a value, never an exception.
"""

from __future__ import annotations


class VschedError(Exception):
    """Base of every error that vsched raises on purpose; its text is one line for a person."""


class BadInput(VschedError):
    """What a person or a file gave cannot be used."""


class BadQuantity(BadInput):
    """A Kubernetes quantity that does not parse or is out of range."""


class BadObject(BadInput):
    """A manifest or API object that cannot be used; the text names the object and the field."""


class NoColumn(BadObject):
    """A resource that nobody offers, where many such are asked for already; later there may be room for it."""


class BadPolicy(BadInput):
    """A policy file that is refused; ``problems`` has one line a problem, each with path and line."""

    def __init__(self, problems: list[str]) -> None:
        super().__init__("\n".join(problems))
        self.problems = problems


class Unavailable(VschedError):
    """Something outside this process did not answer in time, or not at all."""
