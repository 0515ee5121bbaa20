"""What two cycles decided differently, a line for each difference."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, NamedTuple

import msgspec

from vsched.cli.replay import words
from vsched.model.amounts.resources import format_amount
from vsched.model.plan import CycleReport, JobOutcome

NOTHING = "-"
REPEATING = ("conditions", "reasons", "changed")
"""Fields that repeat others; shown only where nothing else differs."""


class Difference(NamedTuple):
    """One difference between two cycles."""

    what: str
    """``binding``, ``eviction``, ``nomination``, ``gate``, ``job``, ``pod``, ``queue``, ``namespace``, ``time`` or
    ``order``."""
    about: str
    """The pod, job, queue or namespace."""
    before: str
    after: str


def differences(before: CycleReport, after: CycleReport) -> list[Difference]:
    """What the second cycle decides otherwise: decisions first, then jobs, queues, namespaces and pods."""
    found = [
        *_changed("binding", _by_pod(before.binds, _node), _by_pod(after.binds, _node)),
        *_changed("eviction", _by_pod(before.evictions, _victim), _by_pod(after.evictions, _victim)),
        *_changed("nomination", _by_pod(before.nominations, _nominated), _by_pod(after.nominations, _nominated)),
        *_changed("gate", _by_pod(before.ungated, lambda _: "opened"), _by_pod(after.ungated, lambda _: "opened")),
        *_fields("job", before.jobs, after.jobs, _job),
        *_fields("queue", before.queues, after.queues, _plain),
        *_fields("namespace", before.namespaces, after.namespaces, _plain),
        *_fields("pod", before.unschedulable, after.unschedulable, _plain),
        *_changed("time", {"next session": _plain_time(before)}, {"next session": _plain_time(after)}),
    ]
    return found or list(_orders(before, after))


def _plain_time(report: CycleReport) -> str:
    """The time at which a plugin asks for a session."""
    return f"{report.due:.3f}" if report.due else NOTHING


def _by_pod(decisions: Iterable[Any], described: Callable[[Any], str]) -> dict[str, str]:
    return {f"{one.namespace}/{one.name}": described(one) for one in decisions}


def _node(bind: Any) -> str:
    return str(bind.node)


def _victim(eviction: Any) -> str:
    beneficiary = f" for {eviction.beneficiary}" if eviction.beneficiary else ""
    to = f" to {eviction.to}" if eviction.to else ""
    return f"{eviction.action}{beneficiary} from {eviction.node}{to}"


def _nominated(nomination: Any) -> str:
    return str(nomination.node) or "taken back"


def _changed(what: str, before: Mapping[str, str], after: Mapping[str, str]) -> Iterator[Difference]:
    for about in dict.fromkeys((*before, *after)):
        was, now = before.get(about, NOTHING), after.get(about, NOTHING)
        if was != now:
            yield Difference(what, about, was, now)


def _fields(
    what: str, before: Mapping[str, Any], after: Mapping[str, Any], described: Callable[[Any], dict[str, str]]
) -> Iterator[Difference]:
    """The fields that differ, record by record."""
    for about in dict.fromkeys((*before, *after)):
        one, other = before.get(about), after.get(about)
        if one == other:
            continue
        was, now = ({} if each is None else described(each) for each in (one, other))
        names = [name for name in dict.fromkeys((*was, *now)) if was.get(name) != now.get(name)]
        shown = [name for name in names if was.get(name) or now.get(name)]
        shown = [name for name in shown if name not in REPEATING] or shown
        yield Difference(what, about, _written(was, shown, one), _written(now, shown, other))


def _written(values: Mapping[str, str], names: Iterable[str], found: object) -> str:
    if found is None:
        return NOTHING
    return ", ".join(f"{name} {values.get(name) or NOTHING}" for name in names)


def _job(job: JobOutcome) -> dict[str, str]:
    fields = _plain(job)
    return {"phase": fields.pop("phase"), "code": fields.pop("code", ""), **fields}


def _plain(record: msgspec.Struct) -> dict[str, str]:
    """Every field as text; amounts as quantities."""
    fields: dict[str, str] = {}
    for name in record.__struct_fields__:
        value = getattr(record, name)
        match value:
            case dict() if name in ("allocated", "deserved", "capability", "guarantee", "subtree"):
                fields |= {f"{name} {key}": format_amount(key, amount) for key, amount in value.items()}
            case dict():
                fields[name] = ", ".join(f"{count} {reason}" for reason, count in value.items())
            case tuple():
                fields[name] = "; ".join(" ".join(map(str, msgspec.structs.astuple(one))) for one in value)
            case float():
                fields[name] = f"{value:.6g}"
            case _:
                fields[name] = str(value)
    return fields


def _orders(before: CycleReport, after: CycleReport) -> Iterator[Difference]:
    """Where decisions and records are equal but in another order."""
    for name in before.__struct_fields__:
        was, now = getattr(before, name), getattr(after, name)
        if name not in ("spans", "due") and list(was) != list(now):
            at = next((at for at, (one, other) in enumerate(zip(was, now, strict=False)) if one != other), 0)
            yield Difference("order", words.from_number(name, at + 1), _first(was, at), _first(now, at))


def _first(found: Iterable[Any], at: int) -> str:
    one = list(found)[at]
    return one if isinstance(one, str) else f"{one.namespace}/{one.name}"
