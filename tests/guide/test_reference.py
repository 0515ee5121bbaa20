"""Pages that are made from the code and from data are up to date."""

from __future__ import annotations

from collections.abc import Callable
from datetime import date
from pathlib import Path

import pytest
import yaml

from tests.support.reference import DATA, PAGES


@pytest.mark.parametrize(("path", "make"), PAGES.items(), ids=[path.name for path in PAGES])
def test_a_page_is_as_it_would_be_made(path: Path, make: Callable[[], str]) -> None:
    assert path.read_text(encoding="utf-8") == make(), "make reference writes it anew"


def test_every_figure_has_a_command_and_a_day() -> None:
    data = yaml.safe_load(DATA.read_text(encoding="utf-8"))
    rows = [row for group in data["figures"] for row in group["rows"]]
    assert data["machine"]
    assert len(rows) > 50
    for row in rows:
        assert set(row) == {"what", "figure", "command", "date"}, row
        assert row["command"].startswith("vsched "), row
        assert isinstance(row["date"], date), row
