"""Questions to an extender: a payload out, an answer of the expected type back, or one sentence why there is none."""

from __future__ import annotations

from typing import TypeVar

import msgspec

from vsched.errors import UNREADABLE, Unavailable
from vsched.framework.callout import Callout, Endpoint

AnswerT = TypeVar("AnswerT", bound=msgspec.Struct)

SILENT = "the extender did not answer"
MISFIT = "the extender's answer is not what was expected"
"""Sentences for people; always the same words, so that the conditions of pods do not change with every time-out."""


class NoAnswer(Exception):
    """The extender has no usable answer; the text says so to people."""


class Line:
    """The line to one extender for the length of one cycle."""

    def __init__(self, endpoint: Endpoint, callout: Callout | None) -> None:
        self._endpoint = endpoint
        self._callout = callout

    def hang_up(self) -> None:
        """Ask nothing more in this cycle: every question counts as not answered."""
        self._callout = None

    def tell(self, verb: str, request: msgspec.Struct) -> None:
        """Something that needs no answer but a success; raises NoAnswer."""
        self._call(verb, request)

    def ask(self, verb: str, request: msgspec.Struct, answer: type[AnswerT]) -> AnswerT:
        """The answer; raises NoAnswer."""
        found = self._call(verb, request)
        try:
            return msgspec.json.decode(found, type=answer)
        except UNREADABLE:
            raise NoAnswer(MISFIT) from None

    def _call(self, verb: str, request: msgspec.Struct) -> bytes:
        if self._callout is None:
            raise NoAnswer(SILENT)
        try:
            return self._callout.call(self._endpoint, verb, msgspec.json.encode(request))
        except Unavailable:
            raise NoAnswer(SILENT) from None
