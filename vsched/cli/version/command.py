"""``vsched version`` and ``vsched --version``: what exactly runs here."""

from __future__ import annotations

import click

EPILOG = """\b
Examples:
  vsched version
  vsched version -o json
"""


@click.command("version", epilog=EPILOG)
@click.option("-o", "--output", type=click.Choice(["text", "json", "yaml"]), default="text", show_default=True)
def command(output: str) -> None:
    """Show version, commit, Python and the libraries that matter."""
    click.echo(rendered(output), nl=False)


def rendered(output: str) -> str:
    """The same in text, JSON or YAML."""
    import orjson  # here, so that --help does not load them
    import yaml
    from msgspec import to_builtins

    from vsched.version import build

    found = build()
    if output == "json":
        return orjson.dumps(to_builtins(found), option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE).decode()
    if output == "yaml":
        return yaml.safe_dump(to_builtins(found), sort_keys=False)
    libraries = ", ".join(f"{name} {version}" for name, version in found.libraries.items())
    return (
        f"vsched {found.version}\n"
        f"commit     {found.commit}\n"
        f"python     {found.python} on {found.platform}\n"
        f"libraries  {libraries}\n"
    )


def show(ctx: click.Context, _: click.Parameter, asked: bool) -> None:
    """What ``--version`` does."""
    if asked and not ctx.resilient_parsing:
        click.echo(rendered("text"), nl=False)
        ctx.exit()
