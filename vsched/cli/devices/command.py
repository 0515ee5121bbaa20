"""``vsched devices``: the devices of nodes, what part of each is taken, and by whom."""

from __future__ import annotations

from pathlib import Path

import click

from vsched.cli.ask.completing import node_names
from vsched.cli.ask.daemon import daemon_flags
from vsched.cli.show.output import Output, output_flags
from vsched.client.target import DaemonTarget

EPILOG = """\b
Examples:
  vsched devices                                  (the first 200 nodes with devices)
  vsched devices gpu-node-1 gpu-node-2 -o wide    (all pods, and how each device is shared)
  vsched devices gpu-node-1 -o json
  vsched devices --from vsched-61.json.gz
"""


@click.command("devices", epilog=EPILOG)
@click.argument("nodes", metavar="[NODE]...", nargs=-1, shell_complete=node_names)
@click.option(
    "--from",
    "file",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE",
    help="read a recording of vsched dump instead of asking a daemon",
)
@daemon_flags
@output_flags
def command(nodes: tuple[str, ...], file: Path | None, target: DaemonTarget, output: Output) -> None:
    """Show the devices of nodes: how much of each is in use, and by which pods, as a running daemon knows it.

    Devices that pods share come first, then those that drivers publish for ResourceClaims, and then resources that only
    count devices. "taken" is the share of a device's memory or computing power in use, whichever is larger. Below are
    the jobs that hold most of each resource, with their queues: nvidia.com/gpu first, cpu and memory last.
    """
    from msgspec import to_builtins

    from vsched.cli.devices.view import device_page, devices_of_daemon, devices_of_file

    found = devices_of_daemon(target, nodes) if file is None else devices_of_file(file, nodes)
    output.show(lambda: to_builtins(found), lambda look: device_page(found, look))
