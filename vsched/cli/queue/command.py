"""``vsched queue``: what queues use and have used, and opening and closing them."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from vsched.cli.ask.cluster import ClusterFlags, cluster_flags, with_client
from vsched.cli.ask.completing import queue_names
from vsched.cli.ask.daemon import daemon_flags, target_beside
from vsched.cli.flags.suggesting import SuggestingGroup
from vsched.cli.flags.values import DAY_SECONDS, TimeSpan
from vsched.cli.queue import words
from vsched.cli.show.output import Output, output_flags, output_flags_of, say
from vsched.client.target import DaemonTarget

if TYPE_CHECKING:
    from vsched.kube.client import ApiClient

EPILOG = """\b
Examples:
  vsched queue list
  vsched queue get research -o yaml
  vsched queue usage --since 7d --by queue,user
  vsched queue history --span week
  vsched queue close research
"""

DIMENSIONS = ("queue", "namespace", "user")
"""What ``--by`` takes."""


@click.group("queue", cls=SuggestingGroup, epilog=EPILOG)
def command() -> None:
    """Show queues and what they have used; open and close them."""


# Each command imports what it needs, so that --help does not load the client.


@command.command("list", epilog="Example:  vsched queue list -o wide")
@cluster_flags
@daemon_flags
@output_flags
def list_(cluster: ClusterFlags, target: DaemonTarget, output: Output) -> None:
    """List queues: state, share, what each holds, and its jobs.

    If a daemon answers, it adds what each queue deserves by weight.
    """
    from vsched.cli.queue.source import read_queues
    from vsched.cli.queue.view import as_table, list_document

    queues = with_client(cluster, lambda client: read_queues(client, target_beside(cluster, target)))
    output.show(lambda: list_document(queues), lambda look: as_table(queues, look))


@command.command("get", epilog="Example:  vsched queue get research")
@click.argument("name", shell_complete=queue_names)
@cluster_flags
@daemon_flags
@output_flags
def get(name: str, cluster: ClusterFlags, target: DaemonTarget, output: Output) -> None:
    """Show everything about one queue."""
    from vsched.cli.queue.source import podgroup_phases, read_queues
    from vsched.cli.queue.view import as_page, get_document

    async def read(client: ApiClient) -> Any:
        queues = await read_queues(client, target_beside(cluster, target))
        return queues, queues.named(name), await podgroup_phases(client, name)

    queues, queue, phases = with_client(cluster, read)
    output.show(lambda: get_document(queues, queue, phases), lambda look: as_page(queues, queue, phases, look))


class Dimensions(click.ParamType[tuple[str, ...]]):
    """Names out of ``DIMENSIONS``, with commas between them."""

    name = "names"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> tuple[str, ...]:
        """The names in the order of ``DIMENSIONS``."""
        given = value if isinstance(value, tuple) else tuple(name.strip() for name in str(value).split(","))
        for name in given:
            if name not in DIMENSIONS:
                self.fail(words.no_dimension(name, ", ".join(DIMENSIONS)), param, ctx)
        return tuple(name for name in DIMENSIONS if name in given)


@command.command("usage", epilog="Example:  vsched queue usage --since 7d --by namespace,user -o csv > usage.csv")
@click.option(
    "--since",
    "seconds",
    type=TimeSpan(7 * DAY_SECONDS),
    default="24h",
    show_default=True,
    help="how far back; 7d at most",
)
@click.option("--by", type=Dimensions(), default="queue", show_default=True, help="any of queue,namespace,user")
@click.option(
    "--from",
    "file",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE",
    help="read a recording of vsched dump instead of asking a daemon",
)
@daemon_flags
@output_flags_of("text", "wide", "json", "yaml", "csv")
def usage(seconds: float, by: tuple[str, ...], file: Path | None, target: DaemonTarget, output: Output) -> None:
    """Show the resource-hours that queues, namespaces and users have used, and their share of the cluster.

    A running daemon counts them exactly, by the hour, for a week. A queue counts without its child queues. Waiting pods
    use nothing; placed pods use what they request, whatever they really use.
    """
    from msgspec import to_builtins

    from vsched.cli.queue.usage import read_showback, showback_of, usage_csv, usage_table

    found = read_showback(target, seconds, by) if file is None else showback_of(file, seconds, by)
    if output.output == "csv":
        click.echo(usage_csv(found), nl=False)
    else:
        output.show(lambda: to_builtins(found), lambda look: usage_table(found, look))


@command.command("history", epilog="Example:  vsched queue history research --span week -o csv > research.csv")
@click.argument("name", metavar="[QUEUE]", default="", shell_complete=queue_names)
@click.option("--span", type=click.Choice(("hour", "week")), default="hour", show_default=True, help="how far back")
@daemon_flags
@output_flags_of("text", "wide", "json", "yaml", "csv")
def history(name: str, span: str, target: DaemonTarget, output: Output) -> None:
    """Show what queues held, deserved and requested over the last hour or week, as shares of the cluster.

    The leader keeps the last hour in steps of ten seconds and the last week in steps of ten minutes. For the time
    before it began to lead, only hourly means of what was held are known, from the usage history; JSON and YAML mark
    these as hourly. JSON, YAML and CSV of one queue have every step.
    """
    from msgspec import to_builtins

    from vsched.cli.queue.history import history_csv, history_table, points_for, queue_table, read_history

    found = read_history(target, span, points_for(output, one=bool(name)), name or None)
    if output.output == "csv":
        click.echo(history_csv(found), nl=False)
    else:
        table = queue_table if name and found.queues else history_table
        output.show(lambda: to_builtins(found), lambda look: table(found, look))


def _commanding(verb: str, action: str, help: str) -> None:
    """Add ``vsched queue VERB``, which asks for an action of Volcano's Commands."""

    @command.command(verb, help=help, epilog=f"Example:  vsched queue {verb} research")
    @click.argument("name", shell_complete=queue_names)
    @cluster_flags
    @click.option(
        "--wait",
        "wait_seconds",
        type=click.FloatRange(0, 1e9),
        default=10.0,
        show_default=True,
        help="seconds to wait for the answer; 0 does not wait",
    )
    @click.option(
        "-n",
        "--namespace",
        default="",
        help="namespace of the Command: one that vsched run accepts them from  [default: that of the context]",
    )
    def run(name: str, cluster: ClusterFlags, wait_seconds: float, namespace: str) -> None:
        from vsched.cli.queue.asking import ask

        say(with_client(cluster, lambda client: ask(client, name, action, wait_seconds, namespace)))


_commanding("open", "OpenQueue", help="Open a queue and the child queues that were closed with it.")
_commanding("close", "CloseQueue", help="Close a queue and its child queues: running jobs go on, no new ones start.")
