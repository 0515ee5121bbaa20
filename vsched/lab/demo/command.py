"""``vsched demo``: the command; ``vsched.lab.demo.run`` does the work."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TextIO

import click
import orjson
from rich.console import Console
from rich.live import Live

from vsched.daemon.system.tuning import tuned
from vsched.errors import BadInput, Unavailable
from vsched.lab.demo import words
from vsched.lab.demo.run import ANYWHERE, DemoSettings, Show, play
from vsched.lab.demo.view import DemoState, as_document, as_line, as_live, as_summary
from vsched.log import LogFormat, configure
from vsched.settings import load_file
from vsched.settings.installed import registry
from vsched.together import run_fast
from vsched.web.serve.server import parse_address

EPILOG = """\b
Examples:
  vsched demo
  vsched demo --seconds 60 --nodes 500 --config config/scheduler.yaml
  vsched demo --memory --seconds 60
  vsched demo --headless --seconds 5
  vsched demo --seconds 600 --listen-address 127.0.0.1:8080    # and look at http://127.0.0.1:8080/ meanwhile
"""


FRAME_SECONDS, LINE_SECONDS = 0.25, 1.0
"""Between two screens on a terminal, and between two lines elsewhere."""


@click.command("demo", epilog=EPILOG, context_settings={"show_default": True})
@click.option("--seconds", type=click.FloatRange(1, 86_400), default=20.0, help="How long new work arrives.")
@click.option("--nodes", type=click.IntRange(1, 5_000), default=100, help="Nodes of the embedded cluster.")
@click.option("--headless", is_flag=True, help="Print only the address of the page, and the summary as JSON.")
@click.option("--seed", type=int, default=1, help="Random seed of the workload.")
@click.option("--listen-address", metavar="HOST:PORT", default=ANYWHERE, help="Address of the page; port 0 for any.")
@click.option(
    "--memory",
    is_flag=True,
    help="Shares that count past use: one queue has the cluster, then a second one wants it and gets more at first.",
)
@click.option(
    "--config", metavar="POLICY", type=click.Path(path_type=Path), help="Policy file  [default: the built-in policy]"
)
@click.option(
    "--log-file", type=click.Path(dir_okay=False, path_type=Path), help="File for the daemon's log  [default: none]"
)
def command(
    seconds: float,
    nodes: int,
    headless: bool,
    seed: int,
    listen_address: str,
    memory: bool,
    config: Path | None,
    log_file: Path | None,
) -> None:
    """Run an embedded cluster, the daemon and more work than fits, and watch queues and namespaces share."""
    if memory and config is not None:
        raise click.UsageError(words.CONFIG_WITH_MEMORY)
    if config is not None:
        load_file(config, registry())
    parse_address(listen_address, "--listen-address")
    settings = DemoSettings(seconds, nodes, seed, config, listen_address, memory)
    console = Console()
    with _log_to(log_file), _showing(console, headless) as show, tuned():
        frame_seconds = FRAME_SECONDS if console.is_terminal else LINE_SECONDS
        # On a terminal the screen shows the address all the time.
        announce = (lambda page: None) if console.is_terminal and not headless else _announce
        state = run_fast(play(settings, show, frame_seconds, announce))
    if state is None:
        raise click.Abort
    if headless:
        click.echo(orjson.dumps(as_document(state), option=orjson.OPT_INDENT_2))
    else:
        console.print("", as_summary(state), sep="\n")
    judge(state)


def _announce(page: str) -> None:
    click.echo(f"page: {page}", err=True)


def judge(state: DemoState) -> None:
    """Raise Unavailable where no pod was bound, or a gang only in part."""
    if not state.bound:
        problem = state.last_error or words.created_and_held(state.created, state.sessions)
        raise Unavailable(words.none_bound(state.elapsed_seconds, problem))
    if state.partial_gangs:
        raise Unavailable(words.partly_bound(state.partial_gangs))


@contextmanager
def _showing(console: Console, headless: bool) -> Iterator[Show]:
    """A screen on a terminal, lines elsewhere, nothing with --headless."""
    if headless:
        yield lambda state: None
    elif console.is_terminal:
        with Live(console=console, auto_refresh=False, transient=False) as live:
            yield lambda state: live.update(as_live(state), refresh=True)
    else:
        yield lambda state: click.echo(as_line(state), err=True)


@contextmanager
def _log_to(file: Path | None) -> Iterator[None]:
    """The daemon's log goes to the file, or nowhere, so that it does not disturb the screen."""
    try:
        stream: TextIO = (file or Path(os.devnull)).open("w", encoding="utf-8")
    except OSError as error:
        raise BadInput(words.log_cannot_be_written(file, error.strerror)) from None
    with stream:
        configure("info", LogFormat.JSON, stream)
        try:
            yield
        finally:
            configure("warning", LogFormat.CONSOLE, sys.stderr)
