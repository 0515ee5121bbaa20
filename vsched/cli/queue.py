"""``vsched queue``: what queues hold, and asking for them to be opened and closed."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

if TYPE_CHECKING:
    from rich.console import Console

    from vsched.cli.queue_view import Look
    from vsched.kube.client import ApiClient

EPILOG = """\b
Examples:
  vsched queue list
  vsched queue list --daemon http://localhost:8080      (with what each queue deserves by weight)
  vsched queue get research -o yaml
  vsched queue close research
"""

PIPE_COLUMNS = 400
"""Room for a table that is wide, or goes to a file or a program."""
OUTPUTS = ("text", "wide", "json", "yaml")

C = TypeVar("C", bound=Callable[..., Any])
T = TypeVar("T")


def reaching(command: C) -> C:
    """The flags that say which cluster is meant."""
    for option in (
        click.option("--context", help="context of the kubeconfig, where not its current one"),
        click.option(
            "--kubeconfig",
            type=click.Path(path_type=Path),
            help="kubeconfig file; else $KUBECONFIG, ~/.kube/config, or the account of the pod it runs in",
        ),
    ):
        command = option(command)
    return command


def showing(command: C) -> C:
    """The flags that say how to show it."""
    for option in (
        click.option("--no-color", is_flag=True, help="no colours; NO_COLOR does the same"),
        click.option(
            "-o", "--output", type=click.Choice(OUTPUTS), default="text", show_default=True, help="how to show it"
        ),
        click.option(
            "--daemon",
            metavar="URL",
            default="",
            help="a running daemon's --listen-address: how it divides is shown too",
        ),
    ):
        command = option(command)
    return command


def waiting(command: C) -> C:
    """The flag that says how long to wait for the answer."""
    return click.option(
        "--wait",
        "wait_seconds",
        type=click.FloatRange(min=0),
        default=10.0,
        show_default=True,
        help="seconds to wait for the answer; 0 only asks",
    )(command)


@click.group("queue", epilog=EPILOG)
def command() -> None:
    """Show queues, open them and close them."""


# What a command needs is imported in it, so that --help does not load the client.


@command.command("list", epilog="Example:  vsched queue list -o wide")
@reaching
@showing
def list_(kubeconfig: Path | None, context: str | None, daemon: str, output: str, no_color: bool) -> None:
    """Every queue: its state, its share, what it holds, and its PodGroups."""
    from vsched.cli.queue_source import read_queues
    from vsched.cli.queue_view import as_table, list_document

    queues = on_client(kubeconfig, context, lambda client: read_queues(client, daemon))
    if output in ("json", "yaml"):
        print_document(list_document(queues), output)
    else:
        console = console_for(no_color, output == "wide")
        console.print(as_table(queues, look_of(console, output == "wide")))


@command.command("get", epilog="Example:  vsched queue get research")
@click.argument("name")
@reaching
@showing
def get(name: str, kubeconfig: Path | None, context: str | None, daemon: str, output: str, no_color: bool) -> None:
    """Everything about one queue."""
    from vsched.cli.queue_source import podgroup_phases, read_queues
    from vsched.cli.queue_view import as_page, get_document

    async def read(client: ApiClient) -> Any:
        queues = await read_queues(client, daemon)
        return queues, queues.named(name), await podgroup_phases(client, name)

    queues, sight, phases = on_client(kubeconfig, context, read)
    if output in ("json", "yaml"):
        print_document(get_document(queues, sight, phases), output)
    else:
        console = console_for(no_color, output == "wide")
        console.print(as_page(queues, sight, phases, look_of(console, output == "wide")))


@command.command("open", epilog="Example:  vsched queue open research")
@click.argument("name")
@reaching
@waiting
def open_(name: str, kubeconfig: Path | None, context: str | None, wait_seconds: float) -> None:
    """Have a queue take in work again, and those below it that were closed with it."""
    from vsched.cli.queue_asking import ask

    click.echo(on_client(kubeconfig, context, lambda client: ask(client, name, "OpenQueue", wait_seconds)))


@command.command("close", epilog="Example:  vsched queue close research")
@click.argument("name")
@reaching
@waiting
def close(name: str, kubeconfig: Path | None, context: str | None, wait_seconds: float) -> None:
    """Have a queue, and all below it, take in nothing new; what runs goes on."""
    from vsched.cli.queue_asking import ask

    click.echo(on_client(kubeconfig, context, lambda client: ask(client, name, "CloseQueue", wait_seconds)))


# -- reaching and showing


def on_client(kubeconfig: Path | None, context: str | None, use: Callable[[ApiClient], Coroutine[Any, Any, T]]) -> T:
    """What comes of using a client of the cluster that the flags name."""
    from vsched.kube.client import ApiClient
    from vsched.kube.config import load_connection

    async def run() -> T:
        async with ApiClient(load_connection(kubeconfig, context)) as client:
            return await use(client)

    return asyncio.run(run())


def console_for(no_color: bool, wide: bool) -> Console:
    """The terminal, or room enough where a table is wide or goes to a file or a program."""
    from rich.console import Console

    width = None if sys.stdout.isatty() and not wide else PIPE_COLUMNS
    return Console(no_color=no_color or None, width=width, highlight=False)


def look_of(console: Console, wide: bool) -> Look:
    """What fits there."""
    from vsched.cli.queue_view import look_for

    return look_for(console.width, wide, unicode=console.encoding.startswith("utf"))


def print_document(document: dict[str, Any], output: str) -> None:
    """Print data as JSON or YAML."""
    import orjson
    import yaml

    if output == "json":
        click.echo(orjson.dumps(document, option=orjson.OPT_INDENT_2))
    else:
        click.echo(yaml.safe_dump(document, sort_keys=False), nl=False)
