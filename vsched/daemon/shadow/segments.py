"""The log of a shadow's findings: a folder with a file of JSON lines for each day, of bounded size.

Lines are appended and never changed. A line that was cut off when a process died is left out when the log is read.
"""

from __future__ import annotations

import fcntl
import os
import threading
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path

import msgspec

from vsched.daemon.words import shadow as words
from vsched.errors import BadInput
from vsched.shadow.findings import Finding

PATTERN = "shadow-????-??-??.jsonl"
LOCK = "shadow.lock"
_DECODER: msgspec.json.Decoder[Finding] = msgspec.json.Decoder(Finding)
_ENCODER = msgspec.json.Encoder()


class FindingLog:
    """Appends to the log in a folder, for as long as it is open."""

    def __init__(self, folder: Path, most_bytes: int) -> None:
        """Raises BadInput where the folder cannot be written, or another process writes there."""
        self._folder, self._most_bytes = folder, most_bytes
        self._writing = threading.Lock()
        try:
            folder.mkdir(parents=True, exist_ok=True)
            self._lock = os.open(folder / LOCK, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
        except OSError as error:
            raise BadInput(words.no_folder(folder, error.strerror or "")) from None
        try:
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            os.close(self._lock)
            raise BadInput(words.in_use(folder)) from None
        self.size = sum(path.stat().st_size for path in segments(folder))
        """Bytes of all days together."""

    def append(self, findings: Sequence[Finding]) -> int:
        """Write findings of one day or several; returns how many had no room. Raises OSError.

        Whole days are deleted to make room, the oldest first; the present one is not. Of several threads, one writes at
        a time.
        """
        with self._writing:
            return self._append(findings)

    def _append(self, findings: Sequence[Finding]) -> int:
        left_out = 0
        by_day: dict[str, list[bytes]] = {}
        for found in findings:
            by_day.setdefault(_day_of(found.at), []).append(_ENCODER.encode(found) + b"\n")
        for day, lines in by_day.items():
            path = self._folder / f"shadow-{day}.jsonl"
            text = b"".join(lines)
            if not self._make_room(len(text), path):
                left_out += len(lines)
                continue
            with path.open("ab") as file:
                if file.tell() and not _ends_a_line(path):
                    text = b"\n" + text  # after what was cut off
                file.write(text)
            self.size += len(text)
        return left_out

    def _make_room(self, size: int, present: Path) -> bool:
        for path in segments(self._folder):
            if self.size + size <= self._most_bytes or path == present:
                break
            self.size -= path.stat().st_size
            path.unlink()
        return self.size + size <= self._most_bytes

    def close(self) -> None:
        os.close(self._lock)


def segments(folder: Path) -> list[Path]:
    """The files of a log, the oldest day first."""
    return sorted(folder.glob(PATTERN))


def logged(folder: Path) -> Iterator[Finding]:
    """All findings of a log in the order in which they were written, without lines that cannot be read.

    Raises BadInput where there is no log.
    """
    found = segments(folder)
    if not found:
        raise BadInput(words.no_log(folder))
    for path in found:
        with path.open("rb") as file:
            for line in file:
                try:
                    yield _DECODER.decode(line)
                except msgspec.MsgspecError:
                    continue


def _day_of(at: float) -> str:
    return datetime.fromtimestamp(at, UTC).strftime("%Y-%m-%d")


def _ends_a_line(path: Path) -> bool:
    with path.open("rb") as file:
        file.seek(-1, os.SEEK_END)
        return file.read(1) == b"\n"
