"""Rows of CSV files, ``.csv`` or ``.csv.gz``: every wrong line is named with file, line and column.

Columns are found by their names in the first line; others are ignored.
"""

from __future__ import annotations

import csv
import gzip
import io
import re
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import TypeVar

from vsched.errors import BadInput, BadQuantity
from vsched.lab.trace import words
from vsched.model.amounts.quantity import MOST, parse_quantity

T = TypeVar("T")

MOST_ROWS = 1_000_000
MOST_BYTES = 1 << 30
"""The largest file, unpacked."""
MOST_HEAD_BYTES = 1 << 16
"""The longest first line."""
MIB = 1 << 20
MOST_PROBLEMS = 20
"""Errors shown at once."""
_GZIP = b"\x1f\x8b"
"""The first bytes of gzipped files."""
_DIGITS = re.compile(r"[0-9]{1,16}")
_DECIMAL = re.compile(r"[0-9]{1,3}(\.[0-9]{0,6})?|\.[0-9]{1,6}")
_PART = r"[a-z0-9]([-a-z0-9]*[a-z0-9])?"
_NAME = re.compile(rf"{_PART}(\.{_PART})*")
_LABEL = re.compile(r"[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?")


class TraceRow:
    """The fields of one line by column; raises BadInput with the column."""

    def __init__(self, fields: Mapping[str, str | None], line: int) -> None:
        self._fields = fields
        self.line = line
        """Its number in the file."""

    def has(self, column: str) -> bool:
        """Whether the file has the column."""
        return column in self._fields

    def text(self, column: str) -> str:
        return (self._fields.get(column) or "").strip()

    def name(self, column: str, most: int) -> str:
        found = self.text(column)
        if len(found) > most or not _NAME.fullmatch(found):
            raise BadInput(words.no_name(column, found, most))
        return found

    def label(self, column: str, found: str) -> str:
        if not _LABEL.fullmatch(found):
            raise BadInput(words.no_label(column, found))
        return found

    def queue(self, column: str) -> str:
        """The name of a queue."""
        return self.part(column, "a queue's name")

    def part(self, column: str, what: str) -> str:
        """A name without dots."""
        found = self.name(column, 63)
        if "." in found:
            raise BadInput(words.no_part(column, found, what))
        return found

    def quantity(self, column: str, scale: int, least: int = 0) -> int:
        """A quantity as Kubernetes writes it, times ``scale``; 0 where there is none."""
        found = self.text(column)
        try:
            amount = parse_quantity(found or "0", scale)
        except BadQuantity as error:
            raise BadInput(f"{column}: {error}") from None
        if not least <= amount <= MOST:
            expected = words.MORE_THAN_ZERO if least else words.ZERO_OR_MORE
            raise BadInput(words.no_quantity(column, found[:40], expected))
        return amount

    def mebibytes(self, column: str, least: int = 0) -> int:
        """Memory in MiB, rounded up."""
        found = self.quantity(column, 1, least)
        if 0 < found < MIB:
            raise BadInput(words.no_unit(column, self.text(column)))
        return -(-found // MIB)

    def thousandths(self, column: str) -> int:
        """A part of one, more than 0, in thousandths."""
        found = self.text(column)
        amount = parse_quantity(found, 1000) if _DECIMAL.fullmatch(found) else 0
        if not 0 < amount <= 1000:
            raise BadInput(words.no_fraction(column, found[:40]))
        return amount

    def moment(self, column: str) -> int:
        """Seconds since the epoch of a date and time; without a zone it is UTC."""
        found = self.text(column)
        try:
            moment = datetime.fromisoformat(found)
        except ValueError:
            raise BadInput(words.no_moment(column, found[:40])) from None
        return int((moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp())

    def service(self, column: str, found: str) -> str:
        """A class of service, after which a queue is named."""
        if not _NAME.fullmatch(found.lower().replace("_", "-")):
            raise BadInput(words.no_service(column, found))
        return self.label(column, found)

    def number(self, column: str, most: int = 10**15, least: int = 0) -> int:
        found = self.text(column)
        # Some programs write 12.0 for 12.
        digits = found.removesuffix(".0")
        if not _DIGITS.fullmatch(digits) or not least <= int(digits) <= most:
            raise BadInput(words.no_number(column, found[:40], least, most))
        return int(digits)


def columns_of(path: Path) -> tuple[str, ...]:
    """The names in the first line of a file; raises BadInput where it cannot be read."""
    head = _decoded(path, _bytes_of(path, lambda file: file.readline(MOST_HEAD_BYTES)))
    return tuple(next(csv.reader([head], skipinitialspace=True), ()))


def read_rows(
    path: Path, columns: Sequence[str], make: Callable[[TraceRow], T], name_of: Callable[[T], str]
) -> list[T]:
    """The records of a file; raises BadInput with all errors, up to a limit."""
    text = io.StringIO(_text_of(path), newline="")
    reader = csv.DictReader(text, restkey="", skipinitialspace=True)
    found: list[T] = []
    problems: list[str] = []
    seen: dict[str, int] = {}
    for line, fields in _lines(path, reader, columns):
        try:
            if "" in fields:
                raise BadInput(words.MORE_FIELDS)
            made = make(TraceRow(fields, line))
            first = seen.setdefault(name_of(made), line)
            if first != line:
                raise BadInput(words.twice(name_of(made), first))
            found.append(made)
        except BadInput as error:
            problems.append(f"{path}:{line}: {error}")
            if len(problems) == MOST_PROBLEMS:
                break
    if problems:
        raise BadInput("\n".join(problems))
    if not found:
        raise BadInput(words.no_lines(path))
    return found


def _lines(
    path: Path, reader: csv.DictReader[str], columns: Sequence[str]
) -> Iterator[tuple[int, Mapping[str, str | None]]]:
    """The lines after the first, with their numbers."""
    try:
        missing = [column for column in columns if column not in (reader.fieldnames or ())]
        if missing:
            raise BadInput(words.no_columns(path, ", ".join(missing), ",".join(columns)))
        for count, fields in enumerate(reader):
            if count == MOST_ROWS:
                raise BadInput(words.too_many_lines(path, reader.line_num, MOST_ROWS))
            yield reader.line_num, fields
    except csv.Error as error:
        raise BadInput(f"{path}:{reader.line_num}: {error}") from None


def _text_of(path: Path) -> str:
    raw = _bytes_of(path, lambda file: file.read(MOST_BYTES + 1))
    if len(raw) > MOST_BYTES:
        raise BadInput(words.larger(path, MOST_BYTES >> 20))
    return _decoded(path, raw)


def _bytes_of(path: Path, read: Callable[[io.BufferedIOBase], bytes]) -> bytes:
    """What is read of a file, unpacked."""
    try:
        with path.open("rb") as file:
            zipped = path.suffix == ".gz" or file.read(len(_GZIP)) == _GZIP
        with gzip.open(path) if zipped else path.open("rb") as file:
            return read(file)
    except (OSError, EOFError, zlib.error) as error:
        raise BadInput(words.cannot_be_read(path, getattr(error, "strerror", None) or error)) from None


def _decoded(path: Path, raw: bytes) -> str:
    try:
        return raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise BadInput(words.not_utf8(path, error.reason, error.start)) from None
