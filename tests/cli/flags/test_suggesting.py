"""Names of commands that there are not."""

from __future__ import annotations

import pytest
from click.testing import CliRunner

from vsched.cli import cli
from vsched.cli.flags import words


@pytest.mark.parametrize(
    ("words", "said"),
    [
        pytest.param(["quene"], words.no_command("quene", "did you mean 'queue'?"), id="a command"),
        pytest.param(["queue", "lst"], words.no_command("lst", "did you mean 'list'?"), id="one of a group"),
        pytest.param(["migrate", "chek"], words.no_command("chek", "did you mean 'check'?"), id="one of another"),
        pytest.param(["zzz"], words.no_command("zzz", "vsched --help lists them"), id="like no other"),
    ],
)
def test_an_unknown_command_is_told_what_may_be_meant(words: list[str], said: str) -> None:
    result = CliRunner().invoke(cli, words, prog_name="vsched")
    assert result.exit_code == 2
    assert f"Error: {said}" in result.output
