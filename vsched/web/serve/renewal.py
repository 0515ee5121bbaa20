"""Values from files that others renew, such as certificates: read again regularly, and used only if wholly valid."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from hashlib import sha256
from pathlib import Path
from typing import Generic, NamedTuple, TypeVar

from vsched.errors import BadInput
from vsched.files import content
from vsched.web.words import access as words

T = TypeVar("T")

LOOK_SECONDS = 5.0
"""Between two readings. Files are read because not every file system reports changes."""


class Renewal(NamedTuple):
    """The result of reading files that have changed."""

    ok: bool
    text: str


class Renewed(Generic[T]):
    """The value that was last made from some files; raises BadInput where the first content cannot be used."""

    def __init__(self, flags: str, noun: str, files: Sequence[Path], make: Callable[[], T]) -> None:
        self._flags = flags
        self._noun = noun
        self._files = tuple(files)
        self._make = make
        self._refused = ""
        self._digest = self._sum()
        self.current = make()
        """In use. ``make`` raises BadInput for content that cannot be used."""

    def look(self) -> Renewal | None:
        """Use changed content if it is valid; None where there is nothing to report."""
        try:
            digest = self._sum()
            if digest == self._digest:
                back, self._refused = bool(self._refused), ""
                return Renewal(True, words.back_to(self._noun)) if back else None
            found = self._make()
        except BadInput as error:
            # Files change one after the other, so they may fit together at the next reading.
            if str(error) == self._refused:
                return None
            self._refused = str(error)
            return Renewal(False, words.previous_stays(error, self._noun))
        self._digest, self.current, self._refused = digest, found, ""
        return Renewal(True, words.new_in_use(self._noun, self._files[0]))

    async def run(self, on_renewal: Callable[[Renewal], None], seconds: float = LOOK_SECONDS) -> None:
        """Read every few seconds, until cancelled."""
        while True:
            await asyncio.sleep(seconds)
            renewal = self.look()
            if renewal is not None:
                on_renewal(renewal)

    def _sum(self) -> bytes:
        """A digest of the files, taken before they are used, so that no change is missed."""
        contents = []
        for file in self._files:
            try:
                contents.append(sha256(content(file)).digest())
            except BadInput as error:
                raise BadInput(f"{self._flags}: {error}") from None
        return b"".join(contents)
