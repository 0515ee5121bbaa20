"""Answers of services outside are inputs of a cycle: taken down as they come, given again when it is run again."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from hashlib import sha256

from vsched.errors import Unavailable
from vsched.framework.callout import Callout, Endpoint
from vsched.model.dump.cycle import Call

MOST_BYTES = 32 << 20
"""Of answers that are kept of one cycle."""
DIGITS = 16
"""Of a digest: enough to tell a few thousand questions apart."""


def digest_of(body: bytes) -> str:
    """What stands for a question."""
    return sha256(body).hexdigest()[:DIGITS]


class Noting:
    """Puts questions through, and takes down what is answered; a ``Callout``."""

    def __init__(self, callout: Callout, most_bytes: int = MOST_BYTES) -> None:
        self._callout = callout
        self._most_bytes = most_bytes
        self._bytes = 0
        self.calls: list[Call] = []
        self.unrecorded = 0
        """Answers that were left out, for want of room."""

    def call(self, endpoint: Endpoint, verb: str, body: bytes) -> bytes:
        """As the service answers; raises Unavailable where it does not."""
        try:
            answer = self._callout.call(endpoint, verb, body)
        except Unavailable:
            self.calls.append(Call(verb, digest_of(body), None))
            raise
        self._bytes += len(answer)
        if self._bytes > self._most_bytes:
            self.unrecorded += 1
        else:
            self.calls.append(Call(verb, digest_of(body), answer))
        return answer


class Repeating:
    """Gives recorded answers to the questions they were answers to, and calls nobody; a ``Callout``."""

    def __init__(self, calls: Iterable[Call]) -> None:
        self._answers: dict[tuple[str, str], deque[bytes | None]] = {}
        """By verb and question; without a question they are given in their order."""
        for call in calls:
            self._answers.setdefault((call.verb, call.question), deque()).append(call.answer)
        self.unknown = 0
        """Questions that nobody had asked then."""

    def call(self, endpoint: Endpoint, verb: str, body: bytes) -> bytes:
        """The answer of then; raises Unavailable where there was none, or nobody had asked."""
        answers = self._answers.get((verb, digest_of(body))) or self._answers.get((verb, ""))
        if not answers:
            self.unknown += 1
            raise Unavailable(f"{verb}: was not asked when this was recorded")
        answer = answers.popleft()
        if answer is None:
            raise Unavailable(f"{verb}: was not answered when this was recorded")
        return answer
