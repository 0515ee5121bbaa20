"""Lists that come as the beginning of a watch: one request in place of two, and no page in memory on either side.

Kubernetes calls it a streaming list (``sendInitialEvents``). The server sends every object as ADDED, then a bookmark
with an annotation, and goes on as a watch. Servers that do not know it refuse it, or send no such bookmark: then kinds
are listed in pages.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from contextlib import suppress

import msgspec

from vsched.errors import UNREADABLE, VschedError
from vsched.kube.errors import ApiError
from vsched.kube.paths import Params
from vsched.kube.watch.deltas import BrokenObject
from vsched.kube.words import watching as words

INITIAL_EVENTS_END = "k8s.io/initial-events-end"
"""The annotation of the bookmark after the last object of the list."""
STREAMED: Params = {"sendInitialEvents": "true", "resourceVersionMatch": "NotOlderThan"}
"""What a request says besides that it is a watch."""
REFUSED = frozenset({400, 405, 406, 415, 422})
"""How servers answer that do not know such requests, or do not take them."""
VERDICT_SECONDS = 1.0
"""How long others wait until the first one knows whether the server does it."""


class _Metadata(msgspec.Struct):
    annotations: Mapping[str, str] | None = None


class _Bookmark(msgspec.Struct):
    metadata: _Metadata


_decode_bookmark = msgspec.json.Decoder(_Bookmark).decode


class NotStreamed(VschedError):
    """The server did not send a list with the watch."""


class StreamedLists:
    """Whether a server begins watches with lists. Shared by all reflectors of a client, so that only one has to try."""

    def __init__(self) -> None:
        self._offered: bool | None = None
        """None as long as nobody knows."""
        self._trying = False
        self._found = asyncio.Event()

    async def worth_trying(self) -> bool:
        """Whether a list is to be asked for in this way; ``tell`` has to follow if so."""
        if self._offered is None and self._trying:
            with suppress(TimeoutError):
                async with asyncio.timeout(VERDICT_SECONDS):
                    await self._found.wait()
        if self._offered is not None or self._trying:
            return self._offered is True
        self._trying = True
        self._found.clear()
        return True

    def tell(self, offered: bool | None) -> None:
        """What an attempt has shown; None if it does not say anything about other kinds."""
        if self._offered is None:
            self._offered = offered
        self._trying = False
        self._found.set()


class StreamedList:
    """A list that comes with a watch, until it is complete."""

    def __init__(self, began: float) -> None:
        self.began = began
        """When it was asked for; steady clock."""
        self.complete = asyncio.Event()
        self.ended = False
        """Whether its last object has come."""
        self.broken: list[tuple[bytes, BrokenObject]] = []

    def bookmark(self, raw: bytes) -> None:
        """A bookmark before the list was complete: it says that it is now. Raises NotStreamed if it does not."""
        try:
            annotations = _decode_bookmark(raw).metadata.annotations or {}
        except UNREADABLE:
            annotations = {}
        if annotations.get(INITIAL_EVENTS_END) != "true":
            raise NotStreamed(words.BOOKMARK_EARLY)
        self.ended = True


def verdict_of(error: BaseException | None) -> bool | None:
    """What the end of an attempt says about the server, None for silence; None where it could happen to any request."""
    if isinstance(error, ApiError):
        return False if error.code in REFUSED else None
    return False if error is None or isinstance(error, NotStreamed) else None
