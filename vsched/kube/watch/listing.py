"""The list of one kind, page after page: each page goes to the sink while the next one is being requested.

No more than two pages are in memory at a time. A page is split into objects while it arrives, so the event loop is
never blocked for longer than one slice of work, or than it takes to split what has arrived at once.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import suppress
from typing import Any, Generic, TypeVar

import msgspec

from vsched.clock import Clock
from vsched.errors import UNREADABLE, UNUSABLE, Unavailable, why_unreadable
from vsched.kube.client import ApiClient, ApiResponse
from vsched.kube.errors import ApiError, Gone, one_line, unexpected
from vsched.kube.watch.bounds import LoopTurns, ReflectorSettings
from vsched.kube.watch.deltas import BrokenObject, Delta, PartsSink, Statistics, WatchedKind
from vsched.kube.watch.framing import Page, decode_page, identity_of
from vsched.kube.watch.splitting import ListSplitter
from vsched.kube.words import watching as words
from vsched.randomness import uniform

T = TypeVar("T")

PATIENT_LISTS = 2
"""After this number of lists in a row whose continue tokens expired, the list is requested in one piece."""


class Lister(Generic[T]):
    """Lists one kind into one sink; can be used for list after list."""

    def __init__(
        self,
        client: ApiClient,
        kind: WatchedKind[T],
        sink: PartsSink[T],
        settings: ReflectorSettings,
        statistics: Statistics,
        clock: Clock,
    ) -> None:
        self._client = client
        self._path = kind.resource.path(kind.namespace)
        self._selectors = kind.selectors
        self._decode = kind.decode
        self._sink = sink
        self._settings = settings
        self._statistics = statistics
        self._clock = clock
        self._began = 0.0
        self._expired = 0
        """Lists in a row whose continue tokens expired."""
        self._broken: list[tuple[bytes, BrokenObject]] = []

    def use(self, path: str) -> None:
        """List the kind at this path from now on."""
        self._path = path

    async def first(self) -> Page:
        """Begin a list and return its first page, for ``take``."""
        self._statistics.listing = True
        self._began = self._clock.monotonic()
        page = await self._page("")
        self._broken.clear()
        self._statistics.listed = 0
        self._sink.restart()
        return page

    async def take(self, page: Page) -> None:
        """Deliver this page and all following ones to the sink, then finish the list."""
        version = page.metadata.resource_version
        while token := page.metadata.continue_token:
            following = asyncio.create_task(self._page(token))
            try:
                await self._tell(page)
                page = await following
            finally:
                await put_down(following)
        await self._tell(page)
        await self._finish(version)
        self._expired = 0
        statistics = self._statistics
        statistics.lists += 1
        statistics.objects = statistics.listed
        statistics.list_seconds = self._clock.monotonic() - self._began
        statistics.synced, statistics.listing = True, False

    async def version(self) -> str:
        """The resourceVersion that a list would have now, by a list of one object."""
        params = {**self._selectors, "limit": "1"}
        seconds = self._settings.list_timeout_seconds
        answer = await self._client.request("GET", self._path, params=params, timeout_seconds=seconds, attempts=1)
        return self._parse(answer).metadata.resource_version

    async def restored(self, known: Callable[[], str]) -> str:
        """Wait until the server is at an earlier version than the known one; returns a message that says so."""
        while True:
            await asyncio.sleep(uniform(*self._settings.look_seconds))
            with suppress(ApiError, Unavailable):  # the watch itself notices a server that does not answer
                before = known()
                found = await self.version()
                # An answer may be slightly out of date, and listing everything is expensive, so ask twice.
                if _is_before(found, before) and _is_before(found := await self.version(), before):
                    return words.restored(self._where, found, before)

    async def _page(self, token: str) -> Page:
        """One page, split into objects while it arrives; the whole list where continue tokens keep expiring."""
        params = dict(self._selectors)
        if token:
            params["continue"] = token
        if self._expired < PATIENT_LISTS:
            params["limit"] = str(self._settings.page_size)
        splitter, items = ListSplitter(), list[msgspec.Raw]()

        async def split(chunk: bytes) -> None:
            items.extend(splitter.feed(chunk))
            await asyncio.sleep(0)  # several chunks may be there

        try:
            answer = await self._client.fetch(
                self._path, params, split, timeout_seconds=self._settings.list_timeout_seconds
            )
        except Gone:
            self._expired += 1
            raise
        self._statistics.last_event_monotonic = self._clock.monotonic()
        rest = self._parse(answer, lambda _: splitter.finish())
        items += rest.items or ()
        return Page(rest.metadata, items)

    def _parse(self, answer: ApiResponse, decode: Callable[[bytes], Page] = decode_page) -> Page:
        where = self._where
        try:
            page = decode(answer.body)
        except UNREADABLE as error:
            problem = words.not_a_list(why_unreadable(error))
            raise unexpected(where, answer.code, answer.headers, answer.body, problem) from error
        if not page.metadata.resource_version:
            problem = words.NO_VERSION
            raise unexpected(where, answer.code, answer.headers, answer.body, problem)
        return page

    @property
    def _where(self) -> str:
        return f"{self._client.connection.server}: GET {self._path}"

    async def _tell(self, page: Page) -> None:
        decode, include, statistics = self._decode, self._sink.include, self._statistics
        items = page.items or ()
        statistics.expected = statistics.listed + len(items) + (page.metadata.remaining_item_count or 0)
        turns = LoopTurns(self._settings.slice_seconds)
        for part in items:
            raw = bytes(part)
            try:
                item = decode(raw)
            except UNUSABLE as error:
                self._broken.append((raw, complaint(statistics, raw, None, error)))
            else:
                include(item)
                statistics.listed += 1
            if turns.over:
                await turns.turn()

    async def _finish(self, version: str) -> None:
        turns = LoopTurns(self._settings.slice_seconds)
        for _ in self._sink.finish(version):
            if turns.over:
                await turns.turn()
        for raw, error in self._broken:
            self._sink.broken(raw, error)
        self._broken.clear()


def _is_before(found: str, known: str) -> bool:
    """Whether one version is before another; False if they are not numbers."""
    return found.isdecimal() and known.isdecimal() and (len(found), found) < (len(known), known)


async def put_down(task: asyncio.Task[Any]) -> None:
    """Cancel a task and wait for its end; its result or error is dropped."""
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)


def complaint(statistics: Statistics, raw: bytes, delta: Delta | None, error: Exception) -> BrokenObject:
    """The error for an object that cannot be decoded; counts it in the statistics."""
    statistics.broken += 1
    problem = one_line(why_unreadable(error))
    broken = BrokenObject(statistics.resource, identity_of(raw), delta, problem)
    broken.__cause__ = error
    return broken
