"""What the rules say of recorded cycles, as a document and as text."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from rich.console import Group, RenderableType
from rich.text import Text

from vsched.cli.show.columns import columned
from vsched.cli.show.drawing import Look, count_text
from vsched.cli.verify import words
from vsched.cli.verify.run import Verified, together

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
