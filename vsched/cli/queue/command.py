"""``vsched queue``: what queues hold, and asking for them to be opened and closed."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from vsched.cli.ask.cluster import on_client, reaching
from vsched.cli.ask.completing import queue_names
from vsched.cli.ask.daemon import Target, asking_if_named
from vsched.cli.show.output import console_for, look_of, print_document, say, showing

if TYPE_CHECKING:
    from vsched.kube.client import ApiClient

EPILOG = """\b
Examples:
  vsched queue list
  vsched queue list --daemon http://localhost:8080      (with what each queue deserves by weight)
  vsched queue get research -o yaml
  vsched queue close research
"""

C = TypeVar("C", bound=Callable[..., Any])


def waiting(command: C) -> C:
    """The flag that says how long to wait for the answer."""
    return click.option(
        "--wait",
        "wait_seconds",
        type=click.FloatRange(0, 1e9),
        default=10.0,
        show_default=True,
        help="seconds to wait for the answer; 0 only asks",
    )(command)


def commanding(command: C) -> C:
    """The flag that says where to make the Command."""
    return click.option(
        "-n",
        "--namespace",
        default="",
        help="where to make the Command: a namespace that vsched run takes them from  [default: that of the context]",
    )(command)


@click.group("queue", epilog=EPILOG)
def command() -> None:
    """Show queues, open them and close them."""


# What a command needs is imported in it, so that --help does not load the client.


@command.command("list", epilog="Example:  vsched queue list -o wide")
@reaching
@asking_if_named
@showing
def list_(kubeconfig: Path | None, context: str | None, target: Target | None, output: str, no_color: bool) -> None:
    """Every queue: its state, its share, what it holds, and its jobs."""
    from vsched.cli.queue.source import read_queues
    from vsched.cli.queue.view import as_table, list_document

    queues = on_client(kubeconfig, context, lambda client: read_queues(client, target))
    if output in ("json", "yaml"):
        print_document(list_document(queues), output)
    else:
        console = console_for(no_color, output == "wide")
        console.print(as_table(queues, look_of(console, output == "wide")))


@command.command("get", epilog="Example:  vsched queue get research")
@click.argument("name", shell_complete=queue_names)
@reaching
@asking_if_named
@showing
def get(
    name: str, kubeconfig: Path | None, context: str | None, target: Target | None, output: str, no_color: bool
) -> None:
    """Everything about one queue."""
    from vsched.cli.queue.source import podgroup_phases, read_queues
    from vsched.cli.queue.view import as_page, get_document

    async def read(client: ApiClient) -> Any:
        queues = await read_queues(client, target)
        return queues, queues.named(name), await podgroup_phases(client, name)

    queues, sight, phases = on_client(kubeconfig, context, read)
    if output in ("json", "yaml"):
        print_document(get_document(queues, sight, phases), output)
    else:
        console = console_for(no_color, output == "wide")
        console.print(as_page(queues, sight, phases, look_of(console, output == "wide")))


@command.command("open", epilog="Example:  vsched queue open research")
@click.argument("name", shell_complete=queue_names)
@reaching
@waiting
@commanding
def open_(name: str, kubeconfig: Path | None, context: str | None, wait_seconds: float, namespace: str) -> None:
    """Have a queue take in work again, and those below it that were closed with it."""
    from vsched.cli.queue.asking import ask

    say(on_client(kubeconfig, context, lambda client: ask(client, name, "OpenQueue", wait_seconds, namespace)))


@command.command("close", epilog="Example:  vsched queue close research")
@click.argument("name", shell_complete=queue_names)
@reaching
@waiting
@commanding
def close(name: str, kubeconfig: Path | None, context: str | None, wait_seconds: float, namespace: str) -> None:
    """Have a queue, and all below it, take in nothing new; what runs goes on."""
    from vsched.cli.queue.asking import ask

    say(on_client(kubeconfig, context, lambda client: ask(client, name, "CloseQueue", wait_seconds, namespace)))
