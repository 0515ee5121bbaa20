"""The report of a shadow as text: a table for each sort of difference, those that there are."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence

from rich.console import Group, RenderableType
from rich.text import Text

from vsched.cli.shadow import words
from vsched.cli.shadow.days import SumOverDays, idle_over_days, shares_over_days, sums_over_days
from vsched.cli.show.amounts import facts
from vsched.cli.show.columns import columned, named, sentence
from vsched.cli.show.drawing import Look
from vsched.model.amounts.durations import short_duration
from vsched.shadow.summary import Comparing

HASH_LETTERS = 12


def report_page(found: Comparing, look: Look) -> RenderableType:
    """All of a report."""
    parts: list[RenderableType] = [Text(words.TITLE, style="bold"), *(Text(line) for line in heading(found)), Text()]
    starts = found.starts
    parts += [
        Text(words.STARTS, style="bold"),
        facts(
            [
                (words.START_LATER, f"{starts.later:,} ({words.later_together(lasting(starts.later_seconds))})"),
                (words.START_ALIKE, f"{starts.alike:,}"),
                (words.START_WAITS_HERE, f"{starts.waits_here:,}"),
                (words.START_UNSEEN, f"{starts.unseen:,}"),
            ]
        ),
    ]
    for title, remark, headings, rows in tables(found):
        parts += [Text(), Text.assemble((title, "bold"), (f"  {remark}" if remark else "", "dim"))]
        if not rows:
            parts.append(Text(words.NONE, style="dim"))
            continue
        table = columned(headings, unicode=look.unicode, giving=(headings[0], "why"), numbers=NUMBERS)
        for row in rows:
            cells: list[Text | str] = [named(row[0], unicode=look.unicode), *row[1:]]
            if headings[-1] == "why":
                cells[-1] = sentence(row[-1], unicode=look.unicode)
            table.add_row(*cells)
        parts.append(table)
    parts += [Text(), Text(words.LIMITS, style="bold"), *(Text(f"- {limit}", style="dim") for limit in found.limits)]
    return Group(*parts)


NUMBERS = ("pods", "minimum", "waits", "later", "held", "node-seconds", "share", "short", "seen", "sum", "low", "high")


def heading(found: Comparing) -> Iterator[str]:
    """What the report is about."""
    yield words.about(", ".join(found.schedulers) or "-", found.policy[:HASH_LETTERS] or "-")
    yield words.over(moment(found.since), moment(found.until), lasting(found.until - found.since))
    if found.gaps:
        yield words.not_seen(found.gaps, lasting(found.gap_seconds))


Rows = Sequence[Sequence[str]]
_ENDS = ("low", "high")


def tables(found: Comparing) -> Iterator[tuple[str, str, Sequence[str], Rows]]:
    """Title, remark, headings and rows of each table."""
    idle, shares = idle_over_days(found), shares_over_days(found)
    yield (
        words.WAITING,
        words.more(found.waiting_more) if found.waiting_more else "",
        ("gang", "queue", "minimum", "since", "waits"),
        [(one.job, one.queue, str(one.minimum), moment(one.decided), lasting(one.seconds)) for one in found.waiting],
    )
    yield (
        words.LATER,
        words.of_all(len(found.later), found.starts.later),
        ("gang", "queue", "minimum", "started", "later"),
        [(one.job, one.queue, str(one.minimum), moment(one.at), lasting(one.later_seconds)) for one in found.later],
    )
    yield (
        words.WAITS_HERE,
        words.of_all(len(found.waits_here), found.starts.waits_here),
        ("gang", "queue", "started", "code", "why"),
        [(one.job, one.queue, moment(one.at), one.code, one.message) for one in found.waits_here],
    )
    yield (
        words.WOULD_EVICT,
        words.pods_together(found.would_evict_pods),
        ("gang", "pods", "at", "action", "for"),
        [(one.job, str(one.pods), moment(one.at), one.action, one.beneficiary) for one in found.would_evict],
    )
    yield (
        words.IN_VAIN,
        words.evictions(found.evictions.in_vain, found.evictions.all),
        ("pod", "gang", "node", "at"),
        [(one.pod, one.job, one.node, moment(one.since)) for one in found.in_vain],
    )
    yield (
        words.PARTIAL,
        words.gangs_together(found.partials, lasting(found.partial_seconds)),
        ("gang", "queue", "pods", "minimum", "since", "held"),
        [
            (one.job, one.queue, str(one.pods), str(one.minimum), moment(one.since), lasting(one.at - one.since))
            for one in found.partial
        ],
    )
    yield (
        words.IDLE,
        "",
        ("resource", "node-seconds", *(_ENDS if idle else ())),
        [(name, f"{seconds:,.1f}", *_within(idle, name, "{:,.1f}")) for name, seconds in found.idle.items()],
    )
    yield (
        words.QUEUES,
        "",
        ("queue", "share", *(_ENDS if shares else ()), "short", "seen"),
        [
            (
                one.queue,
                f"{one.share:.0%}",
                *_within(shares, one.queue, "{:.0%}"),
                lasting(one.short_seconds),
                lasting(one.seconds),
            )
            for one in found.queues
        ],
    )

    days = sums_over_days(found)
    if days:
        yield (
            words.OVER_DAYS,
            words.resampled(len(found.days)),
            ("figure", "sum", *_ENDS),
            [(words.FIGURES[name], *(_shown(name, value) for value in sums)) for name, sums in days.items()],
        )


def _within(intervals: Mapping[str, SumOverDays], name: str, form: str) -> tuple[str, ...]:
    """The ends of an interval: dashes where it has none, and no columns where nothing has one."""
    found = intervals.get(name)
    if found is None:
        return ("-", "-") if intervals else ()
    return form.format(found.low), form.format(found.high)


def _shown(figure: str, value: float) -> str:
    return lasting(value) if figure.endswith("_seconds") else f"{value:,.0f}"


def moment(at: float) -> str:
    """A time of this machine's zone; a dash for none."""
    return time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(at)) if at else "-"


def lasting(seconds: float) -> str:
    """A length of time in two units."""
    return short_duration(seconds)
