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
            raise BadInput(f"{column}: {found!r} (expected lower-case letters, digits, '-' and '.', at most {most})")
        return found

    def label(self, column: str, found: str) -> str:
        if not _LABEL.fullmatch(found):
            raise BadInput(f"{column}: {found!r} (expected letters, digits, '-', '_' and '.', at most 63)")
        return found

    def queue(self, column: str) -> str:
        """The name of a queue."""
        return self.part(column, "a queue's name")

    def part(self, column: str, what: str) -> str:
        """A name without dots."""
        found = self.name(column, 63)
        if "." in found:
            raise BadInput(f"{column}: {found!r} (expected {what}: lower-case letters, digits and '-')")
        return found

    def quantity(self, column: str, scale: int = 1, least: int = 0) -> int:
        """A quantity as Kubernetes writes it, times ``scale``; 0 where there is none."""
        found = self.text(column)
        try:
            amount = parse_quantity(found or "0", scale)
        except BadQuantity as error:
            raise BadInput(f"{column}: {error}") from None
        if not least <= amount <= MOST:
            expected = "more than 0" if least else "0 or more"
            raise BadInput(f"{column}: {found[:40]!r} (expected a quantity, {expected}, such as 500m, 2, 1.5Gi)")
        return amount

    def mebibytes(self, column: str, least: int = 0) -> int:
        """Memory in MiB, rounded up."""
        found = self.quantity(column, 1, least)
        if 0 < found < MIB:
            raise BadInput(
                f"{column}: {self.text(column)!r} is less than 1Mi (expected a unit behind it, such as 16Gi)"
            )
        return -(-found // MIB)

    def thousandths(self, column: str) -> int:
        """A part of one, more than 0, in thousandths."""
        found = self.text(column)
        amount = parse_quantity(found, 1000) if _DECIMAL.fullmatch(found) else 0
        if not 0 < amount <= 1000:
            raise BadInput(f"{column}: {found[:40]!r} (expected more than 0 and at most 1, such as 0.25)")
        return amount

    def moment(self, column: str) -> int:
        """Seconds since the epoch of a date and time; without a zone it is UTC."""
        found = self.text(column)
        try:
            moment = datetime.fromisoformat(found)
        except ValueError:
            raise BadInput(f"{column}: {found[:40]!r} (expected a date and time, 2017-10-09 07:01:55)") from None
        return int((moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp())

    def service(self, column: str, found: str) -> str:
        """A class of service, after which a queue is named."""
        if not _NAME.fullmatch(found.lower().replace("_", "-")):
            raise BadInput(f"{column}: {found!r} (expected a word for a queue's name, such as LS or best-effort)")
        return self.label(column, found)

    def number(self, column: str, most: int = 10**15, least: int = 0) -> int:
        found = self.text(column)
        # Some programs write 12.0 for 12.
        digits = found.removesuffix(".0")
        if not _DIGITS.fullmatch(digits) or not least <= int(digits) <= most:
            raise BadInput(f"{column}: {found[:40]!r} (expected a whole number from {least} to {most})")
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
                raise BadInput("more fields than the first line names")
            made = make(TraceRow(fields, line))
            first = seen.setdefault(name_of(made), line)
            if first != line:
                raise BadInput(f"{name_of(made)!r} was in line {first} already")
            found.append(made)
        except BadInput as error:
            problems.append(f"{path}:{line}: {error}")
            if len(problems) == MOST_PROBLEMS:
                break
    if problems:
        raise BadInput("\n".join(problems))
    if not found:
        raise BadInput(f"{path}: no line after the first (expected one for each)")
    return found


def _lines(
    path: Path, reader: csv.DictReader[str], columns: Sequence[str]
) -> Iterator[tuple[int, Mapping[str, str | None]]]:
    """The lines after the first, with their numbers."""
    try:
        missing = [column for column in columns if column not in (reader.fieldnames or ())]
        if missing:
            raise BadInput(f"{path}:1: no column {', '.join(missing)} (expected at least {','.join(columns)})")
        for count, fields in enumerate(reader):
            if count == MOST_ROWS:
                raise BadInput(f"{path}:{reader.line_num}: more than {MOST_ROWS} lines")
            yield reader.line_num, fields
    except csv.Error as error:
        raise BadInput(f"{path}:{reader.line_num}: {error}") from None


def _text_of(path: Path) -> str:
    raw = _bytes_of(path, lambda file: file.read(MOST_BYTES + 1))
    if len(raw) > MOST_BYTES:
        raise BadInput(f"{path}: larger than {MOST_BYTES >> 20} MiB")
    return _decoded(path, raw)


def _bytes_of(path: Path, read: Callable[[io.BufferedIOBase], bytes]) -> bytes:
    """What is read of a file, unpacked."""
    try:
        with path.open("rb") as file:
            zipped = path.suffix == ".gz" or file.read(len(_GZIP)) == _GZIP
        with gzip.open(path) if zipped else path.open("rb") as file:
            return read(file)
    except (OSError, EOFError, zlib.error) as error:
        raise BadInput(f"{path}: cannot be read: {getattr(error, 'strerror', None) or error}") from None


def _decoded(path: Path, raw: bytes) -> str:
    try:
        return raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise BadInput(f"{path}: not UTF-8: {error.reason} at byte {error.start}") from None
