"""Watches: streams of events as newline-delimited JSON, first from the history and then live.

Every watch reads the shared history with a cursor of its own, and sends the shared bytes of each event. A watch that is
too slow for the history is ended.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Iterator
from dataclasses import dataclass

import orjson

from vsched.apimachinery.meta import conversion
from vsched.apimachinery.meta.api_errors import Failure, expired
from vsched.apimachinery.meta.kinds import Kind, Obj
from vsched.apimachinery.meta.times import Clock
from vsched.apimachinery.objects.field_decoding import empty_fields
from vsched.clock import monotonic
from vsched.randomness import uniform
from vsched.sim.requests.list_options import check_list_options, check_watch_options, is_version, not_a_version
from vsched.sim.requests.reads import check_selectors, request_selector
from vsched.sim.requests.request import ApiRequest, Form, include_object
from vsched.sim.store.selectors import ObjectSelector
from vsched.sim.store.store import Behind, Event, Store, StoredObject, Subscription, key_of
from vsched.sim.tables import rendering as tables

INITIAL_EVENTS_END = "k8s.io/initial-events-end"
BOOKMARK_SECONDS = 60.0
_SHORTEST_SECONDS, _LONGEST_SECONDS = 1800.0, 3600.0
_BATCH_EVENTS = 500

Send = Callable[[bytes], Awaitable[None]]


@dataclass(slots=True)
class WatchRequest:
    """A watch, from its request."""

    store: Store
    kind: Kind
    namespace: str
    selector: ObjectSelector | None
    form: Form
    include_object: str
    now: Clock
    after: int | None
    """The revision that the client has seen; None to begin with all objects."""
    initial_bookmark: bool
    bookmarks: bool
    timeout_seconds: float
    silent_until: int = 0
    """If the client's version does not exist yet: events up to it are not sent."""
    columns_sent: bool = False

    def lines(self, events: Iterable[Event]) -> Iterator[bytes]:
        """The lines for events that match the watch."""
        prefix = f"{self.namespace}/" if self.namespace else ""
        plain = not self.form.kind and self.kind.stored
        for event in events:
            if event.revision <= self.silent_until or not event.key.startswith(prefix):
                continue
            if plain and self.selector is None:
                yield event.line
                continue
            seen = self._seen(event)
            if seen is None:
                continue
            type_, obj = seen
            yield event.line_as(type_) if plain and obj is event.obj else self.line(type_, obj)

    def _seen(self, event: Event) -> tuple[str, Obj] | None:
        """The event by the selector: an object that begins to match is ADDED, one that ceases to match is DELETED."""
        if self.selector is None:
            return event.type, event.obj
        previous = event.previous.obj if event.previous is not None else None
        was = previous is not None and self.selector.matches(previous)
        if event.type == "DELETED":
            return ("DELETED", event.obj) if was else None
        if self.selector.matches(event.obj):
            return ("MODIFIED" if was else "ADDED"), event.obj
        if not was or previous is None:
            return None
        metadata = {**previous["metadata"], "resourceVersion": str(event.revision)}
        return "DELETED", {**previous, "metadata": metadata}

    def line(self, type_: str, obj: Obj) -> bytes:
        shown = conversion.to_served(self.kind, obj)
        if self.form.kind == "Table":
            shown = tables.table(
                self.kind, [shown], self.include_object, self.now(), with_columns=not self.columns_sent
            )
            shown["metadata"] = {"resourceVersion": obj["metadata"].get("resourceVersion", "")}
            self.columns_sent = True
        elif self.form.kind:
            shown = tables.partial(shown)
        return orjson.dumps({"type": type_, "object": shown}) + b"\n"

    def bookmark(self, *, initial_end: bool = False) -> bytes:
        metadata: Obj = {"resourceVersion": str(self.store.revision)}
        if initial_end:
            metadata["annotations"] = {INITIAL_EVENTS_END: "true"}
        obj = {"kind": self.kind.kind, "apiVersion": self.kind.api_version, "metadata": metadata}
        if self.form.kind == "Table":
            return self.line("BOOKMARK", obj)
        if self.form.kind:
            obj |= {"kind": "PartialObjectMetadata", "apiVersion": "meta.k8s.io/v1"}
        elif not self.kind.custom:
            obj |= empty_fields(self.kind)
        return orjson.dumps({"type": "BOOKMARK", "object": obj}) + b"\n"


def open_watch(store: Store, kind: Kind, namespace: str, name: str, call: ApiRequest, now: Clock) -> WatchRequest:
    """The watch of a request; raises a Failure for invalid options."""
    seconds = call.integer("timeoutSeconds")
    check_selectors(call)
    # A path below /watch has the options of a list, unless the query says watch as well.
    is_watch = call.flag("watch")
    (check_watch_options if is_watch else check_list_options)(call)
    selector = request_selector(kind, name, call)
    given = call.query.get("resourceVersion", "")
    if given and not is_version(given):
        raise Failure(500, "", not_a_version(given))
    version = int(given) if given else 0
    wants_initial = call.flag("sendInitialEvents")
    from_start = wants_initial or ("sendInitialEvents" not in call.query and not version)
    bookmarks = call.flag("allowWatchBookmarks")
    return WatchRequest(
        store=store,
        kind=kind,
        namespace=namespace,
        selector=selector,
        form=call.form,
        include_object=include_object(call) if call.form.kind == "Table" else "",
        now=now,
        after=None if from_start else version or store.revision,
        initial_bookmark=from_start and bookmarks and is_watch,
        bookmarks=bookmarks,
        silent_until=0 if from_start or version <= store.revision else version,
        timeout_seconds=float(seconds) if seconds else uniform(_SHORTEST_SECONDS, _LONGEST_SECONDS),
    )


async def run_watch(watch: WatchRequest, send: Send, bookmark_seconds: float = BOOKMARK_SECONDS) -> None:
    """Sends the stream until its time is up, the kind is gone or the client is too slow."""
    deadline = monotonic() + watch.timeout_seconds
    try:
        subscription = watch.store.subscribe(watch.kind, watch.after)
    except Behind as error:
        await send(_error(watch.kind, str(error)))
        return
    if watch.after is None:
        await _send_initial(watch, watch.store.items(watch.kind, watch.namespace), send)
    try:
        await _follow(watch, subscription, deadline, send, bookmark_seconds)
    except Behind:
        # As in the real server the stream just ends, and the client continues with its version.
        return


async def _send_initial(watch: WatchRequest, records: list[StoredObject], send: Send) -> None:
    for start in range(0, len(records), _BATCH_EVENTS):
        batch = records[start : start + _BATCH_EVENTS]
        events = (Event("ADDED", key_of(record.obj), record, None) for record in batch)
        if lines := b"".join(watch.lines(events)):
            await send(lines)
    if watch.initial_bookmark:
        await send(watch.bookmark(initial_end=True))


async def _follow(
    watch: WatchRequest, subscription: Subscription, deadline: float, send: Send, bookmark_seconds: float
) -> None:
    next_bookmark = monotonic() + bookmark_seconds
    while True:
        # Read before the last events are taken, so that none is lost.
        over = subscription.closed
        while events := subscription.take(_BATCH_EVENTS):
            if lines := b"".join(watch.lines(events)):
                await send(lines)
        now = monotonic()
        if over or now >= deadline:
            return
        if watch.bookmarks and now >= next_bookmark:
            await send(watch.bookmark())
            next_bookmark = now + bookmark_seconds
        until = min(deadline, next_bookmark) if watch.bookmarks else deadline
        await subscription.wait(max(until - now, 0.0))


def _error(kind: Kind, why: str) -> bytes:
    # Events have no watch cache in the real server, and so another message.
    text = "The resourceVersion for the provided watch is too old." if kind.storage == "/events" else why
    return orjson.dumps({"type": "ERROR", "object": expired(text).body}) + b"\n"
