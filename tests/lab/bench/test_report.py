"""How benches print their figures."""

from __future__ import annotations

import pytest
from rich.console import Console

from vsched.lab.bench.report import figures_table
from vsched.lab.bench.words import restart as words

NAME = words.held("start")


@pytest.mark.parametrize("width", [40, 80, 120])
def test_a_value_is_whole_however_narrow_the_screen_and_long_the_name(width: int) -> None:
    console = Console(width=width)
    with console.capture() as printed:
        console.print(figures_table([(NAME, "3.2 / 0.0 / 1.3"), ("short", "5.4")]))
    lines = printed.get().splitlines()
    assert any(line.rstrip().endswith("3.2 / 0.0 / 1.3") for line in lines)
    assert " ".join(line.split("│")[0].strip() for line in lines[:-1]).split() == NAME.split()
