"""``vsched rollout``: where the rollout of a policy is, promoting it and taking it back."""

from __future__ import annotations

import click

from vsched.cli.ask.cluster import ClusterFlags, cluster_flags, with_client
from vsched.cli.flags.suggesting import SuggestingGroup
from vsched.cli.show.output import Output, output_flags_of, print_document, say

EPILOG = """\b
Examples:
  vsched rollout status vsched/vsched-policy
  vsched rollout status vsched/vsched-policy -o json
  vsched rollout promote vsched/vsched-policy
  vsched rollout take-back vsched/vsched-policy
"""


@click.group("rollout", cls=SuggestingGroup, epilog=EPILOG)
def command() -> None:
    """Show the rollout of a policy in a ConfigMap; promote it, and take it back."""


# Each command imports what it needs, so that --help does not load the client.


@command.command("status", epilog="Example:  vsched rollout status vsched/vsched-policy")
@click.argument("where", metavar="NAMESPACE/NAME")
@cluster_flags
@output_flags_of("text", "json", "yaml")
def status(where: str, cluster: ClusterFlags, output: Output) -> None:
    """Show which policy is in force and why, the step, and what is measured beside its limits."""
    from vsched.cli.rollout.asking import document, lines, read

    found = with_client(cluster, lambda client: read(client, where))
    if output.output == "text":
        for line in lines(found):
            say(line)
    else:
        print_document(document(found), output.output)


def _ordering(name: str, short_help: str) -> None:
    """Add ``vsched rollout NAME``."""

    @command.command(name, help=short_help, epilog=f"Example:  vsched rollout {name} vsched/vsched-policy")
    @click.argument("where", metavar="NAMESPACE/NAME")
    @cluster_flags
    def run(where: str, cluster: ClusterFlags) -> None:
        from vsched.cli.rollout.asking import ask
        from vsched.daemon.policy.rollout.machine import RolloutOrder

        say(with_client(cluster, lambda client: ask(client, where, RolloutOrder(name))))


_ordering("promote", short_help="Leave out the steps that are left: the candidate is in force from now on.")
_ordering("take-back", short_help="Put the policy before in force again, also after the last step.")
