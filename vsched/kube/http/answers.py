"""Reads the answer to one request out of bytes, however they are split. Pure."""

from __future__ import annotations

import re
from enum import Enum, auto
from typing import NamedTuple

from multidict import CIMultiDict

HEAD_BYTES = 64 << 10
"""The longest head of an answer, and the longest trailers."""
CHUNK_LINE_BYTES = 1 << 10
"""The longest line before a chunk, extensions included."""
BODILESS = frozenset({204, 304})
"""Codes of answers without a body, whatever their head says."""

_STATUS = re.compile(r"HTTP/1\.([01]) ([1-5][0-9]{2})(?: .*)?")
_TOKEN = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_LENGTH = re.compile(r"[0-9]{1,18}")
_CHUNK = re.compile(rb"([0-9A-Fa-f]{1,15})[ \t]*(?:;.*)?")


class Answer(NamedTuple):
    """A whole answer."""

    code: int
    headers: CIMultiDict[str]
    body: bytes


class NotHttp(OSError):
    """What came is no answer in HTTP."""


class TooLong(OSError):
    """The body is longer than it may be; ``answer`` has its first part."""

    def __init__(self, answer: Answer) -> None:
        super().__init__("the answer is too long")
        self.answer = answer


class _Stage(Enum):
    """What comes next."""

    HEAD = auto()
    BODY = auto()
    CHUNK_LINE = auto()
    CHUNK = auto()
    TRAILERS = auto()
    UNTIL_CLOSE = auto()
    COMPLETE = auto()


class AnswerReader:
    """Reads one answer: feed it until it says that the answer is complete."""

    __slots__ = ("_code", "_headers", "_keeps", "_left", "_method", "_most", "_parts", "_rest", "_stage")

    def __init__(self, method: str, most_bytes: int) -> None:
        self._method = method
        self._most = most_bytes
        self._stage = _Stage.HEAD
        self._rest = b""
        """What came and has not been read."""
        self._code = 0
        self._headers: CIMultiDict[str] = CIMultiDict()
        self._parts: list[bytes] = []
        self._left = 0
        """How much of the body, or of the chunk, is still to come."""
        self._keeps = False

    def feed(self, data: bytes) -> bool:
        """Read more bytes; True once the answer is complete. Raises NotHttp and TooLong."""
        self._rest += data
        while self._stage is not _Stage.COMPLETE:
            if not self._advance():
                return False
        return True

    def end(self) -> bool:
        """The server sends no more; whether the answer is complete by that."""
        if self._stage is _Stage.UNTIL_CLOSE:
            self._stage = _Stage.COMPLETE
        return self._stage is _Stage.COMPLETE

    @property
    def answer(self) -> Answer:
        """The answer, once it is complete."""
        return Answer(self._code, self._headers, self._parts[0] if len(self._parts) == 1 else b"".join(self._parts))

    @property
    def reusable(self) -> bool:
        """Whether the connection can be used for another request: the server keeps it, and nothing else came on it."""
        return self._keeps and not self._rest and self._stage is _Stage.COMPLETE

    def _advance(self) -> bool:
        """Read the next piece; False where it has not come yet."""
        match self._stage:
            case _Stage.HEAD:
                return self._read_head()
            case _Stage.BODY:
                return self._read_body(_Stage.COMPLETE)
            case _Stage.CHUNK_LINE:
                return self._read_chunk_line()
            case _Stage.CHUNK:
                return self._read_chunk()
            case _Stage.TRAILERS:
                return self._read_trailers()
            case _:
                return self._read_until_close()

    # -- the head

    def _read_head(self) -> bool:
        end = self._rest.find(b"\r\n\r\n", 0, HEAD_BYTES)
        if end < 0:
            if len(self._rest) >= HEAD_BYTES:
                raise NotHttp(f"the head of the answer is longer than {HEAD_BYTES} bytes")
            return False
        status, *lines = self._rest[:end].decode("latin-1").split("\r\n")
        self._rest = self._rest[end + 4 :]
        found = _STATUS.fullmatch(status)
        if found is None:
            raise NotHttp(f"what came is no HTTP: it starts with {status[:60]!a}")
        self._code = int(found[2])
        self._headers = CIMultiDict(_header(line) for line in lines)
        if self._code == 101:
            raise NotHttp("the server wants to speak another protocol")
        if self._code >= 200:  # others only announce an answer
            self._frame(newest=found[1] == "1")
        return True

    def _frame(self, *, newest: bool) -> None:
        """What the head says about the body, and about the connection."""
        headers = self._headers
        options = headers.get("Connection", "").lower()
        self._keeps = "close" not in options if newest else "keep-alive" in options
        if self._method == "HEAD" or self._code in BODILESS:
            self._stage = _Stage.COMPLETE
            return
        if headers.get("Content-Encoding", "identity").lower() != "identity":
            raise NotHttp(f"the answer is encoded as {headers['Content-Encoding'][:20]!a}, which was not asked for")
        lengths = set(headers.getall("Content-Length", ()))
        if "Transfer-Encoding" in headers:
            if lengths or headers["Transfer-Encoding"].lower() != "chunked":
                raise NotHttp("nobody can say how long the answer is")
            self._stage = _Stage.CHUNK_LINE
        elif lengths:
            [length, *others] = lengths
            if others or _LENGTH.fullmatch(length) is None:
                raise NotHttp(f"the length of the answer is {', '.join(sorted(lengths))[:60]!a}")
            self._left = int(length)
            self._stage = _Stage.BODY
        else:
            self._keeps = False
            self._stage = _Stage.UNTIL_CLOSE

    # -- the body

    def _read_body(self, then: _Stage) -> bool:
        part = self._rest[: self._left]
        self._rest = self._rest[self._left :]
        self._left -= len(part)
        self._add(part)
        if self._left:
            return False
        self._stage = then
        return True

    def _add(self, part: bytes) -> None:
        if part:
            self._most -= len(part)
            self._parts.append(part)
            if self._most < 0:
                raise TooLong(self.answer)

    def _read_chunk_line(self) -> bool:
        line = self._line(CHUNK_LINE_BYTES)
        if line is None:
            return False
        found = _CHUNK.fullmatch(line)
        if found is None:
            raise NotHttp(f"the answer has a chunk of the length {line[:20]!a}")
        self._left = int(found[1], 16)
        self._stage = _Stage.CHUNK if self._left else _Stage.TRAILERS
        return True

    def _read_chunk(self) -> bool:
        if self._left and not self._read_body(_Stage.CHUNK):
            return False
        if len(self._rest) < 2:
            return False
        if not self._rest.startswith(b"\r\n"):
            raise NotHttp("a chunk of the answer is longer than it says")
        self._rest = self._rest[2:]
        self._stage = _Stage.CHUNK_LINE
        return True

    def _read_trailers(self) -> bool:
        line = self._line(HEAD_BYTES)
        if line is None:
            return False
        if not line:
            self._stage = _Stage.COMPLETE
        return True

    def _read_until_close(self) -> bool:
        part, self._rest = self._rest, b""
        self._add(part)
        return False

    def _line(self, most: int) -> bytes | None:
        """The next line without its end; None where it has not come yet."""
        end = self._rest.find(b"\r\n", 0, most)
        if end < 0:
            if len(self._rest) >= most:
                raise NotHttp(f"a line of the answer is longer than {most} bytes")
            return None
        line, self._rest = self._rest[:end], self._rest[end + 2 :]
        return line


def _header(line: str) -> tuple[str, str]:
    name, colon, value = line.partition(":")
    if not colon or _TOKEN.fullmatch(name) is None:
        raise NotHttp(f"the answer has the header {line[:60]!a}")
    return name, value.strip(" \t")
