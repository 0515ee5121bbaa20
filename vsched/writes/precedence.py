"""Bindings go before what only tells something.

Every write costs the API server as much as a binding, and nobody waits for an Event as pods do for their nodes. So
while bindings are on their way, Events and statuses that nobody acts upon wait, for a while at most. What changes again
in that time is written once.
"""

from __future__ import annotations

from collections.abc import Callable


class Precedence:
    """Whether something has precedence now, and who goes on once nothing has it any more."""

    def __init__(self, most_seconds: float) -> None:
        self.most_seconds = most_seconds
        """The longest wait because of it."""
        self.taken: Callable[[], bool] = lambda: False
        """Whether something has precedence now."""
        self._waiting: list[Callable[[], None]] = []

    def give(self, taken: Callable[[], bool]) -> None:
        """Others wait while ``taken``; ``over`` is to be called when that ends."""
        self.taken = taken

    def wait(self, resume: Callable[[], None]) -> None:
        """Have this called whenever nothing has precedence any more."""
        self._waiting.append(resume)

    def over(self) -> None:
        """Nothing has precedence any more."""
        for resume in self._waiting:
            resume()
