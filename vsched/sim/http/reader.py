"""Reads requests out of bytes, however they are split. Pure.

Clients send the same headers with nearly every request, so what a block of headers says is kept by its bytes.
"""

from __future__ import annotations

import re
from enum import Enum, auto
from functools import lru_cache
from typing import NamedTuple

from multidict import CIMultiDict, CIMultiDictProxy

HEAD_BYTES = 64 << 10
"""The longest head of a request, and the longest trailers."""
CHUNK_LINE_BYTES = 1 << 10
"""The longest line before a chunk, extensions included."""
_KEPT_BYTES = 2 << 10
"""Longer blocks of headers are read anew each time."""

_LINE = re.compile(rb"([!#$%&'*+.^_`|~0-9A-Za-z-]+) ([^\x00-\x20\x7f]+) HTTP/([0-9])\.([0-9])")
_TOKEN = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_UNPRINTABLE = re.compile(r"[\x00\r\n]")
_LENGTH = re.compile(r"[0-9]{1,18}")
_CHUNK = re.compile(rb"([0-9A-Fa-f]{1,15})[ \t]*(?:;.*)?")

Headers = CIMultiDictProxy[str]


class NotHttp(Exception):
    """What came is no request that can be read; nothing after it can be, either."""

    def __init__(self, why: str, code: int = 400) -> None:
        super().__init__(why)
        self.code = code

    @property
    def request(self) -> Request:
        """What an answer to it is an answer to."""
        return Request("", "", _EMPTY.headers, b"", keeps=False)


class Head(NamedTuple):
    """What the headers of a request say."""

    headers: Headers
    length: int
    """Of the body, in bytes."""
    chunked: bool
    """The body comes in chunks, and its length is not known before."""
    expects: bool
    """The client sends the body once it is told to continue."""
    closes: bool
    """The client wants no further request on this connection."""
    keeps: bool
    """The client asks for that, as those of HTTP/1.0 have to."""


class Request(NamedTuple):
    """A whole request; one that is ``too_large`` comes without its body, and nothing can be read after it."""

    method: str
    target: str
    """The path with its query, as it was sent."""
    headers: Headers
    body: bytes
    keeps: bool
    """Whether further requests may come on this connection."""
    newest: bool = True
    """HTTP/1.1 rather than HTTP/1.0."""
    too_large: bool = False


class _Stage(Enum):
    """What comes next."""

    HEAD = auto()
    BODY = auto()
    CHUNK_LINE = auto()
    CHUNK = auto()
    TRAILERS = auto()


class RequestReader:
    """Reads the requests of one connection: feed it, and take requests until there is none."""

    __slots__ = ("_at", "_data", "_head", "_left", "_line", "_most", "_parts", "_size", "_stage", "expected")

    def __init__(self, most_bytes: int) -> None:
        """``most_bytes`` is the longest body."""
        self._most = most_bytes
        self._stage = _Stage.HEAD
        self._data = b""
        self._at = 0
        """Where in ``_data`` begins what has not been read."""
        self._line: tuple[str, str, bool, bool] = ("", "", False, False)
        """Method, target, whether the connection is kept, and whether the request is in HTTP/1.1."""
        self._head: Head = _EMPTY
        self._parts: list[bytes] = []
        self._size = 0
        """The length of the body so far."""
        self._left = 0
        """How much of the body, or of the chunk, is still to come."""
        self.expected = False
        """A body is waited for whose client has to be told to continue first; whoever tells it sets this to False."""

    @property
    def buffered(self) -> int:
        """How many bytes came and have not been read."""
        return len(self._data) - self._at

    @property
    def resting(self) -> bool:
        """Whether no request has begun to come."""
        return self._stage is _Stage.HEAD and self._at == len(self._data)

    def feed(self, data: bytes) -> None:
        """Take more bytes."""
        self._data = self._data[self._at :] + data if self._at < len(self._data) else data
        self._at = 0

    def next(self) -> Request | None:
        """The next whole request; None where it has not come yet. Raises NotHttp."""
        if self._stage is not _Stage.HEAD:
            return self._go_on()
        if self._at == len(self._data) or not self._read_head():
            return None
        head, begin = self._head, self._at
        end = begin + head.length
        if head.chunked or end > len(self._data) or head.length > self._most:
            return self._begin_body()
        # Nearly always a request comes in one piece.
        self._at = end
        method, target, keeps, newest = self._line
        return Request(method, target, head.headers, self._data[begin:end], keeps, newest)

    def _go_on(self) -> Request | None:
        while self._stage is not _Stage.HEAD:
            if not self._advance():
                return None
            if self._size > self._most:
                return self._too_large()
        method, target, keeps, newest = self._line
        parts, self._parts = self._parts, []
        return Request(method, target, self._head.headers, b"".join(parts), keeps, newest)

    def _too_large(self) -> Request:
        method, target, _, newest = self._line
        self._parts = []
        return Request(method, target, self._head.headers, b"", False, newest, too_large=True)

    # -- the head

    def _read_head(self) -> bool:
        data, begin = self._data, self._at
        while data.startswith(b"\r\n", begin):  # left over from a request before, by some old clients
            self._at = begin = begin + 2
        end = data.find(b"\r\n\r\n", begin, begin + HEAD_BYTES)
        if end < 0:
            if len(data) - begin >= HEAD_BYTES:
                raise NotHttp(f"the head of the request is longer than {HEAD_BYTES} bytes", 431)
            return False
        line_end = data.find(b"\r\n", begin)
        found = _LINE.fullmatch(data, begin, line_end)
        if found is None:
            raise NotHttp("what came is no request of HTTP")
        if found[3] != b"1":
            raise NotHttp("only HTTP/1.1 is spoken here", 505)
        block = data[line_end + 2 : end + 2]
        head = self._head = _kept_head(block) if len(block) <= _KEPT_BYTES else _read(block)
        newest = found[4] != b"0"
        keeps = not head.closes and (newest or head.keeps)
        self._line = (found[1].decode(), _target(found[2]), keeps, newest)
        self._at = end + 4
        return True

    # -- the body

    def _begin_body(self) -> Request | None:
        head = self._head
        if head.length > self._most:
            return self._too_large()
        self._size, self._left = 0, head.length
        self._stage = _Stage.CHUNK_LINE if head.chunked else _Stage.BODY
        self.expected = head.expects and not self.buffered
        return self._go_on()

    def _advance(self) -> bool:
        """Read the next piece; False where it has not come yet."""
        match self._stage:
            case _Stage.BODY:
                return self._read_part(_Stage.HEAD)
            case _Stage.CHUNK_LINE:
                return self._read_chunk_line()
            case _Stage.CHUNK:
                return self._read_chunk()
            case _:
                return self._read_trailers()

    def _read_part(self, then: _Stage) -> bool:
        part = self._data[self._at : self._at + self._left]
        self._at += len(part)
        self._left -= len(part)
        self._size += len(part)
        if part:
            self._parts.append(part)
        if self._left:
            return False
        self._stage = then
        return True

    def _read_chunk_line(self) -> bool:
        line = self._take_line(CHUNK_LINE_BYTES)
        if line is None:
            return False
        found = _CHUNK.fullmatch(line)
        if found is None:
            raise NotHttp(f"the body has a chunk of the length {line[:20]!a}")
        self._left = int(found[1], 16)
        self._stage = _Stage.CHUNK if self._left else _Stage.TRAILERS
        if self._size + self._left > self._most:
            self._size += self._left  # it need not come for us to know
        return True

    def _read_chunk(self) -> bool:
        if self._left and not self._read_part(_Stage.CHUNK):
            return False
        if self.buffered < 2:
            return False
        if not self._data.startswith(b"\r\n", self._at):
            raise NotHttp("a chunk of the body is longer than it says")
        self._at += 2
        self._stage = _Stage.CHUNK_LINE
        return True

    def _read_trailers(self) -> bool:
        line = self._take_line(HEAD_BYTES)
        if line is None:
            return False
        if not line:
            self._stage = _Stage.HEAD
        return True

    def _take_line(self, most: int) -> bytes | None:
        """The next line without its end; None where it has not come yet."""
        begin = self._at
        end = self._data.find(b"\r\n", begin, begin + most)
        if end < 0:
            if self.buffered >= most:
                raise NotHttp(f"a line of the body is longer than {most} bytes")
            return None
        self._at = end + 2
        return self._data[begin:end]


def _target(raw: bytes) -> str:
    """The path with its query; proxies put the server before it."""
    target = raw.decode("utf-8", "surrogateescape")
    if target.startswith("/") or target == "*":
        return target
    scheme, _, rest = target.partition("://")
    if scheme.lower() not in ("http", "https"):
        raise NotHttp("the request is for no path")
    return "/" + rest.partition("/")[2]


def _read(block: bytes) -> Head:
    """What a block of headers says, each of which ends with a line break."""
    lines = block.decode("utf-8", "surrogateescape").split("\r\n")[:-1]
    headers = CIMultiDict(_header(line) for line in lines)
    options = {option.strip() for option in ",".join(headers.getall("Connection", ())).lower().split(",")}
    lengths = set(headers.getall("Content-Length", ()))
    encoding = headers.get("Transfer-Encoding", "")
    if encoding and (lengths or encoding.lower() != "chunked"):
        raise NotHttp("nobody can say how long the body is", 400 if lengths else 501)
    if len(lengths) > 1 or any(_LENGTH.fullmatch(each) is None for each in lengths):
        raise NotHttp("nobody can say how long the body is")
    return Head(
        headers=CIMultiDictProxy(headers),
        length=int(lengths.pop()) if lengths else 0,
        chunked=bool(encoding),
        expects=headers.get("Expect", "").lower() == "100-continue",
        closes="close" in options,
        keeps="keep-alive" in options,
    )


_kept_head = lru_cache(maxsize=512)(_read)
_EMPTY = _read(b"")


def _header(line: str) -> tuple[str, str]:
    name, colon, value = line.partition(":")
    if not colon or _TOKEN.fullmatch(name) is None or _UNPRINTABLE.search(value) is not None:
        raise NotHttp("a header cannot be read")
    return name, value.strip(" \t")
