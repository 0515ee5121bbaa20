"""``vsched usage``: what the source of node usage that a policy describes says of each node right now."""

from __future__ import annotations

from pathlib import Path

import click

from vsched.cli.ask.cluster import reaching
from vsched.cli.ask.daemon import Target, asking
from vsched.cli.show.output import console_for, look_of, print_document, say, showing_as
from vsched.errors import BadInput

EPILOG = """\b
Examples:
  vsched usage                                                (what a running daemon knows)
  vsched usage --daemon http://localhost:8080 -o wide
  vsched usage --config config/policies/usage.yaml            (asks the source itself)
  vsched usage --config policy.yaml -o json
  vsched usage --config policy.yaml -o plan > usage.yaml      (for vsched plan --usage usage.yaml)
"""

OUTPUTS = ("text", "wide", "json", "yaml", "plan")


@click.command("usage", epilog=EPILOG)
@click.option(
    "--config", metavar="POLICY", type=click.Path(path_type=Path), help="the policy file whose source is asked itself"
)
@reaching
@asking
@showing_as(OUTPUTS)
def command(
    config: Path | None, kubeconfig: Path | None, context: str | None, target: Target, no_color: bool, output: str
) -> None:
    """What of each node is allocated and what it really uses, as a running daemon knows it.

    With --config the source of node usage that the policy describes is asked once, as the daemon would, and what it
    knows of each node of the cluster is shown: also nodes it does not know, and what it knows that is no node. Exits 1
    where it does not answer, or knows none of the nodes.
    """
    if config is not None:
        _ask_source(config, kubeconfig, context, no_color, output)
    elif output == "plan":
        raise BadInput("-o plan: needs the figures of the source itself (expected --config POLICY)")
    else:
        _ask_daemon(target, no_color, output)


# What each way needs is imported in it, so that --help does not load the client.


def _ask_daemon(target: Target, no_color: bool, output: str) -> None:
    from vsched.cli.ask.overview import read_picture
    from vsched.cli.usage.nodes import node_document, node_page

    overview = read_picture(target)
    if output in ("json", "yaml"):
        print_document(node_document(overview), output)
    else:
        console = console_for(no_color, output == "wide")
        console.print(node_page(overview, look_of(console, output == "wide")))


def _ask_source(config: Path, kubeconfig: Path | None, context: str | None, no_color: bool, output: str) -> None:
    from vsched.cli.usage.source import look
    from vsched.cli.usage.view import as_document, as_plan, as_table, why_nothing
    from vsched.settings import load_file
    from vsched.settings.built_in import REGISTRY

    settings = load_file(config, REGISTRY)
    for warning in settings.warnings:
        say(f"vsched: {warning}", err=True)
    sight = look(settings, kubeconfig, context)
    match output:
        case "plan":
            print_document(as_plan(sight), "yaml")
        case "json" | "yaml":
            print_document(as_document(sight), output)
        case _:
            console = console_for(no_color, output == "wide")
            console.print(as_table(sight, look_of(console, output == "wide")))
    problem = why_nothing(sight)
    if problem:
        raise BadInput(problem)
