"""``vsched usage``: what the source of node usage that a policy describes says of each node right now."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from vsched.cli.queue import reaching
from vsched.errors import BadInput

if TYPE_CHECKING:
    from vsched.cli.usage_source import UsageSight

EPILOG = """\b
Examples:
  vsched usage --config config/policies/usage.yaml
  vsched usage --config policy.yaml -o json
  vsched usage --config policy.yaml -o plan > usage.yaml      (for vsched plan --usage usage.yaml)
"""

PIPE_COLUMNS = 200
"""Room for a table that goes to a file or a program."""
OUTPUTS = ("text", "json", "yaml", "plan")


@click.command("usage", epilog=EPILOG)
@click.option("--config", metavar="POLICY", required=True, type=click.Path(path_type=Path), help="the policy file")
@reaching
@click.option("--no-color", is_flag=True, help="no colours; NO_COLOR does the same")
@click.option("-o", "--output", type=click.Choice(OUTPUTS), default="text", show_default=True, help="how to show it")
def command(config: Path, kubeconfig: Path | None, context: str | None, no_color: bool, output: str) -> None:
    """Ask the source of node usage once, as the daemon would, and show what it knows of each node of the cluster.

    Nodes it does not know are shown, too, and so is what it knows that is no node. Exits 1 where it does not answer,
    or knows none of the nodes.
    """
    from vsched.cli.usage_source import look  # here, so that --help does not load the client
    from vsched.cli.usage_view import as_document, as_plan, why_nothing
    from vsched.settings import load_file
    from vsched.settings.built_in import REGISTRY

    settings = load_file(config, REGISTRY)
    for warning in settings.warnings:
        click.echo(f"vsched: {warning}", err=True)
    sight = look(settings, kubeconfig, context)
    if output == "text":
        _print_table(sight, no_color)
    else:
        _print_document(as_plan(sight) if output == "plan" else as_document(sight), output)
    problem = why_nothing(sight)
    if problem:
        raise BadInput(problem)


def _print_table(sight: UsageSight, no_color: bool) -> None:
    from rich.console import Console

    from vsched.cli.queue_view import look_for
    from vsched.cli.usage_view import as_table

    width = None if sys.stdout.isatty() else PIPE_COLUMNS
    console = Console(no_color=no_color or None, width=width, highlight=False)
    console.print(as_table(sight, look_for(console.width, False, unicode=console.encoding.startswith("utf"))))


def _print_document(document: dict[str, Any], output: str) -> None:
    import orjson
    import yaml

    if output == "json":
        click.echo(orjson.dumps(document, option=orjson.OPT_INDENT_2))
    else:
        click.echo(yaml.safe_dump(document, sort_keys=False), nl=False)
