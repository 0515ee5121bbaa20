"""The reference has what the code has."""

from __future__ import annotations

from tests.support import reference


def test_the_reference_of_the_kinds_is_that_of_the_definitions() -> None:
    assert reference.PAGE.read_text(encoding="utf-8") == reference.reference(), "make reference writes it anew"
