"""``vsched shadow``: what a shadow has found beside the scheduler in charge."""

from __future__ import annotations

from pathlib import Path

import click

from vsched.cli.ask.daemon import daemon_flags
from vsched.cli.flags.suggesting import SuggestingGroup
from vsched.cli.flags.values import DAY_SECONDS, TimeSpan
from vsched.cli.shadow import words
from vsched.cli.show.output import Output, output_flags_of, say
from vsched.client.target import DaemonTarget
from vsched.errors import BadInput

EPILOG = """\b
Examples:
  vsched shadow report                                        (asks a running shadow)
  vsched shadow report --since 7d --daemon http://localhost:8080
  vsched shadow report --log /var/lib/vsched/shadow -o json
  vsched shadow report --log /var/lib/vsched/shadow --html report.html
"""


@click.group("shadow", cls=SuggestingGroup, epilog=EPILOG)
def command() -> None:
    """Show what a shadow (vsched run --shadow) has found beside the scheduler in charge."""


@command.command("report", epilog=EPILOG)
@click.option(
    "--since",
    "seconds",
    type=TimeSpan(3660 * DAY_SECONDS),
    help="how far back; a daemon needs a log for it, and takes 7d at most  [default: everything]",
)
@click.option(
    "--log",
    "folder",
    type=click.Path(path_type=Path, file_okay=False),
    metavar="FOLDER",
    help="read the log in this folder (--shadow-log of the shadow) instead of asking a daemon",
)
@click.option(
    "--html", type=click.Path(path_type=Path, dir_okay=False), metavar="FILE", help="write a page with plots to a file"
)
@click.option("--json", "as_json", is_flag=True, help="the same as -o json")
@daemon_flags
@output_flags_of("text", "wide", "json", "yaml")
def report(
    seconds: float | None, folder: Path | None, html: Path | None, as_json: bool, target: DaemonTarget, output: Output
) -> None:
    """Show what would be different under the candidate: starts, evictions, idle nodes, shares of queues.

    "There" is the scheduler in charge, "here" the candidate. Each decision here is made from the state that the
    scheduler in charge has made; the report ends with what it cannot know.
    """
    from vsched.cli.shadow.days import document
    from vsched.cli.shadow.source import ask_shadow, read_log
    from vsched.cli.shadow.view import report_page

    if folder is not None and target.named:
        raise BadInput(words.LOG_OR_DAEMON)
    found = ask_shadow(target, seconds) if folder is None else read_log(folder, seconds)
    if html is not None:
        from vsched.cli.shadow.page import page_of

        html.write_text(page_of(found), encoding="utf-8")
        say(words.written(str(html)), err=True)
        return
    shown = output._replace(output="json") if as_json else output
    shown.show(lambda: document(found), lambda look: report_page(found, look))
