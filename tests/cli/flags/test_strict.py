"""Every flag of every command refuses what nobody can have meant."""

from __future__ import annotations

from collections.abc import Iterator

import click
import pytest
from click.testing import CliRunner

from vsched.cli import cli
from vsched.cli.flags import words
from vsched.cli.flags.strict import Finite, PrintableText


def commands(group: click.Group, *path: str) -> Iterator[tuple[tuple[str, ...], click.Command]]:
    context = click.Context(group, info_name="vsched")
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        assert command is not None
        if isinstance(command, click.Group):
            yield from commands(command, *path, name)
        yield (*path, name), command


def test_numbers_have_bounds_and_texts_are_looked_at() -> None:
    for path, command in commands(cli):
        for parameter in command.params:
            kind, where = parameter.type, (*path, *parameter.opts)
            assert type(kind) not in (type(click.STRING), type(click.FLOAT), click.FloatRange), where
            if isinstance(kind, Finite):
                assert None not in (kind.min, kind.max), where


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        pytest.param(("run", "--coalesce", "nan"), "'nan' is not a number of the range", id="NaN"),
        pytest.param(("run", "--kube-api-qps", "inf"), "inf is not in the range", id="infinity"),
        pytest.param(("run", "--kube-api-qps", "1e300"), "is not in the range", id="a number beyond all measure"),
        pytest.param(("run", "--kube-api-burst", "9" * 30), "is not in the range", id="a count beyond all measure"),
        pytest.param(("run", "--schedule-period", "nan"), "'nan' is not a time", id="a time that is none"),
        pytest.param(("run", "--scheduler-name", ""), "'' is empty", id="a name that is none"),
        pytest.param(("run", "--scheduler-name", "  "), "is empty", id="a name of blanks"),
        pytest.param(("run", "--default-queue", "a\x1b[31m"), "unprintable", id="a name with a colour"),
        pytest.param(("plan", "-f", "-", "--scheduler-name", "a\nb"), "unprintable", id="a name of two lines"),
        pytest.param(("cluster", "--termination-seconds", "nan"), "is not a number of the range", id="NaN seconds"),
        pytest.param(("plan", "--cycles", "three"), words.no_integer('"three"'), id="a number in words"),
        pytest.param(("demo", "--seconds", "soon"), words.no_number('"soon"'), id="seconds in words"),
        pytest.param(("cluster", "--nodes", "three"), 'a number or a file of nodes, is "three"', id="nodes in words"),
        pytest.param(("cluster", "--nodes", ""), "is empty", id="no number and no file"),
        pytest.param(("explain", ""), "is empty", id="an argument that is none"),
    ],
)
def test_what_nobody_means_is_refused_as_wrong_usage(arguments: tuple[str, ...], problem: str) -> None:
    found = CliRunner().invoke(cli, list(arguments))
    assert found.exit_code == 2
    assert problem in " ".join(found.output.split())


def test_an_address_may_be_empty_for_none() -> None:
    assert PrintableText(may_be_empty=True).convert("", None, None) == ""
