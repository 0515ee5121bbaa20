"""How results are shown: as wide as the terminal, or, in a pipe, as wide as they are."""

from __future__ import annotations

from io import StringIO

import pytest
from rich.table import Table

from vsched.cli.show.output import PIPE_COLUMNS, console_for


def test_lines_in_a_pipe_end_where_their_words_end(monkeypatch: pytest.MonkeyPatch) -> None:
    pipe = StringIO()
    monkeypatch.setattr("sys.stdout", pipe)
    console = console_for(no_color=False, wide=False)
    table = Table.grid(padding=(0, 2, 0, 0), expand=True)
    table.add_row("a", "two words")
    table.add_row("longer", "")
    console.print(table)

    assert console.width == PIPE_COLUMNS
    assert not console.is_terminal
    lines = pipe.getvalue().splitlines()
    assert [line.split() for line in lines] == [["a", "two", "words"], ["longer"]]
    assert all(line == line.rstrip() for line in lines)
