"""What is remembered of objects that cannot be used: one note an object, and not without end."""

from __future__ import annotations

import pytest

from vsched.api import Metadata
from vsched.mirror.ingest.words.groups import NO_EFFECT
from vsched.mirror.problems import LONGEST, PROBLEMS_LIMIT, ObjectProblems, Problem

HERE = Metadata(name="a", namespace="ns", uid="u")


def test_an_object_is_in_one_table_only() -> None:
    notes = ObjectProblems()
    notes.put_blemished("PodGroup", "ns/a", HERE, ["an annotation"])
    notes.put_broken("PodGroup", "ns/a", HERE, "a field")
    assert notes.broken == {("PodGroup", "ns/a"): Problem("PodGroup", "ns", "a", "u", "a field", left_out=True)}
    assert not notes.blemished
    notes.put_blemished("PodGroup", "ns/a", HERE, ["an annotation"])
    said = "PodGroup ns/a: an annotation"
    assert notes.blemished == {("PodGroup", "ns/a"): Problem("PodGroup", "ns", "a", "u", said, False)}
    assert not notes.broken
    notes.drop("PodGroup", "ns/a")
    assert not notes.blemished


@pytest.mark.parametrize(
    ("remarks", "reason"),
    [
        pytest.param([f"spec.a: {NO_EFFECT}"], "NoEffect", id="a wish"),
        pytest.param([f"spec.a: {NO_EFFECT}", "metadata.annotations[x]: 'y'"], "BadObject", id="a mistake besides"),
    ],
)
def test_a_wish_is_no_mistake(remarks: list[str], reason: str) -> None:
    notes = ObjectProblems()
    notes.put_blemished("PodGroup", "ns/a", HERE, remarks)

    assert [(note.reason, note.left_out) for note in notes.blemished.values()] == [(reason, False)]


def test_the_oldest_notes_go_first() -> None:
    notes = ObjectProblems()
    for number in range(PROBLEMS_LIMIT + 2):
        notes.put_broken("Pod", str(number), HERE, "")
        notes.put_broken("Pod", "1", HERE, "told again")
    assert len(notes.broken) == PROBLEMS_LIMIT
    assert ("Pod", "0") not in notes.broken
    assert notes.broken["Pod", "1"].message == "told again"


def test_long_messages_are_cut_and_say_so() -> None:
    notes = ObjectProblems()
    notes.put_broken("Pod", "ns/a", HERE, "x" * 2 * LONGEST)
    message = notes.broken["Pod", "ns/a"].message
    assert (len(message), message[-2:]) == (LONGEST, "x…")
