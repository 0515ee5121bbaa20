"""What others write cannot steer a terminal, whichever way it gets there."""

from __future__ import annotations

import io
import json

import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console
from rich.live import Live
from rich.table import Table
from rich.text import Text

from tests.support.plans import manifests
from vsched.cli import cli
from vsched.cli.show.output import Escaped, guarded
from vsched.log import configure, logger
from vsched.printable import one_printable_line, printable, printable_json

HOSTILE = "a\x1b]0;title\x07b\x9b31mc\u202ed\u200be\r\x00"


@pytest.mark.parametrize(
    ("text", "told"),
    [
        pytest.param("n-1 größer 北京 ✓", "n-1 größer 北京 ✓", id="letters of all kinds stay"),
        pytest.param("two\n\tlines", "two\n\tlines", id="lines and tabs stay"),
        pytest.param("\x1b[31mred", "\\x1b[31mred", id="a colour"),
        pytest.param("\x1b]0;mine\x07", "\\x1b]0;mine\\x07", id="a title"),
        pytest.param("\x9b2J", "\\x9b2J", id="a control of one character"),
        pytest.param("safe\rSAFE", "safe\\x0dSAFE", id="a line written over"),
        pytest.param("abc\u202egpj.exe", "abc\\u202egpj.exe", id="text turned around"),
        pytest.param("a\u200db\ufeff", "a\\u200db\\ufeff", id="what nobody sees"),
        pytest.param("a\U000e0041", "a\\U000e0041", id="a tag"),
    ],
)
def test_what_a_terminal_would_obey_is_written_as_an_escape(text: str, told: str) -> None:
    assert printable(text) == told


def test_one_line_stays_one_line() -> None:
    assert one_printable_line("a\nvsched: all is well") == "a\\nvsched: all is well"


@given(st.text())
def test_escaped_json_says_the_same(text: str) -> None:
    plain = json.dumps({"k": text}, ensure_ascii=False)
    assert json.loads(printable_json(plain)) == {"k": text}
    assert not is_obeyed(printable_json(plain))


def is_obeyed(text: str) -> bool:
    return any(character in text for character in "\x1b\x07\x9b\u202e\u200b\r\x00")


def test_a_console_prints_its_own_colours_and_nothing_of_others() -> None:
    out = io.StringIO()
    console = guarded(Console(file=out, force_terminal=True, color_system="standard", width=200))
    table = Table(HOSTILE)
    table.add_row(Text(HOSTILE, style="red"))
    console.print(table)
    printed = out.getvalue().replace("\x1b[31m", "").replace("\x1b[1m", "").replace("\x1b[0m", "")
    assert not is_obeyed(printed)
    assert printed.count("\\x1b]0;titleb\\x9b31mc\\u202ed\\u200be") == 2  # rich drops the bell itself


def test_a_live_picture_obeys_nothing() -> None:
    out = io.StringIO()
    with Live(console=Console(file=out, width=200), auto_refresh=False) as live:
        live.update(Escaped(Text(HOSTILE)), refresh=True)
    assert "\x1b]0;title" not in out.getvalue()
    assert "\\x1b]0;title" in out.getvalue()


@pytest.mark.parametrize(
    ("output", "shown"),
    [("text", "\\x1b]0;title"), ("json", "\\u001b]0;title"), ("yaml", "\\e]0;title")],
    ids=["text", "json", "yaml"],
)
def test_a_plan_shows_names_of_others_as_escapes(output: str, shown: str) -> None:
    objects = manifests("node n1 cpu=4\njob x/a min=1 pods=1 cpu=1")
    for each in objects:
        if each["kind"] == "PodGroup":
            each["spec"]["queue"] = HOSTILE
    found = CliRunner().invoke(cli, ["plan", "-f", "-", "-o", output], input=json.dumps(objects))
    assert shown in found.output
    assert not is_obeyed(found.output)


def test_lines_of_the_log_obey_nothing() -> None:
    for shape in ("console", "json"):
        out = io.StringIO()
        configure("info", shape, out)
        try:
            raise ValueError(HOSTILE)
        except ValueError:
            logger("t").exception(HOSTILE, name=HOSTILE, names=[HOSTILE])
        assert "title" in out.getvalue()
        assert not is_obeyed(out.getvalue())
