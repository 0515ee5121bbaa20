"""The answers of several clusters, as a table and as a document."""

from __future__ import annotations

from collections.abc import Sequence
from math import inf
from typing import Any

from rich.console import Group, RenderableType
from rich.text import Text

from vsched.cli.plan.several import words
from vsched.cli.plan.several.answers import ClusterAnswer, best, cheapest
from vsched.cli.show.columns import columned
from vsched.cli.show.drawing import Look
from vsched.model.amounts.durations import short_duration

NAMES_SHOWN = 3


def answers_document(answers: Sequence[ClusterAnswer]) -> dict[str, Any]:
    """The answers, and which is best."""
    first, least = best(answers), cheapest(answers)
    return {
        "clusters": [_entry(answer) for answer in answers],
        "first": None if first is None else first.cluster,
        "evictsLeast": None if least is None else least.cluster,
    }


def _entry(answer: ClusterAnswer) -> dict[str, Any]:
    if answer.problem:
        return {"cluster": answer.cluster, "problem": answer.problem}
    return {
        "cluster": answer.cluster,
        "starts": answer.starts,
        "earliestSeconds": None if answer.seconds == inf else round(answer.seconds, 3),
        "pods": answer.pods,
        "placed": answer.placed,
        "evicts": [{"pod": one.pod, "node": one.node, "for": one.beneficiary} for one in answer.displaced],
        "message": answer.message,
    }


def answers_text(answers: Sequence[ClusterAnswer], look: Look) -> RenderableType:
    """A line for each cluster, those that were asked first; the best ones are marked."""
    headings = ("", words.CLUSTER, words.STARTS, words.PLACED, words.DISPLACES, words.SAYS)
    table = columned(headings, unicode=look.unicode)
    marks = dict[str, str]()
    for answer, says in ((cheapest(answers), words.CHEAPEST), (best(answers), words.FIRST)):
        if answer is not None:
            marks[answer.cluster] = ", ".join(filter(None, (says, marks.get(answer.cluster, ""))))
    for answer in sorted(answers, key=lambda answer: answer.soonest):
        table.add_row(*map(Text, (marks.get(answer.cluster, ""), *_cells(answer))))
    return table if marks else Group(table, Text(words.NOWHERE))


def _cells(answer: ClusterAnswer) -> tuple[str, str, str, str, str]:
    if answer.problem:
        return answer.cluster, words.NOT_ASKED, "-", "-", answer.problem
    when = words.AT_ONCE if answer.starts else _when(answer.seconds)
    names = [one.pod for one in answer.displaced[:NAMES_SHOWN]]
    shown = ", ".join(names) + (", …" if len(answer.displaced) > NAMES_SHOWN else "")
    displaced = words.displaced(len(answer.displaced), shown) if answer.displaced else "0"
    return answer.cluster, when, words.placed(answer.placed, answer.pods), displaced, answer.message


def _when(seconds: float) -> str:
    return words.NOT_FORESEEN if seconds == inf else words.earliest(short_duration(seconds))
