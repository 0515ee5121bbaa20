"""What is tuned, and on what: the text of the policy, and the trace in two parts."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from pathlib import Path
from typing import Any

from vsched.errors import BadInput
from vsched.lab.trace import words as trace_words
from vsched.lab.trace.command import BUILT_IN, PHILLY_APART_SECONDS, ReplayRequest, names_of, prepare
from vsched.lab.trace.files import ClusterTrace
from vsched.lab.trace.formats import TraceFormat, format_of
from vsched.lab.trace.load import DAY, part_of
from vsched.lab.trace.periods import edges_of
from vsched.lab.tune import words
from vsched.lab.tune.replaying import TracePart
from vsched.lab.tune.run import JUDGED, TUNED
from vsched.lab.tune.space import Space
from vsched.plugins.extender import Extender
from vsched.settings.installed import registry
from vsched.settings.load import default_text, load_file

Document = dict[str, Any]


def policy_text(policy: Path | None) -> tuple[str, str]:
    """The text of the policy in force, and its name; raises BadInput."""
    if policy is None:
        return default_text(), BUILT_IN
    settings = load_file(policy, registry())
    if settings.metrics is not None:
        raise BadInput(words.ASKS_FOR_USAGE)
    if settings.policy.plugin(Extender.name) is not None:
        raise BadInput(words.CALLS_EXTENDERS)
    return policy.read_text(encoding="utf-8-sig"), policy.name


def prepared(files: tuple[Path, ...], policy: Path | None, asked: Mapping[str, Any]) -> tuple[ClusterTrace, Document]:
    """The whole trace as ``vsched replay --trace`` would replay it, and facts about it; raises BadInput."""
    format = None if asked["trace_format"] is None else TraceFormat(asked["trace_format"])
    apart = asked["apart"]
    if apart is None:
        apart = PHILLY_APART_SECONDS if format_of(files[-1], format) is TraceFormat.PHILLY else 0.0
    names = names_of(() if policy is None else (policy,))
    stranger = next((name for name in asked["one_queue"] if name not in names), None)
    if stranger is not None:
        raise BadInput(trace_words.no_policy(stranger, ", ".join(names)))
    request = ReplayRequest(
        files,
        format,
        () if policy is None else (policy,),
        asked["share"],
        asked["machines"],
        asked["begin"],
        asked["days"],
        apart,
        asked["one_queue"],
        asked["declared"],
        asked["load"],
        asked["weights"],
        asked["seed"],
        jobs=1,
        verify=0.0,
    )
    return prepare(request)


def divided(
    trace: ClusterTrace,
    facts: Document,
    judge_from: datetime | float | None,
    asked: Mapping[str, Any],
    *,
    one_queue: bool,
) -> dict[str, TracePart]:
    """The part to tune on and the part to judge on; raises BadInput where one of them is empty."""
    first, last = trace.pods[0].created, trace.pods[-1].created
    if judge_from is None:
        judge_from = (last - first) / 2 / DAY
    try:
        later = part_of(trace, judge_from, None)
    except BadInput as error:
        raise BadInput(words.judge_from(str(error).partition(": ")[2])) from None
    cut = later.pods[0].created
    earlier = part_of(trace, None, (cut - first) / DAY)
    parts = {}
    # What runs at the beginning of a part came before it, and is not measured.
    for name, part, begin in ((TUNED, earlier, float(asked["begin"] is not None)), (JUDGED, later, 1.0)):
        if not any(pod.created - part.pods[0].created >= begin for pod in part.pods):
            raise BadInput(words.no_jobs_in_part(name))
        parts[name] = TracePart(part, begin, facts["weights"], facts["seconds_apart"], facts["seed"], one_queue)
    return parts


def facts_of(policy: str, facts: Document, parts: Mapping[str, TracePart], space: Space) -> Document:
    """What was tuned, as the beginning of the result."""
    return {
        "trace": facts,
        "policy": policy,
        "parts": {name: _part(part) for name, part in parts.items()},
        "space": [
            {"name": one.name, "values": [*one.values], "in_force": one.values[one.in_force]}
            for one in space.dimensions
        ],
        "possible_candidates": space.candidates,
    }


def _part(part: TracePart) -> Document:
    first, last = part.trace.pods[0].created, part.trace.pods[-1].created
    edges = edges_of(part.begin, float(last - first))
    jobs = sum(pod.is_first_of_job and pod.created - first >= part.begin for pod in part.trace.pods)
    return {
        "jobs": jobs,
        "days": round((last - first) / DAY, 2),
        "periods": len(edges) - 1,
        "hours": round(float(edges[1] - edges[0]) / 3600, 1),
    }
