"""``vsched check``: whether a policy file holds, and what it comes to."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import click
import orjson
import yaml

from vsched.settings import Settings, load_file
from vsched.settings.built_in import REGISTRY
from vsched.settings.describe import describe, describe_lines
from vsched.settings.load import MOST_BYTES, load_bytes

EPILOG = """\b
Examples:
  vsched check config/scheduler.yaml
  kubectl get configmap vsched -o yaml | vsched check -
"""


@click.command("check", epilog=EPILOG)
@click.argument("file", type=click.Path(path_type=Path, allow_dash=True))
@click.option("-o", "--output", type=click.Choice(["text", "json", "yaml"]), default="text", show_default=True)
def command(file: Path, output: str) -> None:
    """Validate a policy FILE (``-`` for stdin): tiers, and the extension points of each plugin.

    Exits 1 with the path and line of every error where the file cannot be used.
    """
    settings = _read(file)
    if output == "text":
        for line in describe_lines(settings, REGISTRY):
            click.echo(line)
        for warning in settings.warnings:
            click.echo(f"warning: {warning}", err=True)
    else:
        click.echo(_rendered(describe(settings, REGISTRY), output), nl=False)


def _read(file: Path) -> Settings:
    if str(file) == "-":
        return load_bytes(sys.stdin.buffer.read(MOST_BYTES + 1), "stdin", REGISTRY)
    return load_file(file, REGISTRY)


def _rendered(described: dict[str, Any], output: str) -> str:
    if output == "json":
        return orjson.dumps(described, option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE).decode()
    plain: dict[str, Any] = orjson.loads(orjson.dumps(described))
    return yaml.safe_dump(plain, sort_keys=False)
