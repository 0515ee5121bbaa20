"""Claims of waiting pods as lines for people."""

from __future__ import annotations

from io import StringIO

from rich.console import Console

from vsched.cli.show.claims import claims_table
from vsched.explain.claims import words as claims_words
from vsched.explain.records import ClaimState


def shown(*found: ClaimState) -> list[str]:
    """The lines of the table."""
    out = StringIO()
    Console(file=out, width=120).print(claims_table(found))
    return [" ".join(line.split()) for line in out.getvalue().splitlines()]


def test_a_line_has_the_names_what_they_ask_for_and_their_state() -> None:
    one = ClaimState("PersistentVolumeClaim", ("data",), 1, "", claims_words.DOES_NOT_EXIST, False)
    many = ClaimState("ResourceClaim", ("a", "b", "c"), 20, "2 of class gpu", "has no devices yet", True)
    assert shown(one, many) == [
        "PersistentVolumeClaim data " + claims_words.DOES_NOT_EXIST,
        "20 ResourceClaims a, b, c and 17 more 2 of class gpu: has no devices yet",
    ]
