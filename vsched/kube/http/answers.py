"""Reads the answer to one request out of bytes, however they are split. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from enum import Enum, auto
from typing import NamedTuple

from multidict import CIMultiDict

from vsched.kube.words import answers as words

HEAD_BYTES = 64 << 10
"""The longest head of an answer, and the longest trailers."""
CHUNK_LINE_BYTES = 1 << 10
"""The longest line before a chunk, extensions included."""
BODILESS = frozenset({204, 304})
"""Codes of answers without a body, whatever their head says."""

_STATUS = rb"HTTP/1\.([01]) ([1-5][0-9]{2})(?: [^\r\n]*)?\r\n"
_HEADER = rb"[!#$%&'*+.^_`|~0-9A-Za-z-]+:[^\r\n]*\r\n"
_STARTS = re.compile(_STATUS)
_ONE_HEADER = re.compile(_HEADER)
_HEAD = re.compile(rb"HTTP/1\.([01]) ([1-5][0-9]{2})(?: .*+|\r)\n((?:[!#$%&'*+.^_`|~0-9A-Za-z-]++:.*+\n)*+)")
"""The same in the form that is quickest to read, for lines that end as they have to."""
_FRAMING = re.compile(
    rb"\n(content-length|transfer-encoding|connection|content-encoding):[ \t]*([^\r\n]*?)[ \t]*\r", re.IGNORECASE
)
"""The headers that say where the answer ends, and what becomes of the connection."""
_LENGTH = re.compile(rb"[0-9]{1,18}")
_CHUNK = re.compile(rb"([0-9A-Fa-f]{1,15})[ \t]*(?:;.*)?")


class Headers(Mapping[str, str]):
    """The headers of an answer, whatever their case. They are taken apart once somebody asks for one: few do."""

    __slots__ = ("_found", "_lines")

    def __init__(self, lines: bytes = b"") -> None:
        """``lines`` are those of the head, each with its end."""
        self._lines = lines
        self._found: CIMultiDict[str] | None = None

    def __getitem__(self, name: str) -> str:
        return self._apart()[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._apart())

    def __len__(self) -> int:
        return len(self._apart())

    def _apart(self) -> CIMultiDict[str]:
        if self._found is None:
            parts = (line.partition(":") for line in self._lines.decode("latin-1").split("\r\n")[:-1])
            self._found = CIMultiDict((name, value.strip(" \t")) for name, _, value in parts)
        return self._found


_NONE = Headers()


class HttpAnswer(NamedTuple):
    """A whole answer."""

    code: int
    headers: Mapping[str, str]
    body: bytes


class NotHttp(OSError):
    """What came is no answer in HTTP."""


class TooLong(OSError):
    """The body is longer than it may be; ``answer`` has its first part."""

    def __init__(self, answer: HttpAnswer) -> None:
        super().__init__(words.TOO_LONG)
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
        self._headers = _NONE
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
    def answer(self) -> HttpAnswer:
        """The answer, once it is complete."""
        return HttpAnswer(self._code, self._headers, self._parts[0] if len(self._parts) == 1 else b"".join(self._parts))

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
                raise NotHttp(words.head_is_longer(HEAD_BYTES))
            return False
        head = self._rest[: end + 2]
        self._rest = self._rest[end + 4 :]
        found = _HEAD.fullmatch(head)
        if found is None or not head.count(b"\r\n") == head.count(b"\n") == head.count(b"\r"):
            raise NotHttp(_problem_of(head))
        self._code = int(found[2])
        if self._code == 101:
            raise NotHttp(words.ANOTHER_PROTOCOL)
        if self._code >= 200:  # others only announce an answer
            self._headers = Headers(found[3])
            self._frame(_FRAMING.findall(head), newest=found[1] == b"1")
        return True

    def _frame(self, headers: list[tuple[bytes, bytes]], *, newest: bool) -> None:
        """What the head says about the body, and about the connection."""
        told: dict[bytes, list[bytes]] = {}
        for name, value in headers:
            told.setdefault(name.lower(), []).append(value)
        options = b",".join(told[b"connection"]).lower() if b"connection" in told else b""
        self._keeps = b"close" not in options if newest else b"keep-alive" in options
        if self._method == "HEAD" or self._code in BODILESS:
            self._stage = _Stage.COMPLETE
            return
        for encoding in told.get(b"content-encoding", ()):
            if encoding.lower() != b"identity":
                raise NotHttp(words.encoded_otherwise(_text(encoding[:20])))
        lengths, encodings = told.get(b"content-length"), told.get(b"transfer-encoding")
        if encodings is not None:
            if lengths or [each.lower() for each in encodings] != [b"chunked"]:
                raise NotHttp(words.LENGTH_UNKNOWN)
            self._stage = _Stage.CHUNK_LINE
        elif lengths:
            if lengths.count(lengths[0]) < len(lengths) or _LENGTH.fullmatch(lengths[0]) is None:
                raise NotHttp(words.bad_length(_text(b", ".join(sorted(set(lengths)))[:60])))
            self._left = int(lengths[0])
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
            raise NotHttp(words.bad_chunk(line[:20]))
        self._left = int(found[1], 16)
        self._stage = _Stage.CHUNK if self._left else _Stage.TRAILERS
        return True

    def _read_chunk(self) -> bool:
        if self._left and not self._read_body(_Stage.CHUNK):
            return False
        if len(self._rest) < 2:
            return False
        if not self._rest.startswith(b"\r\n"):
            raise NotHttp(words.CHUNK_IS_LONGER)
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
                raise NotHttp(words.line_is_longer(most))
            return None
        line, self._rest = self._rest[:end], self._rest[end + 2 :]
        return line


def _problem_of(head: bytes) -> str:
    """Why a head is none."""
    status = _STARTS.match(head)
    if status is None:
        return words.no_http(_first_line(head))
    at = status.end()
    while (header := _ONE_HEADER.match(head, at)) is not None:
        at = header.end()
    return words.bad_header(_first_line(head[at:]))


def _first_line(data: bytes) -> str:
    return _text(data.partition(b"\r\n")[0][:60])


def _text(data: bytes) -> str:
    return ascii(data.decode("latin-1"))
