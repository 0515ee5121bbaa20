"""With the same seed a test draws the same, whatever else runs and was imported before."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path

import pytest
from hypothesis import given, seed, settings
from hypothesis import strategies as st

from tests.support.examples import seeds


def drawn() -> list[tuple[int, str]]:
    found = []

    @seed(1)
    @settings(database=None, max_examples=200)
    @given(st.integers(), st.text())
    def note(number: int, text: str) -> None:
        found.append((number, text))

    note()
    return found


def test_what_a_property_draws_does_not_depend_on_what_is_imported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = drawn()
    path = tmp_path / "constants.py"
    path.write_text("FOUND = ['a name', 'another name', 4711, 815]\n", encoding="utf-8")
    spec = importlib.util.spec_from_file_location("constants", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    monkeypatch.setitem(sys.modules, "constants", module)
    assert drawn() == before


def test_each_test_that_draws_by_itself_has_numbers_of_its_own() -> None:
    assert seeds(3, "one") == seeds(3, "one")
    assert not set(seeds(3, "one")) & set(seeds(3, "another"))
