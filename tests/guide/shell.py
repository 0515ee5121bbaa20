"""The commands in the guide's blocks of shell: read as a shell reads them; those of vsched run in this process."""

from __future__ import annotations

import io
import os
import shlex
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import chdir
from typing import NamedTuple

import click
from click.testing import CliRunner

from tests.guide.conftest import Guided
from tests.support.pages import Block, page
from vsched.cli import cli, main

KUBECONFIG = "vsched.kubeconfig"
"""What the guide calls the kubeconfig of the embedded cluster."""
_SEPARATORS = {"&&", "||", ";", "(", ")", "<(", "&"}


class Command(NamedTuple):
    """One command with its arguments, whether it reads what the one before it prints, and the file that it writes."""

    words: tuple[str, ...]
    piped: bool = False
    into: str = ""

    @property
    def program(self) -> str:
        return self.words[0]

    def __str__(self) -> str:
        return shlex.join(self.words)


def commands(text: str) -> Iterator[Command]:
    """The commands of a block, comments left out; settings of variables are none."""
    for line in text.replace("\\\n", " ").splitlines():
        lexer = shlex.shlex(line, posix=True, punctuation_chars=True)
        lexer.whitespace_split = True
        found, piped = list[str](), False
        for word in [*lexer, ";"]:
            if word in _SEPARATORS or word == "|":
                if found and not (found[0] in ("export", "source") or "=" in found[0]):
                    yield _command(found, piped)
                found, piped = [], word == "|"
            else:
                found.append(word)


def story() -> list[Block]:
    """The blocks of the chapter from a recording to a promoted policy, which follow from one another."""
    told = page("config/migration/README.md")
    end = told.path.read_text(encoding="utf-8").splitlines().index("## From Volcano") + 1
    return [block for block in told.blocks if block.line < end]


def _command(words: list[str], piped: bool) -> Command:
    if ">" not in words:
        return Command(tuple(words), piped)
    at = words.index(">")
    (into,) = words[at + 1 :]
    return Command(tuple(words[:at]), piped, into)


def command_of(words: Sequence[str]) -> tuple[click.Command, list[str], list[str]]:
    """The command of ``vsched`` that these words call, its path, and the words that are its arguments."""
    found: click.Command = cli
    path, rest = ["vsched"], list(words)
    while isinstance(found, click.Group) and rest and not rest[0].startswith("-"):
        with click.Context(found, info_name=path[-1]) as context:
            inner = found.get_command(context, rest[0])
        assert inner is not None, f"{' '.join(path)} has no command {rest[0]!r}"
        found = inner
        path.append(rest.pop(0))
    return found, path, rest


def parse(words: Sequence[str]) -> click.Context:
    """What the program makes of its arguments; raises what it tells people who use it wrongly."""
    found, path, rest = command_of(words)
    return found.make_context(" ".join(path), rest)


def every_command(found: click.Command = cli, *path: str) -> Iterator[tuple[tuple[str, ...], click.Command]]:
    """Each command of the program that does something, with its words."""
    if not isinstance(found, click.Group):
        yield path, found
        return
    with click.Context(found, info_name="vsched") as context:
        for name in found.list_commands(context):
            inner = found.get_command(context, name)
            assert inner is not None
            yield from every_command(inner, *path, name)


def run(command: Command, given: bytes, where: Guided) -> tuple[int, bytes, str]:
    """The exit code, what is printed as a result (also into a file where one is named), and what is complained of."""
    code, printed, complaint = _run(command, given, where)
    if command.into:
        (where.folder / command.into).write_bytes(printed)
    return code, printed, complaint


def _run(command: Command, given: bytes, where: Guided) -> tuple[int, bytes, str]:
    words = [word.replace(KUBECONFIG, str(where.kubeconfig)) for word in command.words]
    surroundings = {
        "KUBECONFIG": str(where.kubeconfig),
        "VSCHED_DAEMON": where.daemon,
        "NO_COLOR": "1",
        "HOME": str(where.folder),
    }
    with chdir(where.folder):
        if command.program == "vsched":
            return _run_here([word if word != ":8080" else where.daemon for word in words[1:]], given, surroundings)
        done = subprocess.run(
            words, input=given, capture_output=True, env={**os.environ, **surroundings}, timeout=120, check=False
        )
    return done.returncode, done.stdout, done.stderr.decode()


def _run_here(words: list[str], given: bytes, surroundings: dict[str, str]) -> tuple[int, bytes, str]:
    runner = CliRunner()
    with runner.isolation(input=io.BytesIO(given), env=surroundings) as (out, err, *_):
        before, sys.argv = sys.argv, ["vsched", *words]
        try:
            main()
        except SystemExit as end:
            code = end.code if isinstance(end.code, int) else 1
        else:
            code = 0
        finally:
            sys.argv = before
        sys.stdout.flush()
        return code, out.getvalue(), err.getvalue().decode()
