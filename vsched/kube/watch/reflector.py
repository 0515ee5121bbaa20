"""The reflector keeps a sink in step with one kind: it lists, watches from there, and lists again when it has to.

If a list has several pages, the watch is opened before all of them are read. It starts at the version of the list, so
new objects arrive at once, and a list that takes minutes is not out of date when it ends. If wanted, and where the
server offers it, the list comes with the watch in one request (``streaming``). An object that cannot be
decoded is reported to the sink and left out. After any other error the reflector waits and tries again; the reason is
in ``statistics``. Only cancelling ends a reflector. It stores no objects: the sink does.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import suppress
from typing import Generic, NoReturn, TypeVar

from vsched.clock import Clock, SystemClock
from vsched.errors import Unavailable, VschedError
from vsched.kube.backoff import BackOff
from vsched.kube.client import ApiClient
from vsched.kube.errors import ApiError, Gone, NotFound, ServerError, TooManyRequests, UnexpectedAnswer
from vsched.kube.paths import ApiResource, Params
from vsched.kube.watch.attempts import WatchAttempts
from vsched.kube.watch.bounds import ReflectorSettings
from vsched.kube.watch.deltas import PartsSink, Sink, Statistics, WatchedKind, WatchState, in_parts
from vsched.kube.watch.discovery import Discovery, Served
from vsched.kube.watch.events import EventReader
from vsched.kube.watch.framing import LineSplitter, LineTooLong, Page
from vsched.kube.watch.listing import Lister, put_down
from vsched.kube.watch.streaming import STREAMED, NotStreamed, StreamedList, StreamedLists, verdict_of
from vsched.kube.words import watching as words
from vsched.randomness import uniform

__all__ = ["Reflector", "ReflectorSettings", "WatchedKind"]

T = TypeVar("T")


class Garbled(VschedError):
    """A watch sent something that cannot be read, so its further events are lost."""


class Reflector(Generic[T]):
    """Lists and watches one kind into one sink."""

    def __init__(
        self,
        client: ApiClient,
        kind: WatchedKind[T],
        sink: Sink[T] | PartsSink[T],
        settings: ReflectorSettings | None = None,
        on_state: Callable[[Statistics], None] | None = None,
        clock: Clock | None = None,
        streamed: StreamedLists | None = None,
        discovery: Discovery | None = None,
    ) -> None:
        """With ``streamed``, lists come with the watch where the server offers that. A kind that the server does not
        serve is listed again once ``discovery`` names it.
        """
        self._client = client
        self._kind = kind
        self._sink = sink = in_parts(sink)
        self._versions = (kind.resource, *kind.older)
        self._path = kind.resource.path(kind.namespace)
        self._settings = settings = settings or ReflectorSettings()
        self._clock = clock = clock or SystemClock()
        self._attempts = attempts = WatchAttempts(self._versions, settings, clock, on_state, discovery)
        self.statistics, self.synced, self.settled = attempts.statistics, attempts.synced, attempts.settled
        self._lister = Lister(client, kind, sink, settings, self.statistics, clock)
        self._reader = EventReader(kind, sink, self.statistics, clock, settings.slice_seconds)
        self._list_back_off = BackOff(settings.back_off)
        self._watch_back_off = BackOff(settings.back_off)
        self._fruitless = 0
        self._lost_at: float | None = None
        """Since when a watch could not be opened again, because nobody answered; steady clock."""
        self._served: Served | None = None
        self._streamed = streamed
        """None where kinds are listed in pages; also after the server has not streamed this one."""

    def begin_with(self, served: Served | None) -> None:
        """What the server serves; None if it did not say.

        The first attempt does not request the kind if it is not among it: it is missing. Later attempts do.
        """
        self._served = served

    def list_again(self) -> None:
        """List the kind anew, soon: the watch goes on from there."""
        self._attempts.asked.set()

    async def catch_up(self) -> None:
        """Wait until the sink has everything that the server has by now: a list that begins from now on is complete.

        Returns as well where the kind is not served, or may not be read.
        """
        await self._attempts.catch_up()

    @property
    def version(self) -> str:
        """The resourceVersion up to which the sink has everything; empty before the first list."""
        return self._reader.version

    async def run(self) -> NoReturn:
        """Keep the sink in step until cancelled."""
        try:
            while True:
                if await self._keep_up_streamed():
                    continue
                try:
                    page = await self._begin()
                except (ApiError, Unavailable) as error:
                    await self._attempts.wait_out(error, self._list_back_off)
                    continue
                await self._keep_up(page)
        finally:
            self._attempts.enter(WatchState.STOPPED)

    # ---- listing

    async def _begin(self) -> Page:
        """Request the first page of a list; its version is the one to watch from."""
        self._attempts.begin()
        page = await self._first_page()
        self._reader.begin_at(page.metadata.resource_version)
        self._fruitless, self._lost_at = 0, None
        return page

    async def _first_page(self) -> Page:
        """The first page of the newest version that is served; raises the error for the newest where none is."""
        served, self._served = self._served, None
        try:
            return await self._first_page_of(self._versions[0], served)
        except NotFound:  # given no name that outlives it: it would refer to itself by way of this frame
            for resource in self._versions[1:]:
                with suppress(NotFound):
                    return await self._first_page_of(resource, served)
            self._use(self._versions[0])
            raise

    async def _first_page_of(self, resource: ApiResource, served: Served | None) -> Page:
        """The first page of one version; ``served`` is what the server is known to have."""
        self._use(resource)
        if served is not None and (lacks := served.lacks(resource)):
            raise NotFound(self._where, 404, words.not_served(lacks))
        return await self._lister.first()

    def _use(self, resource: ApiResource) -> None:
        self.statistics.resource = resource
        self._path = resource.path(self._kind.namespace)
        self._lister.use(self._path)
        self._reader.where = self._where
        self._kind.on_version(resource)

    async def _keep_up(self, page: Page) -> None:
        """Read a list and watch from its version; returns when the kind has to be listed again."""
        following: asyncio.Task[None] | None = None
        try:
            if page.metadata.continue_token:
                following = asyncio.create_task(self._follow())
            try:
                await self._lister.take(page)
            except (ApiError, Unavailable) as error:
                await self._attempts.wait_out(error, self._list_back_off)
                return
            self._list_back_off.reset()
            self._attempts.listed()
            following = following or asyncio.create_task(self._follow())
            await self._stay(following)
        finally:
            if following is not None:
                await put_down(following)

    async def _keep_up_streamed(self) -> bool:
        """List and watch by one request, as ``_keep_up`` does; False if the kind has to be listed in pages."""
        resource, lists = self._versions[0], self._streamed
        if lists is None or not self._is_served(resource) or not await lists.worth_trying():
            return False
        self._use(resource)
        self._attempts.begin()
        self._fruitless, offered = 0, None
        streaming = StreamedList(self._clock.monotonic())
        self._reader.begin_streamed(streaming, self._on_streamed)
        following = asyncio.create_task(self._follow_streamed(streaming))
        complete = asyncio.create_task(streaming.complete.wait())
        try:
            await self._until_complete(following, complete)
            offered = streaming.complete.is_set() or verdict_of(following.exception() if following.done() else None)
        finally:
            lists.tell(offered)
            await put_down(complete)
            if not streaming.complete.is_set():
                self._reader.end_streamed()
                self._streamed = None
                await put_down(following)
        if not streaming.complete.is_set():
            return False
        self._list_back_off.reset()
        self._attempts.listed()
        try:
            await self._stay(following)
        finally:
            await put_down(following)
        return True

    async def _until_complete(self, following: asyncio.Task[None], complete: asyncio.Task[bool]) -> None:
        """Wait until a streamed list is complete, its task has ended, nothing more comes, or it takes too long."""
        seen, settings, now = -1, self._settings, asyncio.get_running_loop().time
        left_seconds, began = settings.streamed_most_seconds, now()
        while not complete.done() and not following.done() and seen != self.statistics.listed and left_seconds > 0:
            seen, patience = self.statistics.listed, min(settings.streamed_seconds, left_seconds)
            await asyncio.wait((following, complete), timeout=patience, return_when=asyncio.FIRST_COMPLETED)
            left_seconds = settings.streamed_most_seconds - (now() - began)

    async def _follow_streamed(self, streaming: StreamedList) -> None:
        """Watch, beginning with a list, then as ``_follow`` does. Raises where the list does not become complete."""
        statistics = self.statistics
        statistics.listing, statistics.listed, statistics.expected = True, 0, 0
        self._sink.restart()
        failure = await self._watch(STREAMED)
        if not streaming.complete.is_set():
            try:
                raise failure or NotStreamed(words.ENDED_EARLY)
            finally:
                del failure  # it would refer to itself by way of this frame
        if failure is not None:
            await self._attempts.wait_out(failure, self._watch_back_off)
        await self._follow()

    def _on_streamed(self, streaming: StreamedList) -> None:
        self._served = None
        self._attempts.enter(WatchState.WATCHING)
        streaming.complete.set()

    def _is_served(self, resource: ApiResource) -> bool:
        return self._served is None or not self._served.lacks(resource)

    async def _stay(self, following: asyncio.Task[None]) -> None:
        """Watch until the kind has to be listed again; after an error, wait before that."""
        try:
            await self._until_restored(following)
        except Garbled as error:
            await self._attempts.wait_out_garbled(error)
        except (ApiError, Unavailable) as error:
            await self._attempts.wait_out(error, self._watch_back_off)

    async def _until_restored(self, following: asyncio.Task[None]) -> None:
        """Wait for the watch task, or until the server is back at an earlier version, or a list is asked for or due.

        Raises the errors of the task.
        """
        again_seconds = uniform(*self._settings.again_seconds)
        looking = asyncio.create_task(self._lister.restored(lambda: self._reader.version))
        asked = asyncio.create_task(self._attempts.asked.wait())
        try:
            await asyncio.wait((following, looking, asked), timeout=again_seconds, return_when=asyncio.FIRST_COMPLETED)
            if following.done():
                await following
            elif looking.done():
                self._attempts.enter(WatchState.UNAVAILABLE, await looking)
        finally:
            await put_down(looking)
            await put_down(asked)

    # ---- watching

    async def _follow(self) -> None:
        """Watch from the last version, resuming as long as that works; returns when the kind is to be listed again."""
        first = True
        while self._fruitless < self._settings.fruitless_watches:
            self.statistics.restarts += not first
            first = False
            began, events = self._clock.monotonic(), self.statistics.events
            try:
                failure = await self._watch()
            finally:
                steady = self._clock.monotonic() - began >= self._settings.steady_seconds
                if self.statistics.events > events:
                    self._fruitless = 0
                if self.statistics.events > events or steady:
                    self._watch_back_off.reset()
            if failure is not None:
                await self._attempts.wait_out(failure, self._watch_back_off)
            elif not steady:
                # The watch should have lasted minutes. A server that ends it at once must not be asked without a pause.
                await asyncio.sleep(self._watch_back_off.next_seconds())

    async def _watch(self, begins: Params | None = None) -> VschedError | None:
        """Read one watch to its end: None if the server ended it, else the error to back off from before resuming.

        ``begins`` says where it begins, if not at the version that is known.
        """
        opened = False
        try:
            async with self._client.stream(
                self._path, self._watch_params(begins), silence_seconds=self._settings.silence_seconds
            ) as chunks:
                opened = True
                self._check_outage()
                if not self._reader.streams:
                    self._attempts.enter(WatchState.WATCHING)
                splitter = LineSplitter(self._settings.line_bytes)
                async for chunk in chunks:
                    await self._reader.take(splitter.feed(chunk))
        except (UnexpectedAnswer, LineTooLong) as failure:
            if opened:  # Resumed from the same version, it would send the same again.
                raise Garbled(str(failure)) from failure
            self._fruitless += 1
            return failure
        except (ServerError, TooManyRequests) as failure:
            if opened:
                raise  # It came as an ERROR event: further events of this watch are lost.
            self._fruitless += 1
            return failure
        except Unavailable as failure:
            # A server restored from a backup may be silent because it has not reached our version yet.
            silent = opened and isinstance(failure.__cause__, TimeoutError)
            self._fruitless += silent
            if self._lost_at is None:
                # A silent one was lost when it fell silent: a restored server may have come to our version meanwhile.
                self._lost_at = self._clock.monotonic() - (self._settings.silence_seconds if silent else 0.0)
            return failure
        return None

    def _check_outage(self) -> None:
        """The server answers; raises Gone where it was away for so long that it may be another one by now."""
        lost_at, self._lost_at = self._lost_at, None
        if lost_at is None or self._reader.streams:
            return
        away_seconds = self._clock.monotonic() - lost_at
        if away_seconds >= self._settings.outage_seconds:
            self._watch_back_off.reset()
            raise Gone(self._where, 410, words.was_away(away_seconds))

    def _watch_params(self, begins: Params | None) -> Params:
        seconds = uniform(*self._settings.watch_seconds)
        return {
            **self._kind.selectors,
            "watch": "1",
            "allowWatchBookmarks": "true",
            **({"resourceVersion": self._reader.version} if begins is None else begins),
            "timeoutSeconds": str(max(1, round(seconds))),
        }

    @property
    def _where(self) -> str:
        return f"{self._client.connection.server}: GET {self._path}"
