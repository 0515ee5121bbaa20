"""``vsched version`` and ``vsched --version``: the exact build."""

from __future__ import annotations

import click

from vsched.cli.show.output import print_document

EPILOG = """\b
Examples:
  vsched version
  vsched version -o json
"""


@click.command("version", epilog=EPILOG)
@click.option("-o", "--output", type=click.Choice(["text", "json", "yaml"]), default="text", show_default=True)
def command(output: str) -> None:
    """Show version, commit, Python and the libraries that matter."""
    show_build(output)


def show_build(output: str) -> None:
    """Print the build as text, JSON or YAML."""
    from msgspec import to_builtins  # imported here, so that --help does not load them

    from vsched.version import build

    found = build()
    if output != "text":
        print_document(to_builtins(found), output)
        return
    libraries = ", ".join(f"{name} {version}" for name, version in found.libraries.items())
    click.echo(
        f"vsched {found.version}\n"
        f"commit     {found.commit}\n"
        f"python     {found.python} on {found.platform}\n"
        f"libraries  {libraries}"
    )


def show(ctx: click.Context, _: click.Parameter, asked: bool) -> None:
    """The callback of ``--version``."""
    if asked and not ctx.resilient_parsing:
        show_build("text")
        ctx.exit()
