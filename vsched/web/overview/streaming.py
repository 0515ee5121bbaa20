"""The routes ``/overview`` (one overview) and ``/events`` (a stream of changes)."""

from __future__ import annotations

from functools import partial

from aiohttp import hdrs, web

from vsched.clock import monotonic
from vsched.web.overview.document import Overview
from vsched.web.overview.events import (
    FIRST_WORDS,
    HEARTBEAT,
    OTHER_WORDS,
    EventBytes,
    GzipStream,
    PlainStream,
    gzipped,
    takes_gzip,
)
from vsched.web.overview.feed import PATIENCE_SECONDS, OverviewFeed
from vsched.web.serve.routing import Contract, Route, as_json, aside, or_unavailable
from vsched.web.serve.streams import LongResponse, Stay
from vsched.web.words import answers as answers_words
from vsched.web.words import routes as words

HEARTBEAT_SECONDS = 15.0
UNTOUCHED = {"Cache-Control": "no-store, no-transform", "X-Accel-Buffering": "no", "Vary": "Accept-Encoding"}
"""Proxies must not cache, change or delay the stream."""


def overview_routes(
    feed: OverviewFeed, heartbeat_seconds: float = HEARTBEAT_SECONDS, patience_seconds: float = PATIENCE_SECONDS
) -> list[Route]:
    """Both routes."""

    async def overview(request: web.Request) -> web.StreamResponse:
        found = await aside(partial(feed.document.of, await feed.fresh(patience_seconds)))
        zipped = takes_gzip(request.headers.get(hdrs.ACCEPT_ENCODING, ""))
        headers = {"Vary": "Accept-Encoding"} | ({"Content-Encoding": "gzip"} if zipped else {})
        body = await aside(lambda: gzipped(found)) if zipped else found.plain
        return web.Response(body=body, content_type="application/json", headers=headers)

    async def events(request: web.Request) -> web.StreamResponse:
        if request.method == hdrs.METH_HEAD:
            return web.Response(content_type="text/event-stream", headers=UNTOUCHED)
        if feed.full:
            return as_json({"error": answers_words.too_many_watch(feed.watchers)}, 503, {"Retry-After": "5"})
        return EventStream(feed, request, heartbeat_seconds)

    return [
        Route("/overview", or_unavailable(overview), words.OVERVIEW, contract=Contract((Overview,))),
        Route("/events", events, words.EVENTS, contract=Contract(media="text/event-stream")),
    ]


class EventStream(LongResponse):
    """The stream of events for one client, until it disconnects or must.

    A slow client delays nobody, and nothing piles up for it: once it has read what was sent, it gets the latest state.
    """

    def __init__(self, feed: OverviewFeed, request: web.Request, heartbeat_seconds: float) -> None:
        zipped = takes_gzip(request.headers.get(hdrs.ACCEPT_ENCODING, ""))
        super().__init__(headers=UNTOUCHED | ({"Content-Encoding": "gzip"} if zipped else {}))
        self.content_type = "text/event-stream"
        self._feed = feed
        self._frame: GzipStream | PlainStream = GzipStream() if zipped else PlainStream()
        named = request.headers.get("Last-Event-ID", "")
        self._known = feed.number_of(named)
        self._astray = bool(named) and (self._known is None or feed.since(self._known) is None)
        """Whether the client has an overview from which there are no deltas."""
        self._heartbeat_seconds = heartbeat_seconds

    async def last(self, stay: Stay) -> None:
        feed, frame = self._feed, self._frame
        with feed.watching():
            await stay.send(frame.begin() + frame.add(OTHER_WORDS if self._astray else FIRST_WORDS))
            said = monotonic()
            turn = feed.turn
            # A new client gets no old overview, if there were no watchers for a while.
            news = await self._news() if feed.is_fresh else []
            while await stay.allowed():
                # Overviews without a change send nothing.
                silence_seconds = monotonic() - said
                if not news and silence_seconds >= self._heartbeat_seconds:
                    news = [HEARTBEAT]
                for found in news:
                    await stay.send(frame.add(found))
                    said, silence_seconds = monotonic(), 0.0
                if feed.closed:
                    break
                turned = await stay.wait(turn, self._heartbeat_seconds - silence_seconds)
                turn = feed.turn
                news = await self._news() if turned else []
        await stay.send(frame.end())

    async def _news(self) -> list[EventBytes]:
        """The events that this client has not got yet."""
        latest = self._feed.latest
        if latest is None:
            return []
        path = self._feed.since(self._known)
        self._known = latest.number
        return [await aside(partial(self._feed.whole.of, latest))] if path is None else path
