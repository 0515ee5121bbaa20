"""Recording and replay of the answers of external services (extenders).

These answers are inputs of a cycle. ``Noting`` records them while a cycle runs; ``Repeating`` gives them again when
the cycle is replayed.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from hashlib import sha256

from vsched.errors import Unavailable
from vsched.framework.callout import Callout, CalloutEndpoint
from vsched.framework.words import engine as words
from vsched.model.dump.cycle import ExternalCall

MOST_BYTES = 32 << 20
"""The most bytes of answers that are recorded in one cycle."""
DIGITS = 16
"""The length of a digest in hex digits: enough to tell a few thousand requests apart."""


def digest_of(body: bytes) -> str:
    """The digest by which a request is recognised."""
    return sha256(body).hexdigest()[:DIGITS]


class Noting:
    """A ``Callout`` that forwards requests to another one and records the answers."""

    def __init__(self, callout: Callout, most_bytes: int = MOST_BYTES) -> None:
        self._callout = callout
        self._most_bytes = most_bytes
        self._bytes = 0
        self.calls: list[ExternalCall] = []
        self.unrecorded = 0
        """How many answers were not recorded because they would exceed ``most_bytes``."""

    def call(self, endpoint: CalloutEndpoint, verb: str, body: bytes) -> bytes:
        """The answer of the service; raises Unavailable where it does not answer."""
        try:
            answer = self._callout.call(endpoint, verb, body)
        except Unavailable:
            self.calls.append(ExternalCall(verb, digest_of(body), None))
            raise
        self._bytes += len(answer)
        if self._bytes > self._most_bytes:
            self.unrecorded += 1
        else:
            self.calls.append(ExternalCall(verb, digest_of(body), answer))
        return answer


class Repeating:
    """A ``Callout`` that answers requests from a recording. It calls no service."""

    def __init__(self, calls: Iterable[ExternalCall]) -> None:
        self._answers: dict[tuple[str, str], deque[bytes | None]] = {}
        """By verb and digest of the request; answers recorded without a digest are given in their order."""
        for call in calls:
            self._answers.setdefault((call.verb, call.question), deque()).append(call.answer)
        self.unknown = 0
        """How many requests are not in the recording."""

    def call(self, endpoint: CalloutEndpoint, verb: str, body: bytes) -> bytes:
        """The recorded answer; raises Unavailable where the request failed or is not in the recording."""
        answers = self._answers.get((verb, digest_of(body))) or self._answers.get((verb, ""))
        if not answers:
            self.unknown += 1
            raise Unavailable(words.not_called(verb))
        answer = answers.popleft()
        if answer is None:
            raise Unavailable(words.not_answered(verb))
        return answer
