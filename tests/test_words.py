"""Sentences for people use the words of Kubernetes and of the field, not those that the code once had of its own."""

from __future__ import annotations

import re
from pathlib import Path, PurePath

import pytest

from tests.support.sentences import PACKAGE, Sentence, is_said_by_words, sentences

OURS = re.compile(
    r"\b(told|tells?|wish(es)?|crowds?|likeness|worn|footing|stance|stands?|lanes?|sheets?|trail|whom others)\b"
)
"""Words that people had to look up, or that are said otherwise elsewhere."""

ROOMS = [
    "actions",
    "arbitrator",
    "collectors",
    "controllers",
    "explain",
    "framework",
    "kernels",
    "mirror",
    "model",
    "plugins",
    "proof",
    "writes",
]
"""The rooms whose sentences stand in modules of words alone."""


@pytest.fixture(scope="module")
def written() -> list[Sentence]:
    """All of the package: to read them takes a second or two."""
    return list(sentences())


@pytest.mark.parametrize("room", ROOMS)
def test_sentences_stand_in_modules_of_words(room: str, written: list[Sentence]) -> None:
    own = [one for one in written if one.path.startswith(f"{PACKAGE.name}/{room}/")]
    assert [f"{one.path}:{one.line}: {one.text}" for one in own if not is_said_by_words(one.path)] == []


def test_no_sentence_needs_a_glossary(written: list[Sentence]) -> None:
    found = [f"{one.path}:{one.line}: {one.text}" for one in written if OURS.search(one.text)]
    assert found == []


def test_sentences_are_found_with_their_places(tmp_path: Path) -> None:
    (tmp_path / "room.py").write_text(
        '"""A docstring of several words."""\n\nWHY = "the queue is full"\n\n\ndef why(name: str) -> str:\n'
        '    """Another docstring of words."""\n    return f"queue {name} is closed" + "key"\n'
    )
    assert [(one.line, one.text) for one in sentences(tmp_path)] == [
        (3, "the queue is full"),
        (8, "queue {} is closed"),
    ]


def test_every_room_is_looked_through(written: list[Sentence]) -> None:
    rooms = {PurePath(one.path).parts[1] for one in written if one.path.startswith(f"{PACKAGE.name}/")}
    assert {"plugins", "framework", "explain", "cli", "daemon", "sim", "lab"} <= rooms
