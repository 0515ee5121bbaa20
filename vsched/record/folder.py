"""The files of a work trace: segments of compressed lines in a folder, each readable by itself.

A segment is one stream of gzip that is flushed every few seconds, so whoever is killed loses these at most; what is
cut off at its end is left out by readers. After a restart, and each day, a new segment begins with all that is there.
The oldest go where all together are larger than they may be.
"""

from __future__ import annotations

import contextlib
import os
import zlib
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from io import FileIO
from itertools import islice
from pathlib import Path

import msgspec

from vsched.errors import BadInput
from vsched.files import written
from vsched.record import words
from vsched.record.lines import FORMAT, AnyLine, Began

ENDING = ".jsonl.gz"
SEGMENT_BYTES = 8 << 20
"""A longer segment ends. Whoever starts reads the last one, which takes a second then."""
LEVEL = 6
GZIP = 31
"""zlib's number for streams of gzip with the largest window."""
PIECE, PIECE_LINES = 1 << 16, 1000
"""Bytes that are read at once, and lines that are packed at once."""
LINE_BYTES = 1 << 20
"""No line is as long."""

_encoder = msgspec.json.Encoder()
_decoder = msgspec.json.Decoder(AnyLine)


def write_whole(file: FileIO, data: bytes) -> int:
    """Write all of it, however little the file takes at once; returns how many bytes, raises OSError."""
    left = memoryview(data)
    while left:
        left = left[file.write(left) :]
    return len(data)


class TraceSegment:
    """One file that is being written."""

    def __init__(self, path: Path) -> None:
        """Raises OSError, also where the file exists."""
        self.path = path
        self._file = written(path, "x")
        self._packer = zlib.compressobj(LEVEL, zlib.DEFLATED, GZIP)
        self.bytes = 0

    def write(self, lines: Iterable[AnyLine]) -> int:
        """Add lines, and have the operating system know of them; returns how many, raises OSError."""
        count, pieces = 0, iter(lines)
        while piece := [_encoder.encode(line) for line in islice(pieces, PIECE_LINES)]:
            count += len(piece)
            self._put(self._packer.compress(b"\n".join((*piece, b""))))
        self._put(self._packer.flush(zlib.Z_SYNC_FLUSH))
        return count

    def close(self) -> None:
        """End the file; raises OSError."""
        try:
            self._put(self._packer.flush())
        finally:
            self._file.close()

    def _put(self, data: bytes) -> None:
        self.bytes += write_whole(self._file, data)


class WorkFolder:
    """A folder of segments, and the one that is being written."""

    def __init__(self, path: Path, most_bytes: int) -> None:
        """``most_bytes``: of all segments together."""
        self.path, self._most_bytes = path, most_bytes
        self._segment: TraceSegment | None = None
        self._day = ""

    @property
    def is_open(self) -> bool:
        """Whether a segment is being written."""
        return self._segment is not None

    def is_over(self, at: float) -> bool:
        """Whether it is time for another segment: it is another day, or this one is long."""
        return self._segment is None or self._day != _day(at) or self._segment.bytes > SEGMENT_BYTES

    def begin(self, at: float, lines: Iterable[AnyLine]) -> int:
        """End the segment, make room for another, and begin it with these lines; returns how many, raises OSError."""
        self.close()
        self.path.mkdir(parents=True, exist_ok=True)
        self._remove_old()
        self._day = _day(at)
        moment = datetime.fromtimestamp(at, UTC)
        path = self.path / f"work-{moment:%Y%m%dT%H%M%S}.{moment.microsecond:06}Z{ENDING}"
        self._segment = TraceSegment(path)
        try:
            return self.write(lines)
        except OSError:
            path.unlink(missing_ok=True)  # nothing can be known from it, and the next one says all
            raise

    def write(self, lines: Iterable[AnyLine]) -> int:
        """Add lines to the segment; returns how many. After an OSError it is given up, and another is to begin."""
        assert self._segment is not None
        try:
            return self._segment.write(lines)
        except OSError:
            self._give_up()
            raise

    def close(self) -> None:
        """End the segment, if one is being written; raises OSError."""
        segment, self._segment = self._segment, None
        if segment is not None:
            segment.close()

    def _give_up(self) -> None:
        with contextlib.suppress(OSError):  # what could be written is there
            self.close()

    def _remove_old(self) -> None:
        sizes = [(path, path.stat().st_size) for path in segments_of(self.path)]
        total = sum(size for _, size in sizes)
        for path, size in sizes:
            if total <= self._most_bytes:
                return
            path.unlink(missing_ok=True)
            total -= size


def _day(at: float) -> str:
    return f"{datetime.fromtimestamp(at, UTC):%Y%m%d}"


def segments_of(folder: Path) -> list[Path]:
    """The segments in a folder, the oldest first."""
    return sorted(path for path in folder.glob(f"work-*{ENDING}") if path.is_file())


def last_seen(folder: Path) -> float:
    """When somebody last recorded into a folder, by its last whole line; 0 where nobody has."""
    for path in reversed(segments_of(folder)):
        last = 0.0
        for line in _lines_of(path):
            last = max(last, line.at)
        if last:
            return last
    return 0.0


def read_all(paths: Iterable[Path]) -> Iterator[AnyLine]:
    """The lines of files and of folders of segments, one after the other; raises BadInput."""
    for path in paths:
        if path.is_dir():
            segments = segments_of(path)
            if not segments:
                raise BadInput(words.no_segments(path, ENDING))
            for segment in segments:
                yield from _lines_of(segment)
        else:
            yield from read_lines(path)


def read_lines(path: Path) -> Iterator[AnyLine]:
    """The lines of one file, without what is cut off at its end; raises BadInput with file and line."""
    is_empty = True
    for line in _lines_of(path):
        is_empty = False
        yield line
    if is_empty:
        raise BadInput(words.nothing_in_it(path))


def _lines_of(path: Path) -> Iterator[AnyLine]:
    """The same; none where whoever wrote it was killed before the first was whole."""
    for number, text in enumerate(_texts(path), start=1):
        try:
            line = _decoder.decode(text)
        except msgspec.MsgspecError as error:
            raise BadInput(words.no_line(path, number, error)) from None
        if number == 1 and not isinstance(line, Began):
            raise BadInput(words.no_beginning(path))
        if isinstance(line, Began) and line.format > FORMAT:
            raise BadInput(words.newer_format(path, line.format, FORMAT))
        yield line


def _texts(path: Path) -> Iterator[bytes]:
    rest = b""
    for piece in _pieces(path):
        *whole, rest = (rest + piece).split(b"\n")
        yield from whole
        if len(rest) > LINE_BYTES:
            raise BadInput(words.line_too_long(path, LINE_BYTES))


def _pieces(path: Path) -> Iterator[bytes]:
    """What a file says, plain or compressed, as far as it can be unpacked."""
    try:
        with open(path, "rb") as file:
            data = file.read(PIECE)
            if data[:2] != b"\x1f\x8b":
                while data:
                    yield data
                    data = file.read(PIECE)
                return
            unpacker = zlib.decompressobj(GZIP)
            while data:
                yield unpacker.decompress(data, PIECE)
                data = unpacker.unconsumed_tail or file.read(PIECE)
    except zlib.error as error:
        raise BadInput(words.not_unpacked(path, error)) from None
    except OSError as error:
        raise BadInput(words.not_read(path, error.strerror or error)) from None


def write_file(path: Path, lines: Iterable[AnyLine]) -> int:
    """Write a trace as one file that replaces another; returns its bytes, raises BadInput."""
    aside = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        aside.unlink(missing_ok=True)
        segment = TraceSegment(aside)
        try:
            segment.write(lines)
        finally:
            segment.close()
        aside.replace(path)
    except OSError as error:
        raise BadInput(words.not_written(path, error.strerror or error)) from None
    finally:
        aside.unlink(missing_ok=True)
    return segment.bytes
