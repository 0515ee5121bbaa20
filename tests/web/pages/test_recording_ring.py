"""The ring of recordings: bounded in number and bytes."""

from __future__ import annotations

from vsched.model.dump.cycle import RecordingHead
from vsched.web.pages.recording_ring import RecordingRing, StoredRecording


def kept(number: int, size: int = 10, says: str = "s") -> StoredRecording:
    return StoredRecording(RecordingHead(number=number, why="exception", says=says), b"x" * size)


def numbers(ring: RecordingRing) -> list[int]:
    return [found.head.number for found in ring]


def test_the_oldest_goes_when_there_are_too_many() -> None:
    ring = RecordingRing(2)
    assert all(ring.put(kept(number)) for number in (1, 2, 3))
    assert numbers(ring) == [2, 3]
    assert ring.get(1) is None


def test_the_oldest_go_when_they_are_too_large_together() -> None:
    ring = RecordingRing(9, most_bytes=100)
    assert all(ring.put(kept(number, 40)) for number in (1, 2))
    assert ring.put(kept(3, 90))
    assert (numbers(ring), ring.size) == ([3], 90)


def test_what_is_too_large_alone_is_not_kept_and_drives_nobody_out() -> None:
    ring = RecordingRing(2, most_bytes=100)
    ring.put(kept(1))
    assert not ring.put(kept(2, 101))
    assert numbers(ring) == [1]
    assert not RecordingRing(0).put(kept(1))


def test_a_session_is_there_once() -> None:
    ring = RecordingRing(2)
    ring.put(kept(1))
    ring.put(kept(1, says="other"))
    assert numbers(ring) == [1]


def test_the_same_again_is_counted() -> None:
    ring = RecordingRing(2)
    ring.put(kept(1))
    assert ring.again("exception", "s", 5.0)
    assert not ring.again("exception", "other", 6.0)
    assert not ring.again("no-progress", "s", 6.0)
    found = ring.get(1)
    assert found is not None
    assert (found.times, found.last) == (2, 5.0)
