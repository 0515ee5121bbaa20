"""``vsched usage``: what nodes use, from a running daemon or from the source of node usage of a policy."""

from __future__ import annotations

from pathlib import Path

import click

from vsched.cli.ask.cluster import ClusterFlags, cluster_flags
from vsched.cli.ask.daemon import ask_daemon, daemon_flags
from vsched.cli.show.output import Output, output_flags_of, print_document, say
from vsched.cli.usage import words
from vsched.client.target import DaemonTarget
from vsched.errors import BadInput

EPILOG = """\b
Examples:
  vsched usage                                                (what a running daemon knows)
  vsched usage --daemon http://localhost:8080 -o wide
  vsched usage --config config/policies/usage.yaml            (queries the source)
  vsched usage --config policy.yaml -o json
  vsched usage --config policy.yaml -o plan > usage.yaml      (for vsched plan --usage usage.yaml)
"""


@click.command("usage", epilog=EPILOG)
@click.option(
    "--config",
    metavar="POLICY",
    type=click.Path(path_type=Path),
    help="query the source of this policy file, instead of a daemon",
)
@cluster_flags
@daemon_flags
@output_flags_of("text", "wide", "json", "yaml", "plan")
def command(config: Path | None, cluster: ClusterFlags, target: DaemonTarget, output: Output) -> None:
    """Show what each node has allocated and what it really uses, as a running daemon knows it.

    With --config the source of node usage in the policy is queried once, as the daemon would, and its figures for each
    node are shown; also the nodes it does not know, and figures that belong to no node. Exits 1 if it does not answer
    or knows none of the nodes.
    """
    if config is not None:
        _ask_source(config, cluster, output)
    elif output.output == "plan":
        raise BadInput(words.PLAN_NEEDS_FIGURES)
    else:
        _ask_daemon(target, output)


# Each way imports what it needs, so that --help does not load the client.


def _ask_daemon(target: DaemonTarget, output: Output) -> None:
    from vsched.cli.usage.nodes import node_document, node_page

    overview = ask_daemon(target, lambda daemon: daemon.overview())
    output.show(lambda: node_document(overview), lambda look: node_page(overview, look))


def _ask_source(config: Path, cluster: ClusterFlags, output: Output) -> None:
    from vsched.cli.usage.source import read_usage
    from vsched.cli.usage.view import as_document, as_plan, as_table, why_nothing
    from vsched.settings import load_file
    from vsched.settings.installed import registry

    settings = load_file(config, registry())
    for warning in settings.warnings:
        say(f"vsched: {warning}", err=True)
    found = read_usage(settings, cluster)
    if output.output == "plan":
        print_document(as_plan(found), "yaml")
    else:
        output.show(lambda: as_document(found), lambda look: as_table(found, look))
    problem = why_nothing(found)
    if problem:
        raise BadInput(problem)
