"""``vsched allocations``: what namespaces and buckets deserve and use of the cluster."""

from __future__ import annotations

import click

from vsched.cli.ask.cluster import ClusterFlags, cluster_flags, with_client
from vsched.cli.ask.daemon import daemon_flags, target_beside
from vsched.cli.show.output import Output, output_flags
from vsched.client.target import DaemonTarget

EPILOG = """\b
Examples:
  vsched allocations
  vsched allocations -o wide
  vsched allocations team-a bigdata                       (details of a namespace and a bucket)
  vsched allocations -o json
"""


@click.command("allocations", epilog=EPILOG)
@click.argument("names", metavar="[NAMESPACE|BUCKET]...", nargs=-1)
@cluster_flags
@daemon_flags
@output_flags
def command(names: tuple[str, ...], cluster: ClusterFlags, target: DaemonTarget, output: Output) -> None:
    """Show what namespaces and buckets deserve and hold, and which are overused and since when.

    Reads the Consumers, Allocations and Buckets of the cluster. If a daemon answers, it adds what each may hold at
    present, with what it borrows.
    """
    # Imported here, so that --help does not load the client.
    from vsched.cli.allocations.source import read_shares
    from vsched.cli.allocations.view import as_document, as_pages, as_table
    from vsched.clock import SystemClock

    shares = with_client(cluster, lambda client: read_shares(client, target_beside(cluster, target)))
    chosen, now = shares.named(names) if names else None, SystemClock().now()
    output.show(
        lambda: as_document(shares, chosen),
        lambda look: as_table(shares, look, now) if chosen is None else as_pages(shares, chosen, look, now),
    )
