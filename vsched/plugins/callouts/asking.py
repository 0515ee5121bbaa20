"""Calls to an extender: sends a payload and decodes the answer, or raises NoAnswer with a sentence that says why."""

from __future__ import annotations

from typing import TypeVar

import msgspec

from vsched.errors import UNREADABLE, Unavailable
from vsched.framework.callout import Callout, CalloutEndpoint
from vsched.plugins.words import nodes

AnswerT = TypeVar("AnswerT", bound=msgspec.Struct)


class NoAnswer(Exception):
    """The extender gave no usable answer; the text is the message for pod conditions."""


class ExtenderCalls:
    """The client of one extender during one cycle."""

    def __init__(self, endpoint: CalloutEndpoint, callout: Callout | None) -> None:
        self._endpoint = endpoint
        self._callout = callout

    def hang_up(self) -> None:
        """Send nothing more in this cycle: every further call raises NoAnswer."""
        self._callout = None

    def tell(self, verb: str, request: msgspec.Struct) -> None:
        """Send a request that needs no answer except success; raises NoAnswer."""
        self._call(verb, request)

    def ask(self, verb: str, request: msgspec.Struct, answer: type[AnswerT]) -> AnswerT:
        """Send a request and return the decoded answer; raises NoAnswer."""
        found = self._call(verb, request)
        try:
            return msgspec.json.decode(found, type=answer)
        except UNREADABLE:
            raise NoAnswer(nodes.MISFIT) from None

    def _call(self, verb: str, request: msgspec.Struct) -> bytes:
        if self._callout is None:
            raise NoAnswer(nodes.SILENT)
        try:
            return self._callout.call(self._endpoint, verb, msgspec.json.encode(request))
        except Unavailable:
            raise NoAnswer(nodes.SILENT) from None
