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
from vsched.errors import UNREADABLE, UNUSABLE, Unavailable, VschedError, why_unreadable
from vsched.kube.backoff import BackOff
from vsched.kube.client import ApiClient
from vsched.kube.errors import (
    ApiError,
    Forbidden,
    Gone,
    NotFound,
    ServerError,
    TooManyRequests,
    Unauthorized,
    UnexpectedAnswer,
    error_from_status,
    unexpected,
)
from vsched.kube.paths import ApiResource, Params
from vsched.kube.watch.bounds import LoopTurns, ReflectorSettings
from vsched.kube.watch.deltas import Delta, PartsSink, Sink, Statistics, WatchedKind, WatchState, in_parts
from vsched.kube.watch.discovery import Discovery, Served
from vsched.kube.watch.framing import (
    LineSplitter,
    LineTooLong,
    Page,
    WatchEvent,
    decode_event,
    version_of,
)
from vsched.kube.watch.listing import Lister, complaint, put_down
from vsched.kube.watch.streaming import STREAMED, NotStreamed, StreamedList, StreamedLists, verdict_of
from vsched.kube.words import watching as words
from vsched.randomness import uniform

__all__ = ["Reflector", "ReflectorSettings", "WatchedKind"]

T = TypeVar("T")

DELTAS: dict[str, Delta] = {delta.value: delta for delta in Delta}

STATES: tuple[tuple[type[VschedError], WatchState], ...] = (
    (NotFound, WatchState.MISSING),
    (Unauthorized, WatchState.REFUSED),
    (Forbidden, WatchState.REFUSED),
    (VschedError, WatchState.UNAVAILABLE),
)
"""The state for each kind of error; the first that matches."""


def _is_before(found: str, known: str) -> bool:
    """Whether one version is before another; False if they are not numbers."""
    return found.isdecimal() and known.isdecimal() and (len(found), found) < (len(known), known)


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
        self.statistics = Statistics(kind.resource)
        self.synced = asyncio.Event()
        """Set by the first complete list."""
        self.settled = asyncio.Event()
        """Set once the first attempt has a result: a complete list, a missing kind, one that we may not read, or with
        ``settles_on_errors`` any other failure."""
        self._client = client
        self._kind = kind
        self._sink = in_parts(sink)
        self._versions = (kind.resource, *kind.older)
        self._path = kind.resource.path(kind.namespace)
        self._settings = settings = settings or ReflectorSettings()
        self._on_state = on_state
        self._clock = clock = clock or SystemClock()
        self._lister = Lister(client, kind, self._sink, settings, self.statistics, clock)
        self._list_back_off = BackOff(self._settings.back_off)
        self._watch_back_off = BackOff(self._settings.back_off)
        self._garbled_back_off = BackOff(self._settings.garbled)
        self._garbled_at = 0.0
        self._version = ""
        self._latest: bytes | None = None
        """The last object of a watch; its version is decoded only when the watch has to be resumed."""
        self._fruitless = 0
        self._lost_at: float | None = None
        """Since when a watch could not be opened again, because nobody answered; steady clock."""
        self._asked = asyncio.Event()
        """Set while somebody waits for a list that has not begun."""
        self._begun = self._complete = 0
        """The lists that have begun, and the latest of them that is complete."""
        self._completed = asyncio.Event()
        """Set, and replaced, whenever a list is complete."""
        self._served: Served | None = None
        self._discovery = discovery
        self._streamed = streamed
        """None where kinds are listed in pages; also after the server has not streamed this one."""
        self._streaming: StreamedList | None = None
        """The list that comes with the watch at the moment."""

    def begin_with(self, served: Served | None) -> None:
        """What the server serves; None if it did not say.

        The first attempt does not request the kind if it is not among it: it is missing. Later attempts do.
        """
        self._served = served

    def list_again(self) -> None:
        """List the kind anew, soon: the watch goes on from there."""
        self._asked.set()

    async def catch_up(self) -> None:
        """Wait until the sink has everything that the server has by now: a list that begins from now on is complete.

        Returns as well where the kind is not served, or may not be read.
        """
        wanted = self._begun + 1
        self.list_again()
        while self._complete < wanted:
            await self._completed.wait()

    @property
    def version(self) -> str:
        """The resourceVersion up to which the sink has everything; empty before the first list."""
        return self._resume_version()

    async def run(self) -> NoReturn:
        """Keep the sink in step until cancelled."""
        try:
            while True:
                if await self._keep_up_streamed():
                    continue
                try:
                    page = await self._begin()
                except (ApiError, Unavailable) as error:
                    await self._wait_out(error, self._list_back_off)
                    continue
                await self._keep_up(page)
        finally:
            self._enter(WatchState.STOPPED)

    # ---- listing

    async def _begin(self) -> Page:
        """Request the first page of a list; its version is the one to watch from."""
        if not self.statistics.problem:
            # An error stays in the statistics until it is overcome: a new attempt alone is not a change of state.
            self._enter(WatchState.LISTING)
        self._asked.clear()
        self._begun += 1
        page = await self._first_page()
        self._version, self._latest = page.metadata.resource_version, None
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
                await self._wait_out(error, self._list_back_off)
                return
            self._list_back_off.reset()
            self._listed()
            following = following or asyncio.create_task(self._follow())
            try:
                await self._until_restored(following)
            except Garbled as error:
                await self._wait_out(error, self._after_garbled())
            except (ApiError, Unavailable) as error:
                await self._wait_out(error, self._watch_back_off)
        finally:
            if following is not None:
                await put_down(following)

    def _listed(self) -> None:
        self.synced.set()
        self.settled.set()
        self._attempted()

    def _attempted(self) -> None:
        """The list that was begun last is complete, or cannot be had."""
        self._complete = self._begun
        self._completed.set()
        self._completed = asyncio.Event()

    async def _keep_up_streamed(self) -> bool:
        """List and watch by one request, as ``_keep_up`` does; False if the kind has to be listed in pages."""
        resource, lists = self._versions[0], self._streamed
        if lists is None or not self._is_served(resource) or not await lists.worth_trying():
            return False
        self._use(resource)
        if not self.statistics.problem:
            self._enter(WatchState.LISTING)
        self._asked.clear()
        self._begun += 1
        self._fruitless, offered = 0, None
        self._streaming = streaming = StreamedList(self._clock.monotonic())
        following = asyncio.create_task(self._follow_streamed())
        complete = asyncio.create_task(streaming.complete.wait())
        try:
            await self._until_complete(following, complete)
            offered = streaming.complete.is_set() or verdict_of(following.exception() if following.done() else None)
        finally:
            lists.tell(offered)
            await put_down(complete)
            if not streaming.complete.is_set():
                self._streaming = self._streamed = None
                await put_down(following)
        if not streaming.complete.is_set():
            return False
        self._list_back_off.reset()
        self._listed()
        try:
            await self._until_restored(following)
        except Garbled as error:
            await self._wait_out(error, self._after_garbled())
        except (ApiError, Unavailable) as error:
            await self._wait_out(error, self._watch_back_off)
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

    async def _follow_streamed(self) -> None:
        """Watch, beginning with a list, then as ``_follow`` does. Raises where the list does not become complete."""
        statistics, streaming = self.statistics, self._streaming
        assert streaming is not None, "it is made before the task"
        statistics.listing, statistics.listed, statistics.expected = True, 0, 0
        self._sink.restart()
        failure = await self._watch(STREAMED)
        if not streaming.complete.is_set():
            try:
                raise failure or NotStreamed(words.ENDED_EARLY)
            finally:
                del failure  # it would refer to itself by way of this frame
        if failure is not None:
            await self._wait_out(failure, self._watch_back_off)
        await self._follow()

    async def _complete_streamed(self, streaming: StreamedList) -> None:
        """All objects of a streamed list have come."""
        turns, statistics, version = LoopTurns(self._settings.slice_seconds), self.statistics, self._resume_version()
        for _ in self._sink.finish(version):
            if turns.over:
                await turns.turn()
        for raw, error in streaming.broken:
            self._sink.broken(raw, error)
        statistics.lists += 1
        statistics.objects = statistics.listed
        statistics.list_seconds = self._clock.monotonic() - streaming.began
        statistics.synced, statistics.listing = True, False
        self._streaming = self._served = None
        self._enter(WatchState.WATCHING)
        streaming.complete.set()

    def _is_served(self, resource: ApiResource) -> bool:
        return self._served is None or not self._served.lacks(resource)

    async def _until_restored(self, following: asyncio.Task[None]) -> None:
        """Wait for the watch task, or until the server is back at an earlier version, or a list is asked for or due.

        Raises the errors of the task.
        """
        again_seconds = uniform(*self._settings.again_seconds)
        looking, asked = asyncio.create_task(self._look_back()), asyncio.create_task(self._asked.wait())
        try:
            await asyncio.wait((following, looking, asked), timeout=again_seconds, return_when=asyncio.FIRST_COMPLETED)
            if following.done():
                await following
            elif looking.done():
                self._enter(WatchState.UNAVAILABLE, await looking)
        finally:
            await put_down(looking)
            await put_down(asked)

    async def _look_back(self) -> str:
        """Ask for the server's version from time to time; when it is before ours, return a message that says so."""
        while True:
            await asyncio.sleep(uniform(*self._settings.look_seconds))
            with suppress(ApiError, Unavailable):  # the watch itself notices a server that does not answer
                known = self._resume_version()
                found = await self._lister.version()
                # An answer may be slightly out of date, and listing everything is expensive, so ask twice.
                if _is_before(found, known) and _is_before(found := await self._lister.version(), known):
                    return words.restored(self._where, found, known)

    def _after_garbled(self) -> BackOff:
        """How long to wait before the next list; longer each time if the server keeps sending unreadable events."""
        now = self._clock.monotonic()
        if now - self._garbled_at > self._settings.calm_seconds:
            self._garbled_back_off.reset()
        self._garbled_at = now
        return self._garbled_back_off

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
                await self._wait_out(failure, self._watch_back_off)
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
                if self._streaming is None:
                    self._enter(WatchState.WATCHING)
                splitter = LineSplitter(self._settings.line_bytes)
                async for chunk in chunks:
                    await self._take(splitter.feed(chunk))
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
            self._fruitless += opened and isinstance(failure.__cause__, TimeoutError)
            if self._lost_at is None:
                self._lost_at = self._clock.monotonic()
            return failure
        return None

    def _check_outage(self) -> None:
        """The server answers; raises Gone where it was away for so long that it may be another one by now."""
        lost_at, self._lost_at = self._lost_at, None
        if lost_at is None or self._streaming is not None:
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
            **({"resourceVersion": self._resume_version()} if begins is None else begins),
            "timeoutSeconds": str(max(1, round(seconds))),
        }

    def _resume_version(self) -> str:
        if self._latest is not None:
            self._version = version_of(self._latest) or self._version
            self._latest = None
        return self._version

    async def _take(self, lines: list[bytes]) -> None:
        """Deliver the lines of one chunk to the sink, with turns of the event loop in between."""
        turns = LoopTurns(self._settings.slice_seconds)
        if lines:
            self.statistics.last_event_monotonic = self._clock.monotonic()
        for line in lines:
            self._take_line(line)
            if self._streaming is not None and self._streaming.ended:
                await self._complete_streamed(self._streaming)
            if turns.over:
                await turns.turn()

    def _take_line(self, line: bytes) -> None:
        found = self._kind.read_line(line)
        if found is None:
            self._take_unusual(line)
        else:
            if found.version:
                self._version, self._latest = found.version, None
            self._pass_on(found.delta, found.item)
        self.statistics.events += 1

    def _take_unusual(self, line: bytes) -> None:
        try:
            event = decode_event(line)
        except UNREADABLE as error:
            problem = words.no_event(why_unreadable(error))
            raise unexpected(self._where, 200, {}, line, problem) from error
        delta = DELTAS.get(event.type)
        if delta is None:
            self._take_notice(event)
        else:
            self._deliver(delta, bytes(event.object))

    def _deliver(self, delta: Delta, raw: bytes) -> None:
        try:
            item = self._kind.decode(raw)
        except UNUSABLE as error:
            listed = self._streaming is not None and delta is Delta.ADDED
            broken = complaint(self.statistics, raw, None if listed else delta, error)
            if broken.identity.resource_version:
                self._version, self._latest = broken.identity.resource_version, None
            if self._streaming is not None and listed:
                self._streaming.broken.append((raw, broken))
            else:
                self._sink.broken(raw, broken)
            return
        self._latest = raw
        self._pass_on(delta, item)

    def _pass_on(self, delta: Delta, item: T) -> None:
        if self._streaming is None or delta is not Delta.ADDED:
            self._sink.apply(delta, item)
            return
        self._sink.include(item)
        statistics = self.statistics
        statistics.listed += 1
        statistics.expected = statistics.listed

    def _take_notice(self, event: WatchEvent) -> None:
        raw = bytes(event.object)
        if event.type == "BOOKMARK":
            self._latest = raw
            if self._streaming is not None:
                self._streaming.bookmark(raw)
        elif event.type == "ERROR":
            raise self._error_in(raw)
        else:
            raise unexpected(self._where, 200, {}, raw, words.unknown_event(event.type))

    def _error_in(self, raw: bytes) -> ApiError:
        try:
            return error_from_status(self._where, raw, 0)
        except UNREADABLE:
            return unexpected(self._where, 200, {}, raw, words.NO_STATUS)

    # ---- what goes wrong

    async def _wait_out(self, error: VschedError, back_off: BackOff) -> None:
        """Report the error in the state, and wait as long as the backoff says."""
        state = next(state for kind, state in STATES if isinstance(error, kind))
        self._enter(state, str(error))
        if state in (WatchState.MISSING, WatchState.REFUSED) or self._settings.settles_on_errors:
            self.settled.set()
        if state in (WatchState.MISSING, WatchState.REFUSED):
            self._attempted()
        if isinstance(error, Gone) and back_off.failures == 0:
            # An expired version, once, needs no wait: waiting would only make the sink fall further behind.
            back_off.failures = 1
            return
        asked_seconds = error.retry_after_seconds if isinstance(error, ApiError) else None
        if state is not WatchState.MISSING:
            await asyncio.sleep(back_off.next_seconds(asked_seconds))
            return
        missing_seconds = self._settings.missing_seconds
        if self._settings.seldom_served:
            await asyncio.sleep(missing_seconds * uniform(0.5, 1.0))
        else:
            await asyncio.sleep(back_off.next_seconds(asked_seconds, missing_seconds))
        if self._discovery is not None:
            await self._discovery.until_served(self._versions, missing_seconds)

    def _enter(self, state: WatchState, problem: str = "") -> None:
        statistics = self.statistics
        if state is statistics.state is WatchState.MISSING:
            return  # however the server says so
        changed = (statistics.state, statistics.problem) != (state, problem)
        statistics.state, statistics.problem = state, problem
        if changed and self._on_state is not None:
            self._on_state(statistics)

    @property
    def _where(self) -> str:
        return f"{self._client.connection.server}: GET {self._path}"
