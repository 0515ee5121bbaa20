"""``vsched queue``: what queues use, and opening and closing them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from vsched.cli.ask.cluster import ClusterFlags, cluster_flags, with_client
from vsched.cli.ask.completing import queue_names
from vsched.cli.ask.daemon import optional_daemon_flags
from vsched.cli.ask.target import DaemonTarget
from vsched.cli.show.output import Output, output_flags, say

if TYPE_CHECKING:
    from vsched.kube.client import ApiClient

EPILOG = """\b
Examples:
  vsched queue list
  vsched queue list --daemon http://localhost:8080      (with what each queue deserves by weight)
  vsched queue get research -o yaml
  vsched queue close research
"""


@click.group("queue", epilog=EPILOG)
def command() -> None:
    """Show queues, open them and close them."""


# Each command imports what it needs, so that --help does not load the client.


@command.command("list", epilog="Example:  vsched queue list -o wide")
@cluster_flags
@optional_daemon_flags
@output_flags
def list_(cluster: ClusterFlags, target: DaemonTarget | None, output: Output) -> None:
    """Every queue: its state, its share, what it holds, and its jobs."""
    from vsched.cli.queue.source import read_queues
    from vsched.cli.queue.view import as_table, list_document

    queues = with_client(cluster, lambda client: read_queues(client, target))
    output.show(lambda: list_document(queues), lambda look: as_table(queues, look))


@command.command("get", epilog="Example:  vsched queue get research")
@click.argument("name", shell_complete=queue_names)
@cluster_flags
@optional_daemon_flags
@output_flags
def get(name: str, cluster: ClusterFlags, target: DaemonTarget | None, output: Output) -> None:
    """Everything about one queue."""
    from vsched.cli.queue.source import podgroup_phases, read_queues
    from vsched.cli.queue.view import as_page, get_document

    async def read(client: ApiClient) -> Any:
        queues = await read_queues(client, target)
        return queues, queues.named(name), await podgroup_phases(client, name)

    queues, queue, phases = with_client(cluster, read)
    output.show(lambda: get_document(queues, queue, phases), lambda look: as_page(queues, queue, phases, look))


def _commanding(verb: str, action: str, says: str) -> None:
    """Add ``vsched queue VERB``, which asks for an action of Volcano's Commands."""

    @command.command(verb, help=says, epilog=f"Example:  vsched queue {verb} research")
    @click.argument("name", shell_complete=queue_names)
    @cluster_flags
    @click.option(
        "--wait",
        "wait_seconds",
        type=click.FloatRange(0, 1e9),
        default=10.0,
        show_default=True,
        help="seconds to wait for the answer; 0 only asks",
    )
    @click.option(
        "-n",
        "--namespace",
        default="",
        help="where to make the Command: a namespace that vsched run takes them from  [default: that of the context]",
    )
    def run(name: str, cluster: ClusterFlags, wait_seconds: float, namespace: str) -> None:
        from vsched.cli.queue.asking import ask

        say(with_client(cluster, lambda client: ask(client, name, action, wait_seconds, namespace)))


_commanding("open", "OpenQueue", "Have a queue take in work again, and those below it that were closed with it.")
_commanding("close", "CloseQueue", "Have a queue, and all below it, take in nothing new; what runs goes on.")
