"""The page for new readers: its files are there, and as long as it says."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

PAGE = Path(__file__).parents[2] / "vsched" / "framework" / "reading.md"
ROWS = [row.split("|") for row in PAGE.read_text().splitlines() if row.startswith("| [")]


def lines(path: Path) -> int:
    return len(path.read_text().splitlines())


@pytest.mark.parametrize("row", [pytest.param(row, id=row[1].strip()) for row in ROWS])
def test_files_are_as_long_as_the_page_says(row: list[str]) -> None:
    names = re.findall(r"\]\(([^)]+)\)", row[1])
    assert names
    assert int(row[2]) == pytest.approx(sum(lines(PAGE.parent / name) for name in names), abs=15)
