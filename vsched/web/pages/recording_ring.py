"""The last recordings of cycles in which something looked wrong, bounded in number and in bytes."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from vsched.model.dump.cycle import RecordingHead

MOST_BYTES = 64 << 20
"""Of all recordings together; one of five thousand nodes and as many jobs has one to five million bytes."""


@dataclass(slots=True)
class StoredRecording:
    """One recording."""

    head: RecordingHead
    data: bytes
    """Gzipped."""
    times: int = 1
    """How often the same has happened until now; the first time is recorded."""
    last: float = 0.0
    """When it last happened, seconds since the epoch."""


class RecordingRing:
    """Recordings by the number of their session, the oldest first."""

    def __init__(self, most: int, most_bytes: int = MOST_BYTES) -> None:
        self._most = most
        self._most_bytes = most_bytes
        self._kept: dict[int, StoredRecording] = {}

    def __len__(self) -> int:
        return len(self._kept)

    def __iter__(self) -> Iterator[StoredRecording]:
        return iter(tuple(self._kept.values()))

    @property
    def size(self) -> int:
        """Bytes of all together."""
        return sum(len(kept.data) for kept in self._kept.values())

    def put(self, kept: StoredRecording) -> bool:
        """Add a recording, and drop the oldest to make room; False where it is too large."""
        if len(kept.data) > self._most_bytes or self._most < 1:
            return False
        self._kept.pop(kept.head.number, None)
        self._kept[kept.head.number] = kept
        while len(self._kept) > self._most or self.size > self._most_bytes:
            del self._kept[next(iter(self._kept))]
        return True

    def get(self, number: int) -> StoredRecording | None:
        """The recording of this session, None where there is none (any more)."""
        return self._kept.get(number)

    def again(self, why: str, says: str, now: float) -> bool:
        """Count a repeat of a recorded reason and sentence; False where it is new."""
        for kept in self._kept.values():
            if (kept.head.why, kept.head.says) == (why, says):
                kept.times += 1
                kept.last = now
                return True
        return False
