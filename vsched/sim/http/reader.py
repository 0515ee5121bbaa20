"""Reads requests out of bytes, however they are split: llhttp, the parser of Node.js, does the work (httptools).

Clients send the same headers with nearly every request. A whole request whose headers the parser has read before, byte
for byte, is not given to it again: its calls of Python for each header cost more than the rest of the reading.
"""

from __future__ import annotations

import re
from collections import deque
from functools import lru_cache
from typing import NamedTuple

from httptools import HttpParserError, HttpParserUpgrade, HttpRequestParser
from multidict import CIMultiDict, CIMultiDictProxy

HEAD_BYTES = 64 << 10
"""The longest head of a request, and the longest trailers, besides what comes in one read."""
_REQUEST_BYTES = 64
"""What a request that waits takes besides its bytes, at least."""
_KEPT_BYTES = 2 << 10
"""Longer headers are read anew each time."""

_MOST_KNOWN = 512
"""Headers that are known at most; one more, and all are forgotten."""
_LINE_BYTES = 2 << 10
_LINE = re.compile(rb"(GET|POST|PUT|PATCH|DELETE) (/[A-Za-z0-9/._~!$&'()*+,;=:@%?-]*) HTTP/1\.1")
"""Of plain requests; for others there is the parser."""

Headers = CIMultiDictProxy[str]
Fields = tuple[tuple[bytes, bytes], ...]


class UnreadableRequest(Exception):
    """What came is no request that can be read; nothing after it can be, either."""

    def __init__(self, why: str, code: int = 400) -> None:
        super().__init__(why)
        self.code = code

    @property
    def request(self) -> Request:
        """What an answer to it is an answer to."""
        return Request("", "", _EMPTY, b"", keeps=False)


class Head(NamedTuple):
    """What the headers of a request say."""

    headers: Headers
    accept: str
    content_type: str
    user_agent: str
    length: int
    """Of the body, in bytes; 0 where it comes in chunks."""
    expects: bool
    """The client sends the body once it is told to continue."""


class Request(NamedTuple):
    """A whole request; one that is ``too_large`` comes without its body, and nothing can be read after it."""

    method: str
    target: str
    """The path with its query, as it was sent."""
    head: Head
    body: bytes
    keeps: bool
    """Whether further requests may come on this connection."""
    newest: bool = True
    """HTTP/1.1 rather than HTTP/1.0."""
    too_large: bool = False

    @property
    def headers(self) -> Headers:
        return self.head.headers


class RequestReader:
    """Reads the requests of one connection: feed it, and take requests until there is none."""

    def __init__(self, most_bytes: int) -> None:
        """``most_bytes`` is the longest body."""
        self._most = most_bytes
        self._parser = HttpRequestParser(self)
        self._whole: deque[tuple[int, Request]] = deque()
        """Requests that nobody has taken yet, with the bytes that each is counted as."""
        self._waiting = 0
        """The sum of these bytes."""
        self._refusal: UnreadableRequest | None = None
        self._over = False
        """Nothing that comes is read any more."""
        self._begun = False
        """A request has begun to come."""
        self._in_head = False
        self._moved = False
        """The present read had the end of a head, or a part of a body."""
        self._loose = 0
        """How many bytes came without that."""
        self._target = b""
        self._fields: list[tuple[bytes, bytes]] = []
        self._head_bytes = 0
        self._head = _EMPTY
        self._parts: list[bytes] = []
        self._size = 0
        """The length of the body so far."""
        self.expected = False
        """A body is waited for whose client has to be told to continue first; whoever tells it sets this to False."""

    @property
    def buffered(self) -> int:
        """How many bytes the requests take that have not been taken."""
        return self._waiting

    @property
    def resting(self) -> bool:
        """Whether no request has begun to come."""
        return not self._begun and not self._whole

    def feed(self, data: bytes) -> None:
        """Take more bytes."""
        if not self._begun and not self._over:
            data = self._take_known(data)
        while data and not self._over:
            self._moved = False
            at_start, whole = not self._begun, len(self._whole)
            try:
                self._parser.feed_data(data)
                rest = b""
                if at_start and len(self._whole) > whole:
                    _learn(data, self._whole[whole][1])
            except HttpParserUpgrade as upgrade:
                # Nobody is obliged to change the protocol: the request is answered as if nothing had been said.
                rest = data[upgrade.args[0] :]
                self._parser = HttpRequestParser(self)
            except HttpParserError as error:
                self._refuse(f"what came is no request of HTTP/1.1: {error}")
                return
            self._loose = 0 if self._moved else self._loose + len(data)
            if self._loose > HEAD_BYTES:
                self._refuse(f"the head of the request is longer than {HEAD_BYTES} bytes", 431)
            data = rest

    def next(self) -> Request | None:
        """The next whole request; None where it has not come yet. Raises NotHttp."""
        if not self._whole:
            if self._refusal is not None:
                raise self._refusal
            return None
        size, request = self._whole.popleft()
        self._waiting -= size
        return request

    def _take_known(self, data: bytes) -> bytes:
        """Take whole requests with known headers off the front; returns the rest."""
        begin = 0
        while begin < len(data):
            line_end = data.find(b"\r\n", begin, begin + _LINE_BYTES)
            head_end = data.find(b"\r\n\r\n", line_end, line_end + _KEPT_BYTES) if line_end > 0 else -1
            head = _known.get(data[line_end:head_end]) if head_end > 0 else None
            if head is None:
                break
            found = _LINE.fullmatch(data, begin, line_end)
            end = head_end + 4 + head.length
            if found is None or end > len(data) or head.length > self._most:
                break
            body = data[head_end + 4 : end]
            self._append(Request(found[1].decode(), found[2].decode(), head, body, keeps=True), line_end - begin)
            begin = end
        return data[begin:] if begin else data

    def _append(self, request: Request, head_bytes: int = 0) -> None:
        size = _REQUEST_BYTES + head_bytes + len(request.body)
        self._whole.append((size, request))
        self._waiting += size

    # -- what the parser calls

    def on_message_begin(self) -> None:
        self._begun = self._in_head = True
        self._target, self._head_bytes, self._size = b"", 0, 0
        self._fields, self._parts = [], []

    def on_url(self, part: bytes) -> None:
        self._target += part
        self._count(len(part))

    def on_header(self, name: bytes, value: bytes) -> None:
        self._count(len(name) + len(value))
        if self._in_head:  # or else it is a trailer
            self._fields.append((name, value))

    def on_headers_complete(self) -> None:
        self._in_head, self._moved = False, True
        if not self._parser.get_http_version().startswith("1."):
            self._refuse("only HTTP/1.1 is spoken here", 505)
            return
        fields = tuple(self._fields)
        self._head = _kept_head(fields) if self._head_bytes <= _KEPT_BYTES else _head_of(fields)
        if self._head.length > self._most:
            self._complete(too_large=True)
        self.expected = self._head.expects and not self._over

    def on_chunk_header(self) -> None:
        self._moved = True

    def on_body(self, part: bytes) -> None:
        self._moved, self.expected = True, False
        self._size += len(part)
        if self._size <= self._most:
            self._parts.append(part)
        else:
            self._complete(too_large=True)

    def on_message_complete(self) -> None:
        self._moved, self.expected = True, False
        self._complete()

    # -- what comes of it

    def _count(self, size: int) -> None:
        self._head_bytes += size
        if self._head_bytes > HEAD_BYTES:
            self._refuse(f"the head of the request is longer than {HEAD_BYTES} bytes", 431)

    def _complete(self, *, too_large: bool = False) -> None:
        if self._over:
            return
        self._begun, self._over = False, too_large
        try:
            target = _path_of(self._target)
        except UnreadableRequest as refusal:
            self._refusal, self._over = refusal, True
            return
        parser, parts = self._parser, self._parts
        request = Request(
            parser.get_method().decode(),
            target,
            self._head,
            b"" if too_large else parts[0] if len(parts) == 1 else b"".join(parts),
            keeps=not too_large and parser.should_keep_alive(),
            newest=parser.get_http_version() != "1.0",
            too_large=too_large,
        )
        self._append(request, self._head_bytes)

    def _refuse(self, why: str, code: int = 400) -> None:
        """What came before is still answered."""
        if not self._over:
            self._refusal, self._over = UnreadableRequest(why, code), True


_known: dict[bytes, Head] = {}
"""Headers that the parser has read, as bytes: from the end of the line before them to the end of the last one."""


def _learn(data: bytes, request: Request) -> None:
    """Keep what the parser made of the headers of a plain request, with which these bytes begin."""
    head, line_end = request.head, data.find(b"\r\n")
    block = data[line_end : data.find(b"\r\n\r\n", line_end)]
    plain = request.keeps and request.newest and not head.expects and len(request.body) == head.length
    if not plain or len(block) > _KEPT_BYTES - 4 or block.count(b"\n") != block.count(b"\r\n"):
        return
    if not head.headers.keys().isdisjoint(_UNUSUAL) or _LINE.fullmatch(data, 0, line_end) is None:
        return
    if len(_known) >= _MOST_KNOWN:
        _known.clear()
    _known[block] = head


_UNUSUAL = CIMultiDict({"Transfer-Encoding": "", "Upgrade": "", "Expect": ""}).keys()
"""Headers that say more than how long the body is."""


def _path_of(raw: bytes) -> str:
    """The path with its query; proxies put the server before it."""
    target = raw.decode("utf-8", "surrogateescape")
    if target.startswith("/") or target == "*":
        return target
    scheme, _, rest = target.partition("://")
    if scheme.lower() not in ("http", "https"):
        raise UnreadableRequest("the request is for no path")
    return "/" + rest.partition("/")[2]


def _head_of(fields: Fields) -> Head:
    headers = CIMultiDict((_text(name), _text(value).rstrip(" \t")) for name, value in fields)
    return Head(
        headers=CIMultiDictProxy(headers),
        accept=headers.get("Accept", ""),
        content_type=headers.get("Content-Type", ""),
        user_agent=headers.get("User-Agent", ""),
        length=int(headers.get("Content-Length", "0")),  # the parser has seen that it is a number
        expects=headers.get("Expect", "").lower() == "100-continue",
    )


def _text(raw: bytes) -> str:
    return raw.decode("utf-8", "surrogateescape")


_kept_head = lru_cache(maxsize=512)(_head_of)
"""Clients send the same headers with nearly every request."""
_EMPTY = _head_of(())
