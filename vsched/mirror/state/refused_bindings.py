"""The API server's messages about bindings that it refused, until their pods are bound."""

from __future__ import annotations

from collections.abc import Mapping

REMEMBERED = 10_000
"""How many pods are remembered; the oldest are dropped first."""
LONGEST = 300
"""The longest message; some of them quote whole objects."""


class RefusedBindings:
    """The last message by the pod's uid."""

    def __init__(self, remembered: int = REMEMBERED) -> None:
        self._remembered = remembered
        self._messages: dict[str, str] = {}
        self._published: dict[str, str] = {}

    def note(self, uid: str, message: str) -> None:
        self._messages.pop(uid, None)
        self._messages[uid] = message if len(message) <= LONGEST else f"{message[: LONGEST - 1]}…"
        if len(self._messages) > self._remembered:
            del self._messages[next(iter(self._messages))]
        self._published = {}

    def drop(self, uid: str) -> None:
        """The pod was bound, or is gone."""
        if self._messages.pop(uid, None) is not None:
            self._published = {}

    def publish(self) -> Mapping[str, str]:
        """All messages; immutable, and the same object while nothing is new."""
        if self._messages and not self._published:
            self._published = self._messages.copy()
        return self._published
