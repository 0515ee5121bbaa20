"""A file of lines that is put aside when it is long: ``FILE`` is written, ``FILE.1`` is the one before, and so on."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterable
from io import FileIO
from pathlib import Path

from vsched.files import written
from vsched.record.folder import write_whole

PIECE_BYTES = 1 << 16


class RotatedFile:
    """Appends lines; raises OSError, and opens the file anew the next time."""

    def __init__(self, path: Path, most_bytes: int, files: int) -> None:
        """Of a file: so many bytes and one piece more at most; ``files`` are kept, with the one that is written."""
        self._path, self._most_bytes, self._files = path, most_bytes, files
        self._file: FileIO | None = None
        self._bytes = 0

    def write(self, lines: Iterable[bytes]) -> None:
        """Append lines that have no line ends, and have the operating system know of them."""
        try:
            piece = bytearray()
            for line in lines:
                piece += line + b"\n"
                if len(piece) >= PIECE_BYTES:
                    self._append(bytes(piece))
                    piece.clear()
            self._append(bytes(piece))
        except OSError:
            self.close()
            raise

    def close(self) -> None:
        """Leave the file as it is."""
        file, self._file = self._file, None
        if file is not None:
            with contextlib.suppress(OSError):
                file.close()

    def _append(self, piece: bytes) -> None:
        file = self._file or self._open()
        if piece and self._bytes and self._bytes + len(piece) > self._most_bytes:
            self.close()
            self._rotate()
            file = self._open()
        self._bytes += write_whole(file, piece)

    def _open(self) -> FileIO:
        """The file, after a line that is whole."""
        self._path.parent.mkdir(parents=True, exist_ok=True)
        file = written(os.open(self._path, os.O_RDWR | os.O_APPEND | os.O_CREAT, 0o600), "r+")
        self._file, self._bytes = file, file.seek(0, os.SEEK_END)
        if self._bytes:
            file.seek(-1, os.SEEK_END)
            if file.read(1) != b"\n":  # whoever wrote last was killed, or the disk was full
                self._bytes += file.write(b"\n")
        return file

    def _rotate(self) -> None:
        if self._files <= 1:
            self._path.unlink(missing_ok=True)
            return
        for number in range(self._files - 2, -1, -1):
            with contextlib.suppress(FileNotFoundError):
                os.replace(self._numbered(number), self._numbered(number + 1))

    def _numbered(self, number: int) -> Path:
        return self._path if not number else self._path.with_name(f"{self._path.name}.{number}")
