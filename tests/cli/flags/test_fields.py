"""Flags for the fields of a struct."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal

import click
import msgspec
import pytest
from click.testing import CliRunner

from vsched.cli.flags.fields import flags_of
from vsched.cli.options import options


class Fields(msgspec.Struct):
    """A field of each kind."""

    queue: str = "default"
    at_once: int = 4
    advise: bool = True
    names: tuple[str, ...] = ("vsched",)
    ports: tuple[Literal["listen", "healthz"], ...] = ()
    mode: Literal["evict", "delete"] = "evict"
    file: Path | None = None


flag = flags_of(Fields)


@click.command()
@options(
    flag("--queue", help="its queue"),
    flag("--at-once", help="how many", type=click.IntRange(1, 8)),
    flag("--advise", help="look for changes"),
    flag("--name", "names", help="a name"),
    flag("--port", "ports", help="a port"),
    flag("--mode", help="how"),
    flag("--file", help="from where"),
)
@click.pass_context
def command(context: click.Context, **values: Any) -> None:
    """Keep what came."""
    context.find_root().obj.append(Fields(**values))


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        pytest.param("", Fields(), id="defaults are those of the fields"),
        pytest.param("--queue a --at-once 8", Fields(queue="a", at_once=8), id="text and numbers"),
        pytest.param("--no-advise", Fields(advise=False), id="what is true can be switched off"),
        pytest.param("--name a --name b", Fields(names=("a", "b")), id="a tuple is given repeatedly"),
        pytest.param("--port listen", Fields(ports=("listen",)), id="words in a tuple"),
        pytest.param("--mode delete", Fields(mode="delete"), id="one of several words"),
        pytest.param("--file /f", Fields(file=Path("/f")), id="a path"),
    ],
)
def test_what_flags_come_to(words: str, expected: Fields) -> None:
    found: list[Fields] = []
    result = CliRunner().invoke(command, words.split(), obj=found, catch_exceptions=False)
    assert (result.output, found) == ("", [expected])


@pytest.mark.parametrize(
    ("words", "document"),
    [
        pytest.param("--mode other", "'other' is not one of 'evict', 'delete'", id="another word"),
        pytest.param("--port other", "'other' is not one of 'listen', 'healthz'", id="another word in a tuple"),
        pytest.param("--at-once 9", "9 is not in the range 1<=x<=8", id="more than the flag says"),
    ],
)
def test_what_is_refused(words: str, document: str) -> None:
    result = CliRunner().invoke(command, words.split(), obj=[])
    assert result.exit_code == 2
    assert document in result.output
