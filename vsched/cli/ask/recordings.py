"""Sessions from files that ``vsched dump`` has written."""

from __future__ import annotations

from pathlib import Path

from vsched.cli.ask import words
from vsched.errors import BadInput
from vsched.files import INPUT_BYTES, content
from vsched.model.dump.cycle import Recording, decode


def load(path: Path) -> Recording:
    """A session from a file that ``vsched dump`` has written."""
    try:
        data = content(path, most_bytes=INPUT_BYTES)
    except BadInput as error:
        raise BadInput(words.no_recording(error)) from None
    return decoded_recording(data, str(path))


def decoded_recording(data: bytes, where: str) -> Recording:
    """A session from these bytes; raises BadInput that names ``where`` they are from."""
    try:
        return decode(data)
    except BadInput as error:
        raise BadInput(f"{where} {error}") from None
