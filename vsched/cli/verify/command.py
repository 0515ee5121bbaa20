"""``vsched verify``: whether what recorded cycles decided keeps the rules."""

from __future__ import annotations

from pathlib import Path

import click

from vsched.cli.show.output import Output, output_flags_of

EPILOG = """\b
Examples:
  vsched verify vsched-17.json.gz
  vsched verify recordings/*.json.gz --json
  vsched dump -O now.json.gz && vsched verify now.json.gz
"""


@click.command("verify", epilog=EPILOG)
@click.argument("files", nargs=-1, required=True, metavar="FILE…", type=click.Path(path_type=Path, dir_okay=False))
@output_flags_of("text", "json", "yaml")
@click.option("--json", "as_json", is_flag=True, help="same as --output json")
def command(files: tuple[Path, ...], output: Output, as_json: bool) -> None:
    """Check the decisions of each session recorded in FILE by vsched dump against the rules.

    The checker shares no code with the scheduler. It checks free resources of nodes, placement, gangs, limits of
    queues, victims, that nothing that fits waits, and order. For each rule it says how many decisions were checked and
    which violate it. A session that ended in an error is run again. Exits 1 if a rule is violated.
    """
    # Imported here, so that --help does not load the decision core.
    from vsched.cli.verify.run import verified
    from vsched.cli.verify.view import as_document, as_text

    found = [verified(file) for file in files]
    output = output._replace(output="json") if as_json else output
    output.show(lambda: as_document(found), lambda look: as_text(found, look))
    if any(one.violations for cycle in found for one in cycle.findings):
        raise click.exceptions.Exit(1)
