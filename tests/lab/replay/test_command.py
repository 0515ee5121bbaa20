"""``vsched replay`` with the flags of the lab: which go together."""

from __future__ import annotations

import pytest
from click.testing import CliRunner

from vsched.cli import cli
from vsched.lab.replay import words


@pytest.mark.parametrize(
    ("typed", "problem"),
    [
        pytest.param(["f", "--load", "2", "--quiet"], words.only_with_trace("--load, --quiet"), id="flags of traces"),
        pytest.param(
            ["--trace", "n.csv", "p.csv", "--cycles", "2"], words.not_with_trace("--cycles"), id="those of files"
        ),
        pytest.param(["f", "--trace", "nodes.csv", "pods.csv"], words.TRACE_WITH_FILES, id="both"),
    ],
)
def test_flags_that_do_not_go_together(typed: list[str], problem: str) -> None:
    done = CliRunner().invoke(cli, ["replay", *typed])
    assert done.exit_code == 2
    assert problem in done.output
