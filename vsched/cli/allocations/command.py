"""``vsched allocations``: who deserves and holds what of the cluster, by namespace and bucket."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from vsched.cli.ask.cluster import on_client, reaching
from vsched.cli.ask.daemon import Target, asking_if_named
from vsched.cli.show.output import console_for, look_of, print_document, showing

if TYPE_CHECKING:
    from vsched.cli.allocations.source import Shares
    from vsched.kube.client import ApiClient

EPILOG = """\b
Examples:
  vsched allocations
  vsched allocations -o wide
  vsched allocations team-a bigdata                       (everything about a namespace and a bucket)
  vsched allocations --daemon http://localhost:8080       (with what may be held for now, lent parts included)
  vsched allocations -o json
"""


@click.command("allocations", epilog=EPILOG)
@click.argument("names", metavar="[NAMESPACE|BUCKET]...", nargs=-1)
@reaching
@asking_if_named
@showing
def command(
    names: tuple[str, ...],
    kubeconfig: Path | None,
    context: str | None,
    target: Target | None,
    output: str,
    no_color: bool,
) -> None:
    """What namespaces and buckets deserve of the cluster, what they hold, and who is overused since when.

    Reads what the arbitrator writes: Consumers, Allocations and Buckets.
    """
    # Imported here, so that --help does not load the client.
    from vsched.cli.allocations.source import read_shares
    from vsched.cli.allocations.view import as_document, as_page, as_table
    from vsched.clock import SystemClock

    async def read(client: ApiClient) -> Shares:
        return await read_shares(client, target)

    shares = on_client(kubeconfig, context, read)
    chosen = shares.named(names) if names else None
    if output in ("json", "yaml"):
        print_document(as_document(shares, chosen), output)
        return
    console = console_for(no_color, output == "wide")
    look, now = look_of(console, output == "wide"), SystemClock().now()
    parts: list[Any] = [as_table(shares, look, now)]
    if chosen is not None:
        parts = [as_page(shares, share, look, now) for share in chosen]
    for number, part in enumerate(parts):
        console.print(*([""] if number else []), part, sep="\n")
