"""What a metered daemon noted, by the part of the run it belongs to."""

from __future__ import annotations

from pathlib import Path

import msgspec

from vsched.lab.bench.held.meter import CALL, COLLECTION, THREAD, Note
from vsched.lab.bench.held.phases import RunPhase, by_phase, held_rows, read_notes, summary

NOTES = [
    Note(CALL, 1.5, 0.004, "a"),
    Note(CALL, 2.5, 0.021, "b", ("x.py:f", "y.py:g")),
    Note(CALL, 2.6, 0.007, "c"),
    Note(THREAD, 2.7, 0.0051, "page_0"),
    Note(COLLECTION, 2.8, 0.001, "generation 0 in MainThread"),
    Note(COLLECTION, 2.9, 0.002, "generation 1 in MainThread"),
]


def test_each_note_belongs_to_the_part_in_which_it_ended() -> None:
    found = dict(by_phase([RunPhase("first", 1.0), RunPhase("second", 2.0), RunPhase("third", 3.0)], NOTES))
    assert found == {"first": NOTES[:1], "second": NOTES[1:], "third": []}


def test_of_a_part_the_longest_of_each_kind_are_told() -> None:
    found = summary(NOTES)
    assert (found["held_ms"], found["over_20_ms"], found["thread_ms"]) == (21.0, 1, 5.1)
    assert [call["by"] for call in found["calls"]] == ["b", "c", "a"]
    assert found["calls"][0]["where"] == ["x.py:f", "y.py:g"]
    assert found["collections"] == {
        "count": 2,
        "longest_ms": 2.0,
        "seconds": 0.003,
        "longest": "generation 1 in MainThread",
    }


def test_a_part_without_notes_has_zeros() -> None:
    assert (summary([])["held_ms"], summary([])["calls"], summary([])["collections"]["count"]) == (0.0, [], 0)
    assert len(list(held_rows("quiet", summary([])))) == 1


def test_the_table_says_how_long_and_where() -> None:
    [figures, where] = held_rows("burst", summary(NOTES))
    assert figures[1] == "21.0 / 5.1 / 2.0"
    assert where[0].strip() == "y.py:g"


def test_a_line_that_was_not_written_to_its_end_is_left_out(tmp_path: Path) -> None:
    path = tmp_path / "notes"
    assert read_notes(path) == []
    path.write_bytes(msgspec.json.encode(NOTES[1]) + b"\n" + msgspec.json.encode(NOTES[2])[:10])
    assert read_notes(path) == NOTES[1:2]
