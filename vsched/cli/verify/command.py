"""``vsched verify``: whether what recorded cycles decided keeps the rules."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click
from rich.console import Group, RenderableType
from rich.text import Text

from vsched.cli.show.columns import columned
from vsched.cli.show.drawing import Look, count_text
from vsched.cli.show.output import Output, output_flags_of
from vsched.cli.verify import words
from vsched.cli.verify.run import Verified, together

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
    from vsched.cli.verify.command import as_document, as_text
    from vsched.cli.verify.run import verified

    found = [verified(file) for file in files]
    output = output._replace(output="json") if as_json else output
    output.show(lambda: as_document(found), lambda look: as_text(found, look))
    if any(one.violations for cycle in found for one in cycle.findings):
        raise click.exceptions.Exit(1)


NUMBERS = ("looked at", "violations")
MOST_SHOWN = 5
"""Violations of one rule that are shown; -o json has all."""


def as_document(found: Sequence[Verified]) -> dict[str, Any]:
    """All findings: those of each file, with every violation."""
    return {
        "violations": sum(len(one.violations) for each in found for one in each.findings),
        "files": [
            {
                "file": str(each.file),
                "session": each.head.number,
                "rules": [one._asdict() | {"violations": list(one.violations)} for one in each.findings],
            }
            for each in found
        ],
    }


def as_text(found: Sequence[Verified], look: Look) -> RenderableType:
    """A table of the rules, and the first violations of each."""
    table = columned(("rule", *NUMBERS), unicode=look.unicode, numbers=NUMBERS)
    lines, broken = list[Text](), 0
    for one in together(each.findings for each in found):
        count = len(one.violations)
        broken += count
        table.add_row(one.rule, f"{one.looked_at:,}", f"{count:,}", style="red" if count else "")
    for each in found:
        where = f"{each.file}: " if len(found) > 1 else ""
        for one in each.findings:
            lines += [Text(f"{where}{one.rule}: {text}") for text in one.violations[:MOST_SHOWN]]
            if len(one.violations) > MOST_SHOWN:
                lines.append(Text(words.more_violations(where, one.rule, len(one.violations) - MOST_SHOWN)))
    cycles = count_text(len(found), "cycle", "cycles")
    verdict = f"{cycles}, {count_text(broken, 'violation', 'violations') if broken else 'no violations'}"
    return Group(table, *([Text()] if lines else []), *lines, Text(verdict, style="bold"))
