"""``vsched check``: whether a policy file holds, and what it comes to."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import click
import orjson
import yaml

from vsched.cli.ask.cluster import reaching
from vsched.cli.show.output import say
from vsched.errors import BadInput
from vsched.printable import printable_json
from vsched.settings import Settings, load_file
from vsched.settings.built_in import REGISTRY
from vsched.settings.describe import describe, describe_lines
from vsched.settings.load import MOST_BYTES, load_bytes

EPILOG = """\b
Examples:
  vsched check config/scheduler.yaml
  kubectl get configmap vsched -o yaml | vsched check -
  vsched check policy.yaml --probe      (asks the source of node usage, too)
"""


@click.command("check", epilog=EPILOG)
@click.argument("file", type=click.Path(path_type=Path, allow_dash=True))
@click.option("-o", "--output", type=click.Choice(["text", "json", "yaml"]), default="text", show_default=True)
@click.option("--probe", is_flag=True, help="ask the source of node usage about the cluster, and say what it answers")
@reaching
def command(file: Path, output: str, probe: bool, kubeconfig: Path | None, context: str | None) -> None:
    """Validate a policy FILE (``-`` for stdin): tiers, the extension points of each plugin, and what has no effect.

    Exits 1 with the path and line of every error where the file cannot be used, and with --probe where the source of
    node usage does not answer or knows none of the nodes. The cluster, if any, is asked for its nodes only then.
    """
    settings = _read(file)
    if output == "text":
        for line in describe_lines(settings, REGISTRY):
            say(line)
        for idle in settings.no_effect:
            say(idle)
        for warning in settings.warnings:
            say(f"warning: {warning}", err=True)
        if probe:
            _probe(settings, kubeconfig, context)
    else:
        click.echo(_rendered(describe(settings, REGISTRY), output), nl=False)
        if probe:
            _probe(settings, kubeconfig, context, err=True)


def _probe(settings: Settings, kubeconfig: Path | None, context: str | None, *, err: bool = False) -> None:
    """One line a figure; raises BadInput where no node is known."""
    from vsched.cli.usage.source import look  # here, because most files are checked without a cluster
    from vsched.cli.usage.view import figure_lines, why_nothing

    sight = look(settings, kubeconfig, context)
    for line in figure_lines(sight):
        say(line, err=err)
    problem = why_nothing(sight)
    if problem:
        raise BadInput(problem)


def _read(file: Path) -> Settings:
    if str(file) == "-":
        return load_bytes(sys.stdin.buffer.read(MOST_BYTES + 1), "stdin", REGISTRY)
    return load_file(file, REGISTRY)


def _rendered(described: dict[str, Any], output: str) -> str:
    if output == "json":
        return printable_json(orjson.dumps(described, option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE).decode())
    plain: dict[str, Any] = orjson.loads(orjson.dumps(described))
    return yaml.safe_dump(plain, sort_keys=False)
