"""Which objects transactions and releases are at work on.

While one writes an object, no other begins with it. Several transactions may have written the same object and wait,
verify or bind together. A release only takes objects that no transaction is concerned with.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Collection

from vsched.writes.claims.wishes import HoldKey


class HeldObjects:
    """Objects by kind and key."""

    def __init__(self) -> None:
        self._writing: dict[HoldKey, asyncio.Event] = {}
        """The event is set when the writes have ended."""
        self._users: Counter[HoldKey] = Counter()

    async def begin(self, keys: Collection[HoldKey]) -> None:
        """Wait until nobody writes any of these, and begin to write them all."""
        while (busy := next((self._writing[key] for key in keys if key in self._writing), None)) is not None:
            await busy.wait()
        self._take(keys)

    def try_begin(self, key: HoldKey) -> bool:
        """Begin to write an object that nobody is concerned with; False where somebody is."""
        if key in self._writing or self._users[key]:
            return False
        self._take((key,))
        return True

    def _take(self, keys: Collection[HoldKey]) -> None:
        ended = asyncio.Event()
        self._writing.update(dict.fromkeys(keys, ended))
        self._users.update(keys)

    def written(self, keys: Collection[HoldKey]) -> None:
        """The writes have ended; others may begin with these objects."""
        for key in keys:
            ended = self._writing.pop(key, None)
            if ended is not None:
                ended.set()

    def is_shared(self, key: HoldKey) -> bool:
        """Whether several transactions are concerned with an object."""
        return self._users[key] > 1

    def end(self, keys: Collection[HoldKey]) -> None:
        """These objects are no concern any more. Their writes have ended."""
        self._users.subtract(keys)
        for key in keys:
            if not self._users[key]:
                del self._users[key]
