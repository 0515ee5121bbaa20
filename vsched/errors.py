"""The errors vsched raises itself, as one tree.

VschedError
  BadInput            what a person or a file gave cannot be used: where, what, what was expected
    BadQuantity       a Kubernetes quantity that does not parse
    BadObject         a manifest or an API object that cannot be used
      Beyond          one that says more than is read of an object
      NoColumn        one that asks for a resource which nobody offers, where many such are asked for
    BadPolicy         a policy file that is refused, with one problem a line
  ApiError            the API server's answer was not a success (vsched.kube)
  Unavailable         something outside did not answer in time or at all

A refusal of the scheduler ("does not fit") is a value, never an exception.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

import msgspec

from vsched import words


class VschedError(Exception):
    """Base of every error that vsched raises on purpose; its text is one line for a person."""


class BadInput(VschedError):
    """What a person or a file gave cannot be used."""


class BadQuantity(BadInput):
    """A Kubernetes quantity that does not parse or is out of range."""


class BadObject(BadInput):
    """A manifest or API object that cannot be used; the text names the object and the field."""


class Beyond(BadObject):
    """One that says more than is read of an object: it costs as much as a real one at most."""


class NoColumn(BadObject):
    """A resource that nobody offers, where many such are asked for already; later there may be room for it."""


class BadPolicy(BadInput):
    """A policy file that is refused; ``problems`` has one line a problem, each with path and line."""

    def __init__(self, problems: list[str]) -> None:
        super().__init__("\n".join(problems))
        self.problems = problems


class Unavailable(VschedError):
    """Something outside this process did not answer in time, or not at all."""


UNREADABLE = (msgspec.MsgspecError, ValueError, RecursionError)
"""What decoders raise over bytes that others sent: no JSON, not UTF-8, another type, too long a number, too deep."""

UNUSABLE = (*UNREADABLE, VschedError, TypeError, LookupError, ArithmeticError, AttributeError)
"""What reading one object raises over what is in it, expected or not; one object must not stop all the others."""


def why_unreadable(error: Exception) -> str:
    """What is wrong with bytes that a decoder raised this over, for a person."""
    if isinstance(error, UnicodeDecodeError):
        return words.not_utf8(error.object[error.start])
    if isinstance(error, RecursionError):
        return words.NESTED_TOO_DEEPLY
    if isinstance(error, msgspec.ValidationError):
        return _MISTYPED.sub(_must_be, str(error))
    if isinstance(error, VschedError | msgspec.MsgspecError):
        return str(error)
    return f"{type(error).__name__}: {error}" if str(error) else type(error).__name__


def in_a_row(parts: Sequence[str], word: str) -> str:
    """``a, b or c``: one part or more, with ``word`` before the last of several."""
    *before, last = parts
    return f"{', '.join(before)} {word} {last}" if before else last


_MISTYPED = re.compile(r"^Expected `([^`]+)`(?:, got `([^`]+)`)?")
_TYPES = {
    "int": "an integer",
    "float": "a number",
    "str": "a string",
    "bool": words.TRUE_OR_FALSE,
    "array": "a list",
    "object": "an object",
}
"""The decoder's words for types, and those for people."""


def _must_be(found: re.Match[str]) -> str:
    """``must be an integer or a string, is true or false``."""
    wanted = [_TYPES.get(one, one) for one in found[1].split(" | ") if one != "null"]
    most = in_a_row(wanted, "or") if wanted else "null"
    return words.must_be(most) + (f", is {_TYPES.get(found[2], found[2])}" if found[2] else "")
