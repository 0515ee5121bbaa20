"""``vsched autoscaling`` as a command."""

from __future__ import annotations

import click

from vsched.cli.ask.daemon import daemon_flags
from vsched.cli.show.output import Output, output_flags_of
from vsched.client.target import DaemonTarget

EPILOG = """\b
Examples:
  vsched autoscaling
  vsched autoscaling --daemon http://localhost:8080 -o json
"""


@click.command("autoscaling", epilog=EPILOG)
@daemon_flags
@output_flags_of("text", "wide", "json", "yaml")
def command(target: DaemonTarget, output: Output) -> None:
    """Show the ProvisioningRequests of gangs and the CapacityBuffers that a running daemon knows.

    If the policy says so, a ProvisioningRequest requests the nodes that a gang lacks. A CapacityBuffer is idle capacity
    that a node autoscaler keeps ready for pods.
    """
    from msgspec import to_builtins

    from vsched.cli.autoscaling.view import read_autoscaling, shown_page

    found = read_autoscaling(target)
    output.show(lambda: to_builtins(found), shown_page(found))
