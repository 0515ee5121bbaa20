"""Small wrong changes to the daemon are found in crowded bottles, as the guide says."""

from __future__ import annotations

import re
from pathlib import Path

from tests.support.mutations import MUTATIONS, found

GUIDE = Path("vsched/lab/README.md")
ROW = re.compile(r"^\| (?P<name>[^|]+) \| (?P<seeds>\d+|-) \|(?P<promise>[^|]*)\|$", re.MULTILINE)


def told() -> dict[str, tuple[int, str]]:
    """By mutation, after how many seeds it is found, and by which promise; 0 and nothing where it is not."""
    section = GUIDE.read_text(encoding="utf-8").partition("### Mutations")[2].partition("\n## ")[0]
    rows = [row for row in ROW.finditer(section) if row["name"] in MUTATIONS]
    return {row["name"]: (int(row["seeds"].replace("-", "0")), row["promise"].strip()) for row in rows}


def test_the_guide_has_a_row_for_each_mutation() -> None:
    assert list(told()) == list(MUTATIONS)
    assert len(MUTATIONS) >= 30
    missed = {name: promise for name, (seeds, promise) in told().items() if not seeds}
    assert missed == {name: MUTATIONS[name].heals for name in missed}
    assert {name for name, one in MUTATIONS.items() if one.heals} <= missed.keys()


def test_a_mutation_is_found_as_the_guide_says() -> None:
    name = "bindings carry no uid"

    assert found(name, 1) == told()[name]
