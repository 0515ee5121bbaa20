"""A check as tables and commands."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from vsched.cli.migrate.check.findings import Finding, Verdict
from vsched.cli.migrate.check.report import MigrationReport, MigrationStep
from vsched.cli.migrate.check.words import verdicts as words
from vsched.cli.show.columns import columned
from vsched.cli.show.drawing import Look

STYLES = {
    Verdict.WORKS: "green",
    Verdict.DIFFERS: "yellow",
    Verdict.MISSING: "red",
    Verdict.UNREAD: "red",
}


def shown_page(report: MigrationReport) -> Callable[[Look], RenderableType]:
    """The page: a table for each part, the sum, and the commands."""
    return lambda look: Group(*_parts(report, look), _sum(report), *_steps("To change", report.switch),
                              *_steps(words.TO_CHANGE_BACK, report.back))  # fmt: skip


def _parts(report: MigrationReport, look: Look) -> Iterator[RenderableType]:
    parts: dict[str, list[Finding]] = {}
    for finding in report.findings:
        parts.setdefault(finding.part, []).append(finding)
    for part, findings in parts.items():
        yield Text(part[0].upper() + part[1:], style="bold")
        yield _table(findings, look)
        yield Text()


def _table(findings: list[Finding], look: Look) -> Table:
    table = columned(
        ["what", "verdict", "count", "says"], unicode=look.unicode, giving={"what", "says"}, numbers={"count"}
    )
    for one in findings:
        verdict = Text(one.verdict, style=STYLES[one.verdict])
        table.add_row(Text(one.what), verdict, "" if one.count is None else str(one.count), Text(one.says))
    return table


def _sum(report: MigrationReport) -> Text:
    counts = ", ".join(f"{count} {_verb(verdict, count)}" for verdict, count in report.counts.items())
    style = "bold green" if report.complete else "bold red"
    return Text(f"{report.server}, namespace {report.namespace}: {counts}", style=style)


def _verb(verdict: str, count: int) -> str:
    """The verdict as it is said of this many."""
    plural = {Verdict.WORKS: "work", Verdict.DIFFERS: "differ"}
    return verdict if count == 1 else plural.get(Verdict(verdict), verdict)


def _steps(title: str, steps: tuple[MigrationStep, ...]) -> Iterator[RenderableType]:
    yield Text()
    yield Text(title, style="bold")
    for number, step in enumerate(steps, start=1):
        yield Text(f"{number}. {step.does}", style="dim")
        # A command is never broken, so that it can be copied.
        yield Text(f"   {step.command}", no_wrap=True, overflow="ignore")
